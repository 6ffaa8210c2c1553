import { expect, test } from "vitest";
import { columns_for } from "../src/columns";
import { csv_of, filter_mask, find_expert, sorted_experts, table_columns } from "../src/filter";
import { layout_map, neighbour } from "../src/layout";
import { open_atlas } from "../src/read";
import { initial_state } from "../src/state";
import { encode, hand_atlas } from "./atlas_files";

async function opened() {
  const atlas = await open_atlas(hand_atlas());
  return { atlas, columns: await columns_for(atlas, "all", "topic") };
}

test("each filter lets through what it says", async () => {
  const { atlas, columns } = await opened();
  const mask = (change: object) => [...filter_mask(atlas, columns, { ...initial_state, ...change })];
  expect(mask({})).toEqual([1, 1, 1]);
  expect(mask({ layer_from: 4 })).toEqual([0, 0, 1]);
  expect(mask({ layer_to: 3 })).toEqual([1, 1, 0]);
  expect(mask({ topics: ["b"] })).toEqual([0, 0, 1]);
  expect(mask({ total_min: 12 })).toEqual([0, 1, 1]);
  expect(mask({ specialisation_min: 0.2 })).toEqual([1, 0, 1]);
  expect(mask({ status: "kept" })).toEqual([1, 1, 0]);
  expect(mask({ q_max: 1 })).toEqual([0, 0, 0]); // no q was computed: unknown does not pass
  expect(mask({ specialist: true })).toEqual([0, 0, 0]);
});

test("experts are found by layer and id in several spellings", async () => {
  const { atlas } = await opened();
  expect(["7:1", " 7 : 1 ", "7/1", "7 1"].map((name) => find_expert(atlas, name))).toEqual([2, 2, 2, 2]);
  expect(["3:1", "x", "", "7:1:1"].map((name) => find_expert(atlas, name))).toEqual([-1, -1, -1, -1]);
});

test("sorting puts missing numbers last, either way", () => {
  const values = [2, NaN, 1, 3];
  const column = { key: "x", title: "", hint: "", value: (e: number) => values[e], text: String };
  expect([...sorted_experts(Uint8Array.of(1, 1, 1, 1), column, true)]).toEqual([3, 0, 2, 1]);
  expect([...sorted_experts(Uint8Array.of(1, 1, 1, 0), column, false)]).toEqual([2, 0, 1]);
});

test("the CSV holds all digits, quotes names, and leaves missing cells empty", async () => {
  const atlas = await open_atlas(hand_atlas({ topics: ['a "x", y', "b"] }));
  const lines = csv_of(atlas, await columns_for(atlas, "all", "topic"), [2]).trimEnd().split("\r\n");
  expect(lines[0]).toBe('"layer","expert","topic","specialisation","lift","total","fired_runs","status","affinity:a ""x"", y","affinity:b"');
  expect(lines[1]).toBe('7,1,"b",0.235796,1.555556,18,2,"sparse",0.222222,0.777778');
  expect(table_columns(atlas, await columns_for(atlas, "all", "topic")).map((column) => column.key)).not.toContain("q");
});

test("the map puts ids in columns, or ranks where ids are far apart", async () => {
  const { atlas, columns } = await opened();
  const layout = layout_map(atlas, columns, "id");
  expect([layout.columns, layout.by_id, [...layout.cell]]).toEqual([4, true, [0, -1, 1, -1, -1, 2, -1, -1]]);
  const far = await open_atlas(hand_atlas({ experts: { ...hand_atlas().experts, expert: encode("u32", [0, 4_000_000_000, 7]) } }));
  const ranked = layout_map(far, columns, "id");
  expect([ranked.columns, ranked.by_id, [...ranked.cell]]).toEqual([2, false, [0, 1, 2, -1]]);
  expect([...layout_map(atlas, columns, "total").cell]).toEqual([1, 0, 2, -1]);
});

test("walking on the map skips empty cells and stops at its edges", async () => {
  const { atlas, columns } = await opened();
  const layout = layout_map(atlas, columns, "id");
  expect(neighbour(layout, 0, 0, 1)).toBe(1);
  expect(neighbour(layout, 0, 0, -1)).toBe(0);
  expect(neighbour(layout, 0, 1, 0)).toBe(2);
  expect(neighbour(layout, 2, -1, 0)).toBe(0);
});
