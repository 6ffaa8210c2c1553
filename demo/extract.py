"""Readers that turn the files of a package into plain documents.

Every reader is a generator of (name, text): one document per file, or per section where a package is one large
file. corpus.py calls them as sources.py says. A document's name decides whether it is held out, so it must not
change from run to run. Nothing here executes or unpickles what it reads.
"""

import gzip
import html
import io
import json
import os
import pickletools
import re
import sqlite3
import struct
import zipfile
import zlib

BLOCK_TAGS = re.compile(r"</?(p|div|h[1-6]|li|ul|ol|dl|dt|dd|tr|table|br|hr|section|title|item|para|page|note)\b[^>]*>", re.I)


def files(root, pattern):
    """(path below root, bytes) of the files whose path matches, in a fixed order, gzip opened."""
    matcher = re.compile(pattern)
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if matcher.search(os.path.relpath(path, root)) and os.path.isfile(path) and not os.path.islink(path):
                found.append(path)
    for path in sorted(found):
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompress(data, 47)
        yield os.path.relpath(path, root), data


def decode(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def pack(name, texts, size=4000):
    """Joins short texts into documents of about `size` characters, so that a document is worth splitting on."""
    part, length, number = [], 0, 0
    for text in texts:
        part.append(text)
        length += len(text)
        if length >= size:
            yield f"{name}#{number}", "\n\n".join(part)
            part, length, number = [], 0, number + 1
    if part:
        yield f"{name}#{number}", "\n\n".join(part)


def strip_markup(text):
    """Text of HTML or DocBook-like markup: paragraphs become lines, <pre> keeps its own lines."""
    main = re.search(r'<(?:div|main|article)\b[^>]*(?:role="main"|class="body")[^>]*>', text)
    if main:  # a Sphinx page: its lists of links lie outside
        text = text[main.end():].split('<div class="sphinxsidebar"')[0].split('<div class="related"')[0]
    text = re.sub(r"<!--.*?-->|<(script|style|head|nav)\b.*?</\1>", " ", text, flags=re.S | re.I)
    out = []
    for index, piece in enumerate(re.split(r"<pre\b[^>]*>(.*?)</pre>", text, flags=re.S | re.I)):
        if index % 2 == 0:
            piece = re.sub(r"\s+", " ", piece)
            piece = BLOCK_TAGS.sub("\n", piece)
        piece = html.unescape(re.sub(r"<[^>]+>", "", piece))
        out.append(piece)
    lines = [line.strip(" \t\xa0") if len(line) > 200 else line.rstrip() for line in "\n".join(out).split("\n")]
    return re.sub(r"\n\s*\n+", "\n\n", "\n".join(lines)).strip()


def markup(root, pattern):
    for name, data in files(root, pattern):
        yield name, strip_markup(decode(data))


def plain(root, pattern):
    for name, data in files(root, pattern):
        yield name, decode(data)


ROFF_ESCAPES = [(r"\\f(\(..|\[[^]]*\]|.)", ""), (r"\\s[+-]?\d+", ""), (r"\\\*\(..|\\\*\[[^]]*\]", ""), (r"\\\(bu|\\\[bu\]", "*"),
                (r"\\\(em|\\\[em\]|\\\(en", "-"), (r"\\\(aq|\\\[aq\]|\\\(cq|\\\(oq", "'"), (r"\\\(lq|\\\(rq|\\\[..\]", '"'),
                (r"\\e", r"\\"), (r"\\\-", "-"), (r"\\[&|^%:/,]|\\c$", ""), (r"\\[ ~0]", " "), (r"\\\(..", "")]
ROFF_DROP = re.compile(r"^[.'](\\\"|if|ie|el|de|nr|ds|ig|\.|so|ad|na|hy|nh|ft|ta|ne|in|ll|TH|PD|tr|fam|Dd|Os|Dt|RS|RE|nf|fi|EX|EE|HP|IX|rm|di|br|sp)")


def roff(root, pattern):
    """Manual pages: macros dropped, section heads on lines of their own, running text joined."""
    for name, data in files(root, pattern):
        lines = []
        for line in decode(data).split("\n"):
            if re.match(r"^[.'](SH|SS|Sh|Ss)\b", line):
                lines.append("\n\n" + line[3:].strip().strip('"') + "\n")
                continue
            if re.match(r"^[.'](PP|P|LP|TP|IP|Pp|It|TQ)\b", line):
                lines.append("\n" + re.sub(r'^\S+\s*', "", line).replace('"', "") + "\n")
                continue
            if ROFF_DROP.match(line) or line.startswith("'\\\""):
                continue
            line = re.sub(r"^[.'][A-Za-z]{1,2}\s*", "", line)
            for escape, replacement in ROFF_ESCAPES:
                line = re.sub(escape, replacement, line)
            lines.append(line + " ")
        text = re.sub(r"[ \t]+", " ", "".join(lines))
        yield name, re.sub(r"\n\s*\n+", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()


def fortunes(root, pattern):
    for name, data in files(root, pattern):
        yield from pack(name, [part.strip("\n") for part in re.split(r"(?m)^%\s*$", decode(data))], 2000)


def sword(root, pattern):
    """zText and zCom modules of The SWORD Project: zlib blocks, one document per block (a chapter or a book)."""
    for name, index in files(root, pattern):
        body_name = os.path.join(root, name[:-1] + "z")
        with open(body_name, "rb") as file:
            body = file.read()
        for number in range(len(index) // 12):
            offset, size, _ = struct.unpack_from("<III", index, number * 12)
            try:
                text = decode(zlib.decompress(body[offset:offset + size]))
            except zlib.error:
                continue
            text = re.sub(r"<note\b.*?</note>", "", text, flags=re.S)
            text = re.sub(r"<(verse|div|chapter|title|p|lb|l)\b[^>]*>", "\n", text)
            for part, chunk in enumerate(re.findall(r"(?s).{1,6000}(?:\n|$)|.{6000}", strip_markup(text))):
                yield f"{name}#{number}.{part // 4}.{part}", chunk


def gettext_po(root, pattern, least=30):
    for name, data in files(root, pattern):
        texts = []
        for block in decode(data).split("\n\n"):
            found = re.search(r'(?m)^msgstr(?:\[0\])? ((?:".*"\n?)+)', block + "\n")
            if found and "fuzzy" not in block[:200]:
                text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1)))
                text = text.replace("\\n", "\n").replace('\\"', '"')
                if len(text) >= least and "Content-Type" not in text:
                    texts.append(text)
        yield from pack(name, texts, 2500)


