#!/usr/bin/env python3
"""Makes controls.json: a small trace and what numpy, scipy and scikit-learn make of it, for the tests of src/stats.

Run: python3 controls.py > controls.json, with numpy 2.4, scipy 1.17 and scikit-learn 1.9. Everything is computed row by row from its definition;
means under permuted labels are over every relabeling there is.
"""

import itertools
import json
from collections import Counter

import numpy as np
from scipy.spatial.distance import cityblock
from scipy.stats import entropy, pearsonr, variation
from sklearn.metrics import jaccard_score, mutual_info_score

TOPICS, PROMPTS, LAYERS, EXPERTS, TOP_K = ["a", "b", "c"], 4, [1, 4], 8, 2
PHASES = {"prompt": 1, "answer": 3}
FLOOR, SET_SIZE = 6, 3
BITS = 1 / np.log(2)


def make_rows(rng):
    """One dict a row: token, phase, probe, and per layer the experts and router weights. Expert 7 of layer 1 is never chosen."""
    taste = {(layer, key): rng.normal(size=EXPERTS) for layer in LAYERS for key in list(range(40)) + TOPICS}
    rows = []
    for probe, (topic, _) in enumerate(itertools.product(TOPICS, range(PROMPTS))):
        for phase, count in (("prompt", int(rng.integers(6, 10))), ("answer", int(rng.integers(3, 6)))):
            for _ in range(count):
                kind = rng.random()
                token = int(rng.integers(0, 9)) if kind < 0.7 else 10 + 3 * TOPICS.index(topic) + int(rng.integers(0, 3)) if kind < 0.9 else 20 + probe
                row = {"token": token, "phase": PHASES[phase], "probe": probe, "experts": [], "weights": []}
                for layer in LAYERS:
                    score = taste[layer, token] + 0.8 * taste[layer, topic] + 0.6 * rng.normal(size=EXPERTS)
                    if layer == 1:
                        score[7] = -99
                    chosen = np.argsort(-score)[:TOP_K]
                    first = int(rng.integers(33, 60))
                    row["experts"].append([int(e) for e in chosen])
                    row["weights"].append([first / 64, (64 - first) / 64])
                rows.append(row)
    return rows


