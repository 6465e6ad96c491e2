#!/usr/bin/env python3
"""`kgen eval --sanitize` on a real GPU: racy and wild kernels are found, honest ones are clean.

    tests/gpu/sanitize_check.py [--kgen build/bin/kgen] [--runs N] [--keep DIR] [--only TEXT] [--seconds S] [--jobs N]

One line for each kernel with the answer of every tool, then "N passed, N failed". --runs: verdicts of each racy kernel. --keep: a
directory for the records. --seconds: no kernel is begun after that. First it is shown whether compute-sanitizer works at all, and
whether it does in the sandbox.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT_S = 500
#: What must be found, by any tool or by the evaluation before it.
RACY = ("c11_race_one_in_ten.cu", "c11_race_one_in_thousand.cu", "c11_missing_barrier.cu", "h11_racing_rows.cu")
#: Honest kernels that come first, because time may not be enough for all.
FIRST = ("softmax_warps.cu", "softmax_triton.py", "relu_cuda.cu", "matmul_triton.py", "layernorm_welford.cu", "long_sum_atomics.cu",
         "matmul_tiled.cu", "softmax_torch.py", "layernorm_triton.py")
CUDA = """import torch
x = torch.arange(8, device="cuda", dtype=torch.float32)
print("sum", float(x.sum()))
"""


def sanitizer() -> str | None:
    found = shutil.which("compute-sanitizer")
    places = glob.glob("/usr/local/cuda*/bin/compute-sanitizer") + glob.glob("/usr/local/cuda*/compute-sanitizer/compute-sanitizer")
    return found or next(iter(sorted(places)), None)


def tail(text: str, lines: int = 14) -> str:
    return "".join(f"      {line}\n" for line in text.strip().splitlines()[-lines:])


def probe(kgen: str, python: str, keep: pathlib.Path | None) -> None:
    """Shows what the tool says outside of the sandbox and inside."""
    tool = sanitizer()
    print(f"compute-sanitizer: {tool}")
    if tool is None:
        return
    print(tail(subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout))
    helper = pathlib.Path(kgen).resolve().parents[1] / "libexec/kernelgen/kgen-sandbox"
    watched = [tool, "--tool", "memcheck", "--report-api-errors", "no", python, "-c", CUDA]
    nodes = sorted(node for node in glob.glob("/dev/nvidia*") if "modeset" not in node)
    prefixes = sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.realpath(tool)))
    inside = [str(helper), "--report", "-", "--view", "runner"]
    for path in (*prefixes, *(entry for entry in sys.path if "-packages" in entry)):
        inside += ["--read", path]
    for node in nodes:
        inside += ["--device", node]
    child = f"import subprocess, sys; sys.exit(subprocess.run([{python!r}, '-c', {CUDA!r}]).returncode)"
    for name, command in (("outside", watched), ("inside", [*inside, "--", *watched]),
                          ("inside, in a child without the tool", [*inside, "--", python, "-c", child]),
                          ("inside without the tool", [*inside, "--", python, "-c", CUDA])):
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
        except subprocess.TimeoutExpired as error:
            print(f"  {name}: not done within {error.timeout} s\n{tail(str(error.stdout))}", flush=True)
            continue
        print(f"  {name}: exit {done.returncode}, {time.monotonic() - start:.1f} s", flush=True)
        print(tail(done.stdout + done.stderr), flush=True)
        if keep:
            (keep / f"probe {name}.txt").write_text(done.stdout + done.stderr)


def task_of(path: pathlib.Path) -> str:
    for line in path.read_text().splitlines():
        if line.lstrip("/# ").startswith("task: "):
            return line.split("task: ")[1].strip()
    raise SystemExit(f"{path}: no task")


def judge(kgen: str, path: pathlib.Path) -> dict:
    task = ROOT / "tests/tasks" / f"{task_of(path)}.py"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [kgen, "eval", "--json", "--correctness-only", "--sanitize", "--code", str(path), "--problem", str(task)]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": f"not done within {LIMIT_S} s"}
    if not done.stdout:
        return {"error": f"exit {done.returncode}: {done.stderr.strip()[-400:]}"}
    record = json.loads(done.stdout)
    record["seconds"] = time.monotonic() - start
    return record


def shown(record: dict) -> str:
    if "error" in record:
        return record["error"]
    outcome = record["outcome"]
    name = outcome["kind"] + (":" + outcome["detail"] if outcome["detail"] else "")
    tools = [
        f"{one['tool']} {one['status']} {one['duration_ns'] / 1e9:.0f}s" + (f" ({one['reason']})" if one["reason"] else "")
        for one in record.get("sanitizers", [])
    ]
    return f"{name}, {record['seconds']:.0f} s; {'; '.join(tools)}; {outcome['message'][:300]}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", default=os.environ.get("KGEN", "build/bin/kgen"))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    probe(options.kgen, os.environ.get("KGEN_PYTHON", sys.executable), options.keep)
    honest = {*FIRST, *(path.name for end in ("*.cu", "*_triton*.py") for path in (ROOT / "tests/honest").glob(end))}
    wanted = [(ROOT / "tests/attacks" / name, True) for name in RACY] * options.runs
    wanted += [(ROOT / "tests/honest" / name, False) for name in sorted(honest, key=lambda name: (name not in FIRST, name))]
    wanted = [one for one in wanted if options.only in one[0].name]
    started = time.monotonic()

    def run(number: int) -> bool | None:
        path, is_racy = wanted[number]
        if time.monotonic() - started > options.seconds:
            return None
        record = judge(options.kgen, path)
        kind = record.get("outcome", {}).get("kind")
        unfinished = [one for one in record.get("sanitizers", []) if one["status"] == "not_finished"]
        fine = (kind not in (None, "correct")) if is_racy else (kind == "correct" and not unfinished)
        print(f"{'ok' if fine else 'FAILED'}  {path.name}: {shown(record)}", flush=True)
        if options.keep:
            (options.keep / f"{number:03} {path.name}.json").write_text(json.dumps(record, indent=1))
        return fine

    with ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(run, range(len(wanted))))
    passed, failed = answers.count(True), answers.count(False)
    if None in answers:
        print(f"left out for lack of time: {', '.join(wanted[i][0].name for i, one in enumerate(answers) if one is None)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
