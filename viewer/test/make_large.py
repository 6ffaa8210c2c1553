"""Writes a synthetic atlas.json of GLM-5.2's size for speed tests: 75 layers x 256 experts, 12 topics, 96 probes, three phases.

Made up: experts lean towards topics by a seeded random draw, and the evidence's numbers only have the right form and size.
Usage: python3 make_large.py OUT.json [--layers 75] [--experts 256] [--topics 12] [--probes-a-topic 8] [--no-evidence] [--no-effect]
Standard library only.
"""

import argparse
import array
import base64
import json
import math
import random
import zlib

TYPES = {"u8": "B", "u32": "I", "u64": "Q", "f32": "f", "f64": "d"}
NAMES = ["astronomy", "biology", "chemistry", "cooking", "german", "history", "law", "mathematics", "medicine", "music", "poetry", "python",
         "rust", "sport", "travel", "weather"]


def encode(dtype, values, shape):
    data = zlib.compress(array.array(TYPES[dtype], values).tobytes(), 6)
    return {"dtype": dtype, "shape": shape, "encoding": "deflate+base64", "data": base64.b64encode(data).decode()}


def poisson(rng, mean):
    return max(0, round(rng.gauss(mean, math.sqrt(mean)))) if mean > 4 else sum(rng.random() < mean / 12 for _ in range(12))


def specialisation(affinity):
    return max(0.0, 1 + sum(a * math.log(a) for a in affinity if a > 0) / math.log(len(affinity)))


def draw_counts(rng, args, topics):
    """Selections [probe, phase, expert] and each expert's preferences; strongest in the middle layers."""
    size = args.layers * args.experts
    leans = []
    for e in range(size):
        layer = e // args.experts
        strength = 0 if args.no_effect else 1.6 * math.exp(-((layer / max(1, args.layers) - 0.55) / 0.3) ** 2)
        use = rng.lognormvariate(0, 0.9)
        leans.append([use * math.exp(rng.gauss(0, 0.25 + strength * (rng.random() < 0.3))) for _ in topics])
    counts = []
    for probe in range(len(topics) * args.probes_a_topic):
        topic = probe // args.probes_a_topic
        for rows in (3, 8, 20):  # template, prompt, answer
            counts.extend(poisson(rng, rows * 0.11 * leans[e][topic]) for e in range(size))
    return counts


def describe(counts, topics, args):
    size, phases, runs = args.layers * args.experts, 3, args.probes_a_topic
    probes = len(topics) * runs
    per_probe = [[0] * size for _ in range(probes)]
    for p in range(probes):
        for f in range(phases):
            start = (p * phases + f) * size
            per_probe[p] = [a + b for a, b in zip(per_probe[p], counts[start:start + size])]
    totals = [sum(row) for row in per_probe]
    experts = {name: [] for name in ("layer", "expert", "total", "status", "top_topic", "specialisation", "top_lift", "fired_runs", "total_runs", "affinity")}
    for e in range(size):
        shares = [sum(per_probe[c * runs + r][e] / totals[c * runs + r] / runs for r in range(runs)) for c in range(len(topics))]
        whole = sum(shares) or 1
        affinity = [round(s / whole, 6) for s in shares]
        top = affinity.index(max(affinity))
        fired = sum(per_probe[top * runs + r][e] > 0 for r in range(runs))
        total = sum(per_probe[p][e] for p in range(probes))
        values = (e // args.experts + args.first_layer, e % args.experts, total, 1 if total < 30 else 2 if fired < 2 else 0, top,
                  round(specialisation(affinity), 6), round(affinity[top] * len(topics), 6), fired, runs)
        for name, value in zip(experts, values):
            experts[name].append(value)
        experts["affinity"].extend(affinity)
    return experts


