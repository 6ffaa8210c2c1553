// By layer: how far experts specialise, what routing tells about topics, how evenly experts are used.
import type { LayerEvidence } from "./atlas";
import { DepthChart, type Curve } from "./charts";
import { atlas, columns, mask, phase, phase_evidence } from "./page";
import { Figure, Missing, percent } from "./parts";

// A layer's numbers from the columns, for atlases without layer evidence: only what needs no null.
function from_columns(): LayerEvidence[] {
  const a = atlas.value, c = columns.value;
  return a.layers.map((layer) => {
    const totals: number[] = [];
    let weighted = 0, kept = 0;
    for (let e = 0; e < a.count; e++) {
      if (a.layer[e] !== layer) continue;
      totals.push(c.total[e]);
      if (a.status[e] === 0 && !Number.isNaN(c.specialisation[e])) { weighted += c.specialisation[e]; kept++; }
    }
    const sum = totals.reduce((x, y) => x + y, 0), known = Math.max(a.file.source.expert_count, totals.length);
    const entropy = totals.reduce((h, n) => (n > 0 ? h - (n / sum) * Math.log(n / sum) : h), 0);
    return { layer, specialisation: kept ? weighted / kept : undefined, load_max_over_mean: (Math.max(...totals) * known) / sum, effective_experts: Math.exp(entropy), dead_experts: known - totals.filter((n) => n > 0).length };
  });
}

interface Chart { key: keyof LayerEvidence; null_key?: keyof LayerEvidence; more?: keyof LayerEvidence; title: string; note: string; format: (v: number) => string; may_be_negative?: boolean }
const charts: Chart[] = [
  { key: "specialisation", null_key: "specialisation_null", title: "Specialisation", note: "Mean over the layer's experts. Grey: with topics shuffled.", format: (v) => v.toFixed(2) },
  { key: "mutual_information", null_key: "mutual_information_null", more: "conditional_information", title: "Mutual information of expert and topic", note: "In bits. Grey: with topics shuffled. Dashed: what is left when the token is known.", format: (v) => v.toFixed(3), may_be_negative: true },
  { key: "accuracy", title: "Held-out accuracy of this layer alone", note: "Prompts whose topic is predicted from one layer's routing.", format: (v) => percent(v, 0) },
  { key: "load_max_over_mean", title: "Busiest expert over the mean", note: "1: all experts used alike.", format: (v) => v.toFixed(1) },
  { key: "effective_experts", title: "Effective number of experts", note: "The exponential of the entropy of use: as many experts, used evenly, would spread the load as widely.", format: (v) => v.toFixed(0) },
  { key: "dead_experts", title: "Experts never chosen", note: "Not chosen by any prompt in this phase. Few prompts leave many experts unseen that other prompts would use.", format: (v) => v.toFixed(0) },
];

export function DepthView() {
  const given = phase_evidence.value?.layers, layers = given ?? from_columns(), names = layers.map((l) => l.layer);
  const column = (key: keyof LayerEvidence, negative: boolean) => layers.map((l) => { const v = l[key] as number | undefined; return v === undefined || v === null || (v < 0 && !negative) ? undefined : v; });
  return (
    <>
      <h2 class="section">By layer</h2>
      {!given && <p class="note">This atlas has no tests by layer; these curves are counted in the page and have no null.</p>}
      {phase_evidence.value?.layers_left_out?.length ? <p class="note">Left out, because they lack rows of some prompt: layers {phase_evidence.value.layers_left_out.join(", ")}.</p> : null}
      <Shown />
      <div class="grid">
        {charts.map((chart) => {
          const own = column(chart.key, chart.may_be_negative ?? false);
          if (own.every((v) => v === undefined)) return <div key={chart.key} class="figure"><div class="figure-title">{chart.title}</div><Missing>Not computed in this atlas.</Missing></div>;
          const curves: Curve[] = [];
          if (chart.null_key) curves.push({ name: "shuffled", className: "quiet-curve", values: column(chart.null_key, true) });
          if (chart.more) curves.push({ name: "given the token", className: "dashed-curve", values: column(chart.more, true) });
          curves.push({ name: chart.title, className: "main-curve", values: own });
          const known = own.filter((v): v is number => v !== undefined), greatest = own.indexOf(Math.max(...known));
          return <Figure key={chart.key} title={chart.title} name={`depth-${chart.key}`} height={210} note={chart.note} text={`${chart.title} by layer, phase ${phase.value}: from ${chart.format(Math.min(...known))} to ${chart.format(Math.max(...known))}, greatest in layer ${names[greatest]}.`}
            draw={(width) => <DepthChart layers={names} curves={curves} width={width} height={210} format={chart.format} />} />;
        })}
      </div>
    </>
  );
}

// What the filters let through, by layer: the one curve that follows them.
function Shown() {
  const a = atlas.value, rows = new Map(a.layers.map((layer, i) => [layer, i])), counts = a.layers.map(() => 0), seen = a.layers.map(() => 0);
  mask.value.forEach((ok, e) => { const row = rows.get(a.layer[e])!; seen[row]++; counts[row] += ok; });
  if (counts.every((count, i) => count === seen[i])) return null;
  return <Figure title="Experts within the filters" name="depth-filtered" height={180} text={`Experts within the filters by layer: from ${Math.min(...counts)} to ${Math.max(...counts)}.`}
    draw={(width) => <DepthChart layers={a.layers} width={width} height={180} format={(v) => v.toFixed(0)} curves={[{ name: "shown", className: "main-curve", values: counts }]} />} />;
}
