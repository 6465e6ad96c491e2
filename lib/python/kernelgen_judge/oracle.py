"""The truth about a call: the reference in float64, within a budget of time and memory.

Where the precision class allows TF32 for some operations, their operands are also cut to TF32, which gives the error of the
class. If float64 costs too much then, both are computed in float32 without TF32.
"""

from __future__ import annotations

import contextlib
import copy
import re
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
from .rounding import NotSimulated, SequentialRounding, Tf32Operands
from .source import quiet
from .target import Truth
from .task import CallInputs, Reference, Task
from .values import flatten_output, unflatten

#: float64 over float32 on a CPU: matrix products and memory twice, functions without a vector form more, convolutions most.
_SLOWDOWN, _SLOWDOWN_CONVOLUTION = 4.0, 10.0
#: On a GPU; most models compute float64 at 1/32 or 1/64 of the rate.
_SLOWDOWN_GPU, _SLOWDOWN_GPU_WITHOUT = 4.0, 80.0
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
#: Approximate ratio of the peak bytes of a float64 call to the bytes of its inputs, outputs and weights in their own dtype.
_MEMORY_FACTOR = 6.0
_TIME_WAS_OVER = "the time for float64 was over"
#: Approximate cost of a simulation of rounding in plain float64 calls, and the time for all of them as a share of the budget.
_ROUNDED_COST, _ROUNDED_SHARE = 4.0, 0.25


class OracleUnavailable(Exception):
    """There is no float64 result; the message is the reason in one line."""


def is_lack_of_memory(reason: str) -> bool:
    """True if the message of an OracleUnavailable is about memory."""
    return "memory ran out" in reason or re.search(r"needs about \d+ MiB of", reason) is not None


def is_lack_of_time(reason: str) -> bool:
    """True if the message of an OracleUnavailable is about time."""
    return _TIME_WAS_OVER in reason or re.search(r"would take about .* s more than", reason) is not None


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
            raise OracleUnavailable(_TIME_WAS_OVER)
        return func(*args, **(kwargs or {}))


