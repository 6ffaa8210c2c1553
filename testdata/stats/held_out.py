#!/usr/bin/env python3
"""Writes held_out.json: fixed folds on random counts, scored by NumPy and scikit-learn. Read by src/stats/held_out_scores_test.cpp.

    python3 testdata/stats/held_out.py        (numpy 2.4, scikit-learn 1.9)

Each case has counts, topics, draws of folds (a fold drops one run of every topic), and for both scores the score of each held-out run against each
topic, and the accuracy.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize


def make_counts(random, topics, feature_count, effect):
    popularity = np.exp(random.normal(size=feature_count))
    taste = np.exp(effect * random.normal(size=(max(topics) + 1, feature_count)))
    return np.array([random.poisson(8 * popularity * taste[topic] * np.exp(0.5 * random.normal(size=feature_count))) for topic in topics])


def make_draws(random, topics, draw_count):
    """[draw][fold][topic]: as many folds as the smallest topic has runs."""
    members = [np.flatnonzero(topics == topic) for topic in range(topics.max() + 1)]
    least = min(map(len, members))
    return [np.stack([random.permutation(runs)[:least] for runs in members], axis=1) for _ in range(draw_count)]


def cosine_scores(shares, topics, draw, fold):
    training = np.delete(draw, fold, axis=0).ravel()
    model = NearestCentroid().fit(shares[training], topics[training])
    centre = model.centroids_.mean(axis=0)
    return cosine_similarity(shares[draw[fold]] - centre, model.centroids_ - centre)


def set_scores(counts, shares, topics, draw, fold, top_k, floor):
    training = np.delete(draw, fold, axis=0).ravel()
    means = NearestCentroid().fit(shares[training], topics[training]).centroids_
    allowed = (counts[training].sum(axis=0) >= floor) & (means.sum(axis=0) > 0)
    affinity = np.where(allowed, means, 0) / np.where(allowed, means.sum(axis=0), 1)
    held = normalize(counts[draw[fold]].astype(float), norm="l1")
    scores = np.zeros((len(held), len(means)))
    for topic, row in enumerate(affinity):
        order = np.lexsort((np.arange(len(row)), -row))[:top_k]
        scores[:, topic] = held[:, order[row[order] > 0]].sum(axis=1)
    return scores


def accuracy(scores):
    """scores: [fold, held topic, topic]."""
    return float(np.mean([(fold.argmax(axis=1) == np.arange(len(fold))).mean() for fold in scores]))


def make_case(random, sizes, feature_count, effect, top_k, floor):
    topics = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    counts = make_counts(random, topics, feature_count, effect)
    shares = counts / counts.sum(axis=1, keepdims=True)
    draws = make_draws(random, topics, 3)
    folds = [(draw, fold) for draw in draws for fold in range(len(draw))]
    cosine = [cosine_scores(shares, topics, *fold) for fold in folds]
    sets = [set_scores(counts, shares, topics, *fold, top_k, floor) for fold in folds]
    rounded = [np.round(scores, 13).tolist() for scores in (cosine, sets)]
    return {"topics": topics.tolist(), "counts": counts.tolist(), "draws": [draw.tolist() for draw in draws], "top_k": top_k, "floor": floor,
            "cosine_scores": rounded[0], "cosine_accuracy": accuracy(cosine), "set_scores": rounded[1], "set_accuracy": accuracy(sets)}


def main():
    random = np.random.default_rng(20261201)
    cases = [make_case(random, [4, 4, 4], 60, 0.3, 15, 40), make_case(random, [3, 5, 4, 3], 80, 0.15, 12, 60),
             make_case(random, [2, 2], 20, 0.0, 5, 1), make_case(random, [6, 6, 9], 40, 0.6, 10, 0)]
    Path(__file__).with_suffix(".json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")
    for case in cases:
        print(len(case["topics"]), "runs:", case["cosine_accuracy"], case["set_accuracy"])


with np.errstate(invalid="ignore"):  # NearestCentroid divides by zero for one training run a topic, in a value not used here
    main()
