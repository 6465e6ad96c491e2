#!/usr/bin/env python3
"""One worker on all GPUs of this machine: the placement of candidates, and that they do not affect each other.

    tests/gpu/several_gpus.py --kgen build/bin/kgen

On a machine with one GPU the same cases test what one allows: the places that there are, faults before and after, a
device that is not there. One line each, then "N passed, N failed".
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench" / "gpu"))

from worker_client import Answer, Worker, load_task, make_candidate  # noqa: E402

#: One of each kind; what is right for it.
RIGHT = ("relu.cu", "relu_triton.py", "relu_torch.py")
FOUR = {"relu.cu": "correct", "twice.cu": "accuracy:*", "relu_triton.py": "correct", "zeros_torch.py": "accuracy:*"}
TARGETS = {".cu": "cuda", "_triton.py": "triton", "_torch.py": "torch"}


class Failed(Exception):
    """What a case found to be wrong."""


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Failed(otherwise)


def are_alike(a: dict, b: dict) -> bool:
    return all(a[key] == b[key] for key in ("name", "architecture", "multiprocessors"))


class Bench:
    """The GPUs of this machine, those that share what names no device first, and one worker."""

    def __init__(self, options: argparse.Namespace, scratch: pathlib.Path):
        self.kgen, self.cache = options.kgen, scratch / "cache"
        told = self.run("devices", "--json").stdout
        self.gpus = json.loads(told)["gpus"]
        self.shared = [gpu["uuid"] for gpu in self.gpus if are_alike(gpu, self.gpus[0])]
        self.task = load_task(HERE / "tasks" / "relu.py")
        self.worker = Worker(self.kgen, str(self.cache), log=open(scratch / "worker.log", "ab"))

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.kgen, *arguments, "--cache-dir", str(self.cache)], capture_output=True, text=True,
                              timeout=300, check=False)

    def send(self, name: str, device: str = "") -> int:
        source = (HERE / "candidates" / name).read_text(encoding="utf-8")
        target = next(target for ending, target in TARGETS.items() if name.endswith(ending))
        return self.worker.evaluate(self.task, make_candidate(target, source), {"device": device})

    def expect(self, request: int, name: str, outcome: str, device: str | None = None) -> Answer:
        answer = self.worker.wait(request)
        said = (answer.record or {}).get("outcome", {}).get("message", "")
        require(fnmatch.fnmatchcase(answer.outcome, outcome), f"{name}: {answer.outcome}, expected {outcome}; {said}")
        require(device in (None, answer.device), f"{name} was judged on {answer.device}, not on {device}")
        return answer


def four_at_once(bench: Bench) -> str:
    requests = [(bench.send(name), name) for name in FOUR]
    used = [bench.expect(request, name, FOUR[name]).device for request, name in requests]
    require(set(used) <= set(bench.shared), f"one was judged on a GPU that is not like the first: {used}")
    # One that the machine disturbed is placed a second time, perhaps where another one was.
    least = min(len(bench.shared), len(FOUR) - 1)
    require(len(set(used)) >= least, f"only {len(set(used))} of {len(bench.shared)} GPUs were used")
    return f"{len(set(used))} of {len(bench.shared)} that are alike were used"


def every_kind_on_every_gpu(bench: Bench) -> str:
    requests = [(bench.send(name, gpu["uuid"]), name, gpu["uuid"]) for gpu in bench.gpus for name in RIGHT]
    answers = [(name, bench.expect(request, name, "correct", uuid)) for request, name, uuid in requests]
    ratios = [answer.record["timing"]["speedup_call"]["value"] for name, answer in answers if name == RIGHT[0]]
    return f"{RIGHT[0]}: speedup_call " + ", ".join(f"{ratio:.3f}" for ratio in ratios)


def a_fault_stays_where_it_is(bench: Bench) -> str:
    broken, sound = bench.gpus[0]["uuid"], bench.gpus[-1]["uuid"]
    faults = [bench.send("illegal_address.cu", broken) for _ in range(3)]
    beside = [bench.send("relu.cu", sound) for _ in range(3)]
    for request in faults:
        bench.expect(request, "illegal_address.cu", "device_fault:*", broken)
    for request in beside:
        bench.expect(request, "relu.cu", "correct", sound)
    bench.expect(bench.send("relu.cu", broken), "relu.cu after the faults", "correct", broken)
    return "three faults on one, three verdicts on the other" if broken != sound else "on the one GPU, one by one"


def a_named_device_is_used(bench: Bench) -> str:
    command = ["eval", "--json", "--code", str(HERE / "candidates" / "relu.cu"), "--problem",
               str(HERE / "tasks" / "relu.py"), "--device"]
    last = bench.gpus[-1]
    done = bench.run(*command, str(last["index"]))
    require(bool(done.stdout), f"no record, exit code {done.returncode}: {done.stderr[-500:]}")
    record = json.loads(done.stdout)
    require(done.returncode in (0, 1), f"exit code {done.returncode}: {record['outcome']}")
    used = record["environment"]["device_uuid"]
    require(used == last["uuid"], f"--device {last['index']} used {used}, not {last['uuid']}")
    missing = bench.run(*command, str(len(bench.gpus)))
    require(missing.returncode == 69 and "there is no GPU" in missing.stderr,
            f"--device {len(bench.gpus)}: exit code {missing.returncode}: {missing.stderr[-500:]}")
    return f"--device {last['index']}, and no --device {len(bench.gpus)}"


CASES: tuple[Callable[[Bench], str], ...] = (four_at_once, every_kind_on_every_gpu, a_fault_stays_where_it_is,
                                             a_named_device_is_used)


def run_all(bench: Bench) -> int:
    """How many cases failed."""
    failed = 0
    for case in CASES:
        name = case.__name__.replace("_", " ")
        try:
            print(f"ok     {name}: {case(bench)}", flush=True)
        except Failed as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=os.environ.get("KGEN"), help="the program; else what KGEN names")
    options = parser.parse_args()
    if not options.kgen:
        parser.error("--kgen is needed")
    # It would make the program under test load other Python modules than its own.
    os.environ.pop("PYTHONPATH", None)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kgen-several-gpus-"))
    try:
        bench = Bench(options, scratch)
        alike = f"{len(bench.shared)} like the first" if len(bench.gpus) > 1 else "what needs two is tested with one"
        print(f"{len(bench.gpus)} GPUs, {alike}", flush=True)
        try:
            failed = run_all(bench)
        finally:
            bench.worker.close()
        if failed:
            print((scratch / "worker.log").read_text(encoding="utf-8", errors="replace")[-4000:])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
