// The first view: do topics separate on prompts that were kept aside, against what shuffled topics give?
import { useEffect, useState } from "preact/hooks";
import type { HeldOut, PhaseEvidence } from "./atlas";
import { AccuracyChart, NullChart, type AccuracyRow } from "./charts";
import { MapView } from "./map";
import { atlas, axis, columns, own_axis, phase_evidence } from "./page";
import { Figure, Missing, percent, whole } from "./parts";
import { decode, type Numbers } from "./read";
import { set } from "./state";

// An array of the file, unpacked when a view first shows it.
export function useNumbers(array: Parameters<typeof decode>[0], what: string): Numbers | undefined {
  const [numbers, set_numbers] = useState<Numbers>();
  useEffect(() => {
    let wanted = true;
    set_numbers(undefined);
    if (array) decode(array, what).then((made) => wanted && set_numbers(made), () => undefined);
    return () => { wanted = false; };
  }, [array]);
  return numbers;
}

const separates = (test?: HeldOut) => test?.p_value !== undefined && test.p_value <= 0.05;

function headline(evidence: PhaseEvidence | undefined): [string, string] {
  const test = evidence?.held_out?.cosine;
  if (!evidence) return ["Not tested", "This atlas holds no evidence for this phase: it was built by an older version, or from sources that cannot give it."];
  if (evidence.not_computed) return ["Not tested", `Not computed: ${evidence.not_computed}.`];
  if (!test || test.not_computed) return ["Not tested", `Not computed: ${test?.not_computed ?? "no held-out test in this atlas"}.`];
  if (test.p_value === undefined) return ["No verdict", "The atlas was built without permutations, so nothing says what chance would give."];
  if (separates(test)) return ["Topics separate", "on prompts that the topic models never saw."];
  return ["No evidence that topics separate", "on prompts that the topic models never saw."];
}

