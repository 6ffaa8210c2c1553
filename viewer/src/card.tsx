// One expert: what it was chosen for, how sure that is, prompt by prompt.
import { bin } from "d3-array";
import { scaleLinear } from "d3-scale";
import { useEffect, useRef, useState } from "preact/hooks";
import { AffinityBars, AxisX, PromptDots, type Dot } from "./charts";
import { phase_names } from "./columns";
import { name_of, p_text, status_names } from "./filter";
import { atlas, chosen, columns, phase } from "./page";
import { Figure, Foreign, Missing, Topic, percent, whole } from "./parts";
import type { Numbers } from "./read";
import { expert_affinity, expert_counts, phase_totals, specialisation_of } from "./shares";
import { set, state } from "./state";

export function Card() {
  const e = chosen.value, a = atlas.value, c = columns.value;
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus({ preventScroll: true }), [e]);
  if (e < 0)
    return (
      <aside class="card" aria-label="Expert">
        <CloseButton />
        <h2 ref={head} tabIndex={-1}>No such expert</h2>
        <p>No expert <Foreign>{state.value.expert}</Foreign> was seen. Experts are named layer:expert, like {name_of(a, 0)}. One that no prompt chose has no entry.</p>
      </aside>
    );
  const C = c.topics.length, affinity = c.affinity.subarray(e * C, e * C + C), topic = c.top_topic[e];
  return (
    <aside class="card" aria-label={`Expert ${name_of(a, e)}`}>
      <CloseButton />
      <h2 ref={head} tabIndex={-1}>Expert {name_of(a, e)}</h2>
      <p class="card-lead">Layer {a.layer[e]}, expert {a.expert[e]}. {topic < 0 ? `Never chosen in the phase “${phase.value}”.` : <>Routed most often for <Topic topic={topic} />, {c.lift[e].toFixed(1)} times as often as if all topics were alike{c.q && !(c.q[e] <= 0.05) ? (Number.isNaN(c.q[e]) ? "; not tested" : `; with q ${p_text(c.q[e])} this may be chance`) : ""}.</>}</p>
      {a.status[e] === 1 && <p class="warning">Sparse: fewer than {a.file.reference.options.min_count} selections in all. Its affinities are mostly noise.</p>}
      {a.status[e] === 2 && <p class="warning">Unreplicated: only {a.fired_runs[e]} of the {a.total_runs[e]} prompts of its top topic chose it.</p>}
      <Facts e={e} />
      {topic >= 0 && (
        <Figure title="Affinity" name={`expert-${a.layer[e]}-${a.expert[e]}-affinity`} height={C * 22 + 24}
          draw={(width) => <AffinityBars topics={c.topics} values={affinity} rings={c.router_weight_affinity?.subarray(e * C, e * C + C)} width={width} />}
          text={"Affinity by topic: " + c.topics.map((name, t) => `${name} ${percent(affinity[t])}`).join(", ")}
          note={c.router_weight_affinity ? "Bars: by count. Rings: by router weight." : "By count. By router weight: not in this atlas."} />
      )}
      <Prompts e={e} />
      <Phases e={e} />
      <WithinLayer e={e} />
      <p class="note">Tokens and contexts that drive this expert are not in this atlas.</p>
    </aside>
  );
}

const CloseButton = () => <button type="button" class="close" aria-label="Close the expert's card (Escape)" onClick={() => set({ expert: "" })}>×</button>;

function Facts({ e }: { e: number }) {
  const a = atlas.value, c = columns.value;
  const interval = (values: Float64Array | undefined, digits: number) => (values && !Number.isNaN(values[2 * e]) ? `95 %: ${values[2 * e].toFixed(digits)} to ${values[2 * e + 1].toFixed(digits)}` : "");
  const number = (value: number | undefined, digits: number) => (value === undefined || Number.isNaN(value) ? "not computed" : value.toFixed(digits));
  const facts: [string, string, string, string?][] = [
    ["Specialisation", number(c.specialisation[e], 3), "0: all topics alike; 1: one topic only", interval(c.specialisation_interval, 2)],
    ["Lift", number(c.lift[e], 2), "affinity of the top topic over an even share", interval(c.lift_interval, 1)],
    ["q-value", c.q ? (Number.isNaN(c.q[e]) ? "not tested" : p_text(c.q[e])) : "not computed", "false discoveries expected among experts at least this clear"],
    ["Stability", number(c.stability?.[e], 2), "bootstrap draws with the same top topic"],
    ["Selections", whole(c.total[e]), `${phase.value === "all" ? "all rows" : phase.value}; by ${a.fired_runs[e]} of ${a.total_runs[e]} prompts of its top topic`],
    ["Status", status_names[a.status[e]] + (c.specialist?.[e] === 1 ? ", specialist" : ""), "by the floors of the reference"],
  ];
  if (c.above_null && !Number.isNaN(c.above_null[e])) facts.splice(1, 0, ["… above shuffled", c.above_null[e].toFixed(3), "specialisation less its mean with topics shuffled"]);
  if (c.token_matched && !Number.isNaN(c.token_matched[e])) facts.push(["Token-matched excess", c.token_matched[e].toFixed(3), "choices beyond what its tokens explain, in its top topic; each token compared with itself", c.unmatched && !Number.isNaN(c.unmatched[e]) ? `unmatched: ${c.unmatched[e].toFixed(3)}` : undefined]);
  return <dl class="card-facts">{facts.map(([name, value, hint, more]) => <div key={name} title={hint}><dt>{name}</dt><dd>{value}{more && <small>{more}</small>}</dd></div>)}</dl>;
}

