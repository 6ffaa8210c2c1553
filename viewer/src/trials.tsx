// Held-out prompts: the confusion matrix, and the prompts behind each of its cells.
import type { HeldOutTrial } from "./atlas";
import { MatrixChart, fit, matrix_height } from "./charts";
import { scaleLinear } from "d3-scale";
import { atlas, phase, phase_evidence } from "./page";
import { Choice, Figure, Foreign, Missing, percent } from "./parts";
import { set, state } from "./state";

interface Trial { probe: number; topic: number; predicted: number; hit_rate: number; margin: number; scores: number[] }
interface Result { trials: Trial[]; confusion: number[][]; how: string }

const test_options = [["cosine", "whole routing profile"], ["set", "each topic's top experts"], ["reference", "the reference's leave-one-out"]] as const;

// The chosen test's trials, or the reason why there are none.
function result_of(test: string): Result | string {
  const { file, topics } = atlas.value, evidence = phase_evidence.value;
  const index = new Map(topics.map((topic, t) => [topic, t]));
  if (test === "reference") {
    const ids = new Map(file.source.probes.map((probe, p) => [probe.id, p]));
    const trials = file.reference.validation.trials.map((trial) => ({
      probe: ids.get(`${trial.topic}:${trial.ordinal}`) ?? nth_of_topic(trial.topic, trial.ordinal), topic: index.get(trial.topic) ?? 0, predicted: index.get(trial.predicted) ?? 0,
      hit_rate: trial.topic === trial.predicted ? 1 : 0, margin: trial.own_share - trial.best_other_share, scores: trial.scores,
    }));
    const confusion = topics.map(() => topics.map(() => 0));
    for (const trial of trials) confusion[trial.topic][trial.predicted]++;
    return { trials, confusion, how: "One prompt left out at a time, all rows; its rivals keep all their prompts, so chance is below 1 / topics." };
  }
  if (!evidence) return "This atlas holds no evidence for this phase.";
  const held_out = evidence.held_out?.[test as "cosine" | "set"], reason = evidence.not_computed ?? held_out?.not_computed;
  if (reason || !held_out?.trials_by_prompt || !held_out.confusion) return `Not computed: ${reason ?? "not in this atlas"}.`;
  const left_out = new Set(evidence.probes_left_out ?? []), used = file.source.probes.map((_, p) => p).filter((p) => !left_out.has(p));
  const trials = held_out.trials_by_prompt.map((trial: HeldOutTrial) => ({ ...trial, probe: used[trial.run], topic: index.get(file.source.probes[used[trial.run]]?.topic) ?? 0 }));
  return { trials, confusion: held_out.confusion, how: "Balanced folds, drawn several times; a cell is the number of prompts, averaged over draws." };
}

function nth_of_topic(topic: string, ordinal: number): number {
  let seen = 0;
  return atlas.value.file.source.probes.findIndex((probe) => probe.topic === topic && seen++ === ordinal);
}

export function TrialsView() {
  const topics = atlas.value.topics, result = result_of(state.value.test);
  const [r, c] = state.value.cell.split(">").map((name) => topics.indexOf(name));
  const picked: [number, number] | undefined = r >= 0 && c >= 0 ? [r, c] : undefined;
  return (
    <>
      <h2 class="section">Held-out prompts</h2>
      <div class="controls"><Choice label="Test" value={state.value.test as (typeof test_options)[number][0]} options={test_options} onChoose={(test) => set({ test })} /></div>
      {typeof result === "string" ? <Missing>{result}</Missing> : (
        <>
          <div class="pair trials">
            <Figure title="Confusion matrix" name="confusion" interactive height={matrix_height(topics, 560, true)} note={`${result.how} Press a cell to see its prompts.`}
              text={"Confusion matrix. " + topics.map((topic, t) => `${topic}: ${round(result.confusion[t][t])} of ${round(sum(result.confusion[t]))} right`).join("; ")}
              draw={(width) => <MatrixChart say={(a, b, v) => `${topics[a]}, predicted ${topics[b]}: ${v}`} names={topics} order={topics.map((_, t) => t)} width={Math.min(width, 560)} value={(a, b) => result.confusion[a][b]} text={round} rows_label="true topic" columns_label="predicted"
                shade={(v) => Math.sqrt(v / Math.max(1, ...result.confusion.map(sum)))} chosen={picked} choose={(a, b) => set({ cell: picked?.[0] === a && picked[1] === b ? "" : `${topics[a]}>${topics[b]}` })} />} />
            <Prompts result={result} picked={picked} />
          </div>
          <Margins result={result} />
        </>
      )}
    </>
  );
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
const round = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1));