class Side:
    """Selections of one phase (None: all) as [run, layer, expert], and the shares."""

    def __init__(self, rows, phase, weighted=False):
        self.rows = [row for row in rows if phase is None or row["phase"] == phase]
        self.counts = np.zeros((len(TOPICS) * PROMPTS, len(LAYERS), EXPERTS))
        weights = np.zeros_like(self.counts)
        for row in self.rows:
            for layer in range(len(LAYERS)):
                for expert, weight in zip(row["experts"][layer], row["weights"][layer]):
                    self.counts[row["probe"], layer, expert] += 1
                    weights[row["probe"], layer, expert] += weight
        used = weights if weighted else self.counts
        self.shares = used / used.sum(axis=(1, 2), keepdims=True)
        self.seen = self.counts.sum(axis=0) > 0

    def affinity(self, runs=None):
        """[layer, expert, topic]"""
        runs = range(len(TOPICS) * PROMPTS) if runs is None else runs
        means = np.stack([np.mean([self.shares[r] for r in runs if r // PROMPTS == c], axis=0) for c in range(len(TOPICS))], axis=-1)
        with np.errstate(invalid="ignore"):
            return means / means.sum(axis=-1, keepdims=True)


def excess(observed, expected):
    return None if max(observed, expected) == 0 else (observed - expected) / max(observed, expected)


def token_control(rows, phase):
    side = Side(rows, phase)
    runs = len(TOPICS) * PROMPTS
    observed, expected = np.zeros_like(side.counts), np.zeros_like(side.counts)
    matched = [0] * runs
    by_phase = Counter()
    for row in side.rows:
        others = [other for other in side.rows if other["token"] == row["token"] and other["probe"] != row["probe"]]
        by_phase[row["phase"], "rows"] += 1
        if not others:
            continue
        by_phase[row["phase"], "matched"] += 1
        matched[row["probe"]] += 1
        for layer in range(len(LAYERS)):
            for expert in row["experts"][layer]:
                observed[row["probe"], layer, expert] += 1
            for other in others:
                for expert in other["experts"][layer]:
                    expected[row["probe"], layer, expert] += 1 / len(others)
    assert min(matched) > 0
    total = np.array(matched)[:, None, None] * TOP_K * len(LAYERS)
    own, usual = observed / total, expected / total
    top = np.nanargmax(np.nan_to_num(side.affinity(), nan=-1), axis=-1)
    unmatched, token_matched = [], []
    for layer, expert in zip(*np.nonzero(side.seen)):
        members = [r for r in range(runs) if r // PROMPTS == top[layer, expert]]
        elsewhere = np.mean([np.mean([own[o, layer, expert] for o in range(runs) if o != r]) for r in members])
        mean = np.mean(own[members, layer, expert])
        unmatched.append(excess(mean, elsewhere))
        token_matched.append(excess(mean, np.mean(usual[members, layer, expert])))
    return {"experts": [[LAYERS[layer], int(expert)] for layer, expert in zip(*np.nonzero(side.seen))],
            "residual_shares": [list((own - usual)[r][side.seen]) for r in range(runs)], "unmatched": unmatched, "token_matched": token_matched,
            "coverage": {str(p): [by_phase[p, "rows"], by_phase[p, "matched"]] for p in PHASES.values()}}


def context_similarity(rows):
    """Mean over every way to deal the prompts to two sides of the products of residual shares, for prompts on different sides; the share of
    rows that could be matched."""
    side = Side(rows, None)
    runs = len(TOPICS) * PROMPTS
    tokens = sorted({row["token"] for row in rows})
    chosen, row_count = np.zeros((len(tokens), runs, len(LAYERS) * EXPERTS)), np.zeros((len(tokens), runs))
    for row in rows:
        at = tokens.index(row["token"]), row["probe"]
        row_count[at] += 1
        for layer in range(len(LAYERS)):
            for expert in row["experts"][layer]:
                chosen[at][layer * EXPERTS + expert] += 1
    total, times, coverage = np.zeros((runs, runs)), np.zeros((runs, runs)), []
    for first in itertools.combinations(range(runs), runs // 2):
        residual, matched = np.zeros((runs, len(LAYERS) * EXPERTS)), np.zeros(runs)
        for run in range(runs):
            others = [o for o in range(runs) if (o in first) == (run in first) and o != run]
            for t in range(len(tokens)):
                if row_count[t, run] and row_count[t, others].sum():
                    usual = chosen[t, others].sum(axis=0) / row_count[t, others].sum()
                    residual[run] += chosen[t, run] - row_count[t, run] * usual
                    matched[run] += row_count[t, run]
        coverage.append(matched.sum() / len(side.rows))
        assert matched.min() > 0
        residual /= matched[:, None] * TOP_K * len(LAYERS)
        parted = np.array([[(i in first) != (j in first) or i == j for j in range(runs)] for i in range(runs)])
        total += np.where(parted, residual @ residual.T, 0)
        times += parted
    return {"similarity": (total / times).tolist(), "coverage": np.mean(coverage)}


def affinity_comparison(left, right, floor):
    kept = (left.counts.sum(axis=0) >= floor) & (right.counts.sum(axis=0) >= floor)
    a, b = left.affinity()[kept], right.affinity()[kept]
    return {"experts": [[LAYERS[layer], int(expert)] for layer, expert in zip(*np.nonzero(kept))],
            "distance": [cityblock(x, y) / 2 for x, y in zip(a, b)], "differing": int(np.sum(a.argmax(axis=1) != b.argmax(axis=1))),
            "correlation": pearsonr(a.ravel(), b.ravel()).statistic}


def top_sets(left, right):
    def members(side, topic):
        affinity = np.where(side.counts.sum(axis=0) >= FLOOR, np.nan_to_num(side.affinity()[..., topic]), 0).ravel()
        order = sorted(range(affinity.size), key=lambda e: (-affinity[e], e))
        return [e in order[:SET_SIZE] and affinity[e] > 0 for e in range(affinity.size)]
    return [jaccard_score(members(left, c), members(right, c)) for c in range(len(TOPICS))]


def split_halves(side):
    """The mean over all 6^3 splits, and their standard deviation."""
    kept = side.counts.sum(axis=0) >= FLOOR
    halves = [[c * PROMPTS + i for i in pair] for c in range(len(TOPICS)) for pair in itertools.combinations(range(PROMPTS), 2)]
    per_topic = [halves[6 * c:6 * c + 6] for c in range(len(TOPICS))]
    found = []
    for chosen in itertools.product(*per_topic):
        left = [r for half in chosen for r in half]
        right = [r for r in range(len(TOPICS) * PROMPTS) if r not in left]
        a, b = side.affinity(left)[kept], side.affinity(right)[kept]
        defined = ~np.isnan(a[:, 0]) & ~np.isnan(b[:, 0])
        found.append(pearsonr(a[defined].ravel(), b[defined].ravel()).statistic)
    return {"mean": np.mean(found), "standard_deviation": np.std(found)}


def information(table):
    """Bits, of a table of counts."""
    table = table[:, table.sum(axis=0) > 0].astype(np.int64)
    return mutual_info_score(None, None, contingency=table) * BITS


def information_of_shares(means):
    """The mean divergence of the topics' distributions from their mean; scikit-learn, which takes whole numbers only, agrees."""
    bits = np.mean([entropy(mean, means.mean(axis=0), base=2) for mean in means])
    assert abs(bits - information(np.round(means * 1e9))) < 1e-6
    return bits


def relabelings():
    """Every way to deal 12 runs to three topics of four that are told apart by their members only."""
    runs = set(range(len(TOPICS) * PROMPTS))
    for first in itertools.combinations(runs - {0}, PROMPTS - 1):
        rest = runs - {0, *first}
        start = min(rest)
        for second in itertools.combinations(rest - {start}, PROMPTS - 1):
            labels = np.full(len(runs), 2)
            labels[[0, *first]] = 0
            labels[[start, *second]] = 1
            yield labels


def layer_stats(side):
    result = []
    labelings = list(relabelings())
    for index, layer in enumerate(LAYERS):
        counts = side.counts[:, index]
        shares = counts / counts.sum(axis=1, keepdims=True)
        kept = counts.sum(axis=0) >= FLOOR

        def values(labels):
            means = np.stack([shares[labels == c].mean(axis=0) for c in range(len(TOPICS))])
            special = 1 - entropy(means[:, kept], axis=0) / np.log(len(TOPICS))
            return information_of_shares(means), special.mean()

        own = values(np.repeat(np.arange(len(TOPICS)), PROMPTS))
        null = np.array([values(labels) for labels in labelings])
        load = counts.sum(axis=0)
        result.append({"layer": layer, "dead": int(np.sum(load == 0)), "max_over_mean": load.max() / load.mean(), "variation": variation(load),
                       "effective": float(np.exp(entropy(load))), "information": own[0], "information_null_mean": null[:, 0].mean(),
                       "information_p": float(np.mean(null[:, 0] >= own[0] - 1e-9)), "specialisation": own[1],
                       "specialisation_null_mean": null[:, 1].mean(), "relabelings": len(labelings), "kept": int(kept.sum())})
    return result


def arrangements(labels):
    """Every distinct order of these labels."""
    if not labels:
        yield []
        return
    for label in sorted(set(labels)):
        rest = list(labels)
        rest.remove(label)
        for tail in arrangements(rest):
            yield [label, *tail]


def shuffled_information(side, tokens_of):
    """I(topic; expert | token), weighted by selections, as counted and its exact mean over all ways to shuffle blocks within a token."""
    tokens = sorted({tokens_of(row) for row in side.rows})
    result = []
    for index in range(len(LAYERS)):
        bits = null = weight = 0
        for token in tokens:
            blocks = {}
            for row in side.rows:
                if tokens_of(row) == token:
                    blocks.setdefault(row["probe"], np.zeros(EXPERTS))[row["experts"][index]] += 1
            labels = [probe // PROMPTS for probe in sorted(blocks)]
            if len(set(labels)) < 2:
                continue
            table = np.stack([blocks[probe] for probe in sorted(blocks)])

            def value(order):
                return information(np.stack([table[np.array(order) == c].sum(axis=0) for c in sorted(set(order))]))

            weight += table.sum()
            bits += table.sum() * value(labels)
            null += table.sum() * np.mean([value(order) for order in arrangements(labels)])
        result.append({"bits": bits / weight, "null_mean": null / weight, "selections": int(weight)})
    return result


def main():
    rows = make_rows(np.random.default_rng(20261201))
    prompt, answer, every = Side(rows, 1), Side(rows, 3), Side(rows, None)
    shared = {t for t in range(40) if len({row["probe"] // PROMPTS for row in answer.rows if row["token"] == t}) >= 2}
    answer_shared = Side([row for row in answer.rows if row["token"] in shared], 3)
    expected = {
        "token_control": {"all": token_control(rows, None), "prompt": token_control(rows, 1)},
        "context": context_similarity(rows),
        "weights_against_selections": affinity_comparison(every, Side(rows, None, weighted=True), FLOOR),
        "prompt_against_answer": {**affinity_comparison(prompt, answer, FLOOR), "jaccard": top_sets(prompt, answer)},
        "split_half": split_halves(every),
        "layers": layer_stats(prompt),
        "given_token": shuffled_information(answer, lambda row: row["token"]),
        "any_token": shuffled_information(answer_shared, lambda row: 0),
    }
    data = {"topics": TOPICS, "prompts_per_topic": PROMPTS, "layers": LAYERS, "expert_count": EXPERTS, "expert_top_k": TOP_K, "floor": FLOOR,
            "set_size": SET_SIZE, "rows": [[row["token"], row["phase"], row["probe"], row["experts"], row["weights"]] for row in rows],
            "expected": expected}
    print(json.dumps(data, separators=(",", ":")))


if __name__ == "__main__":
    main()
