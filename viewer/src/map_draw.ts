// Draws the map on a canvas. Far away, every cell is one pixel of a picture that is scaled, so that 19,200 cells cost one call; near, cells
// are drawn one by one with their marks and letters.
import type { Columns } from "./columns";
import { css, diverging, ground, is_light, mix, rgb_of, sequential, topic_colours, topic_letters, type Rgb, type Theme } from "./colours";
import type { Layout } from "./layout";
import type { Atlas } from "./read";
import type { ColourMode } from "./state";

export interface Paint {
  atlas: Atlas;
  columns: Columns;
  layout: Layout;
  mask: Uint8Array;
  mode: ColourMode;
  focus: number; // a topic, or -1
  theme: Theme;
}

// Where q-values are known, an expert above this one stays pale, however specialised it looks.
const doubtful_q = 0.05;

export const q_steps = [0.001, 0.01, 0.05, 0.1];

// Where the colours of a sequential mode begin and end. Affinity: from none to the value that one expert in two hundred exceeds.
export function mode_range(paint: Paint): [number, number] {
  const { columns, mode, focus } = paint;
  if (mode === "total") return [0, Math.log10(1 + Array.from(columns.total).reduce((a, b) => Math.max(a, b), 1))];
  if (mode === "affinity" && focus >= 0) {
    const C = columns.topics.length;
    const values = Array.from(columns.top_topic, (_, e) => columns.affinity[e * C + focus]).filter((v) => !Number.isNaN(v)).sort((a, b) => a - b);
    return [0, Math.max(2 / C, values[Math.floor(values.length * 0.995)] ?? 1)];
  }
  return [0, 1];
}

function topic_shade(paint: Paint, e: number, paper: Rgb): Rgb {
  const { columns, focus, theme } = paint;
  const topic = columns.top_topic[e], strength = columns.specialisation[e];
  if (topic < 0) return rgb_of(ground[theme].cell);
  if (focus >= 0 && topic !== focus) return mix(paper, rgb_of(ground[theme].grey), 0.12 + 0.3 * strength);
  const list = topic_colours[theme], doubt = columns.q && !(columns.q[e] <= doubtful_q) ? 0.45 : 1;
  return mix(paper, rgb_of(list[topic % list.length]), (0.12 + 0.88 * Math.min(1, 1.15 * Math.sqrt(strength))) * doubt);
}

// The colour of one expert, before filters.
function shade(paint: Paint, e: number, range: [number, number]): Rgb {
  const { columns, mode, focus, theme } = paint;
  const cell = rgb_of(ground[theme].cell), C = columns.topics.length;
  const scaled = (value: number) => (Number.isNaN(value) ? cell : sequential((value - range[0]) / (range[1] - range[0] || 1)));
  if (mode === "specialisation") return scaled(columns.specialisation[e]);
  if (mode === "total") return scaled(Math.log10(1 + columns.total[e]));
  if (mode === "affinity" && focus >= 0) return scaled(columns.affinity[e * C + focus]);
  if (mode === "q" && columns.q) {
    const step = Number.isNaN(columns.q[e]) ? -1 : q_steps.filter((limit) => columns.q![e] > limit).length;
    return step < 0 ? cell : sequential(1 - step / q_steps.length);
  }
  if (mode === "weight" && columns.router_weight_affinity && columns.top_topic[e] >= 0) {
    const topic = focus >= 0 ? focus : columns.top_topic[e];
    const change = columns.router_weight_affinity[e * C + topic] - columns.affinity[e * C + topic];
    return Number.isNaN(change) ? cell : diverging(change * 5, theme);
  }
  return topic_shade(paint, e, rgb_of(ground[theme].paper));
}

// Every expert's colour, three bytes each; sparse and unreplicated ones are paler, filtered ones almost gone.
export function expert_colours(paint: Paint): Uint8ClampedArray {
  const { atlas, mask, theme } = paint;
  const paper = rgb_of(ground[theme].paper), range = mode_range(paint), colours = new Uint8ClampedArray(atlas.count * 3);
  for (let e = 0; e < atlas.count; e++) {
    const full = shade(paint, e, range);
    const seen = mask[e] ? (atlas.status[e] === 0 ? full : mix(paper, full, 0.55)) : mix(paper, rgb_of(ground[theme].cell), 0.55);
    colours.set(seen.map(Math.round), e * 3);
  }
  return colours;
}

