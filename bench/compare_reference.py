#!/usr/bin/env python3
"""Times the reference implementation and ours on the same input, and checks that they give the same answer.

Usage: compare_reference.py SEED_TXT BUILD_FOLDER [PROMPTS_PER_TOPIC]

SEED_TXT is the reference document (a diff that holds package/src/models/glm52/atlas.ts); it is not part of this repository. Needs Node 20 and
npm (esbuild takes the types off). BUILD_FOLDER has expert-atlas and bench/core_bench. Input: 12 topics, 8 prompts each, 75 layers x 256 experts,
top 8, 128 tokens a prompt: 7.4 M selections of a fixed generator.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TOPICS, LAYERS, EXPERTS, TOP_K, TOKENS = 12, 75, 256, 8, 128

DRIVER = """
import { readFileSync, readdirSync } from "node:fs";
import * as reference from "./atlas.mjs";
const folder = process.argv[2];
const probes = reference.validateGlm52AtlasProbeSet(JSON.parse(readFileSync(folder + "/probes.json", "utf8")));
const records = readdirSync(folder + "/routes").sort().map((name) => {
  const at = name.lastIndexOf("_");
  const lines = readFileSync(folder + "/routes/" + name, "utf8").trim().split("\\n").map((line) => JSON.parse(line));
  return [name.slice(0, at), Number(name.slice(at + 1, -6)), lines];
});
const time = (work) => { const start = performance.now(); const result = work(); return [result, performance.now() - start]; };
const [runs, counting] = time(() => records.map(([topic, index, lines]) => reference.buildGlm52AtlasRun(topic, index, lines)));
const [atlas, building] = time(() => reference.buildGlm52Atlas(probes, runs));
const [validation, validating] = time(() => reference.validateGlm52Atlas(probes, runs));
console.log(JSON.stringify({ counting, building, validating, summary: atlas.summary, hits: validation.hits }));
"""


def extract_reference(seed, folder):
    """The added file of the diff, types off, with a stand-in for its one helper."""
    lines, inside = [], False
    for line in seed.read_text().splitlines():
        if line.startswith("package/"):
            inside = line.strip() == "package/src/models/glm52/atlas.ts"
        elif inside and line.startswith("+"):
            lines.append(line[1:])
    source = "\n".join(lines).replace('import { positiveInteger } from "../../runtime/integers";', "")
    helper = ("function positiveInteger(value: number, label: string): void {\n"
              "  if (!Number.isSafeInteger(value) || value <= 0) throw new RangeError(`${label} must be a positive integer`);\n}\n")
    (folder / "atlas.ts").write_text(helper + source)
    subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", folder, "esbuild@0.25"], check=True)
    subprocess.run([folder / "node_modules/.bin/esbuild", "atlas.ts", "--format=esm", "--outfile=atlas.mjs", "--log-level=error"], cwd=folder, check=True)
    (folder / "driver.mjs").write_text(DRIVER)


def write_input(folder, prompts):
    rng = random.Random(1)
    (folder / "routes").mkdir()
    names = [f"topic_{c:02}" for c in range(TOPICS)]
    categories = {name: [f"{name} prompt {i}" for i in range(prompts)] for name in names}
    provenance = {"source": "compare_reference.py", "sourceCommit": "none", "method": "generated"}
    (folder / "probes.json").write_text(json.dumps({"schemaVersion": 1, "provenance": provenance, "categories": categories}))
    for name in names:
        weights = [[0.05 + rng.expovariate(1) for _ in range(EXPERTS)] for _ in range(LAYERS)]
        for prompt in range(prompts):
            with open(folder / "routes" / f"{name}_{prompt}.jsonl", "w") as file:
                for layer in range(LAYERS):
                    drawn = rng.choices(range(EXPERTS), weights[layer], k=TOKENS * TOP_K * 3)
                    for token in range(TOKENS):
                        ids = list(dict.fromkeys(drawn[token * TOP_K * 3:(token + 1) * TOP_K * 3]))[:TOP_K]
                        file.write(json.dumps({"segment": f"{name}:{prompt}", "forward": 0, "row": token, "layer": 3 + layer, "indices": ids},
                                              separators=(",", ":")) + "\n")


def time_ours(build, folder):
    subprocess.run([build / "expert-atlas", "-q", "import", "--from", "reference-jsonl", "--probes", folder / "probes.json", "--out",
                    folder / "x.trace", folder / "routes"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([build / "expert-atlas", "-q", "build", folder / "x.trace", "--out", folder / "atlas.json", "--permutations", "0", "--bootstrap", "0",
                    "--pairings", "0", "--reference-out", folder / "reference.json"], check=True, stdout=subprocess.DEVNULL)
    report = subprocess.run([build / "bench/core_bench", "--benchmark_filter=count_mapped_trace/128|reference_", "--benchmark_format=json"], check=True,
                            capture_output=True, text=True, env={**os.environ, "ATLAS_BENCH_TRACE": str(folder / "x.trace")}).stdout
    times = {entry["name"].split("/")[0]: entry["real_time"] for entry in json.loads(report)["benchmarks"]}
    return times, json.loads((folder / "reference.json").read_text())


def main():
    seed, build = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    prompts = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(folder, prompts)
        extract_reference(seed, folder)
        theirs = json.loads(subprocess.run(["node", "--max-old-space-size=12000", folder / "driver.mjs", folder], check=True, capture_output=True,
                                           text=True).stdout)
        times, result = time_ours(build, folder)
    same = theirs["summary"] == result["atlas"]["summary"] and theirs["hits"] == result["validation"]["hits"]
    print(f"same answer: {'yes' if same else 'NO'} ({theirs['hits']} hits, {theirs['summary']['strongSpecialists']} strong)")
    for label, key, ours in (("counting", "counting", "count_mapped_trace"), ("atlas", "building", "reference_atlas"),
                             ("validation", "validating", "reference_validation")):
        print(f"{label:<11} reference {theirs[key]:10.1f} ms   ours {times[ours]:8.2f} ms   {theirs[key] / times[ours]:8.0f} times")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
