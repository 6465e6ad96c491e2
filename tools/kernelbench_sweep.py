#!/usr/bin/env python3
"""Loads and admits many tasks on the CPU and writes a table of the results.

    tools/kernelbench_sweep.py --kernelbench DIR [--levels 1,2,3] [--first N] [--json OUT] [--markdown OUT]

Each task runs in a process of its own with a deadline and a memory limit. Tasks that are too large are shrunk by this
rule: the cost of a task (bytes of inputs, weights and outputs, and floating-point operations of one call) is found with
fake tensors, which allocate nothing. While it is over the limits, the largest integer constant at module top level is
halved; if that breaks the task or does not make it cheaper, all constants of the same value are halved together; if that
does not help either, the constant is left alone from then on. Constants of 4 and less are never touched. Where fake
tensors do not work, the task is tried as it is.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib" / "python"))

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from kernelgen_judge.admission import AdmissionBudget, admit  # noqa: E402
from kernelgen_judge.errors import TaskError, one_line  # noqa: E402
from kernelgen_judge.oracle import OracleBudget  # noqa: E402
from kernelgen_judge.source import CappedText, integer_constants, load_module, quiet  # noqa: E402
from kernelgen_judge.task import TaskSource, load_task  # noqa: E402

logging.disable(logging.ERROR)  # fake tensors log the errors of a shrunk task
LEAST_CONSTANT = 4


def in_child(work: Callable[[], Any], seconds: float, memory: int) -> tuple[Any, str]:
    """(result, "") of work() run in a forked process, or (None, why): "deadline", "memory" or how it died."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        devnull = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(devnull, descriptor)
        torch.set_num_threads(1)
        try:
            answer = json.dumps({"result": work()})
        except TaskError as error:
            answer = json.dumps({"error": error.message})
        except MemoryError:
            answer = json.dumps({"error": "memory"})
        except BaseException as error:
            answer = json.dumps({"error": one_line(f"{type(error).__name__}: {error}")})
        with os.fdopen(writing, "w") as stream:
            stream.write(answer)
        os._exit(0)
    os.close(writing)
    text, end = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        part = os.read(reading, 1 << 16) if ready else b""
        text += part
        if not part:
            break
    os.close(reading)
    if time.monotonic() >= end:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not text:
        return None, "deadline" if time.monotonic() >= end else f"died with status {status}"
    answer = json.loads(text)
    return answer.get("result"), answer.get("error", "")


def fake_cost(source: TaskSource, shrink: dict[str, int]) -> tuple[int, int]:
    """(bytes, floating-point operations) of one call, without allocating. Raises whatever the task raises."""
    sink = CappedText()
    module = load_module(source, list(shrink.items()), sink)
    with quiet(sink), FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        initial = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        model = module.Model(*initial)
        inputs = module.get_inputs()
        counter = FlopCounterMode(display=False)
        with counter:
            output = model(*inputs)
    outputs = [output] if isinstance(output, torch.Tensor) else list(output)
    tensors = [value for value in [*inputs, *outputs, *model.parameters()] if isinstance(value, torch.Tensor)]
    return sum(value.numel() * value.element_size() for value in tensors), counter.get_total_flops()


def over(cost: tuple[int, int], limits: argparse.Namespace) -> float:
    """Ratio of the cost to the limits; at most 1 if it fits."""
    return max(cost[0] / (limits.max_mib << 20), cost[1] / (limits.max_gflop * 1e9))


def attempt_cost(source: TaskSource, shrink: dict[str, int], limits: argparse.Namespace) -> float:
    """over() of the shrunk task; infinite where shrinking broke it."""
    try:
        return over(fake_cost(source, shrink), limits)
    except BaseException:
        return float("inf")


