// Which experts the filters let through, in which order, and how an expert is named and found.
import type { Columns } from "./columns";
import type { Atlas } from "./read";
import type { State } from "./state";

export const status_names = ["kept", "sparse", "unreplicated"];

// A limit on a number that was not computed lets nothing through: what is unknown does not pass a test.
export function passes(atlas: Atlas, columns: Columns, state: State, e: number): boolean {
  const layer = atlas.layer[e];
  if (layer < state.layer_from || layer > state.layer_to) return false;
  if (state.topics.length && !state.topics.includes(columns.topics[columns.top_topic[e]])) return false;
  const within = (limit: number, ok: boolean) => Number.isNaN(limit) || ok;
  return within(state.q_max, (columns.q?.[e] ?? NaN) <= state.q_max) && within(state.stability_min, (columns.stability?.[e] ?? NaN) >= state.stability_min)
    && within(state.specialisation_min, columns.specialisation[e] >= state.specialisation_min) && within(state.total_min, columns.total[e] >= state.total_min)
    && (!state.specialist || columns.specialist?.[e] === 1) && (state.status !== "kept" || atlas.status[e] === 0);
}

export function filter_mask(atlas: Atlas, columns: Columns, state: State): Uint8Array {
  return Uint8Array.from({ length: atlas.count }, (_, e) => (passes(atlas, columns, state, e) ? 1 : 0));
}

export const name_of = (atlas: Atlas, e: number) => `${atlas.layer[e]}:${atlas.expert[e]}`;

export function find_expert(atlas: Atlas, name: string): number {
  const match = /^\s*(\d+)\s*[:/ ]\s*(\d+)\s*$/.exec(name);
  if (!match) return -1;
  for (let e = 0; e < atlas.count; e++) if (atlas.layer[e] === Number(match[1]) && atlas.expert[e] === Number(match[2])) return e;
  return -1;
}

// A column of the table: how it is titled, read, shown.
export interface TableColumn {
  key: string;
  title: string;
  hint: string;
  value: (e: number) => number | string;
  text: (e: number) => string;
}

const digits = (value: number, count = 3) => (Number.isNaN(value) ? "–" : value.toFixed(count));
export const p_text = (value: number) => (Number.isNaN(value) ? "–" : value < 0.001 ? value.toExponential(1) : value.toFixed(3));

export function table_columns(atlas: Atlas, columns: Columns): TableColumn[] {
  const number = (key: string, title: string, hint: string, values: ArrayLike<number> | undefined, show = (v: number) => digits(v)): TableColumn[] =>
    values ? [{ key, title, hint, value: (e) => values[e], text: (e) => show(values[e]) }] : [];
  const topic = (e: number) => columns.topics[columns.top_topic[e]] ?? "–";
  const whole = (v: number) => v.toLocaleString("en");
  return [
    ...number("layer", "Layer", "absolute index of the layer", atlas.layer, String),
    ...number("expert", "Expert", "id within the layer", atlas.expert, String),
    { key: "topic", title: "Top topic", hint: "the topic with the greatest affinity", value: topic, text: topic },
    ...number("specialisation", "Special.", "specialisation: 0 all topics alike, 1 one topic only", columns.specialisation),
    ...number("lift", "Lift", "affinity of the top topic times the number of topics", columns.lift, (v) => digits(v, 2)),
    ...number("q", "q", "share of false discoveries expected among experts at least this clear", columns.q, p_text),
    ...number("stability", "Stability", "share of bootstrap draws with the same top topic", columns.stability, (v) => digits(v, 2)),
    ...number("specialist", "Specialist", "1: a specialist by the documented rule", columns.specialist, (v) => (v === 1 ? "yes" : "")),
    ...number("total", "Selections", "selections in this phase", columns.total, whole),
    ...number("fired_runs", "Prompts", "prompts of its top topic that chose it (all rows)", atlas.fired_runs, String),
    { key: "status", title: "Status", hint: "kept, or below a floor", value: (e) => atlas.status[e], text: (e) => status_names[atlas.status[e]] ?? "?" },
  ];
}

// The experts in `mask`, by one column; missing numbers last either way; ties by layer and id, which is the atlas's order.
export function sorted_experts(mask: Uint8Array, column: TableColumn, descending: boolean): Int32Array {
  const chosen: number[] = [];
  mask.forEach((ok, e) => ok && chosen.push(e));
  const values = new Map(chosen.map((e) => [e, column.value(e)]));
  const missing = (value: number | string) => typeof value === "number" && Number.isNaN(value);
  chosen.sort((a, b) => {
    const x = values.get(a)!, y = values.get(b)!;
    if (missing(x) || missing(y)) return Number(missing(x)) - Number(missing(y)) || a - b;
    const order = x < y ? -1 : x > y ? 1 : 0;
    return (descending ? -order : order) || a - b;
  });
  return Int32Array.from(chosen);
}

const csv_cell = (value: number | string) => (typeof value === "number" ? (Number.isNaN(value) ? "" : Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)))) : `"${value.replace(/"/g, '""')}"`);

// Seven digits, which is what the page holds and more than the atlas's rounded columns have; one line an expert; affinities as columns of their own.
export function csv_of(atlas: Atlas, columns: Columns, experts: ArrayLike<number>): string {
  const fields = table_columns(atlas, columns);
  const C = columns.topics.length;
  const head = [...fields.map((field) => field.key), ...columns.topics.map((topic) => `affinity:${topic}`)];
  const lines = [head.map(csv_cell).join(",")];
  for (let i = 0; i < experts.length; i++) {
    const e = experts[i];
    const row = fields.map((field) => (field.key === "status" ? field.text(e) : field.value(e)));
    for (let c = 0; c < C; c++) row.push(columns.affinity[e * C + c]);
    lines.push(row.map(csv_cell).join(","));
  }
  return lines.join("\r\n") + "\r\n";
}
