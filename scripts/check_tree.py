#!/usr/bin/env python3
"""Checks what the compiler does not: which folder may include which, where torch may be seen, how long files and functions are, what must not be
in the tree.

Run from anywhere: scripts/check_tree.py [ROOT]. Prints every problem, one a line, and exits 1 if there is any. Long files that are still allowed
are warned of. check_tree_test.py shows that each rule can fail. Python's standard library only.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# Each folder of src/ and the folders it may include, besides itself.
ARROWS = {
    "base": [],
    "probes": ["base"],
    "trace": ["probes", "base"],
    "stats": ["trace", "probes", "base"],
    "atlas": ["stats", "trace", "probes", "base"],
    "importers": ["trace", "probes", "base"],
    "runtime": ["trace", "probes", "base"],
    "cli": ["base", "probes", "trace", "stats", "atlas", "importers", "runtime"],
}
# Headers from outside src/ that are included in quotes, and the folder that may.
FOREIGN_HEADERS = {"expert_atlas_hf.h": "runtime"}
TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
CPP = (".cpp", ".h")
SOURCE = CPP + (".py", ".rs", ".ts", ".tsx", ".sh")
TEXT = SOURCE + (".md", ".txt", ".toml", ".cmake", ".json", ".yml", "")  # "": CMake presets, scripts without an ending, LICENSE
WARN_LINES, MAX_LINES, MAX_FUNCTION_LINES = 500, 800, 70
MAX_BYTES, MAX_MODEL_BYTES = 1_000_000, 24_000_000
NOT_WALKED = {".git", "build", "out", "target", "node_modules", "__pycache__"}
# Files that hold foreign text or recorded answers: not searched for words or for paths other than this checkout's.
DATA = re.compile(r"^(probes/.*\.json|testdata/.*\.(json|jsonl|safetensors)|testdata/fuzz/corpus/.*|demo/(model|data|texts)/.*|LICENSE)$")
PRINTS = re.compile(r"std::(cout|cerr|clog)\b|\bfmt::print\b|(?<![\w.>])(?:std::)?(v?f?printf|puts|putchar|fputs|perror|_?exit|quick_exit|abort)\s*\(")
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}~/])/(work|root|home|Users)/[\w.]+|(?<![\w.$}~/])/tm" + r"p/[\w.]+")


class Tree:
    """The files of a checkout: those that git knows or would add; without git all but build folders."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.files = sorted(self._from_git() or self._walked())
        self._texts = {}

    def _from_git(self):
        if not (self.root / ".git").exists():
            return None
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        return {name for name in listed if name and (self.root / name).is_file()}

    def _walked(self):
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in NOT_WALKED]
            found.update(str((Path(folder) / name).relative_to(self.root)) for name in names)
        return found

    def size(self, name):
        return (self.root / name).stat().st_size

    def text(self, name):
        if name not in self._texts:
            self._texts[name] = (self.root / name).read_text(encoding="utf-8", errors="replace")
        return self._texts[name]

    def ending_with(self, endings, under=""):
        return [name for name in self.files if name.startswith(under) and Path(name).suffix in endings]

    def code(self, under="src/"):
        """C++ files below src/ as (name, folder, text)."""
        return [(name, name.split("/")[1], self.text(name)) for name in self.ending_with(CPP, under) if name.count("/") >= 2]


def without_comments_and_strings(text):
    """The code alone; line breaks stay, so that line numbers do."""
    pattern = r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)


