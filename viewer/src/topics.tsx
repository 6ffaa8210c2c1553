// One topic: where in depth it lives, its strongest experts, its nearest topics, its prompts.
import { useMemo } from "preact/hooks";
import { DepthChart, MatrixChart, matrix_height } from "./charts";
import { usePromised } from "./card";
import { topic_colour } from "./colours";
import { name_of, p_text } from "./filter";
import { atlas, choose_expert, columns, focus, mask, own_axis, phase, phase_evidence, theme } from "./page";
import { Figure, Foreign, Missing, Swatch, Topic, percent } from "./parts";
import type { Numbers } from "./read";
import { mean_shares, order_by_similarity, phase_counts, similarity } from "./shares";
import { set } from "./state";

export function TopicsView() {
  const c = columns.value, topic = Math.max(0, focus.value);
  return (
    <div class="topics">
      <nav class="topic-list" aria-label="Topics">
        {c.topics.map((name, t) => (
          <button type="button" key={name} class="chip" aria-pressed={t === topic} onClick={() => set({ topic: name })}><Swatch topic={t} /><Foreign>{name}</Foreign></button>
        ))}
      </nav>
      <h2 class="section"><Topic topic={topic} /></h2>
      {c.note && <p class="note">{c.note}</p>}
      <div class="pair">
        <DepthOfTopic topic={topic} />
        <Strongest topic={topic} />
      </div>
      <div class="pair">
        <Likeness topic={topic} />
        <PromptsOfTopic topic={topic} />
      </div>
    </div>
  );
}

// Selections by probe of one phase, kept while the phase stays.
let kept: { phase: string; counts: Float64Array; from: Numbers } | undefined;
function counts_of_phase(selections: Numbers, name: string): Float64Array {
  if (kept?.phase !== name || kept.from !== selections) kept = { phase: name, counts: phase_counts(atlas.value, selections, name), from: selections };
  return kept.counts;
}

// Per layer and prompt, the share of the layer's selections that go to experts whose top topic is this one.
function profile(counts: Float64Array, topic: number) {
  const a = atlas.value, c = columns.value, rows = new Map(a.layers.map((layer, i) => [layer, i]));
  const probes = a.file.source.probes.length, L = a.layers.length;
  const own = new Float64Array(probes * L), total = new Float64Array(probes * L);
  const row = Int32Array.from(a.layer, (layer) => rows.get(layer)!), its = Uint8Array.from(c.top_topic, (top, e) => (top === topic && mask.value[e] ? 1 : 0));
  for (let p = 0; p < probes; p++)
    for (let e = 0; e < a.count; e++) {
      const count = counts[p * a.count + e], at = p * L + row[e];
      total[at] += count;
      own[at] += its[e] * count;
    }
  return a.layers.map((_, i) => {
    const inside: number[] = [], outside: number[] = [];
    for (let p = 0; p < probes; p++) if (total[p * L + i] > 0 && c.grouping.of_probe[p] >= 0) (c.grouping.of_probe[p] === topic ? inside : outside).push(own[p * L + i] / total[p * L + i]);
    return { inside: mean_and_error(inside), outside: mean_and_error(outside) };
  });
}

function mean_and_error(values: number[]): [number, number] {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1);
  return [mean, 1.96 * Math.sqrt(variance / values.length)];
}

function DepthOfTopic({ topic }: { topic: number }) {
  const a = atlas.value, c = columns.value, selections = usePromised(() => a.selections(), [a]);
  const layers = useMemo(() => selections && profile(counts_of_phase(selections, c.phase), topic), [selections, c, topic, mask.value]);
  if (!layers) return <Missing>Reading the counts …</Missing>;
  const curve = (key: "inside" | "outside") => ({ values: layers.map((l) => l[key][0]), low: layers.map((l) => l[key][0] - l[key][1]), high: layers.map((l) => l[key][0] + l[key][1]) });
  const strongest = layers.reduce((best, l, i) => (l.inside[0] - l.outside[0] > layers[best].inside[0] - layers[best].outside[0] ? i : best), 0);
  return (
    <Figure title="Where in depth" name={`topic-${topic}-depth`} height={260}
      draw={(width) => <DepthChart layers={a.layers} width={width} height={260} format={(v) => percent(v, 0)} curves={[{ name: "other prompts", className: "quiet-curve", ...curve("outside") }, { name: "its prompts", className: "own-curve", colour: topic_colour(theme.value, topic), ...curve("inside") }]} />}
      text={`Share of selections that go to experts of this topic, by layer. The gap between its own prompts and others is greatest in layer ${a.layers[strongest]}.`}
      note={`Selections that go to experts whose top topic is this one: by its own prompts (colour) and by all others (grey), with 95 % intervals of the mean over prompts. The experts were picked with these same prompts, so a gap is expected; compare layers, not the gap with zero. Greatest in layer ${a.layers[strongest]}.`} />
  );
}