function usePromised<T>(make: () => Promise<T> | null, keys: unknown[]): T | undefined {
  const [value, set_value] = useState<T>();
  useEffect(() => {
    let wanted = true;
    void make()?.then((made) => wanted && set_value(() => made), () => undefined);
    return () => { wanted = false; };
  }, keys);
  return value;
}
export { usePromised };

// All selections and their sums, once they are unpacked.
const sums = new WeakMap<Numbers, Float64Array>();
export function useCounts(): { selections: Numbers; totals: Float64Array } | undefined {
  const a = atlas.value, selections = usePromised(() => a.selections(), [a]);
  if (!selections) return undefined;
  if (!sums.has(selections)) sums.set(selections, phase_totals(a, selections));
  return { selections, totals: sums.get(selections)! };
}

function Prompts({ e }: { e: number }) {
  const a = atlas.value, c = columns.value, known = useCounts();
  if (!known) return <Missing>Reading the counts …</Missing>;
  const { own, all } = expert_counts(a, known.selections, known.totals, c.phase, e);
  const dots: Dot[] = [];
  all.forEach((total, p) => {
    if (total > 0) dots.push({ topic: c.grouping.of_probe[p], value: own[p] / total, title: `${a.file.source.probes[p].id}: ${own[p]} of ${total} selections` });
  });
  const fired = dots.filter((dot) => dot.value > 0).length;
  return (
    <Figure title="Every prompt" name={`expert-${a.layer[e]}-${a.expert[e]}-prompts`} height={c.topics.length * 22 + 44}
      draw={(width) => <PromptDots topics={c.topics} dots={dots} width={width} format={(v) => percent(v, v > 0 && v < 0.01 ? 2 : 1)} />}
      text={`One dot a prompt: ${fired} of ${dots.length} prompts chose this expert.`}
      note={`One dot a prompt: its share of the prompt's selections in this phase. ${fired} of ${dots.length} prompts chose it.`} />
  );
}

function Phases({ e }: { e: number }) {
  const a = atlas.value, grouping = columns.value.grouping, names = phase_names(a), known = useCounts();
  if (names.length < 2) return null;
  return (
    <div class="card-phases">
      <h3>Phases</h3>
      {!known ? <Missing>Counting …</Missing> : (
        <table>
          <thead><tr><th scope="col">Phase</th><th scope="col">Top topic</th><th scope="col">Affinity</th><th scope="col">Special.</th><th scope="col">Selections</th></tr></thead>
          <tbody>{names.map((name) => {
            const counts = expert_counts(a, known.selections, known.totals, name, e), affinity = expert_affinity(counts, grouping), total = counts.own.reduce((x, y) => x + y, 0);
            const top = affinity.indexOf(Math.max(...affinity));
            return <tr key={name}><th scope="row">{name}</th><td>{total ? <Topic topic={top} /> : "–"}</td><td>{total ? percent(affinity[top], 0) : "–"}</td><td>{total ? specialisation_of(affinity).toFixed(2) : "–"}</td><td>{whole(total)}</td></tr>;
          })}</tbody>
        </table>
      )}
      <p class="note">From counts; few selections make a high specialisation by chance.</p>
    </div>
  );
}

function WithinLayer({ e }: { e: number }) {
  const a = atlas.value, c = columns.value, values: number[] = [];
  for (let other = 0; other < a.count; other++) if (a.layer[other] === a.layer[e] && a.status[other] === 0 && c.top_topic[other] >= 0) values.push(c.specialisation[other]);
  const own = c.specialisation[e], rank = values.filter((v) => v > own).length + 1;
  if (Number.isNaN(own) || values.length < 2) return null;
  const height = 96;
  return (
    <Figure title={`Within layer ${a.layer[e]}`} name={`expert-${a.layer[e]}-${a.expert[e]}-layer`} height={height}
      text={`Histogram of the specialisation of ${values.length} experts in layer ${a.layer[e]}; this one is number ${rank} from the top.`}
      note={`Specialisation of the layer's ${values.length} experts above the floors; this one is number ${rank} from the top.`}
      draw={(width) => {
        const x = scaleLinear([0, 1], [10, width - 12]), bins = bin().domain([0, 1]).thresholds(x.ticks(25))(values), y = scaleLinear([0, Math.max(...bins.map((b) => b.length))], [height - 24, 12]);
        return (
          <>
            {bins.map((b) => <rect key={b.x0} class="null-bar" x={x(b.x0!) + 0.5} width={Math.max(0, x(b.x1!) - x(b.x0!) - 1)} y={y(b.length)} height={height - 24 - y(b.length)} />)}
            <line class="observed" x1={x(own)} x2={x(own)} y1={6} y2={height - 24} />
            <AxisX scale={x} y={height - 24} format={(v) => v.toFixed(1)} />
          </>
        );
      }} />
  );
}