def includes(text):
    """(line number, is in quotes, name) of every include."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def check_arrows(tree):
    for name, folder, text in tree.code():
        if folder not in ARROWS:
            yield f"{name}: src/{folder} is a folder that scripts/check_tree.py does not know"
            continue
        for number, quoted, header in includes(text):
            if not quoted:
                continue
            target = header.split("/")[0]
            if "src/" + header in tree.files:
                if target != folder and target not in ARROWS[folder]:
                    yield f"{name}:{number}: {folder} must not include {target} ({header})"
            elif FOREIGN_HEADERS.get(header) != folder:
                yield f'{name}:{number}: no src/{header}; headers from outside are included with <>'


def reachable_headers(tree, folder):
    """Headers of src/ that the files of a folder include, directly or through others."""
    known = {name[len("src/"):]: text for name, _, text in tree.code()}
    waiting = [header for name, at, text in tree.code() if at == folder for _, quoted, header in includes(text) if quoted]
    reached = set()
    while waiting:
        header = waiting.pop()
        if header not in reached and header in known:
            reached.add(header)
            waiting += [inner for _, quoted, inner in includes(known[header]) if quoted]
    return reached


def check_torch(tree):
    from_cli = reachable_headers(tree, "cli")
    for name, folder, text in tree.code():
        for number, _, header in includes(text):
            if not TORCH.match(header):
                continue
            if folder != "runtime":
                yield f"{name}:{number}: only src/runtime includes torch ({header})"
            elif name[len("src/"):] in from_cli:
                yield f"{name}:{number}: src/cli includes this header, so it must not include torch ({header})"


def is_generated(text):
    return re.search(r"\bgenerated (by|from) ", text[:300], re.IGNORECASE) is not None


def check_length(tree):
    for name in tree.ending_with(SOURCE):
        lines = tree.text(name).count("\n")
        if lines > MAX_LINES and not is_generated(tree.text(name)):
            yield f"{name}: {lines} lines, {MAX_LINES} is the limit: split it"


def long_files(tree):
    """Not an error yet."""
    for name in tree.ending_with(SOURCE):
        lines = tree.text(name).count("\n")
        if WARN_LINES < lines <= MAX_LINES and not is_generated(tree.text(name)):
            yield f"{name}: {lines} lines; more than {WARN_LINES} is a question"


def functions(text):
    """(first line, lines of the body) of each outermost function, by its braces; a lambda inside a function is part of it."""
    code = without_comments_and_strings(re.sub(r"^\s*#.*(\\\n.*)*", lambda match: "\n" * match.group().count("\n"), text, flags=re.MULTILINE))
    line, lead, scopes = 1, "", []  # scopes: (line of the brace, whether it opens a function)
    for character in code:
        if character == "\n":
            line += 1
        if character == "{":
            inside = any(is_function for _, is_function in scopes)
            scope_word = re.match(r"\s*(template\s*<[^{]*>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b[^()]*$", lead)
            scopes.append((line, not inside and "(" in lead and not scope_word))
        elif character == "}" and scopes:
            opened, is_function = scopes.pop()
            if is_function:
                yield opened, line - opened
        lead = "" if character in "{};" else lead + character


def check_function_length(tree):
    for name in tree.ending_with(CPP):
        for line, length in functions(tree.text(name)):
            if length > MAX_FUNCTION_LINES:
                yield f"{name}:{line}: a function of {length} lines, {MAX_FUNCTION_LINES} is the limit"


def check_opening_comment(tree):
    for name in tree.ending_with(CPP + (".py", ".txt", ".cmake"), "src/"):
        opening = ("//", "/*") if name.endswith(CPP) else ("#", '"""')
        if not tree.text(name).startswith(opening):
            yield f"{name}:1: a file opens with a comment that says what it is"


def check_pragma_once(tree):
    for name, _, text in tree.code():
        if name.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
            yield f"{name}: a header has #pragma once"


def check_printing(tree):
    for name, folder, text in tree.code():
        if folder == "cli":
            continue
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            match = PRINTS.search(line)
            if match:
                yield f"{name}:{number}: nothing below src/cli prints or exits ({match.group().strip()})"


def check_unfinished(tree):
    for name in tree.ending_with(TEXT):
        if DATA.match(name) or tree.size(name) > MAX_BYTES:
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            match = UNFINISHED.search(line)
            if match:
                yield f"{name}:{number}: {match.group()}: finish it, or file an issue"


def check_machine_paths(tree):
    own = str(tree.root) + "/"
    for name in tree.files:
        if tree.size(name) > MAX_BYTES or Path(name).suffix == ".safetensors":
            continue
        searched = not DATA.match(name) and Path(name).suffix in TEXT
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            match = MACHINE_PATH.search(line) if searched else None
            if match or own in line:
                yield f"{name}:{number}: a path of one machine ({match.group() if match else own})"


def check_bytes(tree):
    for name in tree.files:
        is_model = name.startswith("demo/model/") and name.endswith(".safetensors")
        limit = MAX_MODEL_BYTES if is_model else MAX_BYTES
        if tree.size(name) > limit:
            yield f"{name}: {tree.size(name)} bytes, {limit} is the limit" + ("" if is_model else " for a file that is not the demo's model")


CHECKS = [check_arrows, check_torch, check_length, check_function_length, check_opening_comment, check_pragma_once, check_printing, check_unfinished,
          check_machine_paths, check_bytes]


def problems(tree):
    return [problem for check in CHECKS for problem in check(tree)]


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    for warning in long_files(tree):
        print("warning: " + warning)
    found = problems(tree)
    for problem in found:
        print(problem)
    print(f"check_tree: {len(tree.files)} files, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
