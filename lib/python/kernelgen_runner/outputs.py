"""From what ModelNew returned to raw bytes in the exchange memory. Methods of what was returned are never called."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelgen_common import dtypes, values

from . import protocol
from .protocol import Failure

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)


@dataclass(frozen=True)
class Place:
    """One tensor of the job, where it is mapped."""

    role: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    nbytes: int

    def view(self) -> torch.Tensor:
        """The mapped memory as a tensor."""
        dtype = dtypes.parse(self.dtype)
        if self.nbytes == 0:
            return torch.empty_strided(self.shape, self.strides, dtype=dtype)
        memory = (ctypes.c_char * self.nbytes).from_address(self.address)
        return torch.as_strided(torch.frombuffer(memory, dtype=dtype), self.shape, self.strides)


def make_writer(outputs: list[Place], report: Place | None) -> Callable[[Any], None]:
    """A function that takes what ModelNew returned, writes the report, and copies outputs that fit. It raises Failure.

    Everything it needs is bound here, before a candidate is imported: patched functions of torch are not asked.
    """
    copy, views = torch._C.TensorBase.copy_, [place.view() for place in outputs]
    expected = [(place.dtype, place.shape) for place in outputs]
    function_modes, dispatch_modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
    name_of, flatten, dumps, memmove = dtypes.name_of, values.flatten, json.dumps, ctypes.memmove
    strided, no_grad, limit = torch.strided, torch.no_grad, (report.nbytes - 4 if report else 0)
    unusable = values.ValueFormatError

    def describe(name: str, tensor: torch.Tensor) -> tuple[str, tuple[int, ...]]:
        if type(tensor) not in _PLAIN_TYPES:
            raise Failure(protocol.STRUCTURE, f"{name} is a {type(tensor).__name__}, not a plain torch.Tensor")
        if tensor.device.type != "cpu" or tensor.layout is not strided:
            raise Failure(protocol.STRUCTURE, f"{name} is a {tensor.layout} tensor on {tensor.device}")
        try:
            return name_of(tensor.dtype), tuple(tensor.shape)
        except KeyError:
            return str(tensor.dtype), tuple(tensor.shape)

    def write(value: Any) -> None:
        if function_modes() or dispatch_modes():
            raise Failure(protocol.STRUCTURE, "forward() left a torch function mode active")
        try:
            flat = flatten(value, "output")
        except unusable as error:
            raise Failure(protocol.STRUCTURE, str(error)) from None
        found = [describe(name, tensor) for name, tensor in flat.tensors]
        if report is not None:
            tensors = [{"dtype": dtype, "shape": list(shape)} for dtype, shape in found]
            text = dumps({"structure": flat.structure, "tensors": tensors}).encode("ascii")
            if len(text) > limit:
                raise Failure(protocol.STRUCTURE, "forward() returns too many values")
            data = len(text).to_bytes(4, "little") + text
            memmove(report.address, data, len(data))
        if found == expected:
            with no_grad():
                for view, (_, tensor) in zip(views, flat.tensors):
                    copy(view, tensor)

    return write


def make_settler() -> Callable[[Any], None]:
    """A function for the end of the timed part: it makes tensors pay now for what they put off until they are read.

    Those are negated and conjugated views, and expanded ones, whose elements the reference may have had to write.
    """
    base = torch._C.TensorBase
    is_neg, is_conj, stride, size, clone = base.is_neg, base.is_conj, base.stride, base.size, base.clone
    contiguous = torch.contiguous_format

    def settle(value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN_TYPES:
            overlapping = any(step == 0 and count > 1 for step, count in zip(stride(value), size(value)))
            if overlapping or is_neg(value) or is_conj(value):
                clone(value, memory_format=contiguous)
        elif isinstance(value, dict):
            for item in value.values():
                settle(item)
        elif isinstance(value, (tuple, list)):
            for item in value:
                settle(item)

    return settle