export function picture_of(paint: Paint, colours: Uint8ClampedArray): HTMLCanvasElement {
  const { layout } = paint;
  const canvas = document.createElement("canvas");
  canvas.width = layout.columns;
  canvas.height = layout.layers.length;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(canvas.width, canvas.height);
  layout.cell.forEach((e, at) => {
    if (e < 0) return;
    image.data.set(colours.subarray(e * 3, e * 3 + 3), at * 4);
    image.data[at * 4 + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// The map's place on the canvas: cells begin at (left, top), the whole map is width x height at scale 1; x, y and k as d3-zoom gives them.
export interface Frame { left: number; top: number; width: number; height: number; k: number; x: number; y: number }

export const cell_size = (frame: Frame, layout: Layout) => ({ w: (frame.width * frame.k) / layout.columns, h: (frame.height * frame.k) / layout.layers.length });

export function expert_at(frame: Frame, layout: Layout, px: number, py: number): number {
  const { w, h } = cell_size(frame, layout);
  if (px < frame.left || py < frame.top || px > frame.left + frame.width || py > frame.top + frame.height) return -1;
  const column = Math.floor((px - frame.left - frame.x) / w), row = Math.floor((py - frame.top - frame.y) / h);
  if (column < 0 || row < 0 || column >= layout.columns || row >= layout.layers.length) return -1;
  return layout.cell[row * layout.columns + column];
}

export function draw_map(context: CanvasRenderingContext2D, paint: Paint, picture: HTMLCanvasElement, colours: Uint8ClampedArray, frame: Frame, marked: number, cursor: number): void {
  const { layout, theme } = paint;
  const { width, height } = context.canvas, ratio = width / (frame.left + frame.width || 1);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  context.fillStyle = ground[theme].paper;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  const { w, h } = cell_size(frame, layout);
  if (Math.min(w, h) >= 7) draw_cells(context, paint, colours, frame);
  else {
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, frame.left + frame.x, frame.top + frame.y, frame.width * frame.k, frame.height * frame.k);
  }
  for (const [e, wide] of [[cursor, 1.5], [marked, 3]] as const) if (e >= 0) draw_outline(context, paint, frame, e, wide);
  context.restore();
  draw_axes(context, paint, frame);
}

function draw_outline(context: CanvasRenderingContext2D, { layout, theme }: Paint, frame: Frame, e: number, wide: number): void {
  const { w, h } = cell_size(frame, layout);
  const x = frame.left + frame.x + layout.column[e] * w, y = frame.top + frame.y + layout.row[e] * h;
  const more = Math.max(0, 6 - Math.min(w, h)) / 2;
  context.lineWidth = wide + 2;
  context.strokeStyle = ground[theme].paper;
  context.strokeRect(x - more, y - more, w + 2 * more, h + 2 * more);
  context.lineWidth = wide;
  context.strokeStyle = ground[theme].ink;
  context.strokeRect(x - more, y - more, w + 2 * more, h + 2 * more);
}

function draw_cells(context: CanvasRenderingContext2D, paint: Paint, colours: Uint8ClampedArray, frame: Frame): void {
  const { atlas, columns, layout, mask, theme } = paint;
  const { w, h } = cell_size(frame, layout), gap = Math.min(w, h) > 14 ? 1 : 0.5;
  const first_column = Math.max(0, Math.floor(-frame.x / w)), last_column = Math.min(layout.columns - 1, Math.floor((frame.width - frame.x) / w));
  const first_row = Math.max(0, Math.floor(-frame.y / h)), last_row = Math.min(layout.layers.length - 1, Math.floor((frame.height - frame.y) / h));
  const letters = w >= 24 && h >= 13 ? topic_letters(columns.topics) : null, ids = w >= 34 && h >= 30;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = first_row; row <= last_row; row++)
    for (let column = first_column; column <= last_column; column++) {
      const e = layout.cell[row * layout.columns + column];
      if (e < 0) continue;
      const x = frame.left + frame.x + column * w + gap, y = frame.top + frame.y + row * h + gap, cw = w - 2 * gap, ch = h - 2 * gap;
      const rgb: Rgb = [colours[e * 3], colours[e * 3 + 1], colours[e * 3 + 2]];
      context.fillStyle = css(rgb);
      if (atlas.status[e] === 0) context.fillRect(x, y, cw, ch);
      else draw_uncertain(context, atlas.status[e], x, y, cw, ch);
      if (!letters || !mask[e] || columns.top_topic[e] < 0) continue;
      context.fillStyle = atlas.status[e] !== 0 ? ground[theme].ink : is_light(rgb) ? "#15141a" : "#ffffff";
      context.font = `600 ${Math.min(13, h * 0.5, w * 0.42)}px system-ui, sans-serif`;
      context.fillText(letters[columns.top_topic[e]], x + cw / 2, y + ch / 2 - (ids ? 6 : 0));
      if (!ids) continue;
      context.font = "10px system-ui, sans-serif";
      context.fillText(String(atlas.expert[e]), x + cw / 2, y + ch / 2 + 8);
    }
}

// Sparse: a small square; unreplicated: a hollow one. Neither is left out.
function draw_uncertain(context: CanvasRenderingContext2D, status: number, x: number, y: number, w: number, h: number): void {
  if (status === 1) return context.fillRect(x + w * 0.28, y + h * 0.28, w * 0.44, h * 0.44);
  const line = Math.max(1.2, Math.min(w, h) * 0.14);
  context.lineWidth = line;
  context.strokeStyle = context.fillStyle;
  context.strokeRect(x + line, y + line, w - 2 * line, h - 2 * line);
}

function draw_axes(context: CanvasRenderingContext2D, { layout, theme }: Paint, frame: Frame): void {
  const { w, h } = cell_size(frame, layout);
  context.fillStyle = ground[theme].grey;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every_row = Math.max(1, Math.ceil(13 / h)), every_column = nice_step(46 / w);
  layout.layers.forEach((layer, row) => {
    const y = frame.top + frame.y + (row + 0.5) * h;
    if (row % every_row === 0 && y > frame.top + 2 && y < frame.top + frame.height - 2) context.fillText(String(layer), frame.left - 6, y);
  });
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (let column = 0; column < layout.columns; column += every_column) {
    const x = frame.left + frame.x + (column + 0.5) * w;
    if (x > frame.left + 4 && x < frame.left + frame.width - 8) context.fillText(String(layout.by_id ? column : column + 1), x, frame.top - 4);
  }
}

function nice_step(least: number): number {
  for (let power = 1; ; power *= 10) for (const step of [1, 2, 5]) if (step * power >= least) return step * power;
}

// The map as an SVG text, one square an expert, for papers and slides.
export function map_svg(paint: Paint, colours: Uint8ClampedArray): string {
  const { layout, theme } = paint, size = 8, left = 40, top = 20;
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${left + layout.columns * size}" height="${top + layout.layers.length * size}" font-family="sans-serif" font-size="7">`,
    `<rect width="100%" height="100%" fill="${ground[theme].paper}"/>`];
  layout.layers.forEach((layer, row) => parts.push(`<text x="${left - 4}" y="${top + row * size + 6.5}" text-anchor="end" fill="${ground[theme].grey}">${layer}</text>`));
  layout.cell.forEach((e, at) => {
    if (e < 0) return;
    const x = left + (at % layout.columns) * size, y = top + Math.floor(at / layout.columns) * size;
    const small = paint.atlas.status[e] === 1 ? 2 : 0;
    parts.push(`<rect x="${x + small}" y="${y + small}" width="${size - 0.5 - 2 * small}" height="${size - 0.5 - 2 * small}" fill="${css([colours[e * 3], colours[e * 3 + 1], colours[e * 3 + 2]])}"/>`);
  });
  return parts.join("") + "</svg>";
}