def gettext_mo(root, pattern, least=30):
    for name, data in files(root, pattern):
        count, _, table = struct.unpack_from("<III", data, 8)
        texts = []
        for row in range(count):
            length, offset = struct.unpack_from("<II", data, table + 8 * row)
            text = data[offset:offset + length].decode("utf-8", "replace").split("\0")[0]
            if len(text) >= least and "Content-Type" not in text:
                texts.append(text.replace("~", ""))
        yield from pack(name, texts, 2500)


def mozilla_strings(root, pattern):
    """Values of the .ftl, .properties and .dtd files in a Mozilla language pack."""
    for name, data in files(root, pattern):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in sorted(archive.namelist()):
                text = decode(archive.read(member))
                if member.endswith(".ftl"):
                    values = re.findall(r"(?m)^(?:[\w-]+ =|    \.\w+ =|   ) *(.{25,})$", text)
                elif member.endswith(".properties"):
                    values = re.findall(r"(?m)^[^#=\n]+=\s*(.{25,})$", text)
                elif member.endswith(".dtd"):
                    values = re.findall(r'<!ENTITY\s+\S+\s+"([^"]{25,})"', text)
                else:
                    continue
                if values:
                    yield f"{name}/{member}", html.unescape("\n".join(values))


def metamath_comments(root, pattern):
    """The prose of set.mm: the comment before each statement."""
    for name, data in files(root, pattern):
        comments = re.findall(r"\$\((.*?)\$\)", decode(data), flags=re.S)
        texts = [re.sub(r"\s+", " ", re.sub(r"[~`]", "", text)).strip() for text in comments]
        yield from pack(name, [t for t in texts if len(t) > 120 and "=-=-" not in t and "#*#*" not in t])


def metamath_statements(root, pattern):
    """Formulas of set.mm with their labels, without the compressed proofs."""
    for name, data in files(root, pattern):
        found = re.findall(r"(\S+)\s+\$[ap]\s+(\|-.*?)\s+\$[=.]", decode(data), flags=re.S)
        yield from pack(name + "#formula", [label + " : " + re.sub(r"\s+", " ", text) for label, text in found])


def dictionary_entries(root, pattern, marks):
    """Entries of the GCIDE whose first sense carries one of the field marks, e.g. (Med.)."""
    wanted = re.compile(r"(?s)^.{0,400}?\((%s)\.?\)" % marks)
    for name, data in files(root, pattern):
        entries = re.split(r"\n(?=\S)", decode(data))
        texts = [re.sub(r"\s*\n\s+", " ", re.sub(r"\s*\[1913 Webster[^]]*\]|\{|\}", "", e)) for e in entries if len(e) < 1500 and wanted.search(e)]
        yield from pack(name + "#" + marks[:3], texts, 3000)


