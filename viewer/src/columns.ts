// What is known of every expert in one phase and along one axis of labels: from the atlas's per-expert tests where it has them, else from
// the reference's columns or from counts. Made by columns_for(); read by the map, the table, the cards and the filters.
import type { ExpertEvidence } from "./atlas";
import { decode, type Atlas, type Numbers } from "./read";
import { affinity_of, atlas_axis, grouping_by, mean_shares, phase_counts, specialisation_of, type Grouping } from "./shares";

// S entries each; NaN: not computed for this expert. A column that is absent was computed for none.
export interface Columns {
  phase: string;
  grouping: Grouping;
  topics: string[]; // the groups' names
  note: string; // what the numbers are, where they are not the tested ones
  tested: boolean; // q-values and the specialist rule are here
  top_topic: Int32Array; // [S], -1: not chosen in this phase
  total: ArrayLike<number>; // [S], selections in this phase
  specialisation: Float64Array;
  lift: Float64Array;
  affinity: Float64Array; // [S, C]
  q?: Float64Array;
  p?: Float64Array;
  eta_squared?: Float64Array;
  stability?: Float64Array;
  above_null?: Float64Array;
  token_matched?: Float64Array;
  unmatched?: Float64Array;
  specialist?: Float64Array; // 0 or 1
  specialisation_interval?: Float64Array; // [S, 2]
  lift_interval?: Float64Array; // [S, 2]
  router_weight_affinity?: Float64Array; // [S, C]
}

function top_of(affinity: Float64Array, count: number, width: number): Int32Array {
  return Int32Array.from({ length: count }, (_, e) => {
    let best = -1;
    for (let c = 0; c < width; c++) {
      const value = affinity[e * width + c];
      if (!Number.isNaN(value) && (best < 0 || value > affinity[e * width + best])) best = c;
    }
    return best;
  });
}

function from_affinity(affinity: Float64Array, count: number, width: number) {
  const top_topic = top_of(affinity, count, width);
  const row = (e: number) => affinity.subarray(e * width, (e + 1) * width);
  const specialisation = Float64Array.from(top_topic, (c, e) => (c < 0 ? NaN : specialisation_of(row(e))));
  const lift = Float64Array.from(top_topic, (c, e) => (c < 0 ? NaN : affinity[e * width + c] * width));
  return { affinity, top_topic, specialisation, lift };
}

async function columns_from_counts(atlas: Atlas, phase: string, grouping: Grouping): Promise<Columns> {
  const counts = phase_counts(atlas, await atlas.selections(), phase);
  const shares = mean_shares(counts, atlas.count, grouping);
  const total = new Float64Array(atlas.count);
  for (let i = 0; i < counts.length; i++) total[i % atlas.count] += counts[i];
  const own = grouping.axis === atlas_axis(atlas);
  const note = `Affinities here are computed in the page from counts (${phase} rows, grouped by ${grouping.axis}). `
    + (own ? "This atlas has no per-expert tests for this phase." : "The atlas's tests were made for another axis; none are shown.");
  return { phase, grouping, topics: grouping.names, note, tested: false, total, ...from_affinity(affinity_of(shares, grouping.names.length), atlas.count, grouping.names.length) };
}

function columns_from_reference(atlas: Atlas, grouping: Grouping): Columns {
  return {
    phase: "all", grouping, topics: atlas.topics, tested: false,
    note: "This atlas has no per-expert tests (q-values, intervals, the specialist rule); affinities are the reference's, over all rows.",
    top_topic: Int32Array.from(atlas.top_topic), total: atlas.total, specialisation: Float64Array.from(atlas.specialisation),
    lift: Float64Array.from(atlas.top_lift), affinity: Float64Array.from(atlas.affinity),
  };
}

// What stands for a value that was not computed: below every value that exists (src/atlas/evidence_json.cpp).
const no_value = -2;

