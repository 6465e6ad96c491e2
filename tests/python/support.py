"""Tasks for the tests of the judge's modules, on the device of KGEN_TEST_DEVICE ("fake", or none)."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

import torch

from kernelgen_common.gpu import Gpu
from kernelgen_judge.device import CPU, Device, open_device
from kernelgen_judge.task import Task, TaskSource, load_task

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "tasks"

SUPPORT = os.environ.get("KGEN_RUNNER_SUPPORT") or ""
VENDOR = os.environ.get("KGEN_TEST_DEVICE") or ""

torch.set_num_threads(1)


def device_request() -> dict[str, Any]:
    """The members of a load request for the device under test."""
    if not VENDOR:
        return {}
    facts = Gpu(SUPPORT, "").facts
    device = {"vendor": facts.vendor, "uuid": facts.uuid, "l2_bytes": 1 << 20, "bytes_per_second": 0}
    return {"device": device, "support_library": SUPPORT}


DEVICE: Device = open_device(device_request()) if VENDOR else CPU


def task_from(body: str, name: str = "example", path: str = "", **options) -> Task:
    """A task from its text, under a fixed seed."""
    text = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" + textwrap.dedent(body)
    return load_task(TaskSource(name, text, path), seed=options.pop("seed", 11), device=DEVICE, **options)


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
    return load_task(TaskSource(name, path.read_text(), str(path)), seed=options.pop("seed", 11), device=DEVICE, **options)
