#!/usr/bin/env python3
"""What a machine with a real GPU can lack, as a user meets it: an error that says what helps, never a wrong verdict.

    tests/gpu/bad_input.py --kgen build/bin/kgen [--only TEXT]

A process of its own holds most of the device's memory, or keeps the device busy, where a case needs that. One line each, then
"N passed, N failed".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from evaluate import SpoolWorker, environment, exit_code_of, outcome_of

HERE = pathlib.Path(__file__).resolve().parent
MACHINE_LACKS = 69
PYTHON = os.environ.get("KGEN_PYTHON") or sys.executable
GIB = 1 << 30
#: What a common card has.
SMALL_CARD = 24 * GIB
#: Of one call of kgen, and of one answer of the other process.
LIMIT_S = 120
TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(4096, {columns})]
def get_init_inputs():
    return []
"""
#: Right, and wants more than a small card has, and less than this one.
SPENDS = """
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        torch.empty(int(0.3 * torch.cuda.get_device_properties(0).total_memory), dtype=torch.uint8, device="cuda")
        return torch.relu(x)
"""
#: Another user of the device: answers each line with one of its own.
OTHER = """
import sys, threading, torch
held, stop, worker = [], threading.Event(), None
def leave(count):
    held.clear()
    torch.cuda.empty_cache()
    while (more := torch.cuda.mem_get_info()[0] - count) > 1 << 24:
        held.append(torch.empty(min(more, 8 << 30), dtype=torch.uint8, device="cuda"))
def work():
    a = torch.randn(4096, 4096, device="cuda")
    while not stop.is_set():
        for _ in range(8):
            a @ a
        torch.cuda.synchronize()
torch.zeros(1, device="cuda")
print("ready", flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if worker is not None:
        stop.set()
        worker.join()
        worker = None
        stop.clear()
    if word == "leave":
        leave(int(rest[0]))
    elif word == "work":
        held.clear()
        torch.cuda.empty_cache()
        worker = threading.Thread(target=work, daemon=True)
        worker.start()
    print(word, torch.cuda.mem_get_info()[0], flush=True)
"""
#: Put before a Python's own modules, it makes its torch one that was built without CUDA.
WITHOUT_CUDA = """
import importlib.machinery, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch.version":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module
        def exec_module(module):
            run(module)
            module.cuda = None
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Finder)
"""


