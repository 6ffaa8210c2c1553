// Small parts that the views share: a figure that can be saved, topic names, notes, numbers as people read them.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { topic_colour } from "./colours";
import { columns, theme } from "./page";
import { save_png, save_svg } from "./save";

export const percent = (value: number | undefined, digits = 1) => (value === undefined || Number.isNaN(value) ? "–" : `${(100 * value).toFixed(digits)} %`);
export const whole = (value: number) => Math.round(value).toLocaleString("en");
export const short = (value: number) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : value >= 1e4 ? `${(value / 1e3).toFixed(0)} k` : whole(value));

// Text that came with the model or the probes: its direction is its own, and it is never markup.
export const Foreign = ({ children }: { children: string }) => <bdi class="foreign">{children}</bdi>;

export const Swatch = ({ topic }: { topic: number }) => (
  <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="2.5" fill={topic_colour(theme.value, topic)} /></svg>
);

export const Topic = ({ topic }: { topic: number }) => (
  <span class="topic"><Swatch topic={topic} /><Foreign>{columns.value.topics[topic] ?? "–"}</Foreign></span>
);

export const Missing = ({ children }: { children: ComponentChildren }) => <p class="missing">{children}</p>;

// The width that a chart can take, followed as the window changes.
export function useWidth(least = 240): [preact.RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, set_width] = useState(0);
  useEffect(() => {
    const box = ref.current!;
    const measure = () => set_width(Math.max(least, Math.floor(box.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

interface FigureProps {
  title: string;
  name: string; // of the saved file
  text: string; // what the chart shows, for those who do not see it
  note?: ComponentChildren;
  height: number;
  interactive?: boolean; // its parts can be pressed
  draw: (width: number) => ComponentChildren;
}

export function Figure({ title, name, text, note, height, interactive, draw }: FigureProps) {
  const [box, width] = useWidth();
  const svg = useRef<SVGSVGElement>(null);
  return (
    <figure class="figure">
      <figcaption>
        <span class="figure-title">{title}</span>
        <span class="figure-save">
          <button type="button" onClick={() => save_svg(name, svg.current!)} aria-label={`Save “${title}” as SVG`}>SVG</button>
          <button type="button" onClick={() => void save_png(name, svg.current!)} aria-label={`Save “${title}” as PNG`}>PNG</button>
        </span>
      </figcaption>
      <div ref={box} class="figure-box">
        {width > 0 && (
          <svg ref={svg} role={interactive ? "group" : "img"} aria-label={text} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>{draw(width)}</svg>
        )}
      </div>
      {note && <p class="note">{note}</p>}
    </figure>
  );
}

export function Choice<T extends string>({ label, value, options, onChoose, off }: {
  label: string; value: T; options: readonly (readonly [T, string])[]; onChoose: (value: T) => void; off?: Partial<Record<T, string>>;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value as T)}>
        {options.map(([key, name]) => (
          <option key={key} value={key} disabled={off?.[key] !== undefined}>{off?.[key] ? `${name} – ${off[key]}` : name}</option>
        ))}
      </select>
    </label>
  );
}
