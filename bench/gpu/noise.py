"""Measures verdicts on this GPU: noise, sensitivity, the cost of a failure, the cost of verification.

    python bench/gpu/noise.py --kgen build/bin/kgen [--only aa] [--repeat 20] [--json FILE]

aa            one kernel repeatedly, each time in a fresh process: the difference between its scores, for
              kernels of about 5 us, 20 us, 100 us and 1 ms on an H200 (--sizes). The kernel reads and writes once.
              `native` is a CUDA kernel; `torch` is the operation of the reference itself, with an expected score of 1.
sensitivity   the kernel, and the same with 2 % more traffic: how often the slower one gets the lower score.
failures      from the death of a candidate until it is known, to its record (its process has been taken apart by then, which
              takes the driver a while), and until the next one is loaded: by a signal, by a fault of the device, by a
              kernel that never ends.
verification  the wall time of a verdict, its timed calls compared in full or in sampled blocks alone; the same number of calls
              in both.

Everything goes through one warm `kgen worker`, as a search would use it.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

import mixed
from side_by_side import phase_line, say
from worker_client import Answer, Worker, text_task

MIB = 1 << 20
ROW_BYTES = 16384
#: Bytes of the input; a call moves twice as many.
SIZES = {"5 us": 4 * MIB, "20 us": 32 * MIB, "100 us": 180 * MIB, "1 ms": 1900 * MIB}
BEAT_S = 0.25
#: Timed calls, and as many replays, of a verdict of known length.
SAME_CALLS = 44
HANG_TIMEOUT_S = 3.0
#: Phases that begin when a candidate can be called.
LOADED = ("weights", "correctness")

TASK = '''"""Half of every number: reads {megabytes:.0f} MiB and writes as many."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 0.5


def get_inputs():
    return [torch.randn({rows}, 4096)]


def get_init_inputs():
    return []
