#!/usr/bin/env python3
"""Writes axis_variance.json: shares of variance per axis by scikit-learn, all orders of the axes spelt out. Read by src/stats/axis_variance_test.cpp.

    python3 testdata/stats/axis_variance.py        (numpy 2.4, scikit-learn 1.9)
"""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.preprocessing import OneHotEncoder


def r_squared(shares, labels, axes):
    if not axes:
        return 0.0
    columns = OneHotEncoder(sparse_output=False).fit_transform(labels[:, list(axes)])
    fitted = LinearRegression().fit(columns, shares).predict(columns)
    return r2_score(shares, fitted, multioutput=shares.var(axis=0))  # experts weighed by their variance: sums of squares are added up


def shapley(shares, labels):
    axes = range(labels.shape[1])
    orders = list(permutations(axes))
    result = np.zeros(labels.shape[1])
    for order in orders:
        for place, axis in enumerate(order):
            result[axis] += r_squared(shares, labels, order[:place + 1]) - r_squared(shares, labels, order[:place])
    return result / len(orders)


def make_case(random, run_count, level_counts, feature_count, effects):
    labels = np.stack([random.integers(count, size=run_count) for count in level_counts], axis=1)
    logits = random.normal(size=(run_count, feature_count))
    for axis, effect in enumerate(effects):
        logits += effect * random.normal(size=(level_counts[axis], feature_count))[labels[:, axis]]
    counts = random.poisson(np.exp(2.5 + 0.5 * logits)) + 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    return {"labels": labels.tolist(), "counts": counts.tolist(), "share": shapley(shares, labels).tolist(),
            "all_axes": r_squared(shares, labels, tuple(range(len(level_counts))))}


def main():
    random = np.random.default_rng(20261201)
    cases = [make_case(random, 30, [3, 4], 20, [1, 0.5]), make_case(random, 40, [2, 3, 5], 25, [0.2, 1, 0]),
             make_case(random, 12, [4, 2, 2, 3], 10, [0, 0, 0, 0]), make_case(random, 15, [3], 10, [1])]
    Path(__file__).with_suffix(".json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")


main()
