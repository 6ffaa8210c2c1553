// Screenshots of every view, to be looked at: node test/screenshots.mjs ATLAS.json FOLDER [view ...]
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { make_page, open_browser, open_page } from "./browser.mjs";

const [atlas, folder, ...only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const file = resolve(folder, "page.html");
make_page(atlas, file);

const shots = [
  ["verdict", "", {}], ["map", "#view=map", {}], ["map-card", "#view=map&expert=FIRST", {}], ["map-zoom", "#view=map&at=9.000,-3.000,-3.000", {}],
  ["map-q", "#view=map&colour=q", {}], ["map-focus", "#view=map&topic=TOPIC&order=topic", {}], ["topics", "#view=topics", {}], ["trials", "#view=trials", {}],
  ["depth", "#view=depth", {}], ["table", "#view=table&expert=FIRST", {}], ["about", "#view=about", {}],
  ["verdict-dark", "#theme=dark", {}], ["map-dark", "#view=map&theme=dark&expert=FIRST", {}], ["topics-dark", "#view=topics&theme=dark", {}],
  ["phone", "", { width: 390, height: 844 }], ["phone-map", "#view=map&expert=FIRST", { width: 390, height: 844 }], ["phone-table", "#view=table", { width: 390, height: 844 }],
];
const browser = await open_browser();
const names = JSON.parse((await import("node:fs")).readFileSync(atlas, "utf8"));
for (const [name, fragment, options] of shots) {
  if (only.length && !only.includes(name)) continue;
  const filled = fragment.replace("FIRST", `${names.source.layers[Math.floor(names.source.layers.length / 2)]}:${Math.min(17, names.source.expert_count - 1)}`).replace("TOPIC", encodeURIComponent(names.topics[1]));
  const { page, faults, context } = await open_page(browser, file, { fragment: filled, ...options });
  await page.waitForSelector(".tabs");
  await page.waitForTimeout(500);
  await page.screenshot({ path: resolve(folder, `${name}.png`), fullPage: true });
  if (faults.length) console.log(name, faults);
  await context.close();
}
await browser.close();
