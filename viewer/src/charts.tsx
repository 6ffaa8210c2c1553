// The charts that more than one view draws, as SVG. Scales and bins are d3's.
import { bin, extent, max } from "d3-array";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import type { HeldOut } from "./atlas";
import { topic_colour } from "./colours";
import { percent } from "./parts";
import { theme } from "./page";

export function AxisX({ scale, y, format, label }: { scale: ScaleLinear<number, number>; y: number; format: (v: number) => string; label?: string }) {
  const [from, to] = scale.range();
  const ticks = scale.ticks(Math.max(2, Math.round((to - from) / 70)));
  return (
    <g class="axis">
      <line x1={from} x2={to} y1={y} y2={y} />
      {ticks.map((tick) => (
        <g key={tick} transform={`translate(${scale(tick)},${y})`}><line y2="4" /><text y="16" text-anchor="middle">{format(tick)}</text></g>
      ))}
      {label && <text x={(from + to) / 2} y={y + 32} text-anchor="middle" class="axis-label">{label}</text>}
    </g>
  );
}

export function AxisY({ scale, x, width, format, count = 4 }: { scale: ScaleLinear<number, number>; x: number; width: number; format: (v: number) => string; count?: number }) {
  return (
    <g class="axis">
      {scale.ticks(count).map((tick) => (
        <g key={tick} transform={`translate(${x},${scale(tick)})`}><line class="grid" x2={width} /><text x="-6" dy="0.32em" text-anchor="end">{format(tick)}</text></g>
      ))}
    </g>
  );
}

// Accuracies under shuffled topics as a histogram, the observed one and its interval on the same axis.
export function NullChart({ test, nulls, width, height }: { test: HeldOut; nulls: ArrayLike<number>; width: number; height: number }) {
  const accuracy = test.accuracy ?? 0, bottom = height - 36, left = 12, right = width - 16;
  // Bins as wide as one prompt, or a few, and centred on what a whole number of prompts gives: else bars would come and go with rounding.
  const step = Math.ceil((test.trials ?? 60) / 60) / (test.trials ?? 60);
  const x = scaleLinear([-step / 2, 1 + step / 2], [left, right]);
  const edges = Array.from({ length: Math.ceil(1 / step) + 1 }, (_, i) => (i - 0.5) * step);
  const bins = bin().domain([-step / 2, 1 + step / 2]).thresholds(edges)(Array.from(nulls));
  const y = scaleLinear([0, max(bins, (b) => b.length) ?? 1], [bottom, 46]);
  const [low, high] = test.interval_95 ?? [accuracy, accuracy];
  const label_right = x(accuracy) > width - 130;
  return (
    <>
      {bins.map((b) => b.length > 0 && <rect key={b.x0} class="null-bar" x={x(b.x0!) + 0.5} width={Math.max(1, x(b.x1!) - x(b.x0!) - 1)} y={y(b.length)} height={bottom - y(b.length)} />)}
      {test.null_quantile_95 !== undefined && <line class="null-edge" x1={x(test.null_quantile_95)} x2={x(test.null_quantile_95)} y1={46} y2={bottom} />}
      <rect class="interval" x={x(low)} width={Math.max(2, x(high) - x(low))} y={30} height={bottom - 30} />
      <line class="observed" x1={x(accuracy)} x2={x(accuracy)} y1={26} y2={bottom} />
      <text class="strong" x={x(accuracy) + (label_right ? 4 : -4)} y={18} text-anchor={label_right ? "end" : "middle"}>{`observed ${percent(accuracy)}`}</text>
      {test.null_mean !== undefined && Math.abs(x(test.null_mean) - x(accuracy)) > 110 && <text class="quiet" x={x(test.null_mean)} y={40} text-anchor="middle">shuffled topics</text>}
      <AxisX scale={x} y={bottom} format={(v) => percent(v, 0)} label={width > 300 ? "held-out prompts whose topic is predicted" : undefined} />
    </>
  );
}

export interface AccuracyRow { name: string; test?: HeldOut; reason?: string }

// Tests and phases beside one another: interval, observed accuracy, and where shuffled topics end.
export function AccuracyChart({ rows, width }: { rows: AccuracyRow[]; width: number }) {
  const left = Math.min(190, width * 0.42), right = width - 62, x = scaleLinear([0, 1], [left, right]);
  return (
    <>
      {rows.map((row, i) => {
        const y = 16 + i * 26, test = row.test, accuracy = test?.accuracy;
        return (
          <g key={row.name}>
            <text x={left - 10} y={y} text-anchor="end" dy="0.32em">{row.name}</text>
            <line class="grid" x1={left} x2={right} y1={y} y2={y} />
            {accuracy === undefined ? <text class="quiet" x={left + 4} y={y} dy="0.32em">{fit(row.reason ?? "not computed", width - left)}</text> : (
              <>
                {test!.null_mean !== undefined && <rect class="null-bar" x={x(Math.max(0, 2 * test!.null_mean - (test!.null_quantile_95 ?? test!.null_mean)))} width={Math.max(2, x(test!.null_quantile_95 ?? test!.null_mean) - x(Math.max(0, 2 * test!.null_mean - (test!.null_quantile_95 ?? test!.null_mean))))} y={y - 6} height={12} />}
                {test!.chance !== undefined && <line class="null-edge" x1={x(test!.chance)} x2={x(test!.chance)} y1={y - 8} y2={y + 8} />}
                {test!.interval_95 && <line class="whisker" x1={x(test!.interval_95[0])} x2={x(test!.interval_95[1])} y1={y} y2={y} />}
                <circle class="observed-dot" cx={x(accuracy)} cy={y} r="5" />
                <text x={width} y={y} dy="0.32em" text-anchor="end">{percent(accuracy, 0)}</text>
              </>
            )}
          </g>
        );
      })}
      <AxisX scale={x} y={rows.length * 26 + 8} format={(v) => percent(v, 0)} />
    </>
  );
}