def held_out(rng, topics, runs, accuracy):
    trials, size = [], len(topics)
    for run in range(size * runs):
        topic = run // runs
        hit = rng.random() < accuracy
        scores = [rng.uniform(0.1, 0.4) for _ in topics]
        scores[topic if hit else rng.randrange(size)] += 0.4
        predicted = scores.index(max(scores))
        best = max(s for c, s in enumerate(scores) if c != topic)
        trials.append({"run": run, "draws": 20, "hit_rate": float(predicted == topic), "predicted": predicted, "margin": scores[topic] - best, "scores": scores})
    hits = sum(t["predicted"] == t["run"] // runs for t in trials)
    confusion = [[0.0] * size for _ in topics]
    for trial in trials:
        confusion[trial["run"] // runs][trial["predicted"]] += 1.0
    nulls = sorted(sum(rng.random() < 1 / size for _ in range(size * runs)) / (size * runs) for _ in range(2000))
    at_least = sum(n >= hits / len(trials) for n in nulls)
    rate = hits / len(trials)
    return {"accuracy": rate, "hits": float(hits), "trials": len(trials), "chance": 1 / size, "interval_95": [max(0, rate - 0.07), min(1, rate + 0.05)],
            "null_mean": sum(nulls) / len(nulls), "null_quantile_95": nulls[int(0.95 * len(nulls))], "p_value": (1 + at_least) / (1 + len(nulls)),
            "smallest_p_value": 1 / (1 + len(nulls)), "relabelings": len(nulls), "enumerated": False, "null_accuracies": encode("f64", nulls, [len(nulls)]),
            "confusion": confusion, "trials_by_prompt": trials}


def expert_evidence(rng, experts, topics):
    index = [e for e, status in enumerate(experts["status"]) if experts["total"][e] > 0]
    size, width = len(index), len(topics)
    special = [experts["specialisation"][e] for e in index]
    q = [-2.0 if experts["status"][e] else min(1.0, math.exp(-28 * experts["specialisation"][e]) * rng.uniform(0.2, 3)) for e in index]
    affinity = [experts["affinity"][e * width + c] for e in index for c in range(width)]
    lift = [experts["top_lift"][e] for e in index]
    specialist = [int(0 <= v <= 0.05 and s > 0.1) for v, s in zip(q, special)]
    column = lambda values: encode("f64", values, [size])
    return {"count": size, "expert": encode("u32", index, [size]), "eta_squared": column([min(1, 1.6 * s) for s in special]), "p_value": column([v / 3 if v >= 0 else v for v in q]),
            "q_value": column(q), "p_value_min_p": column([min(1, 40 * v) if v >= 0 else v for v in q]), "specialisation": column(special), "lift": column(lift),
            "top_topic_stability": column([min(1, 0.3 + 2 * s) for s in special]), "specialisation_above_null": column([s - 0.05 for s in special]),
            "specialisation_interval_95": encode("f64", [v for s in special for v in (max(0, s - 0.06), min(1, s + 0.06))], [size, 2]),
            "lift_interval_95": encode("f64", [v for x in lift for v in (x * 0.8, x * 1.2)], [size, 2]), "top_topic": encode("u32", [experts["top_topic"][e] for e in index], [size]),
            "specialist": encode("u8", specialist, [size]), "affinity": encode("f64", affinity, [size, width]),
            "router_weight_affinity": encode("f64", [a * rng.uniform(0.9, 1.1) for a in affinity], [size, width]), "family_count": sum(v >= 0 for v in q),
            "specialist_count": sum(specialist), "specialist_count_null": 0.7, "specialist_false_discovery_estimate": 0.01}


def layer_evidence(rng, args):
    rows = []
    for layer in range(args.layers):
        bump = math.exp(-((layer / max(1, args.layers) - 0.55) / 0.3) ** 2)
        rows.append({"layer": layer + args.first_layer, "mutual_information": 0.01 + 0.06 * bump + rng.uniform(0, 0.004), "mutual_information_null": 0.01 + rng.uniform(0, 0.002),
                     "conditional_information": 0.005 + 0.02 * bump, "specialisation": 0.05 + 0.12 * bump, "specialisation_null": 0.05 + rng.uniform(0, 0.004),
                     "load_max_over_mean": rng.uniform(4, 9), "load_variation": rng.uniform(0.8, 1.1), "effective_experts": args.experts * rng.uniform(0.6, 0.75), "dead_experts": rng.randrange(4),
                     "accuracy": 0.2 + 0.6 * bump, "p_value": 0.001})
    return rows


def manifest(args, topics):
    probes, texts, row = [], [], 0
    for topic in topics:
        for ordinal in range(args.probes_a_topic):
            tokens = {"template": 3, "prompt": 8 + ordinal, "answer": 20}
            rows = sum(tokens.values())
            probes.append({"id": f"{topic}:{ordinal}", "topic": topic, "labels": {"topic": topic, "language": ("english", "german")[ordinal % 2]}, "row_begin": row, "row_end": row + rows, "tokens": tokens})
            texts.append({"prompt": f"Made-up prompt number {ordinal + 1} about {topic}: explain one thing that people often get wrong."})
            row += rows
    return {"format": "expert-atlas route trace", "version": 1, "model": {"name": args.model_name, "config_sha256": "0" * 64, "weights_sha256": "", "quantisation": "none"},
            "engine": {"name": "synthetic", "version": ""}, "settings": {"seed": args.seed},
            "probe_set": {"sha256": "", "schema_version": 2, "topic_axis": "topic", "provenance": {"source": "made up", "method": "test/make_large.py"}, "texts": texts},
            "layers": list(range(args.first_layer, args.first_layer + args.layers)), "expert_count": args.experts, "expert_top_k": 8, "weights": "applied", "order": "weight", "probes": probes, "missing": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    for name, value in (("--layers", 75), ("--experts", 256), ("--topics", 12), ("--probes-a-topic", 8), ("--first-layer", 3), ("--seed", 1)):
        parser.add_argument(name, type=int, default=value)
    parser.add_argument("--model-name", default="synthetic, the size of GLM-5.2")
    parser.add_argument("--no-evidence", action="store_true")
    parser.add_argument("--no-effect", action="store_true")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    topics = sorted((NAMES + [f"topic {i:02}" for i in range(100)])[:args.topics])
    counts = draw_counts(rng, args, topics)
    experts = describe(counts, topics, args)
    size, width = args.layers * args.experts, len(topics)
    dtypes = {"layer": "u32", "expert": "u32", "total": "u64", "status": "u8", "top_topic": "u32", "fired_runs": "u32", "total_runs": "u32"}
    columns = {name: encode(dtypes.get(name, "f64"), values, [size, width] if name == "affinity" else [size]) for name, values in experts.items()}
    evidence = {}
    accuracy = 1 / width if args.no_effect else 0.85
    for phase in () if args.no_evidence else ("all", "prompt", "answer"):
        tests = {"cosine": held_out(rng, topics, args.probes_a_topic, accuracy), "set": held_out(rng, topics, args.probes_a_topic, 0.9 * accuracy)}
        length = held_out(rng, topics, args.probes_a_topic, 1 / width)
        for name in ("null_accuracies", "confusion", "trials_by_prompt"):
            del length[name]
        evidence[phase] = {"probes_left_out": [], "layers_left_out": [], "verdict": "made up", "held_out": tests,
                           "experts": expert_evidence(rng, experts, topics), "layers": layer_evidence(rng, args),
                           "controls": {"length_only": {"held_out": length}, "token_counts": {"not_computed": "the synthetic atlas has no tokens"},
                                        "token_matched": {"not_computed": "the synthetic atlas has no tokens"},
                                        "router_weight": {"experts": size, "differing_top_topic": size // 40, "mean_distance": 0.02, "correlation": 0.97, "most_different": []},
                                        "split_half": {"correlation": 0.8, "standard_deviation": 0.02, "corrected": 0.89, "experts": size, "draws": 20}}}
    trials = [{"topic": t, "ordinal": o, "predicted": t, "own_share": 0.4, "best_other_share": 0.3, "scores": [0.3] * width} for t in topics for o in range(args.probes_a_topic)]
    kept, sparse = experts["status"].count(0), experts["status"].count(1)
    atlas = {"format": "expert-atlas atlas", "schema_version": 2, "made_by": {"name": "make_large.py", "version": "0", "commit": ""}, "topics": topics, "source": manifest(args, topics),
             "reference": {"options": {"min_count": 30.0, "min_runs": 2.0, "strong_threshold": 0.5},
                           "summary": {"experts_seen": size, "experts_kept": kept, "dropped_sparse": sparse, "dropped_unreplicated": size - kept - sparse, "strong_specialists": 0, "strong_specialist_rate": 0.0},
                           "validation": {"top_k": 200, "hits": len(trials), "accuracy": 1.0, "chance": 1 / width, "trials": trials}},
             "evidence": evidence, "experts": {"count": size, **columns},
             "counts": {"phases": ["template", "prompt", "answer"], "selections": encode("u32", counts, [len(trials), 3, size])}}
    with open(args.out, "w") as file:
        json.dump(atlas, file)


if __name__ == "__main__":
    main()
