// Shares and affinities from counts, for the views that the atlas holds no columns for: one expert's prompts, a phase without evidence,
// another axis of labels. The formulas are those of docs/statistics.md; the tests compare them with the columns that C++ wrote.
import type { Atlas, Numbers } from "./read";

// The probes, put into groups by one axis of labels. A probe without a label on it belongs to none (-1).
export interface Grouping {
  axis: string;
  names: string[]; // code-unit order
  of_probe: Int32Array; // [P]
}

export function grouping_by(atlas: Atlas, axis: string): Grouping {
  const probes = atlas.file.source.probes;
  const own = axis === atlas_axis(atlas);
  const label = (p: number) => (own ? probes[p].topic : probes[p].labels[axis]);
  const names = own ? atlas.topics : [...new Set(probes.map((_, p) => label(p)).filter((name) => name !== undefined))].sort();
  return { axis, names, of_probe: Int32Array.from(probes, (_, p) => names.indexOf(label(p))) };
}

export const atlas_axis = (atlas: Atlas) => atlas.file.source.probe_set.topic_axis ?? "topic";

export function axes_of(atlas: Atlas): string[] {
  const found = new Set([atlas_axis(atlas)]);
  for (const probe of atlas.file.source.probes) for (const axis of Object.keys(probe.labels)) found.add(axis);
  return [...found];
}

// Selections of every expert by each probe in one phase; "all" adds the phases up. [P, S]
export function phase_counts(atlas: Atlas, selections: Numbers, phase: string): Float64Array {
  const phases: string[] = atlas.file.counts.phases;
  const probes = atlas.file.source.probes.length, S = atlas.count;
  const counts = new Float64Array(probes * S);
  for (let p = 0; p < probes; p++)
    for (let f = 0; f < phases.length; f++) {
      if (phase !== "all" && phases[f] !== phase) continue;
      const from = (p * phases.length + f) * S;
      for (let e = 0; e < S; e++) counts[p * S + e] += selections[from + e];
    }
  return counts;
}

// Each probe's selections over all experts. [P]
export function probe_totals(counts: Float64Array, expert_count: number): Float64Array {
  const totals = new Float64Array(expert_count ? counts.length / expert_count : 0);
  for (let p = 0; p < totals.length; p++) for (let e = 0; e < expert_count; e++) totals[p] += counts[p * expert_count + e];
  return totals;
}

// Selections of all experts by probe and phase. [P, F]
export function phase_totals(atlas: Atlas, selections: Numbers): Float64Array {
  const S = atlas.count, totals = new Float64Array(S ? selections.length / S : 0);
  for (let i = 0; i < totals.length; i++) for (let e = i * S; e < (i + 1) * S; e++) totals[i] += selections[e];
  return totals;
}

// One expert's selections and each probe's over all experts, in one phase. [P] each
export function expert_counts(atlas: Atlas, selections: Numbers, totals: Float64Array, phase: string, e: number) {
  const phases: string[] = atlas.file.counts.phases, probes = atlas.file.source.probes.length;
  const own = new Float64Array(probes), all = new Float64Array(probes);
  for (let p = 0; p < probes; p++)
    for (let f = 0; f < phases.length; f++) {
      if (phase !== "all" && phases[f] !== phase) continue;
      own[p] += selections[(p * phases.length + f) * atlas.count + e];
      all[p] += totals[p * phases.length + f];
    }
  return { own, all };
}

// Affinity of one expert from its counts: mean share per group, normalised. [C]; NaN if nobody chose it.
export function expert_affinity({ own, all }: { own: Float64Array; all: Float64Array }, grouping: Grouping): Float64Array {
  const sums = new Float64Array(grouping.names.length), runs = new Float64Array(grouping.names.length);
  all.forEach((total, p) => {
    const c = grouping.of_probe[p];
    if (total === 0 || c < 0) return;
    sums[c] += own[p] / total;
    runs[c]++;
  });
  const means = sums.map((sum, c) => (runs[c] ? sum / runs[c] : 0)), whole = means.reduce((a, b) => a + b, 0);
  return means.map((mean) => (whole > 0 ? mean / whole : NaN));
}

