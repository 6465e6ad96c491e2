#!/usr/bin/env python3
"""What the Python package costs beside the work that it asks for. Prints a table.

    PYTHONPATH=build/python python3 bench/python_overhead.py

Nothing is judged: a judge of the library answers at once, so what is measured is the way to it and back.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from pathlib import Path

import kernelgen
from kernelgen import _core

ROOT = Path(__file__).resolve().parents[1]
RECORD = (ROOT / "examples/records/relu.json").read_text(encoding="utf-8")
ACTIONS = 500
IMPORT = "import time; start = time.perf_counter(); import kernelgen; {more}print((time.perf_counter() - start) * 1000)"


def import_ms(more: str = "") -> float:
    """Median over new interpreters; the first one compiles the modules."""
    times = []
    for _ in range(11):
        done = subprocess.run([sys.executable, "-c", IMPORT.format(more=more)], capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    return statistics.median(times[1:])


def evaluate_us(judge: kernelgen.Judge, task: kernelgen.Task, kernel: kernelgen.Candidate) -> float:
    times = []
    for _ in range(500):
        start = time.perf_counter()
        judge.evaluate(task, kernel)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def awaits_ms(judge: kernelgen.Judge, task: kernelgen.Task, kernel: kernelgen.Candidate) -> float:
    async def evaluate_many() -> float:
        start = time.perf_counter()
        await asyncio.gather(*[judge.evaluate_async(task, kernel) for _ in range(64)])
        return (time.perf_counter() - start) * 1000

    return statistics.median(asyncio.run(evaluate_many()) for _ in range(10))


class AllAtOnce(kernelgen.Policy):
    """Asks for all samples, as the policy one-shot does, and is asked for a decision whenever one is there."""

    def __init__(self) -> None:
        self.decisions = 0
        self.actions = [kernelgen.Action(f"sample{number}") for number in range(1, ACTIONS + 1)]

    def next(self, history: kernelgen.policies.History) -> kernelgen.Decision:
        self.decisions += 1
        finished = len(history) == ACTIONS
        return kernelgen.Decision(self.actions, finished=finished, reason="all samples" if finished else "")


def search_ms(judge: kernelgen.Judge, task: kernelgen.Task, policy: kernelgen.policies.AnyPolicy) -> float:
    model = kernelgen.ScriptedLLMClient(
        lambda request: f"```cpp\n// {request.id}\nint kgen_run(void*, const kgen_run_args*) {{ return 0; }}\n```")
    start = time.perf_counter()
    outcome = kernelgen.run(task, model, judge, policy=policy)
    assert len(outcome.history) == ACTIONS, outcome.reason
    return (time.perf_counter() - start) * 1000


def main() -> None:
    judge = kernelgen.Judge(_core.fake_judge(RECORD))
    task = kernelgen.load_task(ROOT / "examples/tasks/relu.py")
    kernel = kernelgen.load_candidate(ROOT / "examples/kernels/relu.cpp")
    everything = "[getattr(kernelgen, name) for name in kernelgen.__all__]; "
    policy = AllAtOnce()
    in_python = search_ms(judge, task, policy)
    in_library = search_ms(judge, task, kernelgen.OneShotPolicy(samples=ACTIONS))
    rows = (
        ("import kernelgen", f"{import_ms():.1f} ms"),
        ("import kernelgen, and all its names", f"{import_ms(everything):.1f} ms"),
        ("evaluate(), beside the evaluation", f"{evaluate_us(judge, task, kernel):.0f} us"),
        ("64 awaits at once, beside the evaluations", f"{awaits_ms(judge, task, kernel):.1f} ms"),
        (f"a decision of a policy in Python, up to {ACTIONS} actions",
         f"{max(in_python - in_library, 0) / policy.decisions:.2f} ms"),
    )
    for name, value in rows:
        print(f"{name:55} {value:>12}")


if __name__ == "__main__":
    main()
