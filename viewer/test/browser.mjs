// What the browser tests, the screenshots and the benchmark share: a page file made from an atlas, and a Chromium that may not reach any network.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const patience = 180_000; // ms: a busy machine is no fault of the page

export const open_browser = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: flags, timeout: patience });

// With the program where EXPERT_ATLAS names it; else as the program does it, from the built template.
export function make_page(atlas_path, out_path) {
  if (process.env.EXPERT_ATLAS) return execFileSync(process.env.EXPERT_ATLAS, ["--quiet", "page", atlas_path, "--out", out_path]);
  const template = readFileSync(new URL("../dist/page.html", import.meta.url), "utf8");
  const json = readFileSync(atlas_path, "utf8").replace(/</g, "\\u003c");
  writeFileSync(out_path, template.replace('"EXPERT_ATLAS_JSON"', () => json));
}

// A page whose requests, console errors and exceptions are collected in `faults`.
export async function open_page(browser, path, { fragment = "", width = 1360, height = 900, before, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, acceptDownloads: true, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const faults = [];
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) faults.push(`request: ${request.url()}`); });
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  await before?.(page);
  await page.goto(`file://${path}${fragment}`);
  return { page, faults, context };
}