// Mean share of every expert in each group. [C, S]; zero for a group without selections.
export function mean_shares(counts: Float64Array, expert_count: number, grouping: Grouping): Float64Array {
  const totals = probe_totals(counts, expert_count);
  const used = Array.from(totals, (total, p) => total > 0 && grouping.of_probe[p] >= 0);
  const runs = grouping.names.map((_, c) => used.filter((ok, p) => ok && grouping.of_probe[p] === c).length);
  const shares = new Float64Array(grouping.names.length * expert_count);
  totals.forEach((total, p) => {
    if (!used[p]) return;
    const c = grouping.of_probe[p];
    for (let e = 0; e < expert_count; e++) shares[c * expert_count + e] += counts[p * expert_count + e] / total / runs[c];
  });
  return shares;
}

// 1 - H(p) / ln C, within [0, 1]; 0 uniform, 1 one group only.
export function specialisation_of(affinity: ArrayLike<number>): number {
  let sum = 0;
  for (let c = 0; c < affinity.length; c++) sum += affinity[c] > 0 ? affinity[c] * Math.log(affinity[c]) : 0;
  return Math.max(0, Math.min(1, 1 + sum / Math.log(affinity.length)));
}

// Mean shares normalised over groups. [S, C]; NaN for an expert that nobody chose.
export function affinity_of(shares: Float64Array, group_count: number): Float64Array {
  const S = shares.length / group_count;
  const affinity = new Float64Array(S * group_count);
  for (let e = 0; e < S; e++) {
    let sum = 0;
    for (let c = 0; c < group_count; c++) sum += shares[c * S + e];
    for (let c = 0; c < group_count; c++) affinity[e * group_count + c] = sum > 0 ? shares[c * S + e] / sum : NaN;
  }
  return affinity;
}

// How alike the groups' routing is: cosine of their mean shares, each less the mean over groups, so that what all use says nothing. [C][C]
export function similarity(shares: Float64Array, group_count: number): number[][] {
  const S = shares.length / group_count;
  const centred = Float64Array.from(shares);
  for (let e = 0; e < S; e++) {
    let mean = 0;
    for (let c = 0; c < group_count; c++) mean += shares[c * S + e] / group_count;
    for (let c = 0; c < group_count; c++) centred[c * S + e] -= mean;
  }
  const dot = (a: number, b: number) => {
    let sum = 0;
    for (let e = 0; e < S; e++) sum += centred[a * S + e] * centred[b * S + e];
    return sum;
  };
  const norms = Array.from({ length: group_count }, (_, c) => Math.sqrt(dot(c, c)));
  return norms.map((na, a) => norms.map((nb, b) => (na > 0 && nb > 0 ? dot(a, b) / na / nb : 0)));
}

// An order in which like stands beside like: from the most alike pair, always on to the nearest one left, at either end.
export function order_by_similarity(matrix: number[][]): number[] {
  const count = matrix.length;
  if (count < 3) return matrix.map((_, i) => i);
  let best: [number, number] = [0, 1];
  for (let a = 0; a < count; a++) for (let b = a + 1; b < count; b++) if (matrix[a][b] > matrix[best[0]][best[1]]) best = [a, b];
  const chain = [...best];
  while (chain.length < count) {
    const left = matrix.map((_, i) => i).filter((i) => !chain.includes(i));
    const nearest = (end: number) => left.reduce((a, b) => (matrix[end][b] > matrix[end][a] ? b : a));
    const head = nearest(chain[0]), tail = nearest(chain[chain.length - 1]);
    if (matrix[chain[0]][head] > matrix[chain[chain.length - 1]][tail]) chain.unshift(head);
    else chain.push(tail);
  }
  return chain;
}
