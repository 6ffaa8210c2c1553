// Two ways to the same numbers: what the page computes from counts against what C++ wrote into the atlas, and against hand work.
import { expect, test } from "vitest";
import { columns_for } from "../src/columns";
import { decode, open_atlas } from "../src/read";
import { affinity_of, axes_of, expert_affinity, expert_counts, phase_totals, grouping_by, mean_shares, order_by_similarity, phase_counts, similarity, specialisation_of } from "../src/shares";
import { encode, hand_atlas, real_atlas } from "./atlas_files";

test("affinities from counts equal the program's, to its six decimals", async () => {
  const atlas = await open_atlas(real_atlas());
  const grouping = grouping_by(atlas, "topic");
  const affinity = affinity_of(mean_shares(phase_counts(atlas, await atlas.selections(), "all"), atlas.count, grouping), 4);
  for (let i = 0; i < affinity.length; i++) expect(Math.abs(affinity[i] - atlas.affinity[i])).toBeLessThan(5.1e-7);
  for (let e = 0; e < atlas.count; e++) expect(Math.abs(specialisation_of(affinity.subarray(4 * e, 4 * e + 4)) - atlas.specialisation[e])).toBeLessThan(5.1e-7);
});

test("the affinities that a page leaves out follow from counts", async () => {
  const atlas = await open_atlas(real_atlas()), evidence = atlas.file.evidence!.all, F = evidence.experts!.count!;
  expect(evidence.layers_left_out).toEqual([]);
  const [index, theirs] = await Promise.all([decode(evidence.experts!.expert, "index", F), decode(evidence.experts!.affinity, "affinity", 4 * F)]);
  const ours = affinity_of(mean_shares(phase_counts(atlas, await atlas.selections(), "all"), atlas.count, grouping_by(atlas, "topic")), 4);
  let farthest = 0;
  theirs.forEach((value, i) => (farthest = Math.max(farthest, Math.abs(value - ours[4 * index[i >> 2] + (i & 3)]))));
  expect(farthest).toBeLessThan(5e-7); // the program's tests work on fixed-point shares, see src/stats/affinity.h
});

test("one expert's affinity, read on its own, is its row of the matrix", async () => {
  const atlas = await open_atlas(real_atlas()), selections = await atlas.selections(), grouping = grouping_by(atlas, "topic"), totals = phase_totals(atlas, selections);
  const affinity = affinity_of(mean_shares(phase_counts(atlas, selections, "all"), atlas.count, grouping), 4);
  for (let e = 0; e < atlas.count; e += 7)
    expert_affinity(expert_counts(atlas, selections, totals, "all", e), grouping).forEach((value, c) => expect(value).toBeCloseTo(affinity[4 * e + c], 12));
});

test("shares and affinities of an atlas worked by hand", async () => {
  const atlas = await open_atlas(hand_atlas());
  const shares = mean_shares(phase_counts(atlas, await atlas.selections(), "prompt"), 3, grouping_by(atlas, "topic"));
  expect([...shares]).toEqual([0.5, 0.3, 0.2, 0, 0.3, 0.7]);
  const affinity = affinity_of(shares, 2);
  [1, 0, 0.5, 0.5, 2 / 9, 7 / 9].forEach((value, i) => expect(affinity[i]).toBeCloseTo(value, 12));
});

test("specialisation is 0 for even and 1 for one topic", () => {
  expect(specialisation_of([0.25, 0.25, 0.25, 0.25])).toBeCloseTo(0, 12);
  expect(specialisation_of([1, 0, 0])).toBe(1);
  expect(specialisation_of([0.5, 0.5, 0, 0])).toBeCloseTo(0.5, 12); // 1 - ln 2 / ln 4
});

test("another axis of labels groups the prompts anew", async () => {
  const atlas = await open_atlas(hand_atlas());
  expect(axes_of(atlas)).toEqual(["topic", "language"]);
  const columns = await columns_for(atlas, "all", "language");
  expect(columns.topics).toEqual(["english", "german"]);
  for (let e = 0; e < 3; e++) expect(columns.specialisation[e]).toBeCloseTo(0, 12); // both languages route alike
  expect(columns.tested).toBe(false);
});

test("per-expert tests are spread to the experts they belong to; -2 is not computed", async () => {
  const experts = { count: 2, expert: encode("u32", [0, 2]), q_value: encode("f64", [0.01, -2]), specialist: encode("u8", [1, 0]), specialisation_above_null: encode("f64", [-0.25, -2]), specialisation_interval_95: encode("f64", [0.8, 1, 0, 0.5], [2, 2]) };
  const atlas = await open_atlas(hand_atlas({ evidence: { all: { experts } } } as never));
  const columns = await columns_for(atlas, "all", "topic");
  expect(columns.tested).toBe(true);
  expect([...columns.q!]).toEqual([0.01, NaN, NaN]);
  expect([...columns.above_null!]).toEqual([-0.25, NaN, NaN]);
  expect([...columns.specialist!]).toEqual([1, NaN, 0]);
  expect([...columns.specialisation_interval!]).toEqual([0.8, 1, NaN, NaN, 0, 0.5]);
});

test("tests that were not computed leave the reference's numbers and their reason", async () => {
  const atlas = await open_atlas(hand_atlas({ evidence: { all: { experts: { not_computed: "one prompt a topic" } } } } as never));
  const columns = await columns_for(atlas, "all", "topic");
  expect(columns.note).toContain("one prompt a topic");
  expect(columns.q).toBeUndefined();
  expect([...columns.top_topic]).toEqual([0, 0, 1]);
});

test("a topic is like itself, and opposite departures are opposite", () => {
  const matrix = similarity(Float64Array.from([0.5, 0.3, 0.2, 0, 0.3, 0.7]), 2);
  expect(matrix[0][0]).toBeCloseTo(1, 12);
  expect(matrix[0][1]).toBeCloseTo(-1, 12);
});

test("the order puts like beside like", () => {
  const near = (a: number, b: number) => 1 - Math.abs(a - b) / 5;
  const places = [3, 0, 2, 1]; // topic t stands at places[t] on a line
  const order = order_by_similarity(places.map((a) => places.map((b) => near(a, b))));
  const along = order.map((t) => places[t]);
  expect([[0, 1, 2, 3], [3, 2, 1, 0]]).toContainEqual(along);
});
