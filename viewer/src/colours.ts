// Colours of topics and of numbers. Topics: sixteen colours found by search for the greatest smallest distance in OKLab, seen with full colour
// vision and through the protan, deutan and tritan simulations of Machado et al. 2009; one list a theme. Beyond sixteen topics they repeat:
// colour is never the only sign, the map has letters, focus and names beside it. The tests measure the distances again.
import { interpolateViridis } from "d3-scale-chromatic";

export const topic_colours = {
  light: [
    "#6b3cee", "#b6c434", "#69331f", "#81a9fd", "#768619", "#7717a7", "#fb9caa", "#51375d",
    "#a172cf", "#36646b", "#cd8abe", "#99c2e9", "#11815f", "#939d3d", "#716697", "#41a282",
  ],
  dark: [
    "#c237a4", "#e9ef80", "#9aa333", "#a4bff5", "#a6796c", "#916ae5", "#a44d1d", "#39f6f3",
    "#a6b67b", "#eed027", "#b6d7aa", "#cd8695", "#7848cd", "#86841d", "#8d6675", "#9b9acd",
  ],
};
export type Theme = keyof typeof topic_colours;
export const topic_colour = (theme: Theme, topic: number) => (topic < 0 ? ground[theme].missing : topic_colours[theme][topic % topic_colours[theme].length]);

export const ground = {
  light: { paper: "#ffffff", cell: "#eceae4", missing: "#d4d1c9", grey: "#8d8a83", ink: "#1d1b22" },
  dark: { paper: "#17171d", cell: "#26262e", missing: "#3a3a44", grey: "#85858f", ink: "#f0eef5" },
};

export type Rgb = [number, number, number];
export function rgb_of(colour: string): Rgb {
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as Rgb;
  return (colour.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number) as Rgb;
}
export const mix = (from: Rgb, to: Rgb, part: number): Rgb => [0, 1, 2].map((i) => from[i] + (to[i] - from[i]) * part) as Rgb;
export const css = (rgb: Rgb) => `rgb(${rgb.map(Math.round).join(",")})`;

// Perceived lightness, for letters on a colour.
export const is_light = ([r, g, b]: Rgb) => 0.299 * r + 0.587 * g + 0.114 * b > 140;

const viridis = Array.from({ length: 256 }, (_, i) => rgb_of(interpolateViridis(i / 255)));
export const sequential = (part: number): Rgb => viridis[Math.max(0, Math.min(255, Math.round(part * 255)))];

// Less affinity by router weight than by count: blue; more: orange; the same: the ground.
export function diverging(part: number, theme: Theme): Rgb {
  const end: Rgb = part < 0 ? [33, 113, 209] : [224, 112, 16];
  return mix(rgb_of(ground[theme].cell), end, Math.min(1, Math.abs(part)));
}

// Two letters that tell the topics apart, where two can: the first of each name, else the first and the first that differs.
export function topic_letters(topics: string[]): string[] {
  const taken = new Set<string>();
  return topics.map((topic) => {
    const letters = [...topic.replace(/[^\p{L}\p{N}]/gu, "")];
    const choices = letters.slice(1).map((second) => (letters[0] + second));
    const name = choices.find((choice) => !taken.has(choice)) ?? topic.slice(0, 2);
    taken.add(name);
    return name;
  });
}