export function VerdictView() {
  const evidence = phase_evidence.value, test = evidence?.held_out?.cosine, [head, rest] = headline(evidence);
  const nulls = useNumbers(test?.null_accuracies, "the accuracies under shuffled topics");
  return (
    <>
      <section class={`verdict ${separates(test) ? "yes" : "no"}`} aria-label="Verdict">
        <div class="verdict-words">
          <h2>{head}</h2>
          <p class="lead">{rest}</p>
          {test?.accuracy !== undefined && <Sentence test={test} />}
          <Doubts />
          {!own_axis.value && <Missing>The tests were made for the atlas's own topics, not for “{axis.value}”.</Missing>}
          <p class="caution">What it does not show: that these experts know a topic, or that switching them off would hurt it. Topics can also separate by language, format or length of their prompts; the control on length stands beside it, and only prompts that differ in topic alone could tell the rest apart.</p>
        </div>
        <div class="verdict-chart">
          {test?.accuracy !== undefined && (nulls || test.null_accuracies === undefined) ? (
            <Figure title="Against shuffled topics" name="null" height={220} draw={(width) => <NullChart test={test} nulls={nulls ?? []} width={width} height={220} />}
              text={`Histogram of ${nulls?.length ?? 0} accuracies with shuffled topics, mean ${percent(test.null_mean)}, 95 percent point ${percent(test.null_quantile_95)}; observed ${percent(test.accuracy)}.`}
              note={nulls ? `Grey: the same test with the prompts' topics shuffled ${whole(nulls.length)} times. Dashed: 95 % of them lie to the left. Green band: 95 % interval of what was observed.` : undefined} />
          ) : <Missing>No null distribution in this atlas.</Missing>}
        </div>
      </section>
      <Numbers />
      <PhaseChart />
      <Agreement />
      <h2 class="section">The experts</h2>
      {columns.value.note && <p class="note">{columns.value.note}</p>}
      <MapView tall={false} />
    </>
  );
}

function Sentence({ test }: { test: HeldOut }) {
  const hits = test.hits ?? 0;
  return (
    <p class="sentence">
      The topic of <b>{Number.isInteger(hits) ? hits : hits.toFixed(1)} of {test.trials} prompts</b> ({percent(test.accuracy)}, 95 % interval {percent(test.interval_95?.[0], 0)} to {percent(test.interval_95?.[1], 0)}) is
      predicted from their routing alone{test.null_mean !== undefined && <>; with topics shuffled it is <b>{percent(test.null_mean)}</b></>}
      {test.p_value !== undefined && <>, <b>p = {test.p_value < 0.001 ? test.p_value.toExponential(1) : test.p_value.toFixed(3)}</b>{test.p_value === test.smallest_p_value && " (the smallest that this many shuffles can show)"}</>}.
    </p>
  );
}

function Numbers() {
  const { reference, source } = atlas.value.file, c = columns.value, evidence = phase_evidence.value?.experts;
  const facts: [string, string, string][] = [
    [whole(source.probes.length), "prompts", `${atlas.value.topics.length} topics`],
    [whole(atlas.value.count), "experts seen", `${atlas.value.layers.length} ${atlas.value.layers.length === 1 ? "layer" : "layers"}, ${source.expert_top_k} of ${source.expert_count} a token`],
    [whole(reference.summary.experts_kept), "above the floors", `${whole(reference.summary.dropped_sparse ?? 0)} sparse, ${whole(reference.summary.dropped_unreplicated ?? 0)} unreplicated`],
  ];
  if (evidence?.specialist_count !== undefined)
    facts.push([whole(evidence.specialist_count), "specialists", `with shuffled topics: ${evidence.specialist_count_null?.toFixed(1) ?? "not computed"}`]);
  else facts.push([whole(reference.summary.strong_specialists ?? 0), "with specialisation ≥ " + reference.options.strong_threshold, "no null computed: a count, not evidence"]);
  return (
    <ul class="facts" aria-label="Numbers of this atlas">
      {facts.map(([value, name, more]) => <li key={name}><b>{value}</b> <span>{name}</span><small>{more}</small></li>)}
      {c.specialist === undefined && evidence?.not_computed && <li><small>Per-expert tests: {evidence.not_computed}</small></li>}
    </ul>
  );
}

// A control that predicts topics without looking at experts takes weight off the verdict: said where the verdict stands.
function Doubts() {
  const controls = phase_evidence.value?.controls, said: string[] = [];
  for (const [key, what] of [["length_only", "the number of its tokens"], ["token_counts", "which tokens it has"]] as const) {
    const test = controls?.[key]?.held_out;
    if (separates(test)) said.push(`${what} alone: ${percent(test!.accuracy, 0)}`);
  }
  return said.length ? <p class="warning">A prompt's topic can also be told without any expert, by {said.join("; by ")}. Compare before crediting the experts.</p> : null;
}

const control_names: [string, string][] = [["length_only", "length only"], ["token_counts", "tokens only"], ["token_matched", "routing beyond tokens"]];

function PhaseChart() {
  const rows: AccuracyRow[] = [];
  const add = (name: string, test: HeldOut | undefined, not_computed: string | undefined) => {
    const reason = not_computed ?? test?.not_computed;
    if (test || reason) rows.push({ name, test: reason ? undefined : test, reason });
  };
  for (const [phase_name, evidence] of Object.entries(atlas.value.file.evidence ?? {})) {
    const name = phase_name === "all" ? "all rows" : phase_name;
    add(`${name}: profile`, evidence.held_out?.cosine, evidence.not_computed);
    if (evidence.not_computed) continue;
    add(`${name}: top sets`, evidence.held_out?.set, undefined);
    for (const [key, title] of control_names) add(`${name}: ${title}`, evidence.controls?.[key]?.held_out, evidence.controls?.[key]?.not_computed);
  }
  if (!rows.length) return <Missing>No held-out tests in this atlas.</Missing>;
  return (
    <Figure title="Phases and controls beside one another" name="phases" height={rows.length * 26 + 40} draw={(width) => <AccuracyChart rows={rows} width={width} />}
      text={rows.map((row) => `${row.name}: ${row.test?.accuracy === undefined ? row.reason ?? "not computed" : `${percent(row.test.accuracy)}, shuffled ${percent(row.test.null_mean)}`}`).join("; ")}
      note={<>Dot: prompts predicted; line: 95 % interval; grey: shuffled topics, up to their 95 % point; dashed: chance. <b>Controls</b>: length only and tokens only look at no expert at all; where they do as well as the profile, routing tells nothing that the text does not. Routing beyond tokens takes off what each token usually does.{" "}
        <button type="button" class="link" onClick={() => set({ view: "trials" })}>See each prompt</button></>} />
  );
}

// How far affinities agree with themselves, with router weights, between phases.
function Agreement() {
  const controls = phase_evidence.value?.controls, between = atlas.value.file.prompt_against_answer;
  const halves = controls?.split_half, weight = controls?.router_weight, matched = controls?.token_matched;
  const rows: [string, string, string][] = [];
  const say = (name: string, part: { not_computed?: string } | undefined, value: () => string, more: string) => part && rows.push([name, part.not_computed ? "–" : value(), part.not_computed ? `not computed: ${part.not_computed}` : more]);
  say("halves of the prompts", halves, () => halves!.corrected?.toFixed(2) ?? "–", "reliability of affinities (Spearman and Brown): 1 is perfect, 0 is noise");
  say("router weight against count", weight, () => weight!.correlation?.toFixed(2) ?? "–", `correlation of affinities; ${whole(weight?.differing_top_topic ?? 0)} of ${whole(weight?.experts ?? 0)} experts have another top topic`);
  say("prompt against answer", between, () => between!.correlation?.toFixed(2) ?? "–", `correlation of affinities; ${whole(between?.differing_top_topic ?? 0)} of ${whole(between?.experts ?? 0)} experts have another top topic${between?.disattenuated_correlation === undefined ? "" : `; ${between.disattenuated_correlation.toFixed(2)} once noise is taken off`}`);
  if (matched?.coverage) rows.push(["rows with a shared token", percent(matched.coverage.share, 0), "rows on which routing beyond tokens stands"]);
  if (!rows.length) return null;
  return <ul class="facts" aria-label="Agreement of affinities">{rows.map(([name, value, more]) => <li key={name}><b>{value}</b> <span>{name}</span><small>{more}</small></li>)}</ul>;
}