class Other:
    """The other user's process. It ends with the `with` block."""

    def __enter__(self) -> "Other":
        self._process = subprocess.Popen(
            [PYTHON, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        try:
            self._answer("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *ignored: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, line: str) -> int:
        """Does it, and tells the bytes that are free then."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        return int(self._answer(line.split()[0]).split()[1])

    def _answer(self, word: str) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(LIMIT_S):
                raise AssertionError(f"the other process did not answer within {LIMIT_S} s")
        answer = self._process.stdout.readline().decode()
        if answer.split()[:1] != [word]:
            self._process.kill()
            raise AssertionError(f"the other process ended: {self._process.communicate()[1].decode()[-600:]}")
        return answer


@dataclass
class Done:
    """What a call of kgen answered."""

    code: int
    output: str
    errors: str
    record: dict = field(default_factory=dict)

    def outcome(self) -> str:
        return outcome_of(self.record) if self.record else f"no record, exit {self.code}"

    def expect_outcome(self, *expected: str) -> str:
        if self.outcome() not in expected:
            said = self.record["outcome"]["message"] if self.record else self.errors.strip()[-600:]
            raise AssertionError(f"{self.outcome()} instead of {' or '.join(expected)}: {said}")
        if self.code != exit_code_of(self.record):
            raise AssertionError(f"exit code {self.code}, but the record means {exit_code_of(self.record)}")
        return self.outcome()

    def expect_error(self, *words: str) -> str:
        """No verdict, but one line that has all of these."""
        line = (self.errors.strip().splitlines() or [""])[-1]
        if self.record or self.code != MACHINE_LACKS:
            raise AssertionError(f"{self.outcome()}, exit {self.code}, instead of an error: {line or self.output[-600:]}")
        missing = [word for word in words if not re.search(word, line)]
        if missing:
            raise AssertionError(f"nothing of {' and '.join(missing)} in: {line}")
        return line

    def expect_words(self, *words: str) -> None:
        text = json.dumps([self.record["labels"], self.record["outcome"]["message"]], ensure_ascii=False)
        missing = [word for word in words if not re.search(word, text)]
        if missing:
            raise AssertionError(f"nothing of {' and '.join(missing)} in: {text}")

    def contention(self) -> str:
        seen = (self.record.get("timing") or {}).get("device_contention")
        return "unknown" if seen is None else f"{seen:.2f}"


class Bench:
    """Where kgen is called: a folder of its own, with tasks in it."""

    def __init__(self, kgen: str, folder: pathlib.Path):
        self.kgen, self.folder = kgen, folder
        self.worker: SpoolWorker | None = None
        for name, columns in (("small", 4096), ("moderate", 1 << 16), ("large", 393216)):
            (folder / f"{name}.py").write_text(TASK.format(columns=columns), encoding="utf-8")
        (folder / "spends_torch.py").write_text(SPENDS, encoding="utf-8")

    def run(self, *arguments: str, before: tuple[str, ...] = (), **changes: str | None) -> Done:
        """`changes` of the environment; None takes a variable away."""
        variables = {**environment(), **{name: value for name, value in changes.items() if value is not None}}
        for name in [name for name, value in changes.items() if value is None]:
            variables.pop(name, None)
        process = subprocess.run([*before, self.kgen, *arguments], capture_output=True, text=True, env=variables,
                                 timeout=LIMIT_S, check=False)  # fmt: skip
        return Done(process.returncode, process.stdout, process.stderr)

    def evaluate(self, task: str, candidate: str, *options: str, before: tuple[str, ...] = (), **changes: str | None) -> Done:
        """By a worker of its own, or by the warm one where nothing is changed."""
        place = ["--cache-dir", str(self.folder / "cache")]
        if self.worker is not None and not changes and not before:
            self.worker.ensure()
            place = ["--spool", str(self.worker.spool)]
            for old in [*self.worker.spool.glob("*.request.json"), *self.worker.spool.glob("*.result.json")]:
                old.unlink()
        code = next(path for path in (self.folder / candidate, HERE / "candidates" / candidate) if path.exists())
        done = self.run("eval", "--json", "--problem", str(self.folder / f"{task}.py"), "--code", str(code),
                        *options, *place, before=before, **changes)  # fmt: skip
        with contextlib.suppress(json.JSONDecodeError):
            done.record = json.loads(done.output)
        return done

    @contextlib.contextmanager
    def warm(self) -> Iterator["Bench"]:
        """Inside, one worker serves all."""
        (self.folder / "spool").mkdir(exist_ok=True)
        with SpoolWorker(self.kgen, self.folder / "spool", self.folder / "cache") as self.worker:
            try:
                yield self
            finally:
                self.worker = None


Said = Iterator[tuple[str, Callable[[], str]]]


def devices_that_are_not_there(bench: Bench) -> Said:
    for name in ("GPU-nothere", "7", "no such device"):
        def named(name: str = name) -> str:
            done = bench.evaluate("small", "relu_torch.py", "--device", name)
            return done.expect_error(re.escape(f"there is no GPU '{name}' here; there is: 0 "), "(--device), such as 0")

        yield f"--device '{name}'", named
    for visible in ("", "9"):
        def hidden(visible: str = visible) -> str:
            done = bench.evaluate("small", "relu_torch.py", "--device", "0", CUDA_VISIBLE_DEVICES=visible)
            return done.expect_error("no GPU", f"CUDA_VISIBLE_DEVICES is '{visible}'", "unset it", "kgen doctor")

        yield f"CUDA_VISIBLE_DEVICES='{visible}'", hidden


def no_nvcc(bench: Bench) -> Said:
    folders = [f for f in os.environ.get("PATH", "").split(":") if not os.access(os.path.join(f, "nvcc"), os.X_OK)]
    without = {"PATH": ":".join(folders), "CUDA_HOME": None, "CUDA_PATH": None}
    usual = pathlib.Path("/usr/local/cuda")
    before: tuple[str, ...] = ()
    if (usual / "bin/nvcc").exists():
        # Only a file system of its own hides it.
        before = ("unshare", "-m", "sh", "-c", f'mount -t tmpfs none {usual.resolve()} && exec "$@"', "sh")
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run([*before, "true"], capture_output=True, timeout=20, check=False).returncode == 0:
                usual = pathlib.Path()
    if usual.name and before:
        def found() -> str:
            done = bench.evaluate("small", "relu.cu", "--device", "0", **{**without, "CUDA_HOME": "/nonexistent"})
            return done.expect_outcome("correct") + ": nvcc is in /usr/local/cuda, where nothing can hide it here"

        yield "CUDA_HOME that is not there", found
        return

    def cuda() -> str:
        done = bench.evaluate("small", "relu.cu", "--device", "0", before=before, **without)
        return done.expect_error("no nvcc", "CUDA_HOME", "install")

    def triton() -> str:
        done = bench.evaluate("small", "relu_triton.py", "--device", "0", before=before, **without)
        return done.expect_outcome("correct")

    yield "no nvcc: cuda", cuda
    yield "no nvcc: triton", triton


def torch_without_cuda(bench: Bench) -> Said:
    shim = bench.folder / "without cuda"
    shim.mkdir(exist_ok=True)
    (shim / "sitecustomize.py").write_text(WITHOUT_CUDA, encoding="utf-8")
    python = shim / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{shim}:$PYTHONPATH" exec "{PYTHON}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)

    def judged() -> str:
        done = bench.evaluate("small", "relu_torch.py", "--device", "0", KGEN_PYTHON=str(python))
        return done.expect_error("torch .* has no CUDA", "kgen doctor", "KGEN_PYTHON")

    def examined() -> str:
        done = bench.run("doctor", KGEN_PYTHON=str(python))
        line = next((line for line in done.output.splitlines() if "built without CUDA" in line), "")
        if not line or "--index-url https://download.pytorch.org/whl/cu" not in done.output:
            raise AssertionError(f"the doctor does not say what to install: {done.output[-1500:]}")
        return line

    yield "torch without CUDA", judged
    yield "torch without CUDA: kgen doctor", examined


def little_memory(bench: Bench, other: Other) -> Said:
    def large() -> str:
        free = other.ask(f"leave {SMALL_CARD}")
        done = bench.evaluate("large", "relu_torch.py")
        line = done.expect_error("GiB", "other processes hold [0-9.]+ GiB", "nvidia-smi", "--shrink")
        return f"{free / GIB:.1f} GiB free: {line}"

    def moderate() -> str:
        free = other.ask(f"leave {SMALL_CARD}")
        done = bench.evaluate("moderate", "relu_torch.py")
        said = done.expect_outcome("correct")
        done.expect_words("shared device: other processes hold [0-9.]+ of its [0-9.]+ GiB")
        return f"{free / GIB:.1f} GiB free: {said}"

    def spends() -> str:
        done = bench.evaluate("small", "spends_torch.py")
        done.expect_outcome("suspect:memory in use")
        done.expect_words("other processes hold", "nvidia-smi", "--device", "out of memory")
        return str(done.record["outcome"]["message"])

    def greedy() -> str:
        return bench.evaluate("small", "huge_torch.py").expect_outcome("out_of_memory")

    def alone() -> str:
        other.ask(f"leave {1 << 62}")
        return bench.evaluate("small", "spends_torch.py").expect_outcome("correct")

    def afterwards() -> str:
        done = bench.evaluate("small", "relu_torch.py")
        said = done.expect_outcome("correct")
        shared = [label for label in done.record["labels"] if "shared device" in label]
        if shared:
            raise AssertionError(f"nobody holds its memory, and yet: {shared}")
        return f"{said}, device busy {done.contention()}"

    yield "a task that does not fit beside others", large
    yield "a task that fits beside others", moderate
    yield "a candidate that does not fit beside others", spends
    yield "a candidate that fits nowhere", greedy
    yield "one that fits when they have ended", alone
    yield "a candidate that fits nowhere, alone", greedy
    yield "the next candidate", afterwards


def busy_device(bench: Bench, other: Other) -> Said:
    def right() -> str:
        other.ask("work")
        done = bench.evaluate("small", "relu_torch.py")
        try:
            said = done.expect_outcome("suspect:busy machine")
        except AssertionError as error:
            raise AssertionError(f"{error} (device busy {done.contention()})") from None
        done.expect_words("other processes' work|processor")
        return f"{said}, device busy {done.contention()}: {done.record['outcome']['message']}"

    def wrong() -> str:
        return bench.evaluate("small", "zeros_torch.py").expect_outcome("accuracy:mismatch")

    def afterwards() -> str:
        other.ask("rest")
        done = bench.evaluate("small", "relu_torch.py")
        return f"{done.expect_outcome('correct')}, device busy {done.contention()}"

    yield "right while others work", right
    yield "wrong while others work", wrong
    yield "right when they have ended", afterwards


def run(cases: Said, wanted: list[str]) -> tuple[int, int]:
    passed = failed = 0
    for name, check in cases:
        if not any(text in name for text in wanted):
            continue
        start = time.monotonic()
        try:
            line, good = check(), True
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            line, good = str(error), False
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok' if good else 'FAILED':6} {name:44} {time.monotonic() - start:6.2f} s  {line}", flush=True)
    return passed, failed


def with_another(bench: Bench) -> Said:
    """Cases in which another process uses the device."""
    with Other() as other, bench.warm():
        yield from little_memory(bench, other)
        yield from busy_device(bench, other)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=os.environ.get("KGEN"), help="the program; else what KGEN names")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases whose name contains it; may be repeated")
    parser.add_argument("--alone", action="store_true", help="no cases that need another process on the device")
    options = parser.parse_args()
    if not options.kgen:
        parser.error("--kgen is needed")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kgen-bad-input-"))
    passed = failed = 0
    groups: list[Callable[[Bench], Said]] = [devices_that_are_not_there, no_nvcc, torch_without_cuda]
    try:
        bench = Bench(str(pathlib.Path(options.kgen).resolve()), folder)
        for group in [*groups, *([] if options.alone else [with_another])]:
            good, bad = run(group(bench), options.only or [""])
            passed, failed = passed + good, failed + bad
    except AssertionError as error:
        print(f"FAILED {error}")
        failed += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
