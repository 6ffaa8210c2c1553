// The topic colours' distances, measured again: OKLab, with full colour vision and as protan and deutan eyes see them (Machado et al. 2009).
import { expect, test } from "vitest";
import { ground, rgb_of, topic_colours, topic_letters, type Rgb } from "../src/colours";

const linear = (c: number) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
const visions = {
  full: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
function seen(rgb: Rgb, vision: number[][]): number[] {
  const light = rgb.map(linear), [r, g, b] = vision.map((row) => Math.min(1, Math.max(0, row.reduce((sum, v, i) => sum + v * light[i], 0))));
  const [l, m, s] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b, 0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b].map(Math.cbrt);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}
const distance = (a: number[], b: number[]) => Math.hypot(...a.map((v, i) => v - b[i]));

for (const theme of ["light", "dark"] as const)
  for (const [name, vision] of Object.entries(visions))
    test(`sixteen ${theme} topic colours differ for ${name} vision, and from the paper`, () => {
      const colours = topic_colours[theme].map((colour) => seen(rgb_of(colour), vision)), paper = seen(rgb_of(ground[theme].paper), vision);
      expect(colours.length).toBe(16);
      let least = 1;
      colours.forEach((a, i) => colours.slice(i + 1).forEach((b) => (least = Math.min(least, distance(a, b)))));
      expect(least).toBeGreaterThan(0.06); // three times what the eye tells apart side by side
      for (const colour of colours) expect(distance(colour, paper)).toBeGreaterThan(0.18);
    });

test("topics get letters that differ where they can", () => {
  expect(topic_letters(["medicine", "mechanics", "music"])).toEqual(["me", "mc", "mu"]);
  expect(new Set(topic_letters(["topic 01", "topic 02", "topic 03"])).size).toBe(3);
});