// A test draws folds several times: a prompt belongs to a cell by what was predicted most often.
function Prompts({ result, picked }: { result: Result; picked?: [number, number] }) {
  const { file, topics } = atlas.value, texts = file.source.probe_set.texts;
  const shown = result.trials.filter((trial) => (picked ? trial.topic === picked[0] && trial.predicted === picked[1] : trial.topic !== trial.predicted));
  return (
    <div class="figure">
      <div class="figure-title">{picked ? <><Foreign>{topics[picked[0]]}</Foreign>, predicted <Foreign>{topics[picked[1]]}</Foreign></> : "Prompts taken for another topic"}</div>
      {shown.length === 0 && <Missing>{picked ? "No prompt is in this cell most of the time." : "None: every prompt's topic was predicted."}</Missing>}
      <div class="scroll" tabIndex={0} role="region" aria-label="Prompts of the cell">
        <ol class="prompts">{shown.map((trial) => (
          <li key={trial.probe}>
            <span class={`result ${trial.topic === trial.predicted ? "hit" : "miss"}`}>{trial.topic === trial.predicted ? "recognised" : <>taken for <Foreign>{topics[trial.predicted]}</Foreign></>}</span>
            <span class="prompt-id"><Foreign>{file.source.probes[trial.probe]?.id ?? "?"}</Foreign> · right in {percent(trial.hit_rate, 0)} · margin {trial.margin.toFixed(3)}</span>
            <p dir="auto">{texts?.[trial.probe]?.prompt ?? <i>text left out of this atlas</i>}</p>
          </li>
        ))}</ol>
      </div>
    </div>
  );
}

function Margins({ result }: { result: Result }) {
  const topics = atlas.value.topics, most = Math.max(1e-9, ...result.trials.map((trial) => Math.abs(trial.margin)));
  const row = 22, height = topics.length * row + 30;
  return (
    <Figure title="Margins" name="margins" height={height} text={`Margin of every prompt in ${phase.value}: ${result.trials.filter((trial) => trial.margin > 0).length} of ${result.trials.length} above zero.`}
      note="One dot a prompt: the score of its own topic less the best other. Right of the line it is recognised."
      draw={(width) => {
        const left = Math.min(130, width * 0.3), x = scaleLinear([-most, most], [left + 6, width - 12]).nice();
        return (
          <>
            {topics.map((topic, t) => <g key={topic}><text x={left - 6} y={t * row + row / 2} dy="0.32em" text-anchor="end">{fit(topic, left)}</text><line class="grid" x1={left} x2={width - 8} y1={t * row + row / 2} y2={t * row + row / 2} /></g>)}
            <line class="null-edge" x1={x(0)} x2={x(0)} y1={2} y2={topics.length * row} />
            {result.trials.map((trial) => <circle key={trial.probe} class={trial.margin > 0 ? "hit-dot" : "miss-dot"} cx={x(trial.margin)} cy={trial.topic * row + row / 2} r="4.5"><title>{`${atlas.value.file.source.probes[trial.probe]?.id}: ${trial.margin.toFixed(4)}`}</title></circle>)}
            <g class="axis">{x.ticks(Math.max(3, Math.round(width / 110))).map((tick) => <text key={tick} x={x(tick)} y={height - 10} text-anchor="middle">{x.tickFormat()(tick)}</text>)}</g>
          </>
        );
      }} />
  );
}
