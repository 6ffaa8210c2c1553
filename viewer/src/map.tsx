// The map: layers x experts, to pan, zoom, walk with the keyboard and press.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ground, sequential, css, topic_letters } from "./colours";
import { name_of, p_text, status_names } from "./filter";
import { layout_map, neighbour, type Layout } from "./layout";
import { draw_map, expert_at, expert_colours, map_svg, mode_range, picture_of, q_steps, cell_size, type Frame, type Paint } from "./map_draw";
import { atlas, choose_expert, chosen, columns, focus, mask, shown_count, theme } from "./page";
import { Choice, Foreign, Swatch, percent, useWidth, whole } from "./parts";
import { save_canvas, save_text } from "./save";
import { set, state, type ColourMode, type MapOrder } from "./state";

const margin = { left: 38, top: 20 };

export function cell_text(e: number): string {
  const a = atlas.value, c = columns.value;
  const parts = [`layer ${a.layer[e]}, expert ${a.expert[e]}`, c.topics[c.top_topic[e]] ?? "not chosen in this phase"];
  if (!Number.isNaN(c.specialisation[e])) parts.push(`specialisation ${c.specialisation[e].toFixed(2)}`);
  if (c.q && !Number.isNaN(c.q[e])) parts.push(`q ${p_text(c.q[e])}`);
  parts.push(`${whole(c.total[e])} selections`);
  if (a.status[e]) parts.push(status_names[a.status[e]]);
  return parts.join(" · ");
}

// Zoom and place as the fragment holds them, in parts of the map's size, so that they fit another window.
const at_text = (frame: Frame) => (frame.k === 1 && frame.x === 0 && frame.y === 0 ? "" : [frame.k, frame.x / frame.width, frame.y / frame.height].map((v) => v.toFixed(3)).join(","));
function transform_of(at: string, width: number, height: number) {
  const [k, x, y] = at.split(",").map(Number);
  return [k, x, y].every(Number.isFinite) && k >= 1 && k <= 60 ? zoomIdentity.translate(x * width, y * height).scale(k) : zoomIdentity;
}

// Everything the canvas needs between two frames; d3-zoom changes `frame` and asks for the next drawing.
class Drawing {
  frame: Frame = { left: margin.left, top: margin.top, width: 1, height: 1, k: 1, x: 0, y: 0 };
  paint?: Paint;
  picture?: HTMLCanvasElement;
  colours?: Uint8ClampedArray;
  marked = -1;
  cursor = -1;
  waiting = false;
  constructor(readonly canvas: HTMLCanvasElement) {}
  repaint(paint: Paint) {
    this.paint = paint;
    this.colours = expert_colours(paint);
    this.picture = picture_of(paint, this.colours);
    this.ask();
  }
  ask() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.paint) draw_map(this.canvas.getContext("2d")!, this.paint, this.picture!, this.colours!, this.frame, this.marked, this.cursor);
    });
  }
}

