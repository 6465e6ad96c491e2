"""Both verdicts on published kernels, side by side: KernelBench's evaluator, and kernelgen as its drop-in. Prints a table.

    python bench/gpu/drop_in.py --kernelbench CHECKOUT --kernels FOLDER

FOLDER holds Triton kernels as level2/7.py: the number of the task in its level. The tasks are drawn by --seed. KernelBench runs in a fresh process for each
verdict, with 5 correctness trials and 100 timed trials. kernelgen is called through examples/python/04_kernelbench_drop_in.py in this
process, as a program would that changed its import; each task is new to it, so its seconds have the admission in them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import random
import subprocess
import sys
import time

import kernelbench_trial

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
#: A shorter reason is enough for a table.
REASON = 60


class Recording:
    """Evaluates as the package does, and keeps the records."""

    def __init__(self, package):
        self._package = package
        self.records = []

    def evaluate(self, task, candidate, options, progress=None):
        record = self._package.evaluate(task, candidate, options, progress=progress)
        self.records.append(record)
        return record


def choose(kernels: pathlib.Path, count: int, seed: int) -> list[tuple[int, int]]:
    """(level, problem) of so many kernels."""
    found = [(level, int(path.stem)) for level in (1, 2, 3) for path in (kernels / f"level{level}").glob("*.py") if path.stem.isdigit()]
    if not found:
        raise SystemExit(f"{kernels} has no level1/N.py, level2/N.py or level3/N.py")
    found.sort()
    random.Random(seed).shuffle(found)
    return found[:count]


def theirs(checkout: pathlib.Path, task: pathlib.Path, code: pathlib.Path, timeout: float) -> dict:
    """KernelBench's verdict, as kernelbench_trial.py tells it, and its seconds."""
    start = time.monotonic()
    try:
        found, said = kernelbench_trial.run(sys.executable, checkout, task, code, "triton", timeout)
        found = found or {"error": said[-500:]}
    except subprocess.TimeoutExpired:
        found = {"error": f"more than {timeout:.0f} s"}
    return {**found, "seconds": time.monotonic() - start}


def ours(drop_in, judge: Recording, task: pathlib.Path, code: pathlib.Path) -> dict:
    """kernelgen's verdict, with the milliseconds of each phase."""
    start = time.monotonic()
    judge.records.clear()
    result = drop_in.eval_kernel_against_ref(task.read_text(encoding="utf-8"), code.read_text(encoding="utf-8"), measure_performance=True,
                                             num_perf_trials=100, backend="triton", device="cuda:0", judge=judge)
    seconds = time.monotonic() - start
    phases = [[phase.name, round(phase.milliseconds)] for record in judge.records for phase in record.phases]
    return {"correct": result.correctness, "runtime_ms": result.runtime, "reference_ms": result.ref_runtime,
            "metadata": result.metadata, "phases": phases, "seconds": seconds}


def table(rows: list[dict]) -> str:
    """Markdown, one line for each kernel."""
    lines = ["| kernel | KernelBench | s | kernelgen | s |", "|---|---|---|---|---|"]
    for row in rows:
        a, b = row["theirs"], row["ours"]
        if a.get("correct"):
            theirs_says = f"correct, {a['reference_ms'] / a['runtime_ms']:.2f} times"
        else:
            reason = a.get("error") or next((text for key, text in (a.get("metadata") or {}).items() if key.endswith(("error", "issue"))), "")
            theirs_says = f"failed: {reason}"
        speedup = b["metadata"].get("speedup")
        says = f"correct, {speedup:.2f} times" if speedup else b["metadata"]["outcome"]
        lines.append(f"| {row['task']} | {short(theirs_says)} | {a['seconds']:.0f} | {short(says)} | {b['seconds']:.0f} |")
    return "\n".join(lines)


def short(text: str) -> str:
    line = " ".join(text.replace("|", "/").split())
    return line if len(line) <= REASON else line[:REASON].rstrip() + " ..."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, type=pathlib.Path, metavar="CHECKOUT")
    parser.add_argument("--kernels", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="so many kernels (%(default)s)")
    parser.add_argument("--seed", type=int, default=20, metavar="N", help="which ones (%(default)s)")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out the first of them, which an earlier run judged")
    parser.add_argument("--seconds", type=float, default=3600, metavar="S", help="begin no further one after this time (%(default)s)")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="limit of one KernelBench process (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write everything there, after each kernel")
    options = parser.parse_args()
    sys.path.insert(0, str(EXAMPLES))
    drop_in = importlib.import_module("04_kernelbench_drop_in")
    judge = Recording(drop_in.kernelgen)
    end = time.monotonic() + options.seconds
    rows: list[dict] = []
    for level, problem in choose(options.kernels, options.count, options.seed)[options.skip :]:
        if time.monotonic() > end:
            break
        task, code = kernelbench_trial.task_of(options.kernelbench, level, problem), options.kernels / f"level{level}" / f"{problem}.py"
        rows.append({"task": f"level{level}/{task.stem}", "theirs": theirs(options.kernelbench, task, code, options.timeout),
                     "ours": ours(drop_in, judge, task, code)})
        print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1, default=str), encoding="utf-8")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