class _NativeConvolutions(TorchFunctionMode):
    """Keeps convolutions from cuDNN: its float64 is up to 17 times slower than that of PyTorch, a product of matrices."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if not getattr(func, "__name__", "").startswith("conv"):
            return func(*args, **(kwargs or {}))
        with torch.backends.cudnn.flags(enabled=False):
            return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _slowdown(device: Device, convolution: bool) -> float:
    if not device.is_gpu:
        return _SLOWDOWN_CONVOLUTION if convolution else _SLOWDOWN
    return _SLOWDOWN_GPU if device.has_fast_float64 else _SLOWDOWN_GPU_WITHOUT


class Oracle:
    """What the reference would compute without rounding. `run` gives the Truth of a call or raises OracleUnavailable."""

    def __init__(self, reference: Reference, budget: OracleBudget, reference_seconds: float):
        self._reference = reference
        self._budget = budget
        self._seconds = reference_seconds
        task = reference.task
        self._products = task.device.tf32_products(task.precision)
        #: Why there is no float64 any more; "" while there is.
        self.without_float64 = ""
        try:
            self._copy = _WiderCopy(reference, budget, reference_seconds, torch.float64)
        except OracleUnavailable as error:
            self._copy = self._float32_copy(error)

    @property
    def spent(self) -> float:
        """Seconds of all calls."""
        return self._copy.spent

    def _float32_copy(self, error: OracleUnavailable) -> "_WiderCopy":
        """A copy in float32, which shows the error of TF32 alone. Raises `error` where the class has no TF32."""
        if self._products is None or self.without_float64:
            raise error
        self.without_float64 = str(error)
        return _WiderCopy(self._reference, self._budget, self._seconds, torch.float32)

    def run(self, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor]) -> Truth:
        """The truth for the same inputs and the same random draws; integer outputs as they are."""
        try:
            return self._run(self._copy, inputs, forward_seed, draws)
        except OracleUnavailable as error:
            self._copy = self._float32_copy(error)
            return self._run(self._copy, inputs, forward_seed, draws)

    def _run(self, copied: "_WiderCopy", inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor]) -> Truth:
        outputs = copied.run(inputs, forward_seed, draws)
        coarse = None
        if self._products is not None:
            operands = Tf32Operands(self._products)
            coarse = copied.run(inputs, forward_seed, draws, operands.active())
            if not operands.found:
                # The next calls have none either.
                coarse = self._products = None
        if copied.dtype != torch.float64 and coarse is None:
            raise OracleUnavailable(self.without_float64)
        return Truth(outputs, coarse, copied.dtype == torch.float64)

    def renew_rounding_time(self) -> None:
        """From here on there is the whole time for simulations again. A judge serves many candidates, and would else refuse the later
        ones what it allowed to the first."""
        self._copy.rounded_spent = 0.0

    def run_rounded(
        self, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor], lot: int = 0
    ) -> dict[str, torch.Tensor] | None:
        """Outputs with the rounding of plain sequential float32 sums, if there is time for them besides that for float64. Each `lot` has
        other rounding errors."""
        if self._copy.dtype != torch.float64:
            return None
        return self._copy.run_rounded(inputs, forward_seed, draws, lot)


def bytes_of_wider_call(task: Task, dtype: torch.dtype = torch.float64) -> int:
    """About the memory that a call of the reference takes in a wider dtype."""
    sizes = [*task.inputs, *task.outputs, *task.parameters, *task.buffers]
    return int(_MEMORY_FACTOR * dtype.itemsize / 8 * sum(spec.elements * spec.itemsize for spec in sizes))


class _WiderCopy:
    """A copy of a reference in a wider dtype, float64 as a rule."""

    def __init__(self, reference: Reference, budget: OracleBudget, reference_seconds: float, dtype: torch.dtype):
        self.dtype = dtype
        self._task = reference.task
        self._budget = budget
        self.spent = self.rounded_spent = 0.0
        convolution = any(isinstance(part, _CONVOLUTIONS) for part in reference.module.modules())
        slowdown = _slowdown(self._task.device, convolution) if dtype == torch.float64 else 1.0
        self._estimate = reference_seconds * slowdown
        needed = bytes_of_wider_call(self._task, dtype)
        if needed > budget.bytes:
            raise OracleUnavailable(f"needs about {needed >> 20} MiB of {budget.bytes >> 20}")
        self._check_time()
        reference.restore()
        try:
            self._module = copy.deepcopy(reference.module).to(dtype)
            with torch.no_grad():
                for entry in state_tensors(self._module)[0]:
                    if entry.role == "attribute":
                        entry.put(self._widen(entry.tensor))
        except Exception as error:
            raise OracleUnavailable(f"the module cannot be copied to {_name(dtype)}: {one_line(error, 120)}") from error
        self._state = [(entry, entry.tensor.detach().clone()) for entry in state_tensors(self._module)[0]]
        self._native_convolutions = dtype == torch.float64

    def _widen(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy in the dtype. It is always a copy, because the reference may write to its inputs."""
        if tensor.is_complex():
            return tensor.to(self.dtype.to_complex(), copy=True)
        return tensor.to(self.dtype, copy=True) if tensor.is_floating_point() else tensor.clone()

    def _check_time(self) -> None:
        if self.spent + self._estimate > self._budget.seconds:
            raise OracleUnavailable(f"would take about {self._estimate:.3g} s more than the {self._budget.seconds:.3g} s allowed")

    def _restore(self) -> None:
        changing = set(self._task.mutated_state)
        for entry, value in self._state:
            if entry.name in changing:
                entry.tensor.data.copy_(value)
                entry.put(entry.tensor)

    def run(
        self,
        inputs: CallInputs,
        forward_seed: int,
        draws: list[torch.Tensor],
        within: contextlib.AbstractContextManager[Any] | None = None,
    ) -> dict[str, torch.Tensor]:
        """Outputs by name, for the same inputs and the same random draws. forward() runs `within` a mode, if one is given."""
        try:
            return self._run(inputs, forward_seed, draws, within)
        except OracleUnavailable as error:
            # PyTorch's own convolutions may need more memory than those of cuDNN.
            if not self._native_convolutions or not is_lack_of_memory(str(error)):
                raise
            self._native_convolutions = False
            self._task.device.release_cache()
            return self._run(inputs, forward_seed, draws, within)

    def _run(
        self,
        inputs: CallInputs,
        forward_seed: int,
        draws: list[torch.Tensor],
        within: contextlib.AbstractContextManager[Any] | None,
    ) -> dict[str, torch.Tensor]:
        self._check_time()
        self._restore()
        task = self._task
        arguments = unflatten(inputs.structure, {name: self._widen(tensor) for name, tensor in inputs.tensors.items()})
        started = time.monotonic()
        deadline = _Deadline(self._budget.seconds - self.spent)
        convolutions = _NativeConvolutions() if self._native_convolutions else contextlib.nullcontext()
        try:
            task.device.apply_flags("strict")
            with quiet(task.sink), torch.no_grad(), _default_dtype(self.dtype), deadline, convolutions:
                seed_everything(forward_seed)
                with replaying([self._widen(draw) for draw in draws]) if draws else contextlib.nullcontext():
                    with within if within is not None else contextlib.nullcontext():
                        outputs = flatten_output(self._module(*arguments))
                task.device.synchronize()
        except (OracleUnavailable, NotSimulated):
            raise
        except Exception as error:
            why = "memory ran out" if is_out_of_memory(error) else describe_exception(error, task.filename)
            raise OracleUnavailable(f"forward() in {_name(self.dtype)}: {one_line(why, 160)}") from error
        finally:
            task.device.apply_flags(task.precision)
            took = time.monotonic() - started
            self.spent += took
            if within is None:
                self._estimate = took
        expected = [(spec.name, spec.shape) for spec in task.outputs]
        if [(name, tuple(tensor.shape)) for name, tensor in outputs.tensors.items()] != expected:
            raise OracleUnavailable(f"forward() in {_name(self.dtype)} gives other outputs")
        return {name: task.device.move(tensor).clone() for name, tensor in outputs.tensors.items()}

    def run_rounded(
        self, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor], lot: int
    ) -> dict[str, torch.Tensor] | None:
        """See Oracle.run_rounded."""
        spent = self.spent
        if self.rounded_spent + _ROUNDED_COST * self._estimate > _ROUNDED_SHARE * self._budget.seconds:
            return None
        try:
            return self.run(inputs, forward_seed, draws, SequentialRounding(forward_seed + lot).active())
        except (OracleUnavailable, NotSimulated):
            return None
        finally:
            self.rounded_spent += self.spent - spent
            self.spent = spent


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
