"""Runs one candidate against one task in separate processes, for the tests of the Python runner."""

from __future__ import annotations

import textwrap
import unittest
from typing import Any

from harness import Answer, Bench, Judge, Runner, Zygote, exchange_weights, load_candidate, runner_arguments
from kernelgen_runner import protocol

TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
    def forward(self, x):
        return torch.tanh(self.fc(x))
def get_inputs():
    return [torch.randn(32, 64)]
def get_init_inputs():
    return [64]
"""
TWO_OUTPUTS = TASK.replace("return torch.tanh(self.fc(x))", "y = self.fc(x); return y, (y > 0)")
HEAD = "import torch, torch.nn as nn\n"
HONEST = TASK.replace("class Model(", "class ModelNew(")


class Zygotes:
    """The two zygotes of a test file; setUpModule starts them."""

    judges: Zygote
    runners: Zygote

    @classmethod
    def start(cls) -> None:
        cls.judges = Zygote("kernelgen_judge")
        cls.runners = Zygote("kernelgen_runner", *runner_arguments())

    @classmethod
    def stop(cls) -> None:
        cls.judges.close()
        cls.runners.close()


def model(forward: str, init: str = "self.fc = nn.Linear(n, n)", before: str = "", arguments: str = "x") -> str:
    """A ModelNew with these bodies."""
    body = textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)
    constructor = textwrap.indent(textwrap.dedent(init).strip(), " " * 8)
    return (
        f"{HEAD}{textwrap.dedent(before)}\nclass ModelNew(nn.Module):\n    def __init__(self, n):\n"
        f"        super().__init__()\n{constructor}\n    def forward(self, {arguments}):\n{body}\n"
    )


class Trial:
    """One candidate against one task, in separate processes."""

    def __init__(self, source: str, task: str = TASK, memory: int = 0, members: dict[str, Any] | None = None, **options: Any):
        self.judge = Judge(Zygotes.judges)
        self.bench = Bench(self.judge, task, **options)
        self.runner = Runner(Zygotes.runners, **(members or {}))
        self.loaded = load_candidate(self.runner, self.bench, source, memory)

    def call(self, flags: int = protocol.RUN_POISON, **staging: Any) -> tuple[Answer, dict[str, object]]:
        prepared = self.bench.prepare_call(**staging)
        answer = self.runner.ask(protocol.OP_RUN, 1, int(prepared["forward_seed"]), flags, prepared["slot"], 1)
        return answer, self.bench.check()

    def close(self) -> None:
        self.runner.close()
        self.judge.close()
        self.bench.close()


class TrialCase(unittest.TestCase):
    def trial(self, source: str, task: str = TASK, memory: int = 0, **options: Any) -> Trial:
        found = Trial(source, task, memory, **options)
        self.addCleanup(found.close)
        return found

    def verdict(self, source: str, task: str = TASK, calls: int = 4, **options: Any) -> str:
        """The first thing wrong with a candidate: "correct", "weight_sync", "accuracy:nan", "status 5", ..."""
        trial = self.trial(source, task, **options)
        self.message = trial.loaded.text
        if trial.loaded.status != protocol.OK:
            return f"status {trial.loaded.status}"
        weights, failed = exchange_weights(trial.runner, trial.bench)
        if failed is not None:
            self.message = failed.text
            return f"status {failed.status}"
        if weights["weights"]["unmapped"]:
            self.message = weights["message"]
            return "weight_sync"
        trial.judge.must("weights", set=1)
        for call in range(calls):
            answer, outcome = trial.call(canary=call > 1)
            if answer.status != protocol.OK:
                self.message = answer.text
                return f"status {answer.status}"
            self.message = str(outcome["message"])
            if outcome["kind"] != "correct":
                return f"{outcome['kind']}:{outcome['detail']}".rstrip(":")
        return "correct"