export function MapView({ tall }: { tall: boolean }) {
  const [box, width] = useWidth(280);
  const layout = useMemo(() => layout_map(atlas.value, columns.value, state.value.order), [columns.value, state.value.order]);
  const height = Math.round(Math.max(120, Math.min(layout.layers.length * 34, tall ? Math.max(360, innerHeight - 330) : 400)));
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Drawing>(undefined);
  const zooming = useRef<ZoomBehavior<HTMLCanvasElement, unknown>>(undefined);
  const tip = useRef<HTMLDivElement>(null);
  const [said, say] = useState("");
  const paint: Paint = { atlas: atlas.value, columns: columns.value, layout, mask: mask.value, mode: state.value.colour, focus: focus.value, theme: theme.value };

  useEffect(() => {
    if (!width) return;
    const made = (drawing.current ??= new Drawing(canvas.current!));
    const ratio = devicePixelRatio || 1;
    canvas.current!.width = Math.round(width * ratio);
    canvas.current!.height = Math.round((height + margin.top) * ratio);
    const inner = width - margin.left;
    made.frame = { ...made.frame, width: inner, height };
    const behaviour = zoom<HTMLCanvasElement, unknown>().scaleExtent([1, 60]).extent([[0, 0], [inner, height]]).translateExtent([[0, 0], [inner, height]])
      .on("zoom", ({ transform }: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        Object.assign(made.frame, { k: transform.k, x: transform.x, y: transform.y });
        made.ask();
      })
      .on("end", () => set({ at: at_text(made.frame) }))
      .filter((event: Event) => !(event as MouseEvent).ctrlKey || event.type === "wheel");
    zooming.current = behaviour;
    const selection = select(canvas.current!).call(behaviour).on("dblclick.zoom", null);
    selection.call(behaviour.transform, transform_of(state.peek().at, inner, height));
  }, [width, height]);

  const paint_key = [layout, columns.value, mask.value, state.value.colour, focus.value, theme.value, width, height];
  useEffect(() => { if (width) drawing.current!.repaint(paint); }, paint_key);
  useEffect(() => {
    if (!drawing.current) return;
    drawing.current.marked = chosen.value;
    drawing.current.ask();
  }, [chosen.value, width]);

  const hover = (event: PointerEvent) => {
    const bounds = canvas.current!.getBoundingClientRect(), px = event.clientX - bounds.left, py = event.clientY - bounds.top;
    const e = expert_at(drawing.current!.frame, layout, px, py);
    if (drawing.current!.cursor !== e) { drawing.current!.cursor = e; drawing.current!.ask(); }
    tip.current!.hidden = e < 0;
    if (e < 0) return;
    tip.current!.textContent = cell_text(e);
    tip.current!.style.transform = `translate(${Math.max(0, Math.min(px + 12, width - 250))}px, ${py + 20}px)`;
  };
  const leave = () => { tip.current!.hidden = true; if (drawing.current) { drawing.current.cursor = -1; drawing.current.ask(); } };
  const press = (event: MouseEvent) => {
    const bounds = canvas.current!.getBoundingClientRect();
    const e = expert_at(drawing.current!.frame, layout, event.clientX - bounds.left, event.clientY - bounds.top);
    if (e >= 0) choose_expert(name_of(atlas.value, e));
  };
  const scale_by = (by: number) => zooming.current!.scaleBy(select(canvas.current!), by);
  const keys = (event: KeyboardEvent) => walk(event, layout, drawing.current!, zooming.current!, say);

  return (
    <section class="map" aria-label="Map of experts">
      <div class="map-head">
        <MapControls paint={paint} />
        <div class="map-zoom" role="group" aria-label="Zoom and save">
          <button type="button" aria-label="Zoom in" onClick={() => scale_by(1.6)}>+</button>
          <button type="button" aria-label="Zoom out" onClick={() => scale_by(1 / 1.6)}>−</button>
          <button type="button" aria-label="Show the whole map" onClick={() => zooming.current!.transform(select(canvas.current!), zoomIdentity)}>⤢</button>
          <span class="figure-save">
            <button type="button" onClick={() => save_text("map.svg", "image/svg+xml", map_svg(paint, expert_colours(paint)))} aria-label="Save the map as SVG">SVG</button>
            <button type="button" onClick={() => save_canvas("map", canvas.current!)} aria-label="Save the map as PNG">PNG</button>
          </span>
        </div>
      </div>
      <Legend paint={paint} />
      <div ref={box} class="map-box">
        <canvas ref={canvas} class="map-canvas" style={{ height: `${height + margin.top}px` }} tabIndex={0} role="application"
          aria-label={`Map of ${atlas.value.count} experts in ${layout.layers.length} layers, ${shown_count.value} shown. Arrow keys walk, Enter opens an expert, plus and minus zoom, 0 shows all. The same numbers are in the table view.`}
          onPointerMove={hover} onPointerLeave={leave} onClick={press} onKeyDown={keys} onBlur={leave} />
        <div ref={tip} class="tip" hidden dir="auto" />
      </div>
      <p class="note">
        Rows are layers, from the first at the top; columns are {layout.by_id ? "expert ids" : state.value.order === "id" ? "experts in the order of their ids" : "experts, sorted within each layer"}.
        The stronger a colour, the greater the specialisation{columns.value.q ? "; experts with q above 0.05 stay pale" : ""}. Small squares are sparse experts, hollow ones unreplicated. A colour says that the router chose an expert more often for a topic, not that the expert knows it.
      </p>
      <div class="visually-hidden" aria-live="polite">{said}</div>
    </section>
  );
}

