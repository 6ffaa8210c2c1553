#!/usr/bin/env python3
"""Makes expert_tests.json: what scipy and statsmodels say of small data sets that src/stats/expert_tests_golden_test.cpp gives to our code.

    python3 -m venv VENV && VENV/bin/pip install scipy==1.17.1 statsmodels==0.15.0
    VENV/bin/python testdata/stats/expert_tests.py        # writes expert_tests.json beside itself

Nothing here follows our code: eta squared comes from scipy's F statistic, p from scipy's exact permutation test over all splits, q from statsmodels
and once more from scipy, specialisation from scipy's entropy, intervals from scipy's basic bootstrap with draws of its own. Step-down min-P has no
implementation in either package; it is the definition of Ge, Dudoit and Speed (2003) in numpy over every labeling that itertools finds.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import scipy.stats
import statsmodels.stats.multitest

TOTAL = 1024  # selections of every run: shares are whole multiples of 2^-10, so that no rounding separates what is equal


def counts_of(sizes, features, effect, seed):
    """[run, feature] selections; the first features prefer a topic, one has no variance, one fires in one run only."""
    random = np.random.default_rng(seed)
    topic = np.repeat(np.arange(len(sizes)), sizes)
    counts = random.poisson(12, (len(topic), features))
    for feature in range(features // 2):
        counts[:, feature] += random.poisson(effect, len(topic)) * (topic == feature % len(sizes))
    counts[:, -1] = 7
    counts[:, -2] = 0
    counts[2, -2] = 31
    return topic, counts


def split(values, topic):
    return [values[topic == c] for c in range(topic.max() + 1)]


def eta_squared(values, topic):
    if np.ptp(values) == 0:
        return 0.0
    groups = split(values, topic)
    between, within = len(groups) - 1, len(values) - len(groups)
    f = scipy.stats.f_oneway(*groups).statistic
    return float(f * between / (f * between + within)) if np.isfinite(f) else 1.0


def between_groups(*groups):
    return sum(group.sum() ** 2 / len(group) for group in groups)


def exact_p(values, topic):
    result = scipy.stats.permutation_test(split(values, topic), between_groups, permutation_type="independent", alternative="greater", n_resamples=np.inf,
                                          vectorized=False)
    return float(result.pvalue)


def labelings(topic):
    """Every distinct arrangement of the labels; those that only rename topics of equal size are kept, which changes no p-value."""
    def arrange(prefix, room):
        if len(prefix) == len(topic):
            yield prefix
        for c in range(len(room)):
            if room[c] > 0:
                yield from arrange(prefix + [c], room[:c] + [room[c] - 1] + room[c + 1:])

    return np.array(list(arrange([], list(np.bincount(topic)))))


def min_p(counts, topic):
    """Step-down adjusted p-values from the definition, in whole numbers."""
    labels, sizes = labelings(topic), np.bincount(topic)
    multiple = int(np.lcm.reduce(sizes))
    statistic = np.zeros((counts.shape[1], len(labels)), dtype=np.int64)
    for c, size in enumerate(sizes):
        statistic += ((labels == c) @ counts).T.astype(np.int64) ** 2 * (multiple // size)
    p = np.stack([(row[None, :] >= row[:, None]).sum(1) for row in statistic])  # [feature, labeling]: of how many at least as great
    truth = int(np.flatnonzero((labels == topic).all(1))[0])
    order = np.argsort(p[:, truth], kind="stable")
    adjusted = np.zeros(len(order))
    for i, feature in enumerate(order):
        least = p[order[i:]].min(0)
        adjusted[feature] = max((least <= p[feature, truth]).mean(), adjusted[order[i - 1]] if i else 0)
    return adjusted.tolist()


def profile(values, topic):
    means = np.array([group.mean() for group in split(values, topic)])
    if means.sum() == 0:
        return 0.0, 1.0
    return float(1 - scipy.stats.entropy(means) / np.log(len(means))), float(means.max() / means.sum() * len(means))


def basic_interval(values, topic, which):
    def statistic(*groups):
        means = np.array([group.mean() for group in groups])
        if means.sum() == 0:
            return (0.0, 1.0)[which]
        return (1 - scipy.stats.entropy(means) / np.log(len(means)), means.max() / means.sum() * len(means))[which]

    result = scipy.stats.bootstrap(split(values, topic), statistic, method="basic", n_resamples=20000, vectorized=False, rng=np.random.default_rng(5))
    low, high = (0, 1) if which == 0 else (1, topic.max() + 1)
    return np.clip([result.confidence_interval.low, result.confidence_interval.high], low, high).tolist()


def case(name, sizes, features, effect, seed, bootstrap):
    topic, counts = counts_of(sizes, features, effect, seed)
    p = [exact_p(counts[:, e].astype(float), topic) for e in range(features)]
    result = {
        "name": name,
        "sizes": sizes,
        "total": TOTAL,
        "counts": counts.tolist(),
        "eta_squared": [eta_squared(counts[:, e].astype(float), topic) for e in range(features)],
        "p_value": p,
        "q_value": statsmodels.stats.multitest.multipletests(p, method="fdr_bh")[1].tolist(),
        "p_value_min_p": min_p(counts, topic),
        "specialisation": [profile(counts[:, e], topic)[0] for e in range(features)],
        "lift": [profile(counts[:, e], topic)[1] for e in range(features)],
    }
    if bootstrap:
        result["specialisation_interval_95"] = [basic_interval(counts[:, e], topic, 0) for e in range(features)]
        result["lift_interval_95"] = [basic_interval(counts[:, e], topic, 1) for e in range(features)]
    return result


def p_list(at_least, denominator):
    p = np.array(at_least) / denominator
    q = statsmodels.stats.multitest.multipletests(p, method="fdr_bh")
    assert np.allclose(q[1], scipy.stats.false_discovery_control(p, method="bh"))
    return {"at_least": at_least, "denominator": denominator, "q_value": q[1].tolist(), "rejected": q[0].tolist()}


def main():
    random = np.random.default_rng(11)
    document = {
        "made_by": f"expert_tests.py with numpy {np.__version__}, scipy {scipy.__version__}, statsmodels {statsmodels.__version__}",
        "p_lists": [
            p_list([1], 20),
            p_list([3, 3, 3], 60),
            p_list([1, 2, 40, 41, 100], 100),
            p_list([int(n) for n in np.minimum(10001, random.geometric(0.0004, 300))], 10001),
            p_list([int(n) for n in random.integers(1, 1001, 200)], 1000),
        ],
        "cases": [
            case("two topics of five prompts", [5, 5], 6, 9, 1, True),
            case("three topics of three prompts", [3, 3, 3], 8, 14, 2, False),
            case("topics of two, three and four prompts", [2, 3, 4], 8, 20, 3, False),
            case("topics of five and six prompts", [5, 6], 6, 7, 4, True),
        ],
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
