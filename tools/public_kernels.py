#!/usr/bin/env python3
"""Judges published kernels for KernelBench, and checks each refusal by another path.

    tools/public_kernels.py fetch DIR                      clones the collections at the commits named below
    tools/public_kernels.py choose DIR LIST [--each 80]    draws kernels of each collection and makes their tasks fit
    tools/public_kernels.py judge LIST RESULTS --kgen K    judges them on the GPU, without times; goes on where it ended
    tools/public_kernels.py recheck LIST RESULTS           each refused one again, in one process without kgen
    tools/public_kernels.py table RESULTS                  what came out

Only kernels that their publisher calls right are drawn. A task of more than --max-mib is shrunk (tools/kernelbench_sweep.py
says how). The recheck knows nothing of kgen's rules: reference and kernel are built from the same seed in one process, get
the task's own inputs of several seeds (and the same larger, smaller and moved, and with other weights where they have the
same names), and are compared with the reference in float64. A kernel is "right" there if its largest error is at most 1e-3 of the output's size, or at most four times the
reference's own. What is refused by one path and right by the other is listed, to be read by a person.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclass
class Collection:
    """A repository of kernels. `entries(checkout)` gives (level, number, kernel's path, task's path)."""

    repository: str
    commit: str
    entries: Callable[[pathlib.Path], Iterator[tuple[int, int, pathlib.Path, pathlib.Path]]]


def kernelbench_task(folder: pathlib.Path, level: int, number: int) -> pathlib.Path:
    return next((folder / f"level{level}").glob(f"{number}_*.py"))


def cuda_l1(checkout: pathlib.Path):
    for path in sorted(checkout.glob("unpacked/h100_xsm/*/*/custom_code.py")):
        yield int(path.parent.parent.name), int(path.parent.name), path, path.with_name("ref_code.py")


def ada_explore(checkout: pathlib.Path):
    for path in sorted(checkout.glob("results/saved_kernels/kernelbench/level*/*.py")):
        level, number = int(path.parent.name[5:]), int(path.stem)
        yield level, number, path, kernelbench_task(checkout / "datasets" / "KernelBench", level, number)


def model_runs(checkout: pathlib.Path):
    for results in sorted(checkout.glob("runs/*/eval_results.json")):
        level = int(re.search(r"level(\d)", results.parent.name).group(1))
        for number, result in json.loads(results.read_text()).items():
            result = result[0] if isinstance(result, list) else result
            path = results.parent / f"level_{level}_problem_{number}_sample_0_kernel.py"
            if result.get("correctness") and path.exists():
                yield level, int(number), path, kernelbench_task(checkout / "KernelBench", level, int(number))


COLLECTIONS = {
    "CUDA-L1": Collection("https://github.com/sekstini/CUDA-L1", "69eb9e36", cuda_l1),
    "AdaExplore": Collection("https://github.com/StigLidu/AdaExplore", "c36637c", ada_explore),
    "model runs": Collection("https://github.com/technoabsurdist/KernelBench", "9202a5c", model_runs),
}


def fetch(arguments: argparse.Namespace) -> None:
    for name, collection in COLLECTIONS.items():
        folder = arguments.directory / name
        if not folder.exists():
            subprocess.run(["git", "clone", "--quiet", collection.repository, folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", collection.commit], check=True)


def fitting(sweep, source, limits: argparse.Namespace) -> dict[str, int]:
    """Replacements that make the task fit: of the batch alone, where that is enough, because kernels are written for sizes."""
    constants = sweep.integer_constants(source)
    batch = next((name for name in constants if "batch" in name.lower()), None)
    value = constants.get(batch, 0)
    while value > 4:
        if sweep.attempt_cost(source, {batch: value}, limits) <= 1:
            return {} if value == constants[batch] else {batch: value}
        value //= 2
    return sweep.choose_shrink(source, limits)


def choose(arguments: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import kernelbench_sweep as sweep
    from kernelgen_judge.source import TaskSource, shrunk_text

    limits = argparse.Namespace(max_mib=arguments.max_mib, max_gflop=arguments.max_gflop)
    chance, chosen = random.Random(arguments.seed), []
    for name, collection in COLLECTIONS.items():
        entries = list(collection.entries(arguments.directory / name))
        for level, number, kernel, task in chance.sample(entries, min(arguments.each, len(entries))):
            source = TaskSource(f"level{level}_{number}", task.read_text(), str(task))
            shrink, problem = sweep.in_child(lambda: fitting(sweep, source, limits), 60, 8 << 30)
            chosen.append({"collection": name, "level": level, "number": number, "kernel": kernel.read_text(),
                           "path": str(kernel.relative_to(arguments.directory)), "shrink": shrink or {},
                           "task": shrunk_text(source, list((shrink or {}).items()))})
            print(chosen[-1]["path"], shrink, problem, flush=True)
    chance.shuffle(chosen)
    arguments.list.write_text(json.dumps(chosen))


def target_of(kernel: str) -> str:
    return "triton" if re.search(r"^\s*(import|from) triton", kernel, re.MULTILINE) else "torch"


def judge(arguments: argparse.Namespace) -> None:
    """Several workers, each with its own cache: a task's admission keeps a worker's judge for seconds."""
    sys.path.insert(0, str(ROOT / "bench" / "gpu"))
    from worker_client import Worker, make_candidate, text_task

    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else []
    done = {row["index"] for row in results}
    entries = json.loads(arguments.list.read_text())[: arguments.first]
    waiting = [(index, entry) for index, entry in enumerate(entries) if index not in done][::-1]
    lock, started = threading.Lock(), time.monotonic()

    def serve(number: int) -> None:
        with tempfile.TemporaryDirectory() as cache, open(os.devnull, "w") as log, Worker(arguments.kgen, cache, sys.executable, log) as worker:
            pending: list[tuple[int, dict, int]] = []
            while True:
                with lock:
                    late = time.monotonic() - started > arguments.seconds
                    while waiting and len(pending) < 3 and not late:
                        index, entry = waiting.pop()
                        options = {"precision": arguments.precision, "mode": "correctness_only"}
                        task = text_task(f"level{entry['level']}_{entry['number']}", entry["task"])
                        pending.append((index, entry, worker.evaluate(task, make_candidate(target_of(entry["kernel"]), entry["kernel"]), options)))
                if not pending:
                    return
                index, entry, request = pending.pop(0)
                answer = worker.wait(request)
                record = answer.record or {}
                row = {"index": index, "collection": entry["collection"], "path": entry["path"], "outcome": answer.outcome,
                       "message": (record.get("outcome") or {}).get("message") or "", "labels": record.get("labels"),
                       "seconds": {phase["name"]: round(phase["milliseconds"] / 1e3, 1) for phase in record.get("phases") or []},
                       "task": record.get("task")}
                with lock:
                    results.append(row)
                    arguments.results.write_text(json.dumps(results, indent=1))
                    print(f"{time.monotonic() - started:5.0f} s {row['outcome']:32} {row['path']}", flush=True)

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(arguments.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


RECHECK = r"""
import copy, importlib.util, json, pathlib, sys, torch
entry = json.loads(pathlib.Path(sys.argv[1]).read_text())
folder = pathlib.Path(sys.argv[1]).parent
def load(name, text):
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
task = load("task", entry["task"])
kernel = load("kernel", entry["kernel"])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def move(value):
    return value.to(device) if isinstance(value, torch.Tensor) else value
