"""What the tests of the Python package share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import kernelgen
from kernelgen import _core

ROOT = Path(__file__).resolve().parents[2]
RECORD = (ROOT / "examples/records/relu.json").read_text(encoding="utf-8")
FULL_RECORD = (ROOT / "tests/data/golden/record.json").read_text(encoding="utf-8")
TASK = kernelgen.load_task(ROOT / "examples/tasks/relu.py")
KGEN = [sys.executable, "-m", "kernelgen"]
"""The kgen of the package, as subprocess takes it."""
KERNEL = kernelgen.load_candidate(ROOT / "examples/kernels/relu.cpp")


def fake_judge() -> kernelgen.Judge:
    """A judge of the library that gives every candidate the same record."""
    return kernelgen.Judge(_core.fake_judge(RECORD))


def code(marker: str) -> str:
    """A reply with a kernel that a FixedJudge knows by its marker."""
    return f"```cpp\n// {marker}\nint kgen_run(void*, const kgen_run_args*) {{ return 0; }}\n```"


class FixedJudge(kernelgen.Benchmarker):
    """Calls a candidate correct if its source has the word "fixed". Its scores are the numbers behind it."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        self.sources.append(candidate.source)
        if progress:
            progress(kernelgen.EvaluationProgress("compile"))
        if "fixed" in candidate.source:
            return kernelgen.EvaluationRecord()
        return kernelgen.EvaluationRecord(
            outcome=kernelgen.Outcome(kernelgen.OutcomeKind.COMPILE, "undeclared_identifier", "'x' was not declared"))


class WaitingJudge(kernelgen.Benchmarker):
    """Evaluates until it is stopped."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ended = threading.Event()

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        self.began.set()
        while not stop.wait(10):
            pass
        self.ended.set()
        raise kernelgen.Cancelled("stopped")


def run_script(text: str, timeout: float = 60, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with the package and these tests on its path."""
    paths = [str(Path(kernelgen.__file__).parents[1]), str(Path(__file__).parent)]
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=timeout, input=stdin,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment})


def calls_end(timeout: float = 10) -> bool:
    """Waits until no thread of a call is left; false if some are."""
    import time

    deadline = time.monotonic() + timeout
    while _core.running_calls() and time.monotonic() < deadline:
        time.sleep(0.01)
    return _core.running_calls() == 0
