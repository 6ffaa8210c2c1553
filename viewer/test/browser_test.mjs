// The page in a real browser: hostile texts, links, keyboard, CSV, no network, accessibility. Needs Chromium (CHROMIUM names another one);
// uses the program that EXPERT_ATLAS names, else the built template. Usage: node test/browser_test.mjs [ATLAS.json [WORD]], WORD: only tests with it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { make_page, open_browser, open_page } from "./browser.mjs";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const atlas_path = process.argv[2] ?? new URL("data/random_e256.json", import.meta.url).pathname;
const atlas = JSON.parse(readFileSync(atlas_path, "utf8"));
const folder = mkdtempSync(join(tmpdir(), "atlas-page-"));
const browser = await open_browser();
const views = ["verdict", "map", "topics", "trials", "depth", "table", "about"];
const first = `${atlas.source.layers[0]}:`;

function page_of(name, change) {
  const changed = structuredClone(atlas);
  change?.(changed);
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(changed));
  make_page(join(folder, `${name}.json`), join(folder, `${name}.html`));
  return join(folder, `${name}.html`);
}

const tests = {
  async "every view draws without a request, a console message or an exception"() {
    const path = page_of("plain");
    for (const view of views) {
      const { page, faults, context } = await open_page(browser, path, { fragment: `#view=${view}` });
      await page.waitForSelector(`#tab-${view}[aria-selected=true]`);
      await page.waitForTimeout(150);
      assert.ok((await page.locator("#content").innerText()).length > 100, `${view} is empty`);
      assert.deepEqual(faults, [], view);
      await context.close();
    }
  },

  async "hostile texts are shown as text and change nothing else"() {
    const evil = "</script><img src=x onerror=\"window.hit=1\"><script>window.hit=1</script><!-- \u202Eabc ${x} \u{1F600}";
    const path = page_of("hostile", (a) => {
      a.source.model.name = evil;
      a.source.engine.name = evil;
      a.source.settings = { [evil.slice(0, 40)]: evil };
      a.source.probe_set.texts = a.source.probes.map(() => ({ prompt: evil, answer: evil }));
    });
    for (const view of views) {
      const { page, faults, context } = await open_page(browser, path, { fragment: `#view=${view}&test=length_only&expert=${encodeURIComponent("<img src=x onerror=alert(1)>")}&topic=${encodeURIComponent("<b>")}` });
      await page.waitForSelector(".tabs");
      assert.equal(await page.evaluate(() => window.hit), undefined);
      assert.equal(await page.locator("img, #page script").count(), 0, view);
      assert.deepEqual(faults, [], view);
      assert.ok((await page.locator(".model").innerText()).includes("</script><img src=x"), "the model's name is shown as it is");
      if (view === "topics") assert.ok((await page.locator(".prompts").innerText()).includes("</script><img src=x"), "prompts are shown as they are");
      await context.close();
    }
  },

  async "the policy forbids handlers and requests that were not built in"() {
    const { page, context } = await open_page(browser, page_of("plain"));
    await page.waitForSelector(".tabs");
    const outcome = await page.evaluate(async () => {
      const button = document.createElement("button");
      button.setAttribute("onclick", "window.hit = 1");
      document.body.append(button);
      button.click();
      const script = document.createElement("script");
      script.textContent = "window.hit = 2";
      document.body.append(script);
      const fetched = await fetch("https://example.org/").then(() => "sent", () => "refused");
      return { hit: window.hit, fetched };
    });
    assert.deepEqual(outcome, { hit: undefined, fetched: "refused" });
    await context.close();
  },

  async "a link returns to the same view"() {
    const path = page_of("plain");
    const { page, context } = await open_page(browser, path);
    await page.click("#tab-map");
    await page.selectOption(".controls select >> nth=0", "specialisation");
    await page.fill(".search input", `${first}${atlas.source.expert_count - 1}`);
    await page.press(".search input", "Enter");
    await page.waitForSelector(".card h2");
    const link = await page.evaluate(() => location.hash);
    const card = await page.locator(".card h2").innerText();
    await context.close();
    const again = await open_page(browser, path, { fragment: link });
    await again.page.waitForSelector(".card h2");
    assert.equal(await again.page.locator(".card h2").innerText(), card);
    assert.equal(await again.page.locator(".controls select >> nth=0").inputValue(), "specialisation");
    assert.equal(await again.page.evaluate(() => location.hash), link);
    await again.page.goBack().catch(() => undefined);
    await again.context.close();
  },

  async "the keyboard alone walks the map, opens an expert and closes it"() {
    const { page, faults, context } = await open_page(browser, page_of("plain"), { fragment: "#view=map" });
    await page.waitForSelector(".map-canvas");
    await page.keyboard.press("Tab");
    for (let i = 0; i < 60 && !(await page.evaluate(() => document.activeElement.classList.contains("map-canvas"))); i++) await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.classList.contains("map-canvas")), "Tab reaches the map");
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "+", "+", "ArrowDown", "ArrowUp"]) await page.keyboard.press(key);
    const said = await page.locator("[aria-live=polite]").innerText();
    assert.match(said, /^layer \d+, expert \d+/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".card h2");
    const [, layer, expert] = /layer (\d+), expert (\d+)/.exec(said);
    assert.equal(await page.locator(".card h2").innerText(), `Expert ${layer}:${expert}`);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".card").count(), 0);
    await page.keyboard.press("6");
    await page.waitForSelector(".experts");
    assert.deepEqual(faults, []);
    await context.close();
  },

  async "filters act, and the CSV is what the table shows"() {
    const { page, context } = await open_page(browser, page_of("plain"), { fragment: "#view=table&status=kept&sort=total" });
    await page.waitForSelector(".experts");
    const kept = atlas.reference.summary.experts_kept;
    assert.ok((await page.locator("#content h2").innerText()).startsWith(`${kept.toLocaleString("en")} of `));
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download CSV")]);
    const lines = readFileSync(await download.path(), "utf8").trimEnd().split("\r\n");
    assert.equal(lines.length, kept + 1);
    const totals = lines.slice(1).map((line) => Number(line.split(",")[lines[0].split(",").indexOf('"total"')]));
    assert.deepEqual(totals, [...totals].sort((a, b) => b - a));
    await context.close();
  },

  async "charts are saved as SVG and PNG"() {
    const { page, faults, context } = await open_page(browser, page_of("plain"), { fragment: "#view=depth" });
    await page.waitForSelector(".figure-save");
    const [svg] = await Promise.all([page.waitForEvent("download"), page.locator(".figure-save button").nth(0).click()]);
    assert.match(readFileSync(await svg.path(), "utf8"), /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    const [png] = await Promise.all([page.waitForEvent("download"), page.locator(".figure-save button").nth(1).click()]);
    assert.deepEqual([...readFileSync(await png.path()).subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
    assert.deepEqual(faults, []);
    await context.close();
  },

  async "a damaged, an old or a missing atlas gives a sentence"() {
    const template = readFileSync(new URL("../dist/page.html", import.meta.url), "utf8");
    const cases = { '{"format": "expert': "damaged", '{"format":"expert-atlas atlas","schema_version":1}': "schema version 1", "null": "no expert atlas", '"EXPERT_ATLAS_JSON"': "holds no atlas" };
    for (const [json, words] of Object.entries(cases)) {
      const path = join(folder, "damaged.html");
      writeFileSync(path, template.replace('"EXPERT_ATLAS_JSON"', () => json));
      const { page, context } = await open_page(browser, path);
      await page.waitForSelector("[role=alert]");
      assert.ok((await page.locator("[role=alert]").innerText()).includes(words), words);
      await context.close();
    }
  },

  async "axe finds no accessibility violation in any view, light or dark"() {
    const path = page_of("plain");
    const { page, context } = await open_page(browser, path, { bypassCSP: true });
    const found = [];
    await page.waitForSelector(".tabs");
    await page.evaluate(axe);
    for (const theme of ["light", "dark"])
      for (const view of views) {
        await page.evaluate((hash) => { location.hash = hash; }, `#view=${view}&theme=${theme}&expert=${first}${atlas.source.expert_count - 1}`);
        await page.waitForSelector(`#tab-${view}[aria-selected=true]`);
        await page.waitForTimeout(300);
        const { violations } = await page.evaluate(() => window.axe.run());
        for (const v of violations) found.push(`${view} ${theme}: ${v.id}: ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 160)).join(" | ")}`);
      }
    await context.close();
    assert.deepEqual(found, []);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests).filter(([name]) => name.includes(process.argv[3] ?? ""))) {
  try {
    await test();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${error.message}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);