def choose_shrink(source: TaskSource, limits: argparse.Namespace) -> dict[str, int]:
    """The replacements by the rule above; empty if the task fits as it is."""
    constants, shrink, frozen = integer_constants(source), {}, set()
    try:
        current = over(fake_cost(source, shrink), limits)
    except BaseException:
        return {}
    while current > 1:
        free = {name: value for name, value in constants.items() if name not in frozen and value > LEAST_CONSTANT}
        if not free:
            break
        name = max(free, key=lambda key: free[key])
        equal = [key for key in free if free[key] == free[name]]
        for group in ([name], equal) if len(equal) > 1 else ([name],):
            attempt = {**shrink, **{key: constants[key] // 2 for key in group}}
            cost = attempt_cost(source, attempt, limits)
            if cost < current:
                shrink, current = attempt, cost
                constants.update({key: constants[key] // 2 for key in group})
                break
        else:
            frozen.add(name)
    return shrink


def admit_one(source: TaskSource, shrink: dict[str, int], limits: argparse.Namespace) -> dict[str, Any]:
    """Loads and admits a task; returns its columns of the table."""
    task = load_task(source, precision=limits.precision, shrink=list(shrink.items()), seed=int.from_bytes(os.urandom(7), "big"))
    budget = AdmissionBudget(seconds=limits.seconds / 4, float64=OracleBudget(seconds=limits.seconds / 6, bytes=2 << 30))
    admission = admit(task, budget, seed=int.from_bytes(os.urandom(7), "big"))
    return {"description": task.describe(), "admission": admission.to_json()}


def sweep_one(path: Path, limits: argparse.Namespace) -> dict[str, Any]:
    """One row of the table."""
    source = TaskSource(path.stem, path.read_text(), str(path))
    started = time.monotonic()
    shrink, problem = in_child(lambda: choose_shrink(source, limits), limits.seconds, limits.memory_gib << 30)
    shrink = shrink or {}
    result, why = in_child(lambda: admit_one(source, shrink, limits), limits.seconds, limits.memory_gib << 30)
    row = {"task": f"{path.parent.name}/{path.stem}", "shrink": shrink, "seconds": round(time.monotonic() - started, 1)}
    if problem:
        row["shrink_problem"] = problem
    if result is None:
        return {**row, "status": "failed", "why": why}
    admission = result["admission"]
    status = "admitted" if admission["scored"] else "labelled"
    notes = [label for label in admission["labels"] if not label.startswith("shrunk:")]
    return {**row, "status": status, "why": "; ".join(notes), **{key: admission[key] for key in _KEPT}}


_KEPT = ("distributions", "dropped", "float64", "trivial", "mode", "randomness", "float64_errors", "reference_seconds")


def natural(path: Path) -> list[Any]:
    """Sort key: level3/4 before level3/40."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table."""
    lines = ["| task | result | why, notes | distributions | float64 | shrunk | s |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        count = len(row.get("distributions", []))
        dropped = ", ".join(row.get("dropped", {}))
        spread = f"{count}" + (f" (not: {dropped})" if dropped else "")
        shrink = ", ".join(f"{name}={value}" for name, value in row["shrink"].items())
        why = row["why"].replace("|", "\\|")
        float64 = row.get("float64", "").replace("|", "\\|")
        lines.append(f"| {row['task']} | {row['status']} | {why} | {spread} | {float64} | {shrink} | {row['seconds']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", type=Path, default=os.environ.get("KERNELBENCH_DIR"), help="a checkout, or its data directory")
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--first", type=int, default=0, help="only the first N tasks of each level")
    parser.add_argument("--only", default="", help="only tasks with a name that matches this regular expression")
    parser.add_argument("--precision", default="strict")
    parser.add_argument("--max-mib", type=int, default=32, help="bytes of inputs, weights and outputs before shrinking")
    parser.add_argument("--max-gflop", type=float, default=1.0, help="operations of one call before shrinking")
    parser.add_argument("--memory-gib", type=int, default=8, help="address space of a child process")
    parser.add_argument("--seconds", type=float, default=90.0, help="deadline for one task")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    limits = parser.parse_args()
    if limits.kernelbench is None:
        parser.error("--kernelbench or KERNELBENCH_DIR is needed")
    root = limits.kernelbench / "KernelBench" if (limits.kernelbench / "KernelBench").is_dir() else limits.kernelbench
    rows: list[dict[str, Any]] = []
    for level in limits.levels.split(","):
        paths = sorted((root / f"level{level}").glob("*.py"), key=natural)
        paths = [path for path in paths if re.search(limits.only, path.stem)]
        for path in paths[: limits.first or None]:
            rows.append(sweep_one(path, limits))
            print(f"{rows[-1]['task']}: {rows[-1]['status']} {rows[-1]['why']} ({rows[-1]['seconds']} s)", flush=True)
            if limits.json:
                limits.json.write_text(json.dumps(rows, indent=1))
    if limits.markdown:
        limits.markdown.write_text(markdown(rows))
    counts = {status: sum(row["status"] == status for row in rows) for status in ("admitted", "labelled", "failed")}
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
