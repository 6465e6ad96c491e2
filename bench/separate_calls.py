#!/usr/bin/env python3
"""Short calls on the processor: how fast kernels are in series and one at a time, and which of the two decides.

Honest kernels, and attacks that compute the calls of a series together, each beside its twin. Times in microseconds; a range is that
of several verdicts.

    bench/separate_calls.py [--kgen build/bin/kgen] [--trials 3] [--only NAME]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench/gpu"))

from worker_client import Worker, load_task  # noqa: E402

ROWS = (
    ("chain", "honest/chain_steps.cpp"),
    ("chain", "attacks/c01_computes_a_series_together.cpp"),
    ("chain", "attacks/c01_alone_after_a_pause.cpp"),
    ("chain", "honest/chain_torch.py"),
    ("chain", "attacks/c01_computes_a_series_together.py"),
    ("relu", "honest/relu_plain.cpp"),
    ("relu", "honest/relu_openmp.cpp"),
    ("relu", "honest/relu_torch.py"),
    ("softmax", "honest/softmax_torch.py"),
    ("matmul", "honest/matmul_torch.py"),
    ("mlp", "honest/mlp_torch.py"),
    ("argmax", "honest/argmax_of_max.py"),
)


def middle(values: list[int]) -> float:
    return statistics.median(values) / 1e3


def span(values: list[float], digits: int) -> str:
    low, high = (f"{one:.{digits}f}" for one in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=str(ROOT / "build/bin/kgen"))
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| kernel | in series: reference, kernel | ratio | one at a time: reference, kernel | ratio | score | loose |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache, Worker(options.kgen, cache) as worker:
        for name, path in ROWS:
            if options.only not in path:
                continue
            task, source = load_task(ROOT / f"tests/tasks/{name}.py"), (ROOT / "tests" / path).read_text(encoding="utf-8")
            target = "torch" if path.endswith(".py") else "cpp"
            found: list[list[float]] = [[] for _ in range(8)]
            outcomes = []
            for _ in range(options.trials):
                answer = worker.judge(task, target, source, {"threads": 1})
                timing = (answer.record or {}).get("timing") or {}
                separate = timing.get("separate_calls")
                if answer.outcome != "correct" or not separate:
                    outcomes.append(answer.outcome if answer.outcome != "correct" else "single calls")
                    continue
                ratios = [one / other for one, other in zip(timing["reference_ns"], timing["candidate_ns"])]
                loose = next((label.split("up to ")[1].split()[0] for label in answer.record["labels"] if label.startswith("loose clock")), "0")
                row = (
                    middle(timing["reference_ns"]), middle(timing["candidate_ns"]), statistics.median(ratios),
                    middle(separate["reference_ns"]), middle(separate["candidate_ns"]), separate["speedup"]["value"],
                    timing["speedup_call"]["value"], float(loose),
                )  # fmt: skip
                for column, value in zip(found, row):
                    column.append(value)
            if not found[0]:
                print(f"| {path} | {', '.join(outcomes)} | | | | | |", flush=True)
                continue
            print(
                f"| {path} | {span(found[0], 0)}, {span(found[1], 1)} | {span(found[2], 2)} | {span(found[3], 0)}, "
                f"{span(found[4], 1)} | {span(found[5], 2)} | {span(found[6], 2)} | {span(found[7], 0)}{' us' if max(found[7]) else ''} |"
                f"{' ' + ', '.join(outcomes) if outcomes else ''}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
