"""Weights that are not the initial distribution: what a constructor draws or fills in is changed as it is made.

A module at its initial weights hides much of what it computes: affine parameters are ones and zeros, and gates forget within a
few steps. Under `transformed(...)` a constructor makes other weights from the same seed:

  - drawn numbers are changed by a function of their own values, whatever the tensor's name. So a module that draws in the
    reference's order has the reference's weights, also where its constructor packs, splits, sums or folds them afterwards;
  - a constant of a parameter or of running statistics becomes a vector of different numbers. It is known by its value, its
    size, and how many such constants were made before.

Judge and runner construct under the same code, so that both sides have the same weights. A candidate that does without it
gets other weights than the reference, and is wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules import module as _module_hooks
from torch.nn.utils import fusion
from torch.overrides import TorchFunctionMode


@dataclass(frozen=True)
class WeightTransform:
    """How far weights are taken from their initial distribution."""

    name: str
    #: The most that is added to an element of a vector (a bias).
    shift: float
    #: The most that a row of a matrix is multiplied or divided by, as an exponent of two.
    row_exponent: float
    #: The largest relative change of an element.
    change: float
    #: The largest element in place of a zero of a matrix; a vector's is at most `shift`.
    filling: float
    #: A few rows and columns of a matrix are so many times as large.
    outliers: float = 1.0
    #: True if each draw must be tried, because references may be chaotic under some.
    needs_stability: bool = False


#: By number, as the worker hands it on; 0 is the initial distribution.
TRANSFORMS = (
    WeightTransform("", 0.0, 0.0, 0.0, 0.0),
    #: Scales and shifts that cannot be overlooked.
    WeightTransform("spread", 0.7, 1.0, 0.5, 0.5),
    #: Biases that hold gates open or shut: a recurrent layer remembers hundreds of steps.
    WeightTransform("saturated", 8.0, 0.0, 0.5, 0.5),
    #: For references that the others lead too far.
    WeightTransform("mild", 0.1, 0.2, 0.1, 0.1),
    #: What training leads to: biases that hold, and features that are much larger than others.
    WeightTransform("trained", 4.0, 0.0, 0.5, 0.5, 6.0, True),
    #: The same without outliers, which make some recurrences chaotic.
    WeightTransform("settled", 4.0, 0.0, 0.5, 0.5, 1.0, True),
)

_DRAWN_IN_PLACE = frozenset("uniform_ normal_ kaiming_uniform_ kaiming_normal_".split())
_DRAWN = frozenset("randn randn_like normal".split())
#: Other numbers from a generator. Their range may have a meaning (probabilities, masks), so they stay as they are.
_OTHER_DRAWS = frozenset(
    "rand rand_like randint randint_like randperm bernoulli bernoulli_ multinomial poisson exponential_ random_ cauchy_ "
    "log_normal_ geometric_ dropout".split()
)
_FILLS = frozenset("fill_ zero_ constant_".split())
_UNINITIALIZED = frozenset("empty empty_like empty_strided new_empty new_empty_strided empty_permuted".split())
#: Numbers from elsewhere, possibly computed from weights.
_FROM_OUTSIDE = frozenset("tensor as_tensor from_numpy frombuffer".split())
#: Functions of torch.nn.init that compute with what they draw.
_INITS = ("trunc_normal_", "orthogonal_", "sparse_", "eye_", "dirac_")
#: Elements of weights lie close together; this tells neighbours apart, and still no rounding error matters.
_FREQUENCY = 1000.0
#: Where the wave of a row or column is above this, it is an outlier: one in 16.
_OUTLYING = 0.96
#: Elements that are changed at a time, on a processor: of more, each intermediate result is memory that the system has to clear first,
#: which takes most of the time. A device keeps its memory, and needs many elements at a time.
_ENOUGH, _ENOUGH_ON_DEVICE = 1 << 18, 1 << 22


def number_of(name: str) -> int:
    """The number of a transform."""
    return next(index for index, transform in enumerate(TRANSFORMS) if transform.name == name)


def _is_vector(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 0 or tensor.numel() == max(tensor.shape)


def _wave(values: torch.Tensor, phase: float) -> torch.Tensor:
    """Between -1 and 1, a smooth function of each value, in float64, so that it does not depend on the place in memory."""
    return torch.sin(values.double() * _FREQUENCY + phase)


def _outlying(values: torch.Tensor, phase: float, factor: float) -> torch.Tensor:
    """The factor of each row or column, by one of its values: 1, for a few up to `factor`, and in between where the wave rises."""
    height = ((_wave(values, phase) - _OUTLYING) / (0.5 * (1 - _OUTLYING))).clamp(0.0, 1.0)
    return factor ** (height * height * (3 - 2 * height))


class _Values:
    """The changed values, from a transform and a seed."""

    def __init__(self, transform: WeightTransform, seed: int):
        self._transform = transform
        self._seed = seed
        phases = random.Random(seed)
        self._phase, self._row_phase, self._column_phase = (phases.uniform(0, 2 * math.pi) for _ in range(3))

    def drawn(self, tensor: torch.Tensor) -> torch.Tensor:
        """What becomes of drawn numbers."""
        transform = self._transform
        if _is_vector(tensor):
            return (tensor.double() + transform.shift * _wave(tensor, self._phase)).to(tensor.dtype)
        rows = tensor.reshape(tensor.shape[0], -1)
        result = torch.empty_like(rows, memory_format=torch.contiguous_format)
        enough = _ENOUGH if rows.device.type == "cpu" else _ENOUGH_ON_DEVICE
        step = max(1, enough // max(1, rows.shape[1]))
        columns = _outlying(rows[:1], self._column_phase, transform.outliers)
        for start in range(0, rows.shape[0], step):
            part = rows[start : start + step]
            factor = torch.exp2(transform.row_exponent * _wave(part[:, :1], self._row_phase)) * columns
            factor = factor * _outlying(part[:, :1], self._row_phase, transform.outliers)
            # Half of the change, or most weights would grow.
            change = 1.0 + 0.5 * transform.change * _wave(part, self._phase)
            result[start : start + step] = (part.double() * factor * change).to(tensor.dtype)
        return result.view(tensor.shape)

    def constant(self, tensor: torch.Tensor, value: float, role: str, number: int) -> torch.Tensor:
        """What becomes of the `number`-th constant of this value and size."""
        text = f"{self._seed}/{self._transform.name}/{tensor.numel()}/{value!r}/{role}/{number}"
        digest = hashlib.sha256(text.encode()).digest()
        # The constructor may run where tensors are made on a device: its generators have other streams.
        cpu = torch.device("cpu")
        generator = torch.Generator(cpu).manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        unit = torch.rand(tensor.numel(), generator=generator, dtype=torch.float64, device=cpu).view(tensor.shape)
        sign = torch.randint(2, (tensor.numel(),), generator=generator, device=cpu).view(tensor.shape) * 2 - 1
        # Never next to nothing, because the constant may be a single number.
        part = sign * (0.2 + 0.8 * unit)
        largest = self._transform.shift if _is_vector(tensor) else self._transform.filling
        changed = value * (1.0 + self._transform.change * part) if value else largest * part
        return changed.to(tensor.dtype)

    def copied(self, tensor: torch.Tensor, number: int) -> torch.Tensor:
        """What becomes of the `number`-th copy of a parameter of this size."""
        wave = _wave(tensor, self._phase + number + 1)
        return (tensor.double() * (1.0 + self._transform.change * wave)).to(tensor.dtype)

    def table(self, tensor: torch.Tensor) -> torch.Tensor:
        """What becomes of a parameter of different numbers that nothing drew."""
        return (tensor.double() * (1.0 + 0.5 * self._transform.change * _wave(tensor, self._phase))).to(tensor.dtype)


def _uniform_value(tensor: torch.Tensor) -> float | None:
    """The number that all elements are; None if they differ."""
    if tensor.numel() == 0 or not tensor.is_floating_point():
        return None
    flat = tensor.detach().reshape(-1)
    first = flat[:1]
    return float(first) if math.isfinite(float(first)) and bool((flat == first).all()) else None


class _Construction(TorchFunctionMode):
    """Changes weights while a constructor makes them."""

    #: The construction in progress, for functions of torch.nn.init that are no torch functions.
    current: _Construction | None = None

    def __init__(self, transform: WeightTransform, seed: int, place: str):
        super().__init__()
        #: The type of the device that weights are made on.
        self._place = place
        #: True while copies are made that take the place of the original.
        self.keeps_copies = False
        self._values = _Values(transform, seed)
        #: By address: storages with contents that were seen being made, and whether these depend on changed weights.
        self._known: dict[int, tuple[StorageWeakRef, bool]] = {}
        #: By address: parameters and running statistics, kept alive so that no other tensor gets the address.
        self._state: dict[int, tuple[torch.Tensor, str]] = {}
        self._numbers: dict[tuple[int, float], int] = {}
        self._made: dict[tuple[str, int, float], int] = {}

    # -- what is known of a storage -------------------------------------------------------------------------------

    @staticmethod
    def _address(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else 0

    def _mark(self, tensor: torch.Tensor, changed: bool) -> None:
        if tensor.device.type == self._place and tensor.layout == torch.strided and self._address(tensor):
            self._known[self._address(tensor)] = (StorageWeakRef(tensor.untyped_storage()), changed)

    def _changed(self, tensor: torch.Tensor) -> bool | None:
        """Whether its contents depend on changed weights; None if they are not known."""
        if tensor.device.type != self._place or tensor.layout != torch.strided:
            return None
        found = self._known.get(self._address(tensor))
        return None if found is None or found[0].expired() else found[1]

    # -- changes --------------------------------------------------------------------------------------------------

    def _is_weight(self, tensor: Any) -> bool:
        plain = isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.device.type == self._place
        return plain and tensor.is_floating_point() and tensor.numel() > 0

    def change_drawn(self, tensor: Any) -> None:
        """Changes numbers that were just drawn."""
        if self._is_weight(tensor):
            tensor.detach().copy_(self._values.drawn(tensor.detach()))
            self._mark(tensor, True)

    def _change_constant(self, tensor: torch.Tensor, role: str) -> None:
        """Changes a parameter, or running statistics, that nothing drew."""
        value = _uniform_value(tensor)
        if value is not None:
            key = (self._address(tensor), value)
            if key not in self._numbers:
                kind = (role, tensor.numel(), value)
                self._numbers[key] = self._made[kind] = self._made.get(kind, -1) + 1
            changed = self._values.constant(tensor, value, role, self._numbers[key])
        else:
            changed = self._values.table(tensor.detach())
        tensor.detach().copy_(changed)
        self._mark(tensor, True)

    def register(self, tensor: Any, role: str) -> None:
        """Takes note of a parameter or of running statistics; changes them if their contents are complete."""
        if not self._is_weight(tensor) or isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            return
        self._state.setdefault(self._address(tensor), (tensor, role))
        if self._changed(tensor) is False:
            self._change_constant(tensor, role)

    def change_copy(self, tensor: Any) -> None:
        """Changes the copy of a parameter: the layers of a network that are copies of one are still different weights."""
        if self._is_weight(tensor):
            kind = ("copy", tensor.numel(), 0.0)
            self._made[kind] = self._made.get(kind, -1) + 1
            tensor.detach().copy_(self._values.copied(tensor.detach(), self._made[kind]))
            self._mark(tensor, True)

    def _filled(self, tensor: Any) -> None:
        if not self._is_weight(tensor):
            return
        owner = self._state.get(self._address(tensor))
        if owner is not None and owner[0].numel() == tensor.numel():
            self._change_constant(tensor, owner[1])
        elif owner is None:
            self._mark(tensor, False)

    def finish(self, others: list[torch.Tensor]) -> None:
        """Changes what was completed in another way. `others`: further tensors that hold constant weights."""
        for tensor, role in list(self._state.values()):
            if self._changed(tensor) is False:
                self._change_constant(tensor, role)
        for tensor in others:
            if self._is_weight(tensor) and not self._changed(tensor) and _uniform_value(tensor) is not None:
                self._change_constant(tensor, "parameter")

    # -- watching -------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self._note(getattr(func, "__name__", ""), args, kwargs, result)
        return result

    def _note(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        if name in _DRAWN_IN_PLACE:
            self.change_drawn(kwargs.get("tensor", args[0] if args else None))
        elif name in _DRAWN:
            self.change_drawn(result)
        elif name in _FILLS:
            self._filled(kwargs.get("tensor", args[0] if args else None))
        elif isinstance(result, torch.Tensor) and name not in _UNINITIALIZED and result.is_floating_point():
            self._note_result(name, args, kwargs, result)

    def _note_result(self, name: str, args: Any, kwargs: Any, result: torch.Tensor) -> None:
        # What copy_() writes to has no contents that matter.
        read = list(_tensors((args[1:] if name == "copy_" else args, kwargs)))
        known = None if name == "copy_" else self._changed(result)
        depends = any(self._changed(tensor) for tensor in read) or name in _OTHER_DRAWS
        if name in _FROM_OUTSIDE and _uniform_value(result) is None:
            depends = True
        # A view of memory without contents has none either.
        if depends or known is None and all(self._changed(tensor) is not None for tensor in read):
            self._mark(result, depends)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _on_parameter(module: nn.Module, name: str, parameter: Any) -> None:
    construction = _Construction.current
    if construction is not None and parameter is not None:
        with torch._C.DisableTorchFunction():
            construction.register(parameter, "parameter")


def _on_buffer(module: nn.Module, name: str, buffer: Any) -> None:
    # Other constant buffers are tables and masks of the task, which a kernel may have built in.
    construction = _Construction.current
    if construction is not None and buffer is not None and name.startswith("running_"):
        with torch._C.DisableTorchFunction():
            construction.register(buffer, "buffer")


def _as_one(init: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of torch.nn.init, with its result changed, but not what it draws in between."""

    def initialize(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        construction = _Construction.current
        if construction is None:
            return init(tensor, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            result = init(tensor, *args, **kwargs)
            construction.change_drawn(tensor)
        return result

    initialize.__name__, initialize.__doc__ = init.__name__, init.__doc__
    return initialize


def _deepcopy(parameter: nn.Parameter, memo: dict[int, Any]) -> Any:
    is_new = id(parameter) not in memo
    copied = _plain_deepcopy(parameter, memo)
    construction = _Construction.current
    if construction is not None and is_new and not construction.keeps_copies:
        with torch._C.DisableTorchFunction():
            construction.change_copy(copied)
    return copied


def _keeping_copies(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of torch.nn.utils, with copies that are equal to the original."""

    def keep(*args: Any, **kwargs: Any) -> Any:
        construction = _Construction.current
        if construction is None:
            return function(*args, **kwargs)
        construction.keeps_copies = True
        try:
            return function(*args, **kwargs)
        finally:
            construction.keeps_copies = False

    keep.__name__, keep.__doc__ = function.__name__, function.__doc__
    return keep


_plain_deepcopy = nn.Parameter.__deepcopy__
for _name in ("fuse_conv_bn_eval", "fuse_linear_bn_eval"):
    _kept = _keeping_copies(getattr(fusion, _name))
    setattr(fusion, _name, _kept)
    setattr(nn.utils, _name, _kept)
nn.Parameter.__deepcopy__ = _deepcopy  # type: ignore[method-assign]
for _name in _INITS:
    setattr(nn.init, _name, _as_one(getattr(nn.init, _name)))


@contextlib.contextmanager
def transformed(number: int, seed: int, place: str = "cpu") -> Iterator[Callable[[list[torch.Tensor]], None]]:
    """Constructs modules under a transform, 0 for none. What it gives ends the construction; it takes further tensors that
    hold constant weights. `place`: the type of the device on which the constructor makes its tensors."""
    if number == 0:
        yield lambda others: None
        return
    construction = _Construction(TRANSFORMS[number], seed, place)
    handles = [
        _module_hooks.register_module_parameter_registration_hook(_on_parameter),
        _module_hooks.register_module_buffer_registration_hook(_on_buffer),
    ]
    _Construction.current = construction
    try:
        with construction:
            yield construction.finish
    finally:
        _Construction.current = None
        for handle in handles:
            handle.remove()
