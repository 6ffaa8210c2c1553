// Times of the page with a large atlas: node test/benchmark.mjs ATLAS.json [LAYER:EXPERT LAYER:EXPERT]. Wall time, and the CPU time of the page's
// main thread, which other programs on the machine do not lengthen.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { make_page, open_browser, open_page } from "./browser.mjs";

const [atlas, first = "40:17", second = "41:18"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "atlas-page-")), path = join(folder, "page.html");
make_page(atlas, path);
console.log(`page file: ${(statSync(path).size / 1e6).toFixed(2)} MB; load of the machine: ${loadavg()[0].toFixed(1)}`);
const browser = await open_browser();
const { page, faults } = await open_page(browser, path, { fragment: "#view=map", bypassCSP: true, before: async (made) => {
  const session = await made.context().newCDPSession(made);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  made.cpu = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find((metric) => metric.name === "TaskDuration").value;
  };
} });
await page.waitForSelector(".map-canvas");
const opened = await page.evaluate(() => performance.getEntriesByName("atlas-drawn")[0].startTime);
await page.waitForTimeout(1000);
console.log(`first view drawn: ${opened.toFixed(0)} ms after navigation began; main thread ${(await page.cpu()).toFixed(0)} ms of CPU`);

// A pan and zoom of many steps: the page's work for each frame, and the time from one frame to the next.
const steps = 120, before = await page.cpu();
const gaps = await page.evaluate(async (count) => {
  const canvas = document.querySelector(".map-canvas"), box = canvas.getBoundingClientRect(), found = [];
  let last = await new Promise(requestAnimationFrame);
  for (let step = 0; step < count; step++) {
    const clientX = box.left + box.width * (0.2 + (0.6 * ((step * 7) % 10)) / 10), clientY = box.top + box.height / 2;
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: step % 40 < 20 ? -60 : 60, clientX, clientY, bubbles: true, cancelable: true }));
    const now = await new Promise(requestAnimationFrame);
    found.push(now - last);
    last = now;
  }
  return found.sort((a, b) => a - b);
}, steps);
console.log(`pan and zoom: main thread ${(((await page.cpu()) - before) / steps).toFixed(1)} ms of CPU a frame; frame to frame ${gaps[steps / 2].toFixed(1)} ms (95 %: ${gaps[Math.floor(steps * 0.95)].toFixed(1)})`);

// From the event to the end of the first frame after it; CPU until the page is quiet again.
async function answer(name, act) {
  const from = await page.cpu();
  const time = await page.evaluate(async (source) => {
    const start = performance.now();
    new Function(source)();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - start;
  }, act);
  await page.waitForTimeout(1500);
  console.log(`${name}: ${time.toFixed(0)} ms to the next frame; main thread ${((await page.cpu()) - from).toFixed(0)} ms of CPU in all`);
}
const choose = (selector, value, event) => `const box = ${selector}; box.value = "${value}"; box.dispatchEvent(new Event("${event}", { bubbles: true }))`;
await answer("filter specialisation >= 0.3", choose('[...document.querySelectorAll(".limit input")][2]', "0.3", "input"));
await answer("colour by selections", choose('document.querySelector(".controls select")', "total", "change"));
await answer("open an expert's card", `location.hash = "#view=map&expert=${first}"`);
await answer("open another card", `location.hash = "#view=map&expert=${second}"`);
await answer("close the card", `location.hash = "#view=map"`);
await answer("go to the table", `document.getElementById("tab-table").click()`);
await answer("sort the table", `document.querySelectorAll(".experts thead button")[4].click()`);
await answer("go to the topics", `document.getElementById("tab-topics").click()`);
await answer("go to the verdict", `document.getElementById("tab-verdict").click()`);
await answer("go to the answer phase", choose('document.querySelectorAll("header select")[0]', "answer", "change"));
if (faults.length) console.log("faults:", faults);
await browser.close();
rmSync(folder, { recursive: true });
