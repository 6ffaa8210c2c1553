// Times of the page with a large atlas: node test/benchmark.mjs ATLAS.json. Prints milliseconds: opening, a frame while the map is panned and
// zoomed, and the answer to a click, a filter and a change of view.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { make_page, open_browser, open_page } from "./browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "atlas-page-")), path = join(folder, "page.html");
make_page(process.argv[2], path);
console.log(`page file: ${(statSync(path).size / 1e6).toFixed(2)} MB`);
const browser = await open_browser();
const { page, faults } = await open_page(browser, path, { fragment: "#view=map", bypassCSP: true });
await page.waitForSelector(".map-canvas");
const opened = await page.evaluate(() => performance.getEntriesByName("atlas-drawn")[0].startTime);
console.log(`first view drawn: ${opened.toFixed(0)} ms after navigation began`);

// The time from asking for a drawing to the end of the frame that shows it, over a pan and zoom of many steps.
const frames = await page.evaluate(async () => {
  const canvas = document.querySelector(".map-canvas"), box = canvas.getBoundingClientRect(), work = [], gaps = [];
  const next_frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const raf = window.requestAnimationFrame;
  window.requestAnimationFrame = (callback) => raf((time) => { const start = performance.now(); callback(time); work.push(performance.now() - start); });
  let last = await next_frame();
  for (let step = 0; step < 120; step++) {
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: step % 40 < 20 ? -60 : 60, clientX: box.left + box.width * (0.2 + 0.6 * ((step * 7) % 10) / 10), clientY: box.top + box.height / 2, bubbles: true, cancelable: true }));
    const now = await new Promise((resolve) => raf(resolve));
    gaps.push(now - last);
    last = now;
  }
  window.requestAnimationFrame = raf;
  const sorted = (values) => values.sort((a, b) => a - b);
  return { work: sorted(work), gaps: sorted(gaps) };
});
const at = (values, part) => values[Math.min(values.length - 1, Math.floor(values.length * part))].toFixed(1);
console.log(`pan and zoom: drawing ${at(frames.work, 0.5)} ms (95 %: ${at(frames.work, 0.95)}, longest ${at(frames.work, 1)}); frame to frame ${at(frames.gaps, 0.5)} ms (95 %: ${at(frames.gaps, 0.95)})`);

// From the event to the end of the first frame after it.
async function answer(name, act) {
  const time = await page.evaluate(async (source) => {
    const start = performance.now();
    new Function(source)();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - start;
  }, act);
  console.log(`${name}: ${time.toFixed(0)} ms`);
}
await page.evaluate(() => { location.hash = "#view=map"; });
await page.waitForTimeout(300);
await answer("filter specialisation >= 0.3", `const box = [...document.querySelectorAll(".limit input")][2]; box.value = "0.3"; box.dispatchEvent(new Event("input", { bubbles: true }))`);
await answer("colour by selections", `const box = document.querySelector(".controls select"); box.value = "total"; box.dispatchEvent(new Event("change", { bubbles: true }))`);
await answer("open an expert's card", `location.hash = "#view=map&expert=" + "${process.argv[3] ?? "40:17"}"`);
await page.waitForTimeout(1500);
await answer("open another card", `location.hash = "#view=map&expert=" + "${process.argv[4] ?? "41:18"}"`);
await answer("go to the table", `document.getElementById("tab-table").click()`);
await answer("sort the table", `document.querySelectorAll(".experts thead button")[4].click()`);
await answer("go to the topics", `document.getElementById("tab-topics").click()`);
await answer("go to the verdict", `document.getElementById("tab-verdict").click()`);
if (faults.length) console.log("faults:", faults);
await browser.close();
rmSync(folder, { recursive: true });
