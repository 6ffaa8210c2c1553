// Atlases that the tests read: one that expert-atlas made from testdata/seed/09_random_e256 (see its README line in docs/page.md), and tiny ones
// worked by hand.
import { readFileSync } from "node:fs";
import type { AtlasFile, EncodedArray } from "../src/atlas";
import { deflateSync } from "node:zlib";

export const real_atlas_path = new URL("data/random_e256.json", import.meta.url);
export const real_atlas = (): AtlasFile => JSON.parse(readFileSync(real_atlas_path, "utf8"));

const types = { u8: Uint8Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };
export function encode(dtype: keyof typeof types | "u64", values: number[], shape = [values.length]): EncodedArray {
  const array = dtype === "u64" ? BigUint64Array.from(values, BigInt) : types[dtype].from(values);
  return { dtype, shape, encoding: "deflate+base64", data: deflateSync(new Uint8Array(array.buffer)).toString("base64") };
}

// Two topics, four prompts, three experts in layers 3 and 7; every prompt has ten selections in the phase "prompt".
//            a:0  a:1  b:0  b:1
//  3:0        5    5    0    0     only a: affinity (1, 0)
//  3:2        3    3    3    3     even
//  7:1        2    2    7    7     affinity (2/9, 7/9)
export function hand_atlas(change: Partial<AtlasFile> = {}): AtlasFile {
  const probes = ["a:0", "a:1", "b:0", "b:1"].map((id, p) => ({ id, topic: id[0], labels: { topic: id[0], language: p % 2 ? "german" : "english" }, row_begin: p, row_end: p + 1, tokens: { prompt: 1 } }));
  return {
    format: "expert-atlas atlas", schema_version: 2, made_by: { name: "by hand", version: "0" }, topics: ["a", "b"],
    source: { model: { name: "hand" }, engine: { name: "hand" }, settings: {}, probe_set: { topic_axis: "topic" }, layers: [3, 7], expert_count: 4, expert_top_k: 1, weights: "none", probes, missing: [] },
    reference: { options: { min_count: 1, min_runs: 1, strong_threshold: 0.5 }, summary: { experts_seen: 3, experts_kept: 3 }, validation: { top_k: 1, hits: 0, accuracy: 0, chance: 0.5, trials: [] } },
    experts: {
      count: 3, layer: encode("u32", [3, 3, 7]), expert: encode("u32", [0, 2, 1]), total: encode("u64", [10, 12, 18]), status: encode("u8", [0, 0, 1]), top_topic: encode("u32", [0, 0, 1]),
      specialisation: encode("f64", [1, 0, 0.235796]), top_lift: encode("f64", [2, 1, 1.555556]), fired_runs: encode("u32", [2, 2, 2]), total_runs: encode("u32", [2, 2, 2]),
      affinity: encode("f64", [1, 0, 0.5, 0.5, 0.222222, 0.777778], [3, 2]),
    },
    counts: { phases: ["prompt"], selections: encode("u32", [5, 3, 2, 5, 3, 2, 0, 3, 7, 0, 3, 7], [4, 1, 3]) },
    ...change,
  } as AtlasFile;
}
