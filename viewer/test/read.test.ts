import Ajv from "ajv";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AtlasFault, decode, open_atlas, parse_atlas } from "../src/read";
import { encode, hand_atlas, real_atlas } from "./atlas_files";

const schema = JSON.parse(readFileSync(new URL("../../docs/atlas.schema.json", import.meta.url), "utf8"));
const validate = new Ajv({ allowUnionTypes: true }).compile(schema);

test("an atlas that the program made fits the schema", () => {
  expect(validate(real_atlas()), JSON.stringify(validate.errors)).toBe(true);
});

test("the schema refuses what is no atlas", () => {
  for (const change of [{ schema_version: 3 }, { topics: ["only one"] }, { experts: {} }, { counts: { phases: ["dream"] } }])
    expect(validate({ ...real_atlas(), ...change }), JSON.stringify(change)).toBe(false);
});

test("arrays of every type are unpacked", async () => {
  expect([...(await decode(encode("u8", [0, 255]), "x"))]).toEqual([0, 255]);
  expect([...(await decode(encode("u32", [1, 4294967295]), "x"))]).toEqual([1, 4294967295]);
  expect([...(await decode(encode("u64", [3, 2 ** 40]), "x"))]).toEqual([3, 2 ** 40]);
  expect([...(await decode(encode("f64", [0.1, -1]), "x"))]).toEqual([0.1, -1]);
  expect([...(await decode(encode("f32", [0.5]), "x"))]).toEqual([0.5]);
});

test("a damaged array is a fault in one sentence", async () => {
  const good = encode("f64", [1, 2, 3]);
  await expect(decode(undefined, "totals")).rejects.toThrow("The atlas has no totals.");
  await expect(decode({ ...good, shape: [4] }, "x")).rejects.toThrow(AtlasFault);
  await expect(decode({ ...good, data: good.data.slice(0, 8) }, "x")).rejects.toThrow(AtlasFault);
  await expect(decode({ ...good, data: "@@@@" }, "x")).rejects.toThrow(AtlasFault);
  await expect(decode(good, "x", 5)).rejects.toThrow("3 values where 5 belong");
});

test("what cannot be an atlas is refused with a reason", () => {
  expect(() => parse_atlas('{"format":')).toThrow("no JSON");
  expect(() => parse_atlas('"EXPERT_ATLAS_JSON"')).toThrow("holds no atlas");
  expect(() => parse_atlas("null")).toThrow("no expert atlas");
  expect(() => parse_atlas(JSON.stringify({ ...hand_atlas(), schema_version: 1 }))).toThrow("version 1");
  expect(() => parse_atlas(JSON.stringify({ ...hand_atlas(), counts: undefined }))).toThrow("'counts'");
});

test("an opened atlas has every column at its length", async () => {
  const atlas = await open_atlas(real_atlas());
  expect(atlas.count).toBe(768);
  expect(atlas.affinity.length).toBe(768 * 4);
  expect(atlas.layers).toEqual([3, 4, 77]);
  expect((await atlas.selections()).length).toBe(16 * atlas.file.counts.phases.length * 768);
});
