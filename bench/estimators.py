#!/usr/bin/env python3
"""How estimators of a speedup do on simulated pairs of calls: the table of docs/trust.md.

    python3 bench/estimators.py [PAIRS [TRIALS]]          needs numpy

Each line is a way in which two equal candidates differ from call to call. "claimed" is how often an estimator claims a
difference between them, "found" how often it sees that one of them is 2 % faster, "width" the mean width of its 95 %
interval. "median of ratios" is what kernelgen uses (lib/bench/statistics.cpp).
"""

import math
import sys

import numpy as np

PLANTED = 1.02
RESAMPLES = 300


# -- estimators: (value, low, high) of reference / candidate ------------------------------------------------------------


def lower_rank(n):
    """As in lib/bench/statistics.cpp, for more than 40 samples."""
    return max(0, int(n / 2 - 1.96 * math.sqrt(n) / 2) - 1)


def median_of_ratios(reference, candidate):
    ratios = np.sort(reference / candidate)
    rank = lower_rank(len(ratios))
    return np.median(ratios), ratios[rank], ratios[-1 - rank]


def ratio_of_medians(reference, candidate):
    n = len(reference)
    pick = np.random.default_rng(1).integers(0, n, (RESAMPLES, n))
    resampled = np.median(reference[pick], axis=1) / np.median(candidate[pick], axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return np.median(reference) / np.median(candidate), low, high


def hodges_lehmann(reference, candidate):
    logs = np.log(reference / candidate)
    n = len(logs)
    left, right = np.triu_indices(n)
    means = np.sort((logs[left] + logs[right]) / 2)
    rank = max(0, int(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    return math.exp(np.median(means)), math.exp(means[rank]), math.exp(means[-1 - rank])


ESTIMATORS = {"median of ratios": median_of_ratios, "ratio of medians": ratio_of_medians, "Hodges-Lehmann": hodges_lehmann}


# -- pairs: (reference, candidate) of equals ----------------------------------------------------------------------------


def noise(random, share, n):
    return np.exp(share * random.standard_normal(n))


def both(random, n, make):
    """Each call for itself, with noise of 1 % on top."""
    return tuple(make(random, n) * noise(random, 0.01, n) for _ in range(2))


def shared(random, n, factor):
    """Both calls of a pair alike, with noise of 1 % on top."""
    return factor * noise(random, 0.01, n), factor * noise(random, 0.01, n)


def states(random, n):
    """0 or 1, which changes in one of ten steps."""
    changes = random.random(n) < 0.1
    changes[0] = random.random() < 0.5
    return np.cumsum(changes) % 2


def sticky(random, n):
    speed = 1 + 0.25 * states(random, 2 * n)
    return speed[0::2] * noise(random, 0.01, n), speed[1::2] * noise(random, 0.01, n)


def order(random, n):
    second = np.arange(n) % 2
    return (1 + 0.03 * second) * noise(random, 0.01, n), (1.03 - 0.03 * second) * noise(random, 0.01, n)


PAIRS = {
    "noise of 1 %": lambda random, n: (noise(random, 0.01, n), noise(random, 0.01, n)),
    "noise of 10 %": lambda random, n: (noise(random, 0.1, n), noise(random, 0.1, n)),
    "drift of 20 %": lambda random, n: shared(random, n, np.linspace(1, 1.2, n)),
    "random walk": lambda random, n: shared(random, n, np.exp(np.cumsum(0.02 * random.standard_normal(n)))),
    "two speeds, shared by a pair": lambda random, n: shared(random, n, 1 + 0.25 * states(random, n)),
    "two speeds that stay for a while": sticky,
    "two speeds, 50:50": lambda random, n: both(random, n, lambda r, k: 1 + 0.25 * (r.random(k) < 0.5)),
    "two speeds, 30:70": lambda random, n: both(random, n, lambda r, k: 1 + 0.25 * (r.random(k) < 0.3)),
    "second call 3 % longer": order,
    "1 in 20 takes 3 times as long": lambda random, n: both(random, n, lambda r, k: 1 + 2 * (r.random(k) < 0.05)),
    "1 in 5 takes half as long again": lambda random, n: both(random, n, lambda r, k: 1 + 0.5 * (r.random(k) < 0.2)),
    "heavy tails": lambda random, n: tuple(1 + 0.05 * random.pareto(1.2, n) for _ in range(2)),
}


def measure(pairs, estimator, n, trials):
    """(claimed, found, width), all in percent."""
    random = np.random.default_rng(11)
    claimed = found = 0
    width = 0.0
    for _ in range(trials):
        reference, candidate = pairs(random, n)
        _, low, high = estimator(reference, candidate)
        claimed += not low <= 1 <= high
        value, low, high = estimator(reference, candidate / PLANTED)
        found += low > 1
        width += (high - low) / value
    return 100 * claimed / trials, 100 * found / trials, 100 * width / trials


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    print(f"{n} pairs, {trials} trials; claimed %, found %, width %")
    print(f"{'':34}" + "".join(f"{name:>24}" for name in ESTIMATORS))
    for name, pairs in PAIRS.items():
        cells = [measure(pairs, estimator, n, trials) for estimator in ESTIMATORS.values()]
        print(f"{name:34}" + "".join(f"{claimed:10.1f}{found:7.1f}{width:7.2f}" for claimed, found, width in cells), flush=True)


if __name__ == "__main__":
    main()
