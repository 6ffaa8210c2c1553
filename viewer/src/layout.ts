// Where each expert's cell is on the map: one row a layer, as many columns as the widest layer needs. Nothing of the model's shape is assumed:
// layers may have different experts, and ids may be any.
import type { Columns } from "./columns";
import type { Atlas } from "./read";
import type { MapOrder } from "./state";

export interface Layout {
  layers: number[]; // [rows], absolute layer indices
  columns: number;
  by_id: boolean; // a column is an expert id
  cell: Int32Array; // [rows, columns], expert or -1
  row: Int32Array; // [S]
  column: Int32Array; // [S]
}

// Ids that are far apart would leave the map empty: then a layer's experts stand side by side in the order of their ids.
const emptiest = 4;

export function layout_map(atlas: Atlas, columns: Columns, order: MapOrder): Layout {
  const by_layer = new Map<number, number[]>(atlas.layers.map((layer) => [layer, []]));
  for (let e = 0; e < atlas.count; e++) by_layer.get(atlas.layer[e])!.push(e);
  const widest = Math.max(1, ...[...by_layer.values()].map((experts) => experts.length));
  const ids = Math.max(atlas.file.source.expert_count, largest(atlas.expert) + 1);
  const by_id = order === "id" && ids <= widest * emptiest;
  const width = by_id ? ids : widest;
  const layout: Layout = { layers: atlas.layers, columns: width, by_id, cell: new Int32Array(atlas.layers.length * width).fill(-1), row: new Int32Array(atlas.count), column: new Int32Array(atlas.count) };
  atlas.layers.forEach((layer, row) => {
    const experts = by_layer.get(layer)!.sort(comparison(atlas, columns, order));
    experts.forEach((e, rank) => {
      const column = by_id ? atlas.expert[e] : rank;
      layout.row[e] = row;
      layout.column[e] = column;
      layout.cell[row * width + column] = e;
    });
  });
  return layout;
}

function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]);
  return most;
}

function comparison(atlas: Atlas, columns: Columns, order: MapOrder): (a: number, b: number) => number {
  const id = (a: number, b: number) => atlas.expert[a] - atlas.expert[b];
  if (order === "total") return (a, b) => columns.total[b] - columns.total[a] || id(a, b);
  if (order === "topic") return (a, b) => columns.top_topic[a] - columns.top_topic[b] || columns.specialisation[b] - columns.specialisation[a] || id(a, b);
  return id;
}

// The cell one step from (row, column) that holds an expert, in the given direction; the same one at the edge.
export function neighbour(layout: Layout, e: number, rows: number, columns: number): number {
  let row = layout.row[e], column = layout.column[e];
  for (;;) {
    row += rows;
    column += columns;
    if (row < 0 || row >= layout.layers.length || column < 0 || column >= layout.columns) return e;
    const found = layout.cell[row * layout.columns + column];
    if (found >= 0) return found;
    if (rows !== 0) {
      const near = nearest_in_row(layout, row, column);
      if (near >= 0) return near;
    }
  }
}

function nearest_in_row(layout: Layout, row: number, column: number): number {
  for (let away = 1; away < layout.columns; away++)
    for (const at of [column - away, column + away]) {
      if (at < 0 || at >= layout.columns) continue;
      const found = layout.cell[row * layout.columns + at];
      if (found >= 0) return found;
    }
  return -1;
}