export const fit = (text: string, pixels: number) => (text.length * 6.2 > pixels ? text.slice(0, Math.max(1, Math.floor(pixels / 6.2) - 1)) + "…" : text);

export interface Curve { name: string; values: (number | undefined)[]; low?: number[]; high?: number[]; className: string; colour?: string }

// Values by layer. Layers that lack a value leave a gap.
export function DepthChart({ layers, curves, width, height, format, from_zero = true }: { layers: number[]; curves: Curve[]; width: number; height: number; format: (v: number) => string; from_zero?: boolean }) {
  const left = 52, bottom = height - 36;
  const [first, last] = extent(layers) as [number, number];
  const x = scaleLinear([first === last ? first - 1 : first, first === last ? last + 1 : last], [left, width - 14]);
  const every = curves.flatMap((curve) => [...curve.values, ...(curve.low ?? []), ...(curve.high ?? [])]).filter((v): v is number => v !== undefined && Number.isFinite(v));
  const [least, most] = every.length ? (extent(every) as [number, number]) : [0, 1];
  const y = scaleLinear([from_zero ? Math.min(0, least) : least, most === least ? least + 1 : most], [bottom, 14]).nice();
  const ok = (v: number | undefined) => v !== undefined && Number.isFinite(v);
  return (
    <>
      <AxisY scale={y} x={left} width={width - left - 14} format={format} />
      {curves.map((curve) => {
        const points = layers.map((layer, i) => [layer, curve.values[i]] as const);
        const path = line<readonly [number, number | undefined]>().defined((p) => ok(p[1])).x((p) => x(p[0])).y((p) => y(p[1]!));
        const band = curve.low && curve.high && area<number>().defined((i) => ok(curve.low![i])).x((i) => x(layers[i])).y0((i) => y(curve.low![i])).y1((i) => y(curve.high![i]));
        const colour = curve.colour ? { stroke: curve.colour, fill: curve.colour } : {};
        return (
          <g key={curve.name} class={`curve ${curve.className}`}>
            {band && <path class="band" d={band(layers.map((_, i) => i)) ?? ""} fill={curve.colour} />}
            <path class="line" d={path(points) ?? ""} stroke={curve.colour} fill="none" />
            {layers.length <= 40 && points.map(([layer, value]) => ok(value) && <circle key={layer} cx={x(layer)} cy={y(value!)} r="2.5" {...colour}><title>{`layer ${layer}: ${format(value!)}`}</title></circle>)}
          </g>
        );
      })}
      <AxisX scale={x} y={bottom} format={(v) => (Number.isInteger(v) ? String(v) : "")} label="layer" />
    </>
  );
}