'''

TORCH = '''import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 0.5
'''


def task_of(size: int) -> dict:
    return text_task(f"scale_{size // MIB}_mib", TASK.format(rows=size // ROW_BYTES, megabytes=size / MIB))


def quantile(samples: list[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def differences(scores: list[float]) -> list[float]:
    """|ratio - 1| of each score to the one before, in percent."""
    return [100 * abs(score / before - 1) for before, score in zip(scores, scores[1:])]


def calls_it_slower(fast: list[float], slow: list[float]) -> int:
    """The number of pairs in which the slower kernel has the lower score."""
    return sum(b < a for a, b in zip(fast, slow))


class Table:
    """A table of medians and 95th percentiles; each line is printed at once and kept."""

    def __init__(self) -> None:
        self.lines: list[dict] = []
        print(f"{'':62} {'median':>9} {'p95':>9} {'':3} {'n':>4}")

    def add(self, what: str, samples: list[float], unit: str, goal: str = "") -> None:
        if not samples:
            print(f"{what:62} {'-':>9}")
            return
        line = {"what": what, "median": statistics.median(samples), "p95": quantile(samples, 0.95), "unit": unit,
                "samples": samples}
        self.lines.append(line)
        print(f"{what:62} {line['median']:9.3f} {line['p95']:9.3f} {unit:3} {len(samples):4}  {goal}", flush=True)

    def text(self, what: str, text: str) -> None:
        self.lines.append({"what": what, "text": text})
        print(f"{what:62} {text}", flush=True)


class Bench:
    def __init__(self, worker: Worker, repeat: int, settle: float, table: Table):
        self.worker, self.repeat, self.settle, self.table = worker, repeat, settle, table

    def judge(self, task: dict, target: str, source: str, **options) -> Answer:
        answer = self.worker.judge(task, target, source, options)
        time.sleep(self.settle)
        return answer

    def scores(self, task: dict, target: str, source: str, repeat: int) -> dict[str, list[float]]:
        """Scores by kind, and the kernel's own time in microseconds, from evaluations in fresh processes."""
        found: dict[str, list[float]] = {"call": [], "device": [], "microseconds": []}
        for _ in range(repeat):
            answer = self.judge(task, target, source)
            timing = (answer.record or {}).get("timing")
            if answer.outcome != "correct" or not timing:
                say(f"  {task['name']} {target}: {answer.outcome} {(answer.record or {}).get('outcome')}")
                continue
            found["call"].append(timing["speedup_call"]["value"])
            found["microseconds"].append(timing["candidate_median_ns"] / 1e3)
            if timing.get("speedup_device"):
                found["device"].append(timing["speedup_device"]["value"])
        return found

    def aa(self, sizes: dict[str, int]) -> None:
        for label, size in sizes.items():
            task = task_of(size)
            for target, source in (("cuda", mixed.edited("scale.cu", [])), ("torch", TORCH)):
                kind = "native" if target == "cuda" else "torch"
                self.judge(task, target, source)
                found = self.scores(task, target, source, self.repeat)
                self.table.add(f"{label} {kind}: time of a call", found["microseconds"], "us")
                for name in ("call", "device"):
                    score = f"{label} {kind}: speedup_{name}"
                    self.table.add(f"{score} of two processes differ", differences(found[name]), "%", "goal: 2 p95")
                    if kind == "torch":
                        off = [100 * abs(value - 1) for value in found[name]]
                        self.table.add(f"{score} of an operation over itself is off 1 by", off, "%")

    def sensitivity(self, sizes: dict[str, int]) -> None:
        plain = mixed.edited("scale.cu", [])
        slower = mixed.edited("scale.cu", [("k_extra_percent = 0", "k_extra_percent = 2")])
        for label, size in sizes.items():
            task = task_of(size)
            pairs: dict[str, list[list[float]]] = {"call": [[], []], "device": [[], []]}
            for source in (plain, slower):
                self.judge(task, "cuda", source)
            for _ in range(self.repeat):
                both = [self.scores(task, "cuda", source, 1) for source in (plain, slower)]
                for name, (fast, slow) in pairs.items():
                    if both[0][name] and both[1][name]:
                        fast += both[0][name]
                        slow += both[1][name]
            for name, (fast, slow) in pairs.items():
                right = calls_it_slower(fast, slow)
                verdict = f"called slower in {right} of {len(fast)} pairs"
                self.table.text(f"{label}: 2 % more traffic, by speedup_{name}", verdict)
                seen = [100 * (a / b - 1) for a, b in zip(fast, slow)]
                self.table.add(f"{label}: the difference that is seen, by speedup_{name}", seen, "%")

    def next_is_loaded(self, task: dict, since: float) -> float:
        """Milliseconds until another candidate can be called."""
        answer = self.worker.judge(task, "cuda", mixed.edited("scale.cu", []))
        loaded = answer.began(*LOADED, otherwise=answer.answered)
        return 1e3 * (loaded - since)

    def failures(self) -> None:
        task = task_of(SIZES["5 us"])
        self.judge(task, "cuda", mixed.edited("scale.cu", []))
        kinds = {"signal": ("k_on_the_device = false", "k_on_the_device = false"),
                 "device fault": ("k_on_the_device = false", "k_on_the_device = true")}
        for kind, edit in kinds.items():
            source = mixed.edited("dies_on_the_beat.cu", [edit])
            self.judge(task, "cuda", source)
            seen, recorded, running = [], [], []
            for _ in range(self.repeat):
                answer = self.worker.judge(task, "cuda", source)
                known = answer.began("end", otherwise=answer.answered)
                died = known - known % BEAT_S
                seen.append(1e3 * (known - died))
                recorded.append(1e3 * (answer.answered - died))
                running.append(self.next_is_loaded(task, died))
                time.sleep(self.settle)
            say(f"  {kind}: {answer.outcome}")
            self.table.add(f"{kind}: until it is known", seen, "ms", "goal: 50")
            self.table.add(f"{kind}: until the record is here", recorded, "ms")
            self.table.add(f"{kind}: until the next candidate is loaded", running, "ms", "goal: 300")
        self.hang(task)

    def hang(self, task: dict) -> None:
        source = mixed.edited("endless.cu", [])
        seen, running = [], []
        for _ in range(max(2, self.repeat // 5)):
            answer = self.worker.judge(task, "cuda", source, {"call_timeout_ms": int(1e3 * HANG_TIMEOUT_S)})
            called = answer.began("correctness", otherwise=answer.sent)
            seen.append(1e3 * (answer.answered - called - HANG_TIMEOUT_S))
            running.append(self.next_is_loaded(task, called + HANG_TIMEOUT_S))
            time.sleep(self.settle)
        say(f"  endless: {answer.outcome}")
        self.table.add("endless kernel: beyond its deadline, until the record is here", seen, "ms", "goal: 1000")
        self.table.add("endless kernel: beyond its deadline, until the next is loaded", running, "ms", "goal: 1000")

    def verification(self, sizes: dict[str, int]) -> None:
        source = mixed.edited("scale.cu", [])
        for label, size in sizes.items():
            task = task_of(size)
            self.judge(task, "cuda", source)
            walls: dict[str, list[float]] = {}
            for _ in range(max(3, self.repeat // 4)):
                for what, full in (("compared in full", SAME_CALLS), ("in sampled blocks", 0)):
                    # A negative limit disables the interval criterion, so that both end with the same number of
                    # samples.
                    measure = {"max_relative_interval": -1, "max_samples": SAME_CALLS, "full_comparisons": full}
                    answer = self.judge(task, "cuda", source, measure=measure)
                    walls.setdefault(what, []).append(1e3 * answer.seconds)
            for what, samples in walls.items():
                self.table.add(f"{label}: wall time of a verdict, {what}", samples, "ms")
            full, sampled = (statistics.median(samples) for samples in walls.values())
            self.table.text(f"{label}: a verdict costs", f"{full / sampled:.3f} times as much; goal: 1.1")
            say(f"    {phase_line(answer)}")


PARTS = ("aa", "sensitivity", "failures", "verification")


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", required=True, help="the program")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be repeated")
    parser.add_argument("--repeat", type=int, default=20, metavar="N", help="evaluations of each kernel (%(default)s)")
    parser.add_argument("--sizes", nargs="+", choices=sorted(SIZES), default=list(SIZES), help="which kernels")
    parser.add_argument("--settle", type=float, default=0.5, metavar="S",
                        help="seconds between two verdicts, for the standby to start (%(default)s)")
    parser.add_argument("--python", help="the Python with torch; else KGEN_PYTHON")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all samples there")
    options = parser.parse_args(arguments)
    if options.repeat < 2:
        parser.error("two evaluations are the least that can differ")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    wanted = options.only or PARTS
    sizes = {label: SIZES[label] for label in SIZES if label in options.sizes}
    table = Table()
    with tempfile.TemporaryDirectory(prefix="kgen-noise-") as scratch:
        with open(pathlib.Path(scratch) / "worker.log", "wb") as log:
            with Worker(options.kgen, scratch + "/cache", options.python, log=log) as worker:
                say(f"worker: {worker.hello['device']}")
                bench = Bench(worker, options.repeat, options.settle, table)
                if "aa" in wanted:
                    bench.aa(sizes)
                if "sensitivity" in wanted:
                    bench.sensitivity(sizes)
                if "failures" in wanted:
                    bench.failures()
                if "verification" in wanted:
                    bench.verification(sizes)
    if options.json:
        options.json.write_text(json.dumps(table.lines, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
