"""Safe calls with inputs that may be outside a function's domain, on a device where a failed assertion breaks the context.

On the CPU binary_cross_entropy of 1.5 or a lookup beyond the end of a table raises; on a GPU it makes the context unusable.
Functions that assert are therefore first called with copies on the CPU, and the caller gets the exceptions of that call.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .device import Device

_ASSERTING = frozenset(
    "binary_cross_entropy bernoulli bernoulli_ multinomial poisson normal nll_loss cross_entropy multi_margin_loss "
    "multilabel_margin_loss ctc_loss embedding embedding_bag one_hot bincount gather take take_along_dim index_select "
    "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ scatter scatter_ "
    "scatter_add scatter_add_ scatter_reduce scatter_reduce_ __getitem__ __setitem__ repeat_interleave".split()
)
_MAX_DEPTH = 4


def _on_cpu(value: Any, depth: int = 0) -> Any:
    """The value with copies of its tensors."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if depth < _MAX_DEPTH and type(value) in (tuple, list):
        return type(value)(_on_cpu(item, depth + 1) for item in value)
    if isinstance(value, torch.Generator):
        return None
    return value


def _has_tensor_index(name: str, args: tuple[Any, ...]) -> bool:
    """Indexing with numbers and slices is checked by Python; only tensors are looked up on the device."""
    index = args[1] if len(args) > 1 else None
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(item, (torch.Tensor, list)) for item in items)


class _Guard(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in _ASSERTING and (not name.endswith("item__") or _has_tensor_index(name, args)):
            with torch.random.fork_rng(devices=[]):
                func(*(_on_cpu(value) for value in args), **{key: _on_cpu(value) for key, value in (kwargs or {}).items()})
        return func(*args, **(kwargs or {}))


def guarding(device: Device) -> contextlib.AbstractContextManager[Any]:
    """A context manager under which calls that would fail on the device raise before they are queued; nothing on the CPU."""
    return _Guard() if device.is_gpu else contextlib.nullcontext()