const steps: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function walk(event: KeyboardEvent, layout: Layout, drawing: Drawing, zooming: ZoomBehavior<HTMLCanvasElement, unknown>, say: (text: string) => void): void {
  const canvas = select(drawing.canvas), e = drawing.cursor >= 0 ? drawing.cursor : chosen.value;
  if (event.key === "+" || event.key === "=") zooming.scaleBy(canvas, 1.6);
  else if (event.key === "-") zooming.scaleBy(canvas, 1 / 1.6);
  else if (event.key === "0") zooming.transform(canvas, zoomIdentity);
  else if (event.key === "Enter" && e >= 0) choose_expert(name_of(atlas.value, e));
  else if (steps[event.key]) {
    drawing.cursor = e < 0 ? layout.cell.find((cell) => cell >= 0) ?? -1 : neighbour(layout, e, ...steps[event.key]);
    bring_into_view(drawing, layout, zooming);
    say(drawing.cursor >= 0 ? cell_text(drawing.cursor) : "");
    drawing.ask();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function bring_into_view({ canvas, frame, cursor }: Drawing, layout: Layout, zooming: ZoomBehavior<HTMLCanvasElement, unknown>): void {
  if (frame.k === 1 || cursor < 0) return;
  const { w, h } = cell_size(frame, layout), x = (layout.column[cursor] + 0.5) * w + frame.x, y = (layout.row[cursor] + 0.5) * h + frame.y;
  if (x > w && x < frame.width - w && y > h && y < frame.height - h) return;
  zooming.translateTo(select(canvas), ((layout.column[cursor] + 0.5) * w) / frame.k, ((layout.row[cursor] + 0.5) * h) / frame.k);
}

const mode_names: readonly (readonly [ColourMode, string])[] = [["topic", "top topic"], ["affinity", "affinity to one topic"], ["specialisation", "specialisation"], ["total", "selections"], ["q", "q-value"], ["weight", "router weight against count"]];
const order_names: readonly (readonly [MapOrder, string])[] = [["id", "id"], ["topic", "top topic"], ["total", "selections"]];

function MapControls({ paint }: { paint: Paint }) {
  const off: Partial<Record<ColourMode, string>> = {};
  if (!paint.columns.q) off.q = "not computed";
  if (!paint.columns.router_weight_affinity) off.weight = "not computed";
  const choose = (colour: ColourMode) => set({ colour, topic: colour === "affinity" && paint.focus < 0 ? paint.columns.topics[0] : state.value.topic });
  return (
    <div class="controls">
      <Choice label="Colour" value={state.value.colour} options={mode_names} onChoose={choose} off={off} />
      <Choice label="Order in a layer" value={state.value.order} options={order_names} onChoose={(order) => set({ order })} />
      {paint.focus >= 0 && <button type="button" onClick={() => set({ topic: "", colour: state.value.colour === "affinity" ? "topic" : state.value.colour })}>Show all topics</button>}
    </div>
  );
}

function Legend({ paint }: { paint: Paint }) {
  const { columns, mode, mask } = paint;
  const counts = new Array<number>(columns.topics.length).fill(0);
  columns.top_topic.forEach((topic, e) => { if (mask[e] && topic >= 0) counts[topic]++; });
  const letters = topic_letters(columns.topics);
  const by_topic = mode === "topic" || mode === "affinity" || mode === "weight" || (mode === "q" && !columns.q);
  return (
    <div class="legend">
      {mode !== "topic" && <Scale paint={paint} />}
      {by_topic && columns.topics.map((topic, c) => (
        <button type="button" key={topic} class="chip" aria-pressed={state.value.topic === topic} title="Focus on this topic"
          onClick={() => set({ topic: state.value.topic === topic && mode !== "affinity" ? "" : topic })}>
          <Swatch topic={c} /><span class="letters" aria-hidden="true">{letters[c]}</span><Foreign>{topic}</Foreign><span class="chip-count">{counts[c]}</span>
        </button>
      ))}
    </div>
  );
}

function Scale({ paint }: { paint: Paint }) {
  const { mode, columns, theme } = paint, [from, to] = mode_range(paint);
  if (mode === "weight") return <span class="scale">less by weight <i class="scale-diverging" /> more by weight</span>;
  if (mode === "q") {
    const names = ["≤ 0.001", "≤ 0.01", "≤ 0.05", "≤ 0.1", "> 0.1"];
    return <span class="scale">q {names.map((name, i) => <span key={name} class="step"><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="2" fill={css(sequential(1 - i / q_steps.length))} /></svg>{name}</span>)}
      <span class="step"><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="2" fill={ground[theme].cell} /></svg>not tested</span></span>;
  }
  const [low, high] = mode === "total" ? ["0", whole(10 ** to)] : mode === "affinity" ? [percent(from, 0), percent(to, 0) + (columns.topics.length ? ` (even: ${percent(1 / columns.topics.length, 0)})` : "")] : ["0", "1"];
  return <span class="scale">{low} <i class="scale-viridis" /> {high}{mode === "total" ? " (log)" : ""}</span>;
}