function Strongest({ topic }: { topic: number }) {
  const a = atlas.value, c = columns.value, found: number[] = [];
  mask.value.forEach((ok, e) => { if (ok && c.top_topic[e] === topic && a.status[e] === 0) found.push(e); });
  const certain = (e: number) => (c.specialist?.[e] === 1 ? 1 : 0);
  found.sort((x, y) => certain(y) - certain(x) || c.specialisation[y] - c.specialisation[x] || x - y);
  return (
    <div class="figure">
      <div class="figure-title">Strongest experts</div>
      {found.length === 0 ? <Missing>No expert above the floors and within the filters has this as its top topic.</Missing> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Strongest experts">
          <table>
            <thead><tr><th scope="col">Expert</th><th scope="col">Affinity</th><th scope="col">Special.</th><th scope="col">q</th><th scope="col">Prompts</th></tr></thead>
            <tbody>{found.slice(0, 50).map((e) => (
              <tr key={e}><td><button type="button" class="link" onClick={() => choose_expert(name_of(a, e))}>{name_of(a, e)}</button></td><td>{percent(c.affinity[e * c.topics.length + topic], 0)}</td><td>{c.specialisation[e].toFixed(2)}</td><td>{c.q ? p_text(c.q[e]) : "–"}</td><td>{a.fired_runs[e]} of {a.total_runs[e]}</td></tr>
            ))}</tbody>
          </table>
        </div>
      )}
      <p class="note">{found.length > 50 ? `The first 50 of ${found.length}; ` : `${found.length} `}experts{c.specialist ? ", specialists first" : ""}. <button type="button" class="link" onClick={() => set({ view: "table", topics: [c.topics[topic]] })}>All in the table</button></p>
    </div>
  );
}

function Likeness({ topic }: { topic: number }) {
  const a = atlas.value, c = columns.value, selections = usePromised(() => a.selections(), [a]);
  const made = useMemo(() => {
    if (!selections) return undefined;
    const matrix = similarity(mean_shares(counts_of_phase(selections, c.phase), a.count, c.grouping), c.topics.length);
    return { matrix, order: order_by_similarity(matrix) };
  }, [selections, c]);
  if (!made) return <Missing>Reading the counts …</Missing>;
  const near = made.order.filter((t) => t !== topic).sort((x, y) => made.matrix[topic][y] - made.matrix[topic][x]);
  return (
    <Figure title="Nearest topics" name="topic-similarity" interactive height={matrix_height(c.topics, 480)}
      draw={(width) => <MatrixChart alike say={(r, k, v) => `${c.topics[r]} and ${c.topics[k]}: ${v}`} names={c.topics} order={made.order} width={Math.min(width, 480)} value={(r, k) => made.matrix[r][k]} text={(v) => v.toFixed(1).replace("-0.0", "0.0")} shade={(v) => Math.max(0, v) * 0.9} chosen={[topic, topic]} choose={(r) => set({ topic: c.topics[r] })} />}
      text={`Similarity of topics' routing. Nearest to this one: ${near.slice(0, 3).map((t) => c.topics[t]).join(", ")}.`}
      note="Cosine of the topics' mean shares, each less the mean of all topics; like stands beside like. 1: the same departures from the mean; 0 or less: nothing in common." />
  );
}

function PromptsOfTopic({ topic }: { topic: number }) {
  const a = atlas.value, c = columns.value, evidence = phase_evidence.value, test = evidence?.held_out?.cosine;
  const left_out = new Set(evidence?.probes_left_out ?? []);
  const used = a.file.source.probes.map((_, p) => p).filter((p) => !left_out.has(p));
  const trials = new Map((own_axis.value ? test?.trials_by_prompt ?? [] : []).map((trial) => [used[trial.run], trial]));
  const texts = a.file.source.probe_set.texts;
  const probes = a.file.source.probes.map((_, p) => p).filter((p) => c.grouping.of_probe[p] === topic);
  return (
    <div class="figure">
      <div class="figure-title">Its prompts</div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Prompts of the topic">
        <ol class="prompts">{probes.map((p) => {
          const trial = trials.get(p);
          return (
            <li key={p}>
              <span class={`result ${trial ? (trial.predicted === topic ? "hit" : "miss") : ""}`}>{trial ? (trial.predicted === topic ? "recognised" : <>taken for <Foreign>{a.topics[trial.predicted]}</Foreign></>) : left_out.has(p) ? "no rows in this phase" : "no held-out result"}</span>
              <span class="prompt-id"><Foreign>{a.file.source.probes[p].id}</Foreign></span>
              <p dir="auto">{texts?.[p]?.prompt ?? <i>text left out of this atlas</i>}</p>
            </li>
          );
        })}</ol>
      </div>
      <p class="note">Held-out result in {phase.value === "all" ? "all rows" : `the phase “${phase.value}”`}: the prompt was no part of its topic's model.</p>
    </div>
  );
}
