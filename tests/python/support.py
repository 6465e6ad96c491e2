"""What the tests of the judge's modules share."""

from __future__ import annotations

import textwrap
from pathlib import Path

import torch

from kernelgen_judge.task import Task, TaskSource, load_task

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "tasks"

torch.set_num_threads(1)


def task_from(body: str, name: str = "example", path: str = "", **options) -> Task:
    """A task from its text, under a fixed seed."""
    text = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + textwrap.dedent(body)
    return load_task(TaskSource(name, text, path), seed=options.pop("seed", 11), **options)


def model(forward: str, inputs: str, init: str = "pass", arguments: str = "x") -> str:
    """The text of a task from one-line pieces."""
    return (
        f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, {arguments}):\n        {forward}\n"
        f"def get_inputs():\n    return {inputs}\n"
    )


def example(name: str, **options) -> Task:
    """One of examples/tasks."""
    path = EXAMPLES / f"{name}.py"
    return load_task(TaskSource(name, path.read_text(), str(path)), seed=options.pop("seed", 11), **options)