def outputs(value):
    return [value] if isinstance(value, torch.Tensor) else [part for part in value if isinstance(part, torch.Tensor)]
def double(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
def widened(module):
    module = copy.deepcopy(module).double()
    for part in module.modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                setattr(part, name, double(value))
    return module
moves = {"own": lambda x: x, "16 times": lambda x: 16 * x, "a 16th": lambda x: x / 16, "plus 16": lambda x: x + 16, "minus 16": lambda x: x - 16}
worst, errors = {}, {}
def named(module):
    return [(name, parameter.shape, parameter.dtype) for name, parameter in module.named_parameters()]
with torch.no_grad():
    for seed in (11, 12, 13):
        initial = [move(value) for value in (task.get_init_inputs() if hasattr(task, "get_init_inputs") else [])]
        torch.manual_seed(seed)
        reference = task.Model(*initial).to(device)
        torch.manual_seed(seed)
        candidate = kernel.ModelNew(*initial).to(device)
        truth = widened(reference)
        products_in_tf32 = torch.backends.cuda.matmul.allow_tf32
        torch.manual_seed(seed + 100)
        given = [move(value) for value in task.get_inputs()]
        for name, change in [*moves.items(), *([("weights", moves["own"])] if named(reference) == named(candidate) else [])]:
            if name == "weights":
                torch.manual_seed(seed + 200)
                for one, two in zip(reference.parameters(), candidate.parameters()):
                    change_by = 0.3 * torch.randn_like(one) * one.std(correction=0).clamp(min=0.1)
                    one += change_by; two += change_by
                truth = widened(reference)
            torch.backends.cuda.matmul.allow_tf32 = False
            inputs = [change(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in given]
            torch.manual_seed(seed); right = outputs(copy.deepcopy(truth)(*[double(value) for value in inputs]))
            torch.manual_seed(seed); plain = outputs(reference(*[move(value) for value in copy.deepcopy(inputs)]))
            torch.backends.cuda.matmul.allow_tf32 = products_in_tf32
            torch.manual_seed(seed); found = outputs(candidate(*[move(value) for value in copy.deepcopy(inputs)]))
            for one, two, three in zip(right, plain, found):
                size = one.float().pow(2).mean().sqrt().item() or 1.0
                if three.shape != one.shape:
                    errors[name] = "shape"
                    continue
                off = ((three.double() - one).abs().nan_to_num(1e30).max() / size).item()
                own = ((two.double() - one).abs().nan_to_num(1e30).max() / size).item()
                if name not in worst or off > worst[name][0]:
                    worst[name] = (off, own)
wrong_for = sorted({*errors, *(name for name, (off, own) in worst.items() if off > max(1e-3, 4 * own))})
print(json.dumps({"wrong_for": wrong_for, "errors": {name: [float(f"{value:.2g}") for value in pair] for name, pair in worst.items()}}))
"""


def recheck(arguments: argparse.Namespace) -> None:
    entries, results = json.loads(arguments.list.read_text()), json.loads(arguments.results.read_text())
    refused = [row for row in results if row["outcome"] not in ("correct", "not_scored") and "recheck" not in row]
    lock, started = threading.Lock(), time.monotonic()

    def serve() -> None:
        while True:
            with lock:
                if not refused or time.monotonic() - started > arguments.seconds:
                    return
                row = refused.pop()
            with tempfile.TemporaryDirectory() as folder:
                described = pathlib.Path(folder) / "entry.json"
                described.write_text(json.dumps(entries[row["index"]]))
                environment = {**os.environ, "TORCH_EXTENSIONS_DIR": folder, "TRITON_CACHE_DIR": folder}
                try:
                    done = subprocess.run([sys.executable, "-c", RECHECK, described], capture_output=True, text=True, timeout=240, env=environment)
                    answer = done.stdout.strip().splitlines()[-1:] or [""]
                    row["recheck"] = json.loads(answer[0]) if answer[0].startswith("{") else {"failed": done.stderr.strip()[-300:]}
                except subprocess.TimeoutExpired:
                    row["recheck"] = {"failed": "timeout"}
            with lock:
                arguments.results.write_text(json.dumps(results, indent=1))

    threads = [threading.Thread(target=serve) for _ in range(arguments.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def table(arguments: argparse.Namespace) -> None:
    results = json.loads(arguments.results.read_text())
    names = sorted({row["collection"] for row in results})
    print("| collection | judged | correct | not scored | refused, wrong by the recheck too | refused, right by the recheck | cannot be rechecked |")
    print("|---|---|---|---|---|---|---|")

    def kind(row: dict) -> str:
        if row["outcome"] in ("correct", "not_scored"):
            return row["outcome"]
        again = row.get("recheck", {"failed": "not done"})
        return "failed" if "failed" in again else "wrong" if again["wrong_for"] else "right"

    for name in [*names, ""]:
        kinds = Counter(kind(row) for row in results if name in ("", row["collection"]))
        print(f"| {name or 'all'} | {sum(kinds.values())} | " + " | ".join(str(kinds[key]) for key in ("correct", "not_scored", "wrong", "right", "failed")) + " |")
    for row in sorted(results, key=lambda row: (kind(row), row["outcome"])):
        if kind(row) not in ("correct", "not_scored"):
            again = json.dumps(row.get("recheck", {}))[:300]
            print(f"{kind(row):6} {row['outcome']:30} {row['path']}: {row['message'][:220]}\n       {again}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, work, paths in (("fetch", fetch, ["directory"]), ("choose", choose, ["directory", "list"]), ("judge", judge, ["list", "results"]),
                              ("recheck", recheck, ["list", "results"]), ("table", table, ["results"])):
        command = commands.add_parser(name)
        command.set_defaults(work=work)
        for path in paths:
            command.add_argument(path, type=pathlib.Path)
        if name == "choose":
            command.add_argument("--each", type=int, default=80)
            command.add_argument("--seed", type=int, default=1)
            command.add_argument("--max-mib", type=int, default=256)
            command.add_argument("--max-gflop", type=float, default=200)
        if name in ("judge", "recheck"):
            command.add_argument("--workers", type=int, default=4)
            command.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after that time")
        if name == "judge":
            command.add_argument("--kgen", required=True)
            command.add_argument("--precision", default="default")
            command.add_argument("--first", type=int, default=None)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
