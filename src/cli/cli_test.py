#!/usr/bin/env python3
"""The program as a person runs it: every golden case through import and build, exit codes, messages, JSON, hostile input.

Usage: cli_test.py PATH_TO_EXPERT_ATLAS. Python's standard library only.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None
ROOT = Path(__file__).resolve().parents[2]
SEED = ROOT / "testdata" / "seed"


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def same(left, right):
    """Equal as JSON values, numbers as doubles, key order aside."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())

    def tearDown(self):
        shutil.rmtree(self.folder)

    def refused(self, result, *words):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertTrue(result.stderr.startswith("expert-atlas: "), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)


class GoldenCases(InFolder):
    def test_every_case_gives_the_numbers_or_a_refusal(self):
        cases = 0
        for case in sorted(SEED.iterdir()):
            # A finished table of counts cannot be written as route files; those few cases are tested at library level.
            runs = case / "runs.json"
            if not case.is_dir() or (runs.exists() and any("file" not in run for run in json.loads(runs.read_text()))):
                continue
            expected = json.loads((case / "expected.json").read_text())
            with self.subTest(case.name):
                cases += 1
                self.check_case(case, expected, runs)
        self.assertGreaterEqual(cases, 85)

    def check_case(self, case, expected, runs):
        routes = case / "routes"
        if runs.exists():  # the files that it names, under the names that it gives them; the order of runs changes nothing
            routes = self.folder / case.name / "routes"
            routes.mkdir(parents=True)
            for index, entry in enumerate(json.loads(runs.read_text())):
                target = routes / f"{entry['category']}_{entry['promptIndex']}.jsonl"
                if target.exists():
                    return  # one run twice has no form in files
                shutil.copy(case / "routes" / entry["file"], target)
        trace, out = self.folder / f"{case.name}.trace", self.folder / f"{case.name}.json"
        options = json.loads((case / "options.json").read_text())
        flags = {"minCount": "--min-count", "minRuns": "--min-runs", "strongThreshold": "--strong", "topK": "--top-k"}
        arguments = [f"{flags[key]}={value}" for key, value in options.items()]
        result = run("import", "--from", "reference-jsonl", "--probes", case / "probes.json", "--out", trace, routes)
        if result.returncode == 0:
            result = run("build", trace, "--out", self.folder / "atlas.json", "--reference-out", out, "--permutations", 0, *arguments)
        if "error" in expected:
            self.refused(result)
            self.assertFalse(out.exists())
            return
        self.assertEqual(result.returncode, 0, result.stderr)
        got = json.loads(out.read_text())
        if runs.exists():
            expected["runs"].sort(key=lambda run: f"{run['category']}_{run['promptIndex']}.jsonl")
        for key in ("runs", "atlas", "validation", "webExperts"):
            self.assertTrue(same(got[key], expected[key]), f"{case.name}: {key} differs")