// A table of numbers as squares; a click chooses one.
export function MatrixChart({ names, order, value, text, shade, width, chosen, choose, rows_label, columns_label, alike, say }: {
  names: string[]; order: number[]; value: (r: number, c: number) => number; text: (v: number) => string; shade: (v: number) => number; width: number;
  chosen?: [number, number]; choose?: (r: number, c: number) => void; rows_label?: string; columns_label?: string; alike?: boolean; say: (r: number, c: number, text: string) => string;
}) {
  const longest = Math.min(130, 14 + 6.6 * Math.max(...names.map((name) => name.length)));
  const size = Math.max(12, Math.min(46, (width - longest - 30) / names.length)), top = longest + (columns_label ? 16 : 0), left = longest + 16;
  return (
    <>
      {columns_label && <text class="axis-label" x={left + (size * names.length) / 2} y={11} text-anchor="middle">{columns_label}</text>}
      {rows_label && <text class="axis-label" transform={`translate(10,${top + (size * names.length) / 2}) rotate(-90)`} text-anchor="middle">{rows_label}</text>}
      {order.map((c, i) => <text key={`c${c}`} style={{ fontSize: `${Math.min(12, size)}px` }} transform={`translate(${left + (i + 0.5) * size + 4},${top - 6}) rotate(-60)`}>{fit(names[c], longest)}</text>)}
      {order.map((r, i) => (
        <g key={r} transform={`translate(${left},${top + i * size})`}>
          <text x="-6" y={size / 2} dy="0.32em" text-anchor="end" style={{ fontSize: `${Math.min(12, size)}px` }}>{fit(names[r], longest)}</text>
          {order.map((c, j) => {
            const v = value(r, c), part = shade(v), picked = chosen?.[0] === r && chosen[1] === c;
            const press = choose && (() => choose(r, c));
            return (
              <g key={c} class={`matrix-cell${alike ? " alike" : ""}${choose ? " can-press" : ""}${picked ? " picked" : ""}`} onClick={press} tabIndex={choose ? 0 : undefined} role={choose ? "button" : undefined}
                aria-label={choose ? say(r, c, text(v)) : undefined} aria-pressed={choose ? picked : undefined}
                onKeyDown={(event) => { if (press && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); press(); } }}>
                <rect x={j * size + 1} width={size - 2} y={1} height={size - 2} rx="3" class="matrix-ground" />
                <rect x={j * size + 1} width={size - 2} y={1} height={size - 2} rx="3" class={`matrix-fill${r === c ? " same" : ""}`} fill-opacity={part} />
                {size >= 7 * text(v).length + 2 && v !== 0 && <text x={(j + 0.5) * size} y={size / 2} dy="0.34em" text-anchor="middle" class={part > 0.55 ? "on-fill" : ""}>{text(v)}</text>}
                {!choose && <title>{say(r, c, text(v))}</title>}
              </g>
            );
          })}
        </g>
      ))}
    </>
  );
}
export const matrix_height = (names: string[], width: number, labelled = false) => {
  const longest = Math.min(130, 14 + 6.6 * Math.max(...names.map((name) => name.length)));
  return longest + (labelled ? 16 : 0) + names.length * Math.max(12, Math.min(46, (width - longest - 30) / names.length)) + 8;
};

// Affinity to each topic as bars; a ring where router weights put it; whiskers where an interval is known; a line where all topics are alike.
export function AffinityBars({ topics, values, rings, width, row = 22 }: { topics: string[]; values: ArrayLike<number>; rings?: ArrayLike<number>; width: number; row?: number }) {
  const left = Math.min(130, width * 0.38), x = scaleLinear([0, Math.max(...Array.from(values), ...(rings ? Array.from(rings) : []), 1.5 / topics.length)], [left, width - 58]);
  const even = x(1 / topics.length);
  return (
    <>
      {topics.map((topic, c) => (
        <g key={topic} transform={`translate(0,${c * row + 4})`}>
          <text x={left - 8} y={row / 2} dy="0.32em" text-anchor="end">{fit(topic, left)}</text>
          <rect x={left} y={3} width={Math.max(0, x(values[c]) - left)} height={row - 7} rx="3" fill={topic_colour(theme.value, c)} />
          {rings && !Number.isNaN(rings[c]) && <circle class="ring" cx={x(rings[c])} cy={row / 2} r="4.5" />}
          <text class="quiet" x={width} y={row / 2} dy="0.32em" text-anchor="end">{percent(values[c])}</text>
        </g>
      ))}
      <line class="null-edge" x1={even} x2={even} y1={2} y2={topics.length * row + 4} />
      <text class="quiet" x={even} y={topics.length * row + 18} text-anchor="middle">{`even: ${percent(1 / topics.length)}`}</text>
    </>
  );
}

export interface Dot { topic: number; value: number; title: string; faded?: boolean }

// One dot a prompt, a row a topic, so that replication is seen.
export function PromptDots({ topics, dots, width, row = 22, format }: { topics: string[]; dots: Dot[]; width: number; row?: number; format: (v: number) => string }) {
  const left = Math.min(130, width * 0.38), most = max(dots, (dot) => dot.value) || 1, x = scaleLinear([0, most], [left + 4, width - 20]).nice();
  const seen = new Map<string, number>();
  return (
    <>
      {topics.map((topic, c) => (
        <g key={topic}>
          <text x={left - 8} y={c * row + row / 2 + 4} dy="0.32em" text-anchor="end">{fit(topic, left)}</text>
          <line class="grid" x1={left} x2={width - 10} y1={c * row + row / 2 + 4} y2={c * row + row / 2 + 4} />
        </g>
      ))}
      {dots.filter((dot) => dot.topic >= 0).map((dot, i) => {
        const key = `${dot.topic}:${Math.round(x(dot.value) / 5)}`, again = seen.get(key) ?? 0;
        seen.set(key, again + 1);
        const shift = (again % 2 ? -1 : 1) * Math.ceil(again / 2) * 3.2;
        return <circle key={i} class="prompt-dot" cx={x(dot.value)} cy={dot.topic * row + row / 2 + 4 + Math.max(-8, Math.min(8, shift))} r="4" fill={topic_colour(theme.value, dot.topic)}><title>{dot.title}</title></circle>;
      })}
      <AxisX scale={x} y={topics.length * row + 6} format={format} />
    </>
  );
}
