#!/usr/bin/env python3
"""`kgen profile` on a real GPU: timelines, and counters where this user may read them.

    tests/gpu/profile_check.py --kgen build/bin/kgen

One line for each check, then "N passed, N failed". Without permission for the counters, or without ncu, it is checked
that the reason and a remedy are told.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BRIEF = {"sm_throughput_pct", "grid_blocks", "occupancy_pct", "dram_throughput_pct", "l2_hit_pct", "stall_memory_pct"}
#: Of 24; a device may lack some.
LEAST_OF_FULL = 20
LIMIT_S = 240


class Checks:
    def __init__(self, kgen: str):
        self.kgen = kgen
        self.passed = self.failed = 0

    def profile(self, *arguments: str) -> tuple[int, dict, str]:
        """Exit code, what was printed, and the complaints."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        start = time.monotonic()
        done = subprocess.run([self.kgen, "profile", "--json", *arguments], capture_output=True, text=True, check=False,
                              timeout=LIMIT_S, env=environment)
        print(f"{' '.join(map(str, arguments))}: exit {done.returncode}, {time.monotonic() - start:.1f} s", flush=True)
        if done.stderr:
            print("    " + done.stderr.strip()[-1500:].replace("\n", "\n    "))
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    def check(self, what: str, fine: bool, found: object = "") -> None:
        self.passed, self.failed = self.passed + fine, self.failed + (not fine)
        print(f"  {'ok' if fine else 'FAILED'}  {what}  {found}", flush=True)


def candidate(task: str, name: str) -> list[str]:
    return ["--problem", str(HERE / "tasks" / f"{task}.py"), "--code", str(HERE / "candidates" / name)]


def names(profile: dict) -> list[str]:
    return [f"{kernel['function']} x{kernel['launches']} ({kernel['origin']})" for kernel in profile.get("kernels", [])]


def kernel_of(profile: dict, function: str) -> dict:
    return next((k for k in profile.get("kernels", []) if k["function"].endswith(function)), {})


def metrics_of(kernel: dict) -> dict[str, float]:
    return {metric["name"]: metric["value"] for metric in kernel.get("metrics", [])}


def check_timelines(checks: Checks) -> None:
    code, profile, _ = checks.profile(*candidate("relu", "relu_triton.py"), "--timeline")
    kernel = kernel_of(profile, "relu_kernel")
    checks.check("a Triton kernel and its launches", code == 0 and kernel.get("launches") == 1, names(profile))
    checks.check("is the candidate's own", kernel.get("origin") == "own")
    checks.check("takes time", kernel.get("duration_ns", 0) > 1000, kernel.get("duration_ns"))
    checks.check("a call takes longer than its kernels", profile.get("call_ns", 0) > kernel.get("duration_ns", 0))
    code, profile, _ = checks.profile(*candidate("relu", "relu.cu"), "--timeline")
    checks.check("a native kernel", code == 0 and kernel_of(profile, "relu").get("launches") == 1, names(profile))
    code, profile, _ = checks.profile(*candidate("relu", "relu_torch.py"), "--timeline")
    found = [finding["name"] for finding in profile.get("findings", [])]
    checks.check("torch's own kernels are told apart", code == 0 and "no_own_kernel" in found, names(profile))
    code, profile, _ = checks.profile("--problem", str(ROOT / "examples/tasks/gru.py"), "--timeline")
    checks.check("a network", code == 0 and len(profile.get("kernels", [])) > 1, names(profile)[:4])
    code, _, said = checks.profile(*candidate("relu", "illegal_address.cu"), "--timeline")
    checks.check("a candidate that faults is told", code == 2 and "illegal" in said, code)


def check_counters(checks: Checks) -> None:
    code, profile, said = checks.profile(*candidate("relu", "relu_triton.py"))
    if profile.get("no_counters"):
        why = profile["no_counters"]
        checks.check("why there are no counters, and what to do", code == 69 and bool(why["remedy"]), why)
        return
    found = metrics_of(kernel_of(profile, "relu_kernel"))
    checks.check("counters of a Triton kernel", code == 0 and set(found) >= BRIEF, found or said)
    checks.check("it reads and writes memory", found.get("dram_throughput_pct", 0) > 10)
    checks.check("its grid", found.get("grid_blocks") == 4096)
    code, profile, said = checks.profile(*candidate("relu", "relu.cu"), "--set", "full")
    found = metrics_of(kernel_of(profile, "relu"))
    checks.check("all counters of a native kernel", code == 0 and len(found) >= LEAST_OF_FULL, (len(found), found, said))
    checks.check("its registers", 8 <= found.get("registers_per_thread", 0) <= 64)
    code, profile, _ = checks.profile(*candidate("softmax", "softmax.cu"), "--set", "block_tiling")
    found = metrics_of(kernel_of(profile, "softmax"))
    checks.check("shared memory is in bytes", found.get("shared_bytes_per_block", 0) >= 32768, found)
    code, profile, _ = checks.profile("--problem", str(ROOT / "examples/tasks/gru.py"))
    counted = [kernel["function"] for kernel in profile.get("kernels", []) if kernel["counted_launches"]]
    checks.check("the longest kernels of a network", code == 0 and bool(counted), counted)
    for finding in profile.get("findings", [])[:3]:
        print(f"    {finding['message']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=os.environ.get("KGEN"), help="the program; else what KGEN names")
    options = parser.parse_args()
    if not options.kgen:
        parser.error("--kgen is needed")
    checks = Checks(options.kgen)
    check_timelines(checks)
    check_counters(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
