#!/usr/bin/env python3
"""What does the work of a candidate's calls, on a real GPU: shares, labels and policies, through `kgen eval --json`.

    tests/gpu/library_use.py --kgen build/bin/kgen [--only TEXT]

One line for each candidate with what ran, the time that looking took, and its share of the whole verdict; then "N passed,
N failed". Where the device's activities cannot be collected, it says why.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT_S = 240


@dataclass(frozen=True)
class Case:
    """A candidate, and the least share of one origin in its calls: "own", "library", "framework", or the last two: "foreign"."""

    task: str
    candidate: str
    origin: str
    least: float = 0.9
    #: A policy, and the class under it: a refusal's record has the shares, too.
    policy: tuple[str, str] = ("anything", "correct")
    options: tuple[str, ...] = ("--quick",)
    may_fail: bool = False

    @property
    def files(self) -> tuple[pathlib.Path, pathlib.Path]:
        if self.candidate.startswith("attacks/") or self.candidate.startswith("honest/"):
            return ROOT / "tests" / "tasks" / f"{self.task}.py", ROOT / "tests" / self.candidate
        return HERE / "tasks" / f"{self.task}.py", HERE / "candidates" / self.candidate


CASES = [
    # Full verdicts, for what looking costs.
    Case("big_relu", "relu.cu", "own", options=()),
    Case("matmul", "matmul_torch.py", "library", policy=("assisted", "library_use:library"), options=()),
    # Its own kernels, each way to launch them.
    Case("softmax", "softmax.cu", "own", policy=("own-kernels", "correct")),
    Case("softmax", "softmax_triton.py", "own", policy=("own-kernels", "correct")),
    Case("relu", "relu_load_inline.py", "own", policy=("own-kernels", "correct")),
    Case("relu", "relu_graph_of_its_own.cu", "own", may_fail=True),
    Case("relu", "relu_two_streams.cu", "own"),
    # Others' work.
    Case("relu", "relu_torch.py", "framework", policy=("own-kernels", "library_use:framework")),
    Case("matmul", "attacks/h57_cublas_by_ctypes.py", "library", policy=("own-kernels", "library_use:library"), may_fail=True),
    Case("matmul", "attacks/c15_blas_by_dlopen.cu", "library", policy=("own-kernels", "library_use:library"), may_fail=True),
    Case("softmax", "attacks/c15_falls_back_to_the_reference.py", "framework"),
    Case("mlp", "attacks/c15_reference_in_pieces.py", "foreign"),
    Case("gelu", "attacks/c15_one_element_kernel.py", "framework", 0.5, policy=("own-kernels", "library_use:framework")),
    Case("gelu", "attacks/h61_compiled_reference.py", "framework", policy=("own-kernels", "library_use:framework"),
         options=("--quick", "--timeout", "120")),
    Case("softmax", "attacks/h62_laundering_copy.py", "framework", 0.4),
    Case("matmul", "attacks/c15_laundered_by_a_kernel.py", "library", 0.5, policy=("own-kernels", "library_use:library")),
]


def share_of(work: dict, origin: str) -> float:
    return work["library"] + work["framework"] if origin == "foreign" else work[origin]


def class_of(record: dict) -> str:
    outcome = record["outcome"]
    return outcome["kind"] + (f":{outcome['detail']}" if outcome["detail"] else "")


class Suite:
    def __init__(self, kgen: str, cache: str):
        self.kgen, self.cache = kgen, cache
        self.passed = self.failed = 0

    def evaluate(self, case: Case) -> tuple[dict, float]:
        task, code = case.files
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        start = time.monotonic()
        command = [self.kgen, "eval", "--json", "--problem", str(task), "--code", str(code), "--cache-dir", self.cache]
        done = subprocess.run([*command, *case.options, "--library-use", case.policy[0]], capture_output=True, text=True,
                              check=False, timeout=LIMIT_S, env=environment)
        try:
            return json.loads(done.stdout), time.monotonic() - start
        except json.JSONDecodeError:
            return {"outcome": {"kind": "no record", "detail": "", "message": done.stderr.strip()[-1500:]}}, 0.0

    def check(self, what: str, failures: list[str]) -> None:
        self.passed, self.failed = self.passed + (not failures), self.failed + bool(failures)
        print("\n        ".join([f"{'FAILED' if failures else 'ok':6} {what}", *failures]), flush=True)

    def look(self, case: Case) -> None:
        record, seconds = self.evaluate(case)
        work = record.get("work")
        failures = []
        if class_of(record) != case.policy[1]:
            failures.append(f"{class_of(record)}, expected {case.policy[1]}: {record['outcome']['message'][:600]}")
        elif not work or work["unavailable"]:
            failures.append(f"nothing was seen: {(work or {}).get('unavailable')}")
        elif share_of(work, case.origin) < case.least:
            failures.append(f"{case.origin} has {share_of(work, case.origin):.2f}, expected {case.least} or more")
        if case.may_fail and failures:
            print(f"(may fail) {case.candidate}: {failures}", flush=True)
            failures = []
        phases = {phase["name"]: phase["milliseconds"] for phase in record.get("phases", [])}
        all_ms = sum(phases.values()) or 1.0
        looking = phases.get("work", 0.0)
        self.check(f"{case.candidate:44} {case.policy[0]:11} {seconds:5.1f} s, looking {looking:6.1f} ms = "
                   f"{100 * looking / all_ms:4.1f} %", failures)
        labels = [label for label in record.get("labels", []) if "own" in label or "work" in label]
        print(f"        {labels}")
        if work:
            print(f"        examined {work['examined_ns'] / 1e3:.1f} us, timed {work['timed_ns'] / 1e3:.1f} us")
            for one in work["activities"][:4]:
                print(f"        {one['microseconds']:9.2f} us {one['origin']:10} {one['name'][:90]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=os.environ.get("KGEN"), help="the program; else what KGEN names")
    parser.add_argument("--only", default="", metavar="TEXT", help="candidates with this in their name")
    options = parser.parse_args()
    if not options.kgen:
        parser.error("--kgen is needed")
    with tempfile.TemporaryDirectory(prefix="kgen-library-use-") as cache:
        suite = Suite(options.kgen, cache)
        for case in CASES:
            if options.only in case.candidate:
                suite.look(case)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
