#!/usr/bin/env python3
"""How often a racy kernel is refused: one that is wrong in one call of ten, and one that is wrong in one of a thousand.

Each gets many verdicts from one warm worker, with and without sanitizers. An honest kernel for the same work is beside them.

    bench/races.py [--kgen build/bin/kgen] [--trials 100] [--sanitized 30]
"""

from __future__ import annotations

import argparse
import collections
import math
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench/gpu"))

from worker_client import Worker, load_task  # noqa: E402

TASK = "long_sum"
ROWS = (
    ("wrong in one call of 10", "tests/attacks/c11_race_one_in_ten.cpp", False),
    ("wrong in one call of 1000", "tests/attacks/c11_race_one_in_thousand.cpp", False),
    ("wrong in one call of 1000, sanitized", "tests/attacks/c11_race_one_in_thousand.cpp", True),
    ("right, sanitized", "tests/honest/long_sum_openmp_constructs.cpp", True),
)


def lower_bound(hits: int, trials: int) -> float:
    """The lower end of a 95 % interval of a share (Wilson)."""
    z = 1.96
    share, square = hits / trials, z * z / trials
    return (share + square / 2 - z * math.sqrt((share * (1 - share) + square / 4) / trials)) / (1 + square)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=str(ROOT / "build/bin/kgen"))
    parser.add_argument("--trials", type=int, default=100, help="verdicts without sanitizers")
    parser.add_argument("--sanitized", type=int, default=30, help="verdicts with them")
    options = parser.parse_args()
    task = load_task(ROOT / f"tests/tasks/{TASK}.py")
    print("| kernel | verdicts | refused | at least (95 %) | seconds each | outcomes |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache, Worker(options.kgen, cache) as worker:
        for name, path, is_sanitized in ROWS:
            source = (ROOT / path).read_text(encoding="utf-8")
            trials = options.sanitized if is_sanitized else options.trials
            request = {"threads": 2, "sanitizers": {"enabled": is_sanitized}}
            outcomes: collections.Counter[str] = collections.Counter()
            started = time.monotonic()
            for _ in range(trials):
                outcomes[worker.judge(task, "cpp", source, request).outcome] += 1
            seconds = (time.monotonic() - started) / trials
            refused = trials - outcomes["correct"]
            found = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common())
            print(
                f"| {name} | {trials} | {100 * refused / trials:.0f} % | {100 * lower_bound(refused, trials):.0f} % | "
                f"{seconds:.1f} | {found} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