class Commands(InFolder):
    def build_case(self, name="09_random_e256", *options):
        trace = self.folder / "a.trace"
        case = SEED / name
        self.assertEqual(run("import", "--from", "reference-jsonl", "--probes", case / "probes.json", "--out", trace, case / "routes").returncode, 0)
        result = run("build", trace, "--out", self.folder / "atlas.json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return trace

    def test_version_names_the_commit(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^expert-atlas \d+\.\d+\.\d+ \(.+\)\n$")

    def test_every_command_has_help_with_an_example(self):
        listed = run("--help").stdout
        for command in ("probes check", "import", "count", "merge", "build", "plan", "show", "export", "page"):
            self.assertIn(command.split()[0], listed)
            self.assertIn("Example: expert-atlas " + command, run(*command.split(), "--help").stdout)

    def test_wrong_usage_exits_with_2(self):
        for arguments in ([], ["no-such-command"], ["build"], ["count", "x", "--no-such-option"], ["export", "x", "--as", "pdf", "--out", "y"]):
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    def test_a_missing_file_is_one_sentence(self):
        result = run("probes", "check", self.folder / "none.json")
        self.refused(result, "none.json", "No such file")
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_probes_check_lists_every_problem_with_its_path(self):
        path = self.folder / "probes.json"
        path.write_text(json.dumps({"schemaVersion": 2, "provenance": {"source": "s", "sourceCommit": "c", "method": " "}, "topic_axis": "topic",
                                    "colour": 1, "probes": [{"id": "a b", "prompt": "", "labels": {"topic": "X"}}]}))
        result = run("probes", "check", path)
        self.refused(result, "$.provenance.method", "$.colour", "$.probes[0].id", "$.probes[0].prompt", "$.probes[0].labels.topic")
        as_json = json.loads(run("--json", "probes", "check", path).stderr)
        self.assertEqual(len(as_json["error"]), 5)

    def test_probes_check_accepts_the_starter_set(self):
        path = ROOT / "probes" / "starter.json"
        result = run("--json", "probes", "check", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(len(json.loads(result.stdout)["topics"]), 12)

    def test_counts_and_merged_parts_build_the_same_atlas_as_the_trace(self):
        trace = self.build_case()
        whole = json.loads((self.folder / "atlas.json").read_text())
        self.assertEqual(run("count", trace, "--out", self.folder / "a.counts").returncode, 0)
        parts = []
        files = sorted((SEED / "09_random_e256" / "routes").iterdir())
        for part in range(2):
            routes = self.folder / f"routes{part}"
            routes.mkdir()
            for file in files[part::2]:
                shutil.copy(file, routes)
            trace = self.folder / f"part{part}.trace"
            done = run("--json", "import", "--from", "reference-jsonl", "--probes", SEED / "09_random_e256" / "probes.json", "--out", trace, routes)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(json.loads(done.stdout)["missing_runs"]), len(files) - len(files[part::2]))
            parts.append(self.folder / f"part{part}.counts")
            self.assertEqual(run("count", trace, "--out", parts[-1]).returncode, 0)
            self.refused(run("build", trace, "--out", self.folder / "part.json"), "no run of")
        merged = run("merge", *parts, "--out", self.folder / "merged.counts")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.refused(run("merge", parts[0], parts[0], "--out", self.folder / "twice.counts"), "rows in 2 parts")
        for counts in ("a.counts", "merged.counts"):
            self.assertEqual(run("build", self.folder / counts, "--out", self.folder / "b.json").returncode, 0)
            again = json.loads((self.folder / "b.json").read_text())
            for key in ("reference", "experts", "counts", "topics"):
                self.assertEqual(again[key], whole[key], (counts, key))

    def test_the_same_input_gives_the_same_bytes_for_any_number_of_threads(self):
        trace = self.build_case()
        first = (self.folder / "atlas.json").read_bytes()
        for threads in (1, 2, 7):
            self.assertEqual(run("--threads", threads, "build", trace, "--out", self.folder / "b.json").returncode, 0)
            self.assertEqual((self.folder / "b.json").read_bytes(), first)

    def test_show_and_export_read_the_atlas_back(self):
        self.build_case("05_random_c3", "--top-k", "5")
        atlas = self.folder / "atlas.json"
        shown = run("show", atlas)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        expected = json.loads((SEED / "05_random_c3" / "expected.json").read_text())
        self.assertIn(f"{expected['atlas']['runCount']} prompts of", shown.stdout)
        self.assertIn(f"{expected['validation']['hits']} of {expected['validation']['trials']} right", shown.stdout)
        for topic in expected["atlas"]["categories"]:
            self.assertIn(topic, shown.stdout)
            self.assertEqual(run("show", atlas, "--topic", topic).returncode, 0)
        self.refused(run("show", atlas, "--topic", "nothing"), "one of")
        self.assertEqual(run("export", atlas, "--as", "web", "--out", self.folder / "web.json").returncode, 0)
        self.assertTrue(same(json.loads((self.folder / "web.json").read_text()), expected["webExperts"]))
        self.assertEqual(run("export", atlas, "--as", "csv", "--out", self.folder / "experts.csv").returncode, 0)
        rows = (self.folder / "experts.csv").read_text().splitlines()
        self.assertEqual(len(rows) - 1, expected["atlas"]["summary"]["expertsSeen"])

    def test_evidence_says_so_where_there_is_no_effect(self):
        self.build_case("06_random_no_effect", "--top-k", "5")
        shown = run("show", self.folder / "atlas.json").stdout
        self.assertTrue(shown.startswith("No evidence that topics separate: "), shown)

    def test_evidence_has_a_null_beside_every_claim(self):
        self.build_case("11_random_default", "--top-k", "5", "--permutations", "499", "--bootstrap", "99")
        shown = run("show", self.folder / "atlas.json").stdout
        self.assertTrue(shown.startswith("Topics separate: "), shown)
        self.assertIn("under permuted labels", shown)
        text = (self.folder / "atlas.json").read_text()
        self.assertNotRegex(text, r"\b(NaN|Infinity|nan|inf)\b")
        phase = json.loads(text)["evidence"]["all"]
        for score in ("cosine", "set"):
            result = phase["held_out"][score]
            self.assertGreaterEqual(result["p_value"], result["smallest_p_value"])
            self.assertLessEqual(result["interval_95"][0], result["accuracy"])
            self.assertEqual(len(result["confusion"]), len(json.loads(text)["topics"]))
        self.assertGreaterEqual(phase["experts"]["specialist_count"], phase["experts"]["specialist_count_null"])
        self.assertIn("not_computed", phase["controls"]["token_counts"])  # route records do not know token ids

    def test_evidence_can_be_switched_off(self):
        self.build_case("05_random_c3", "--permutations", "0", "--bootstrap", "0", "--pairings", "0")
        phase = json.loads((self.folder / "atlas.json").read_text())["evidence"]["all"]
        self.assertIn("not_computed", phase["held_out"]["cosine"])

    def test_no_text_leaves_the_prompts_out_of_every_file(self):
        case = SEED / "05_random_c3"
        prompt = next(iter(json.loads((case / "probes.json").read_text())["categories"].values()))[0]
        for flag in ([], ["--no-text"]):
            trace, atlas = self.folder / f"t{len(flag)}.trace", self.folder / f"t{len(flag)}.json"
            run("import", "--from", "reference-jsonl", "--probes", case / "probes.json", "--out", trace, case / "routes", *flag)
            run("build", trace, "--out", atlas)
            for text in ((trace / "manifest.json").read_text(), atlas.read_text()):
                self.assertEqual(prompt in text, not flag)
        run("build", self.folder / "t0.trace", "--out", self.folder / "hidden.json", "--no-text")
        self.assertNotIn(prompt, (self.folder / "hidden.json").read_text())

    def test_damaged_files_are_refused_and_nothing_is_written(self):
        trace = self.build_case("05_random_c3")
        layer = sorted(trace.glob("layer-*"))[0]
        whole = layer.read_bytes()
        out = self.folder / "c.counts"
        for damage in (whole[:-1], whole[:20], b"", whole[:8] + b"{" * 30 + whole[38:], b"\xff" * 8 + whole[8:]):
            layer.write_bytes(damage)
            self.refused(run("count", trace, "--out", out), layer.name)
            self.assertFalse(out.exists())
        layer.unlink()
        self.refused(run("count", trace, "--out", out), "--resume")
        layer.write_bytes(whole)
        self.assertEqual(run("count", trace, "--out", out).returncode, 0)
        atlas = self.folder / "atlas.json"
        atlas.write_bytes(atlas.read_bytes()[:-100])
        self.refused(run("show", atlas), "the file was cut off")

    def test_an_existing_trace_is_kept_unless_told_otherwise(self):
        trace = self.build_case("05_random_c3")
        case = SEED / "05_random_c3"
        arguments = ("import", "--from", "reference-jsonl", "--probes", case / "probes.json", "--out", trace, case / "routes")
        self.refused(run(*arguments), trace.name)
        self.assertEqual(run(*arguments, "--replace").returncode, 0)

    def test_a_full_disk_is_an_error_not_a_crash(self):
        trace = self.build_case("05_random_c3")
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = run("count", trace, "--out", "/dev/full/x.counts")
        self.refused(result, "cannot create")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
