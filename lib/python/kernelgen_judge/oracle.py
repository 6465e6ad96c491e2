"""The reference in float64, within a budget of time and memory."""

from __future__ import annotations

import contextlib
import copy
import time
from dataclasses import dataclass
from typing import Any, Iterator

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from kernelgen_common.seeding import seed_everything

from .device import Device
from .errors import describe_exception, is_out_of_memory, one_line
from .module_state import state_tensors
from .randomness import replaying
from .source import quiet
from .task import CallInputs, Reference
from .values import flatten_output, unflatten

#: float64 over float32 on a CPU: matrix products and memory twice, functions without a vector form more, convolutions most.
_SLOWDOWN, _SLOWDOWN_CONVOLUTION = 4.0, 10.0
#: On a GPU convolutions are very slow in float64; most models compute float64 at 1/32 or 1/64 of the rate.
_SLOWDOWN_GPU, _SLOWDOWN_GPU_CONVOLUTION, _SLOWDOWN_GPU_WITHOUT = 4.0, 40.0, 80.0
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
#: Approximate ratio of the peak bytes of a float64 call to the bytes of its inputs, outputs and weights in their own dtype.
_MEMORY_FACTOR = 6.0


class OracleUnavailable(Exception):
    """There is no float64 result; the message is the reason in one line."""


@dataclass(frozen=True)
class OracleBudget:
    """`seconds` for all float64 calls of an admission together, `bytes` for one call."""

    seconds: float = 20.0
    bytes: int = 4 << 30


class _Deadline(TorchFunctionMode):
    """Ends a call between two torch functions once its time is over."""

    def __init__(self, seconds: float):
        super().__init__()
        self._end = time.monotonic() + seconds

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if time.monotonic() > self._end:
            raise OracleUnavailable("the time for float64 was over")
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _default_float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    """A float64 copy. It is always a copy, because the reference may write to its inputs."""
    if tensor.is_complex():
        return tensor.to(torch.complex128, copy=True)
    return tensor.to(torch.float64, copy=True) if tensor.is_floating_point() else tensor.clone()


def _slowdown(device: Device, convolution: bool) -> float:
    if not device.is_gpu:
        return _SLOWDOWN_CONVOLUTION if convolution else _SLOWDOWN
    if not device.has_fast_float64:
        return _SLOWDOWN_GPU_WITHOUT
    return _SLOWDOWN_GPU_CONVOLUTION if convolution else _SLOWDOWN_GPU


class Oracle:
    """A float64 copy of a reference. `run` gives outputs by name or raises OracleUnavailable."""

    def __init__(self, reference: Reference, budget: OracleBudget, reference_seconds: float):
        self._task = reference.task
        self._budget = budget
        self.spent = 0.0
        convolution = any(isinstance(part, _CONVOLUTIONS) for part in reference.module.modules())
        self._estimate = reference_seconds * _slowdown(self._task.device, convolution)
        sizes = [*self._task.inputs, *self._task.outputs, *self._task.parameters, *self._task.buffers]
        needed = int(_MEMORY_FACTOR * sum(spec.elements * spec.itemsize for spec in sizes))
        if needed > budget.bytes:
            raise OracleUnavailable(f"needs about {needed >> 20} MiB of {budget.bytes >> 20}")
        self._check_time()
        reference.restore()
        try:
            self._module = copy.deepcopy(reference.module).double()
            with torch.no_grad():
                for entry in state_tensors(self._module)[0]:
                    if entry.role == "attribute":
                        entry.put(_widen(entry.tensor))
        except Exception as error:
            raise OracleUnavailable(f"the module cannot be copied to float64: {one_line(error, 120)}") from error
        self._state = [(entry, entry.tensor.detach().clone()) for entry in state_tensors(self._module)[0]]

    def _check_time(self) -> None:
        if self.spent + self._estimate > self._budget.seconds:
            raise OracleUnavailable(f"would take about {self._estimate:.3g} s more than the {self._budget.seconds:.3g} s allowed")

    def _restore(self) -> None:
        changing = set(self._task.mutated_state)
        for entry, value in self._state:
            if entry.name in changing:
                entry.tensor.data.copy_(value)
                entry.put(entry.tensor)

    def run(self, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Outputs in float64 (integer outputs as they are), for the same inputs and the same random draws."""
        self._check_time()
        self._restore()
        task = self._task
        arguments = unflatten(inputs.structure, {name: _widen(tensor) for name, tensor in inputs.tensors.items()})
        started = time.monotonic()
        deadline = _Deadline(self._budget.seconds - self.spent)
        try:
            with quiet(task.sink), torch.no_grad(), _default_float64(), deadline:
                seed_everything(forward_seed)
                with replaying([_widen(draw) for draw in draws]) if draws else contextlib.nullcontext():
                    outputs = flatten_output(self._module(*arguments))
                task.device.synchronize()
        except OracleUnavailable:
            raise
        except Exception as error:
            why = "memory ran out" if is_out_of_memory(error) else describe_exception(error, task.filename)
            raise OracleUnavailable(f"forward() in float64: {one_line(why, 160)}") from error
        finally:
            took = time.monotonic() - started
            self.spent += took
            self._estimate = took
        expected = [(spec.name, spec.shape) for spec in task.outputs]
        if [(name, tuple(tensor.shape)) for name, tensor in outputs.tensors.items()] != expected:
            raise OracleUnavailable("forward() in float64 gives other outputs")
        return {name: task.device.move(tensor).clone() for name, tensor in outputs.tensors.items()}
