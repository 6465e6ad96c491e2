"""Timed calls of the reference."""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelgen_common.limits import spread_threads
from kernelgen_common.seeding import seed_everything

from .task import Reference
from .values import Flat, flatten_output

WARM_UP_LIMIT = 50
_SPREAD = 0.05


class CacheFlusher:
    """Evicts tensors from the processor's caches, so that every timed call starts in the same state. Does nothing without the
    library."""

    def __init__(self, library: str | None):
        """`library` is the path of libkgen_runner_support.so; a missing or older one means warm caches."""
        self._flush: Callable[[int, int], Any] | None = None
        if not library:
            return
        try:
            function = ctypes.CDLL(library).kgen_flush_cache_lines
        except (OSError, AttributeError):
            return
        function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        function.restype = None
        self._flush = function

    @property
    def active(self) -> bool:
        return self._flush is not None

    def flush(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Flushes (address, bytes) ranges."""
        if self._flush is not None:
            for address, count in ranges:
                if count:
                    self._flush(address, count)


def memory_range(tensor: torch.Tensor) -> tuple[int, int]:
    """(address, bytes) from a tensor's first to its last element."""
    if tensor.numel() == 0:
        return tensor.data_ptr(), 0
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), reach * tensor.element_size()


class TimedReference:
    """A reference with little overhead around forward(): everything constant is computed once."""

    def __init__(self, reference: Reference, flusher: CacheFlusher):
        self.reference = reference
        self._flusher = flusher
        self._restores = bool(reference.task.mutated_state)
        self._state_storages = {entry.tensor.untyped_storage().data_ptr() for entry in reference.state}

    def call(self, arguments: Sequence[Any], forward_seed: int, ranges: Sequence[tuple[int, int]]) -> tuple[Any, int]:
        """One call: its value and nanoseconds. See `call_series`."""
        values, nanoseconds = self.call_series([arguments], forward_seed, ranges)
        return values[0], nanoseconds

    def call_series(
        self, series: Sequence[Sequence[Any]], forward_seed: int, ranges: Sequence[tuple[int, int]]
    ) -> tuple[list[Any], int]:
        """Calls under no_grad with restored state, one right after the other: their values, and nanoseconds of all together.

        `ranges` is the memory of the arguments; it is flushed from the caches first. Weights stay in the caches as the last call
        left them, on both sides. Exceptions of the task pass through.
        """
        if self._restores:
            self.reference.restore()
        module, values = self.reference.module, []
        with torch.no_grad(), spread_threads():
            seed_everything(forward_seed)
            self._flusher.flush(ranges)
            started = time.perf_counter_ns()
            for arguments in series:
                values.append(module(*arguments))
            ended = time.perf_counter_ns()
        return values, ended - started

    def outputs(self, value: Any, argument_storages: set[int]) -> Flat:
        """The outputs in memory that no later call writes."""
        flat = flatten_output(value)
        taken = argument_storages | self._state_storages
        for name, tensor in flat.tensors.items():
            if tensor.untyped_storage().data_ptr() in taken:
                flat.tensors[name] = tensor.clone()
        return flat


def _is_stable(samples: Sequence[int]) -> bool:
    """True if the last five samples agree with the five before them."""
    if len(samples) < 10:
        return False
    before, after = statistics.median(samples[-10:-5]), statistics.median(samples[-5:])
    return abs(after - before) <= _SPREAD * before


def sample(call: Callable[[], int], seconds: float, min_samples: int, max_samples: int) -> list[int]:
    """Calls until warm, then keeps samples until `seconds` are over or `max_samples` are there; at least `min_samples`.

    Warming up takes a third of the time at most.
    """
    started = time.perf_counter()
    warm_up: list[int] = []
    while len(warm_up) < WARM_UP_LIMIT and not _is_stable(warm_up):
        if warm_up and time.perf_counter() - started > seconds / 3:
            break
        warm_up.append(call())
    samples: list[int] = []
    while len(samples) < max(max_samples, min_samples):
        if len(samples) >= min_samples and time.perf_counter() - started > seconds:
            break
        samples.append(call())
    return samples


def bind_to_processors(count: int) -> None:
    """Lets this process run on the first `count` of the processors that it may use, as the worker has it for a candidate."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def use_threads(threads: int) -> None:
    """Lets torch compute on this many threads."""
    torch.set_num_threads(max(1, threads))