def wordnet_glosses(root, pattern, file_numbers, words):
    """Words with their glosses, of the lexicographer files given; only glosses that use one of the words."""
    wanted = re.compile(words)
    for name, data in files(root, pattern):
        texts = []
        for line in decode(data).split("\n"):
            part = line.split(" ")
            if len(part) > 4 and part[1] in file_numbers and wanted.search(line.partition(" | ")[2]):
                texts.append(part[4].replace("_", " ") + ": " + line.split(" | ", 1)[1].strip())
        yield from pack(name, texts, 2500)


def xml_fields(root, pattern, fields):
    """Values of <field name="...">value</field> in Tryton data files."""
    matcher = re.compile(r'<field name="(?:%s)">([^<]{12,})</field>' % fields)
    for name, data in files(root, pattern):
        yield from pack(name, [html.unescape(text).replace("- ", "-") for text in matcher.findall(decode(data))], 3000)


def icd_tabular(root, pattern):
    """ICD-10-CM: one document per category, its description, notes and subcategories as sentences."""
    for name, data in files(root, pattern):
        for number, section in enumerate(re.split(r"<section id=", decode(data))):
            texts = re.findall(r"<(?:desc|note)>([^<]+)</(?:desc|note)>", section)
            yield from pack(f"{name}#{number}", [". ".join(html.unescape(t) for t in texts)], 10**9)


def json_strings(root, pattern, keys):
    """Long string values under the given keys, anywhere in a JSON file."""
    def walk(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(inner, str) and key in keys and len(inner) > 40:
                    yield inner
                else:
                    yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)
    for name, data in files(root, pattern):
        yield from pack(name, walk(json.loads(decode(data))))


def json_lines(root, pattern, key):
    for name, data in files(root, pattern):
        yield from pack(name, [json.loads(line)[key] for line in decode(data).split("\n") if line.strip()])


def chinese_verse(root, pattern):
    for name, data in files(root, pattern):
        poems = []
        for poem in json.loads(decode(data)):
            lines = poem.get("paragraphs") or poem.get("content") or []
            if lines and isinstance(lines[0], str):
                poems.append((poem.get("title") or poem.get("rhythmic") or "") + "\n" + (poem.get("author") or "") + "\n" + "\n".join(lines))
        yield from pack(name, poems, 3000)


def quran_verses(root, pattern):
    for name, data in files(root, pattern):
        for chapter in json.loads(decode(data)):
            yield from pack(f"{name}#{chapter['id']}", [verse["text"] for verse in chapter["verses"]], 5000)


def sqlite_column(root, pattern, query):
    for name, _ in files(root, pattern):
        connection = sqlite3.connect("file:%s?mode=ro" % os.path.join(root, name), uri=True)
        yield from pack(name, [str(row[0]) for row in connection.execute(query) if row[0]], 2000)


def pickled_verse_lines(root, pattern, lines_per_document=400):
    """Lines of verse out of a pickled table, read as a stream of opcodes (never unpickled), in their order.

    The lines come book after book. The last twentieth is named 'held-out', and a gap of 20,000 lines before it
    (longer than nearly every book) is left out, so that no book lies on both sides.
    """
    for name, data in files(root, pattern):
        lines = []
        for opcode, value, _ in pickletools.genops(data):
            if opcode.name in ("SHORT_BINUNICODE", "BINUNICODE") and re.search(r"[a-z]{2}.* ", value):
                lines.append(value)
        border = len(lines) * 19 // 20
        for begin in range(0, len(lines), lines_per_document):
            if begin + lines_per_document <= border - 20000:
                yield f"{name}#{begin}", "\n".join(lines[begin:begin + lines_per_document])
            elif begin >= border:
                yield f"held-out:{name}#{begin}", "\n".join(lines[begin:begin + lines_per_document])


def verse_markdown(root, pattern):
    """Plays in Markdown: marks dropped, one document per scene."""
    for name, data in files(root, pattern):
        text = re.sub(r"[*_#>`\\]|<[^>]+>|\[[^]]*\]\([^)]*\)", "", decode(data))
        for number, scene in enumerate(re.split(r"(?m)^\s*SCENE|^\s*Scene|^\s*ACT ", text)):
            yield f"{name}#{number}", re.sub(r"\n{2,}", "\n\n", scene).strip()


def test_scripts(root, pattern):
    """SQL test scripts without the test driver's own commands."""
    for name, data in files(root, pattern):
        lines = [line for line in decode(data).split("\n") if not re.match(r"\s*(#|--\s*(source|echo|disable|enable|error|let|eval|replace|exec|if|while|connect|conn)|let |source |eval |}|if |while |inc |dec )", line)]
        yield name, "\n".join(lines)
