// Where the atlas comes from, what it lacks, and what each method does, in a sentence each.
import { atlas } from "./page";
import { Foreign } from "./parts";

const methods: [string, string][] = [
  ["Share", "An expert's selections divided by all selections of that prompt, so that a long prompt counts no more than a short one."],
  ["Affinity", "The mean share in each topic, normalised over topics: it adds up to 1 for every expert."],
  ["Specialisation", "1 less the entropy of the affinities over its greatest value: 0 where all topics are alike, 1 where one topic has all. Rarely chosen experts score high by chance, which is why floors, q-values and shuffled topics stand beside it."],
  ["Held-out test", "Prompts are kept from the topics' models in balanced folds, their topic is predicted from routing, and the whole test is repeated with the prompts' topics shuffled."],
  ["p-value", "The share of shuffles that do at least as well as what was observed, the observed one included; it can be no smaller than one over the number of shuffles."],
  ["q-value", "The share of false discoveries to expect among all experts that are at least as clear (Benjamini and Hochberg)."],
  ["Stability", "Prompts are drawn again with replacement within each topic; the share of draws in which the expert's top topic stays."],
  ["Floors", "Sparse experts have too few selections in all; unreplicated ones were chosen by too few prompts of their top topic. Both are shown, paler."],
  ["Controls", "The same test given only how many selections a prompt has, or only how often each token occurs in it: what they reach, topics owe to length or vocabulary. Routing beyond tokens subtracts what each token usually does."],
  ["Cause", "None of this is causal. Only switching an expert off and measuring the loss could show what it does."],
];

function Rows({ value }: { value: Record<string, unknown> }) {
  const entries = Object.entries(value).filter(([, v]) => v !== "" && v !== undefined);
  if (!entries.length) return <p class="missing">Not recorded.</p>;
  return <dl class="rows">{entries.map(([key, v]) => <div key={key}><dt>{key.replace(/_/g, " ")}</dt><dd><Foreign>{typeof v === "object" ? JSON.stringify(v) : String(v)}</Foreign></dd></div>)}</dl>;
}

export function AboutView() {
  const { source, made_by, reference, evidence_options } = atlas.value.file;
  const { texts, provenance, ...probe_set } = source.probe_set;
  const tokens = source.probes.reduce((sum, probe) => sum + probe.row_end - probe.row_begin, 0);
  return (
    <>
      <h2 class="section">Provenance</h2>
      <div class="grid">
        <section class="figure"><h3>Model</h3><Rows value={{ ...source.model, layers: ranges(source.layers), experts_a_layer: source.expert_count, experts_a_token: source.expert_top_k }} /></section>
        <section class="figure"><h3>Engine</h3><Rows value={{ ...source.engine, router_weights: source.weights, order_of_experts: source.order }} /><h3>Settings</h3><Rows value={source.settings} /></section>
        <section class="figure"><h3>Probe set</h3><Rows value={{ ...probe_set, ...provenance, prompts: source.probes.length, rows: tokens, texts: texts ? "in this file" : "left out" }} /></section>
        <section class="figure"><h3>Atlas</h3><Rows value={{ ...made_by, ...reference.options, top_k: reference.validation.top_k, ...evidence_options }} /><p class="note">Made by <code>expert-atlas build TRACE --out atlas.json</code>, drawn by <code>expert-atlas page atlas.json --out atlas.html</code>. Nothing in this page is fetched or sent.</p></section>
      </div>
      <h2 class="section">Missing data</h2>
      {source.missing.length === 0 ? <p>None: every prompt has rows in every layer.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Missing data"><table><thead><tr><th scope="col">Prompt</th><th scope="col">Layer</th><th scope="col">Rows</th><th scope="col">Reason</th></tr></thead>
          <tbody>{source.missing.map((gap, i) => <tr key={i}><td><Foreign>{source.probes[gap.probe]?.id ?? String(gap.probe)}</Foreign></td><td>{gap.layer ?? "all"}</td><td>{gap.rows || "all"}</td><td><Foreign>{gap.reason}</Foreign></td></tr>)}</tbody></table></div>
      )}
      <h2 class="section">Methods</h2>
      <dl class="methods">{methods.map(([name, text]) => <div key={name}><dt>{name}</dt><dd>{text}</dd></div>)}</dl>
    </>
  );
}

// 3, 4, 5, 9 as "3–5, 9"
export function ranges(values: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < values.length; i++) {
    const from = i;
    while (i + 1 < values.length && values[i + 1] === values[i] + 1) i++;
    parts.push(from === i ? `${values[i]}` : `${values[from]}–${values[i]}`);
  }
  return parts.join(", ");
}
