"""Prints DATA_CARD.md's table of sources from results/corpus.json (corpus.py writes that file; keep a copy there).

    python3 demo/source_table.py
"""

import json
import os


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "corpus.json")
    with open(path, encoding="utf-8") as file:
        corpus = json.load(file)
    print("| topic | package (version) | licence | train bytes | held-out bytes |\n| --- | --- | --- | ---: | ---: |")
    for topic in sorted(corpus):
        for entry in corpus[topic]:
            print(f"| {topic} | {entry['kind']} {entry['package']} ({entry['version']}) | {entry['licence']} | "
                  f"{entry['train_bytes']:,} | {entry['held_out_bytes']:,} |")
        total = sum(entry["train_bytes"] for entry in corpus[topic]), sum(entry["held_out_bytes"] for entry in corpus[topic])
        print(f"| **{topic}** | | | **{total[0]:,}** | **{total[1]:,}** |")


if __name__ == "__main__":
    main()