// Spreads a column over the F tested experts to all S.
function spread(values: Numbers, expert: Numbers, count: number, width: number): Float64Array {
  const all = new Float64Array(count * width).fill(NaN);
  for (let f = 0; f < expert.length; f++)
    for (let w = 0; w < width; w++) {
      const value = values[f * width + w];
      all[expert[f] * width + w] = value === no_value ? NaN : value;
    }
  return all;
}

async function with_evidence(atlas: Atlas, base: Columns, evidence: ExpertEvidence): Promise<Columns> {
  const F = evidence.count ?? 0, C = atlas.topics.length, S = atlas.count;
  const expert = await decode(evidence.expert, "the tested experts", F);
  const column = async (name: keyof ExpertEvidence, width = 1) => {
    const array = evidence[name] as Parameters<typeof decode>[0];
    return array ? spread(await decode(array, `the experts' ${String(name)}`, F * width), expert, S, width) : undefined;
  };
  const [q, p, eta_squared, stability, above_null, token_matched, specialist, specialisation_interval, lift_interval, router_weight_affinity, affinity, specialisation, lift, top, unmatched] =
    await Promise.all([column("q_value"), column("p_value"), column("eta_squared"), column("top_topic_stability"),
      column("specialisation_above_null"), column("token_matched"), column("specialist"), column("specialisation_interval_95", 2),
      column("lift_interval_95", 2), column("router_weight_affinity", C), column("affinity", C), column("specialisation"), column("lift"), column("top_topic"), column("unmatched")]);
  const reasons = [evidence.p_values_not_computed && `No p- and q-values: ${evidence.p_values_not_computed}.`, evidence.intervals_not_computed && `No intervals: ${evidence.intervals_not_computed}.`, evidence.profiles_not_computed && `No null profiles: ${evidence.profiles_not_computed}.`];
  const some = (values: Float64Array | undefined) => (values?.some((value) => !Number.isNaN(value)) ? values : undefined);
  const columns: Columns = { ...base, note: reasons.filter(Boolean).join(" "), tested: true, q: some(q), p: some(p), eta_squared: some(eta_squared), stability: some(stability), above_null: some(above_null), token_matched: some(token_matched), unmatched: some(unmatched), specialist, specialisation_interval: some(specialisation_interval), lift_interval: some(lift_interval), router_weight_affinity };
  const or = (first: Float64Array | undefined, second: Float64Array) => first?.map((value, i) => (Number.isNaN(value) ? second[i] : value)) ?? second;
  if (affinity) columns.affinity = or(affinity, base.affinity);
  if (specialisation) columns.specialisation = or(specialisation, base.specialisation);
  if (lift) columns.lift = or(lift, base.lift);
  if (top) columns.top_topic = Int32Array.from(top, (value, e) => (Number.isNaN(value) ? base.top_topic[e] : value));
  return columns;
}

// Worked out once for each phase and axis.
const made = new WeakMap<Atlas, Map<string, Promise<Columns>>>();
export function columns_for(atlas: Atlas, phase: string, axis: string): Promise<Columns> {
  const known = made.get(atlas) ?? new Map<string, Promise<Columns>>();
  made.set(atlas, known);
  const key = JSON.stringify([phase, axis]);
  if (!known.has(key)) known.set(key, make_columns(atlas, phase, axis));
  return known.get(key)!;
}

async function make_columns(atlas: Atlas, phase: string, axis: string): Promise<Columns> {
  const grouping = grouping_by(atlas, axis);
  const own = axis === atlas_axis(atlas);
  const base = phase === "all" && own ? columns_from_reference(atlas, grouping) : await columns_from_counts(atlas, phase, grouping);
  const evidence = atlas.file.evidence?.[phase]?.experts;
  if (!own || !evidence) return base;
  if (evidence.not_computed) return { ...base, note: `Per-expert tests were not computed: ${evidence.not_computed}. ${base.note}` };
  return with_evidence(atlas, base, evidence);
}

export const phase_names = (atlas: Atlas): string[] => {
  const tested = Object.keys(atlas.file.evidence ?? {});
  return ["all", ...new Set([...tested, ...atlas.file.counts.phases])].filter((name, i, all) => all.indexOf(name) === i);
};
