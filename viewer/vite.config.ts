// Builds src/ into one HTML file, dist/page.html, which `expert-atlas page` fills with an atlas. Nothing is fetched by the page.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const sha256 = (text: string) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

// Allows exactly the code and the styles that were built, and no network at all. Runs on the finished file, since the hashes cover every byte.
function content_security_policy(): Plugin {
  return {
    name: "content-security-policy",
    closeBundle() {
      const built = "dist/index.html";
      const html = readFileSync(built, "utf8");
      const bodies = (tag: RegExp) => [...html.matchAll(tag)].map((match) => sha256(match[1])).join(" ");
      const scripts = bodies(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g);
      const styles = bodies(/<style[^>]*>([\s\S]*?)<\/style>/g);
      const policy = `default-src 'none'; script-src ${scripts}; style-src ${styles}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
      writeFileSync(built, html.replace("CONTENT_SECURITY_POLICY", () => policy));
      renameSync(built, "dist/page.html");
    },
  };
}

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { target: "es2022", emptyOutDir: true, modulePreload: false },
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), content_security_policy()],
});
