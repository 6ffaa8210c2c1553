// Reads an atlas file that stands in the page: its arrays become typed arrays, the large ones when they are first asked for.
import type { AtlasFile, EncodedArray } from "./atlas";

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

// A fault of the file, said in one sentence to the reader of the page.
export class AtlasFault extends Error {}

const array_types = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

function bytes_of(base64: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Whole numbers above 2^53 lose their last digits, as they do in every browser's JSON.
export async function decode(array: EncodedArray | undefined, what: string, length?: number): Promise<Numbers> {
  if (!array) throw new AtlasFault(`The atlas has no ${what}.`);
  const expected = array.shape.reduce((product, size) => product * size, 1);
  if (length !== undefined && expected !== length) throw new AtlasFault(`${what} has ${expected} values where ${length} belong.`);
  let buffer: ArrayBuffer;
  try {
    const stream = new Blob([bytes_of(array.data)]).stream().pipeThrough(new DecompressionStream("deflate"));
    buffer = await new Response(stream).arrayBuffer();
  } catch {
    throw new AtlasFault(`${what} cannot be unpacked: the file is damaged.`);
  }
  const width = array.dtype === "u64" ? 8 : array_types[array.dtype].BYTES_PER_ELEMENT;
  if (buffer.byteLength !== expected * width) throw new AtlasFault(`${what} unpacks to ${buffer.byteLength} bytes where ${expected * width} belong.`);
  if (array.dtype === "u64") return Float64Array.from(new BigUint64Array(buffer), Number);
  return new array_types[array.dtype](buffer);
}

// The atlas as every view reads it. S experts seen, C topics, P probes.
export interface Atlas {
  file: AtlasFile;
  topics: string[];
  count: number; // S
  layer: Numbers; // [S]
  expert: Numbers; // [S]
  total: Numbers; // [S] selections over all rows
  status: Numbers; // [S] 0 kept, 1 sparse, 2 unreplicated
  top_topic: Numbers; // [S]
  specialisation: Numbers; // [S]
  top_lift: Numbers; // [S]
  fired_runs: Numbers; // [S]
  total_runs: Numbers; // [S]
  affinity: Numbers; // [S, C]
  layers: number[]; // with at least one expert, rising
  selections: () => Promise<Numbers>; // [P, F, S]
}

export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

export function parse_atlas(text: string): AtlasFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new AtlasFault("The atlas in this page is cut short or damaged: it is no JSON.");
  }
  if (typeof json === "string") throw new AtlasFault("This page holds no atlas. Make one with: expert-atlas page atlas.json --out atlas.html");
  const file = json as AtlasFile;
  if (file?.format !== "expert-atlas atlas") throw new AtlasFault("What this page holds is no expert atlas.");
  if (file.schema_version !== 2) throw new AtlasFault(`The atlas has schema version ${String(file.schema_version)}; this page reads version 2.`);
  for (const part of ["topics", "source", "reference", "experts", "counts"] as const)
    if (file[part] === undefined) throw new AtlasFault(`The atlas has no part '${part}': it is damaged.`);
  return file;
}

export async function open_atlas(file: AtlasFile): Promise<Atlas> {
  const { experts, topics, counts, source } = file;
  const count = experts.count;
  const column = (name: keyof typeof experts, width = 1) => decode(experts[name] as EncodedArray, `the experts' ${String(name)}`, count * width);
  const names = ["layer", "expert", "total", "status", "top_topic", "specialisation", "top_lift", "fired_runs", "total_runs"] as const;
  const columns = await Promise.all([...names.map((name) => column(name)), column("affinity", topics.length)]);
  const [layer, expert, total, status, top_topic, specialisation, top_lift, fired_runs, total_runs, affinity] = columns;
  const cells = source.probes.length * counts.phases.length * count;
  return {
    file, topics, count, layer, expert, total, status, top_topic, specialisation, top_lift, fired_runs, total_runs, affinity,
    layers: [...new Set(layer)].sort((a, b) => a - b),
    selections: once(() => decode(counts.selections, "the counts", cells)),
  };
}
