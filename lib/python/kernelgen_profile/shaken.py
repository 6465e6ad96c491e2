"""Calls a module many times on equal inputs while everything around it changes: addresses, alignments, processors, load.

Whatever a race or an address decides shows as another answer. The first answer is the measure, because the evaluation before
has compared answers with the reference.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .calls import Profiled

#: Multiple of the task's tolerance by which honest calls may differ, which add in another order each time.
_LOOSENESS = 10
#: What tensors are aligned to; see KGEN_ALIGNMENT.
_ALIGNMENT = 64
#: Tensors begin at any multiple of the alignment below this number of bytes, which covers page colours.
_COLOURS = 64 * 1024
#: Calls between two changes of the processors.
_CALLS_PER_TURN = 64
_SPIN = "while True: pass"


def _garbage(dtype: torch.dtype) -> float | bool | int:
    if dtype == torch.bool:
        return True
    return float("nan") if dtype.is_floating_point or dtype.is_complex else 85


class Placer:
    """Copies tensors to other addresses, each time another offset within its pages."""

    def __init__(self, device: torch.device, seed: int):
        self._device = device
        self._random = random.Random(seed)
        self._pool: dict[str, torch.Tensor] = {}

    def copy(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """An input at another address, with the same strides."""
        return self._place("input " + name, tensor).copy_(tensor)

    def poison(self, name: str, like: torch.Tensor) -> torch.Tensor:
        """An output at another address that holds garbage, with the strides of `like`."""
        placed = self._place("output " + name, like)
        return placed.fill_(_garbage(like.dtype))

    def _place(self, key: str, tensor: torch.Tensor) -> torch.Tensor:
        reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) + 1 if tensor.numel() else 0
        nbytes = reach * tensor.element_size()
        pool = self._pool.get(key)
        if pool is None or pool.numel() < nbytes + _COLOURS + _ALIGNMENT:
            pool = torch.empty(nbytes + _COLOURS + _ALIGNMENT, dtype=torch.uint8, device=self._device)
            self._pool[key] = pool
        start = -pool.data_ptr() % _ALIGNMENT + self._random.randrange(_COLOURS // _ALIGNMENT) * _ALIGNMENT
        flat = pool[start : start + nbytes].view(tensor.dtype)
        return torch.as_strided(flat, tensor.shape, tensor.stride(), flat.storage_offset())


@contextmanager
def _competing_load(on_device: bool) -> Iterator[None]:
    """A process that wants a processor. On a device the turns of processors are left alone: its threads are elsewhere."""
    if on_device or len(os.sched_getaffinity(0)) < 2:
        yield
        return
    process = subprocess.Popen([sys.executable, "-S", "-c", _SPIN], env={})
    try:
        yield
    finally:
        process.kill()
        process.wait()


class Filler:
    """Work on another stream of a device, which takes a varying share of its multiprocessors from the candidate."""

    #: Rows of a matrix product of about 30 us, and the most of them beside one call.
    _ROWS, _MOST = 1024, 6

    def __init__(self, device: torch.device, seed: int):
        self._random = random.Random(seed)
        self._stream = torch.cuda.Stream(device)
        self._factor = torch.zeros(self._ROWS, self._ROWS, device=device)
        self._product = torch.zeros_like(self._factor)

    def queue(self) -> None:
        rows = self._random.choice((64, 256, self._ROWS))
        with torch.cuda.stream(self._stream):
            for _ in range(self._random.randrange(self._MOST + 1)):
                torch.mm(self._factor[:rows], self._factor, out=self._product[:rows])


def _set_processors(processors: set[int]) -> None:
    """For all threads of this process: those that the candidate keeps, too."""
    for task in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(task), processors)
        except (OSError, ValueError):
            continue


def _turn(number: int, processors: list[int]) -> set[int]:
    """All processors, then each alone."""
    turn = number % (len(processors) + 1)
    return set(processors) if turn == 0 else {processors[turn - 1]}


def _excess(first: torch.Tensor, other: torch.Tensor, tolerance: float) -> float:
    """The largest difference in multiples of the tolerance; zero where they agree within it."""
    if first.shape != other.shape or first.dtype != other.dtype:
        return float("inf")
    if torch.equal(first, other):
        return 0.0
    if not first.dtype.is_floating_point and not first.dtype.is_complex:
        return float("inf")
    wide = torch.complex128 if first.dtype.is_complex else torch.float64
    one, two = first.to(wide), other.to(wide)
    finite = torch.isfinite(one)
    if not torch.equal(finite, torch.isfinite(two)):
        return float("inf")
    one, two = one[finite], two[finite]
    if one.numel() == 0:
        return 0.0
    allowed = tolerance * (one.abs() + one.abs().square().mean().sqrt()) + torch.finfo(first.dtype).tiny
    ratio = float(((one - two).abs() / allowed).max())
    return ratio if ratio > 1 else 0.0


class Shaker:
    """Calls until the time is over or enough calls have been made. Requires: equal inputs have equal answers."""

    def __init__(self, profiled: Profiled, seconds: float, calls: int):
        self._profiled = profiled
        self._seconds, self._calls = seconds, calls
        self._on_device = profiled.device.torch.type != "cpu"
        self._filler = Filler(profiled.device.torch, seed=1) if self._on_device else None
        self._placer = Placer(profiled.device.torch, seed=int.from_bytes(os.urandom(4), "little"))
        half = any(spec.dtype in ("float16", "bfloat16") for spec in profiled.task.outputs)
        self._tolerance = _LOOSENESS * (1e-2 if half else 1e-4)

    def run(self) -> dict[str, Any]:
        """What read_shaken() of lib/profile reads. Raises CandidateError."""
        if self._profiled.task.randomness != "none":
            return {"schema": 1, "skipped": "the task draws random numbers, so that right answers differ"}
        first = {name: tensor.clone() for name, tensor in self._profiled.call_placed(self._placer).items()}
        wrong, worst, calls, output = 0, 0.0, 1, ""
        started = time.monotonic()
        processors = os.sched_getaffinity(0)
        with _competing_load(self._on_device):
            while calls < self._calls and time.monotonic() - started < self._seconds:
                if not self._on_device and calls % _CALLS_PER_TURN == 1:
                    _set_processors(_turn(calls // _CALLS_PER_TURN, sorted(processors)))
                if self._filler:
                    self._filler.queue()
                calls += 1
                name, ratio = self._compare(first, self._profiled.call_placed(self._placer))
                if ratio > 0:
                    wrong += 1
                    if ratio > worst:
                        output, worst = name, ratio
        return {"schema": 1, "calls": calls, "wrong": wrong, "worst": min(worst, 1e30), "output": output}

    def _compare(self, first: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor]) -> tuple[str, float]:
        """The output that differs most, and by how much; zero where all agree."""
        return max(
            (
                (name, _excess(tensor, outputs[name], self._tolerance) if name in outputs else float("inf"))
                for name, tensor in first.items()
            ),
            key=lambda one: one[1],
            default=("", 0.0),
        )
