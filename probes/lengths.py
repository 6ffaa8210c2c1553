#!/usr/bin/env python3
"""Table of token lengths per topic of a version-2 probe set, and a check that they are alike.

Reads a probe set and, if named, a tokenizer.json (that needs the PyPI package `tokenizers`; without it
the table shows characters and UTF-8 bytes). Whoever edits the texts reads the table.
Exit status: 0 all topics within the bounds or nothing to check, 1 some topic is not, 2 bad usage or file.
"""
import argparse
import json
import pathlib
import sys


def lengths_by_topic(probe_set, measure):
    """{topic: [(length, probe id), ...]}, topics and probes in file order."""
    axis = probe_set["topic_axis"]
    topics = {}
    for probe in probe_set["probes"]:
        topics.setdefault(probe["labels"][axis], []).append((measure(probe["prompt"]), probe["id"]))
    return topics


def out_of_bounds(topics, short_count, short_bounds, long_bounds):
    """One line for every probe that is neither a short nor a long one as its rank in the topic demands."""
    faults = []
    for topic, entries in topics.items():
        for rank, (length, probe_id) in enumerate(sorted(entries)):
            kind, (least, most) = ("short", short_bounds) if rank < short_count else ("long", long_bounds)
            if not least <= length <= most:
                faults.append(f"{topic}: {probe_id} has {length} tokens, a {kind} probe has {least} to {most}")
    return faults


def print_table(topics, short_count, unit):
    print(f"{'topic':<18}{unit + ' (in order of the file)':<46}{'short mean':>11}{'long mean':>11}")
    for topic, entries in topics.items():
        ranked = sorted(length for length, _ in entries)
        short, long = ranked[:short_count], ranked[short_count:]
        means = "".join(f"{sum(part) / len(part):>11.1f}" if part else f"{'-':>11}" for part in (short, long))
        print(f"{topic:<18}{' '.join(f'{length:>4}' for length, _ in entries):<46}{means}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tokenizer", nargs="?", type=pathlib.Path, help="a tokenizer.json")
    parser.add_argument("--probes", type=pathlib.Path, default=pathlib.Path(__file__).with_name("starter.json"))
    parser.add_argument("--short-count", type=int, default=6, help="short probes in a topic (default 6)")
    parser.add_argument("--short", type=int, nargs=2, default=(36, 58), metavar=("LEAST", "MOST"))
    parser.add_argument("--long", type=int, nargs=2, default=(110, 210), metavar=("LEAST", "MOST"))
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        probe_set = json.loads(arguments.probes.read_text(encoding="utf-8"))
        if arguments.tokenizer is None:
            for unit, measure in (("characters", len), ("bytes", lambda text: len(text.encode()))):
                print_table(lengths_by_topic(probe_set, measure), arguments.short_count, unit)
            return 0
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
    except ImportError:
        print("lengths.py: the Python package tokenizers is missing; pip install tokenizers", file=sys.stderr)
        return 2
    except Exception as error:  # Tokenizer.from_file raises plain Exception
        print(f"lengths.py: {error}", file=sys.stderr)
        return 2
    # Without special tokens: those belong to the chat template, not to the probe.
    topics = lengths_by_topic(probe_set, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids))
    print_table(topics, arguments.short_count, "tokens")
    faults = out_of_bounds(topics, arguments.short_count, arguments.short, arguments.long)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
