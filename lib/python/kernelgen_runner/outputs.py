"""Converts the outputs of ModelNew to raw bytes in the exchange memory. Methods of the returned objects are never called."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelgen_common import dtypes, values
from kernelgen_common.gpu import tensor_at

from . import protocol
from .protocol import Failure

CPU = torch.device("cpu")
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)


@dataclass(frozen=True)
class MappedTensor:
    """One tensor of the job, where it is mapped."""

    role: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    nbytes: int
    slot: int = 0

    def view(self, device: torch.device = CPU) -> torch.Tensor:
        """The mapped memory as a tensor."""
        dtype = dtypes.parse(self.dtype)
        if self.nbytes == 0:
            return torch.empty_strided(self.shape, self.strides, dtype=dtype, device=device)
        return torch.as_strided(tensor_at(self.address, self.nbytes, device).view(dtype), self.shape, self.strides)


def make_describer(
    outputs: list[MappedTensor], report: MappedTensor | None, device: torch.device = CPU
) -> Callable[..., list[torch.Tensor]]:
    """A function that takes what ModelNew returned and what materializing made of it, and writes the report, unless it is that of the
    call before in a series.

    It returns the tensors of outputs that are as expected, else nothing, and raises Failure. Everything it needs is bound
    here, before a candidate is imported: patched functions of torch are not asked.
    """
    expected = [(place.dtype, place.shape) for place in outputs]
    function_modes, dispatch_modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
    name_of, flatten, dumps, memmove = dtypes.name_of, values.flatten, json.dumps, ctypes.memmove
    strided, kind, limit = torch.strided, device.type, (report.nbytes - 4 if report else 0)
    unusable = values.ValueFormatError

    def describe_one(name: str, tensor: torch.Tensor) -> tuple[str, tuple[int, ...]]:
        if type(tensor) not in _PLAIN_TYPES:
            raise Failure(protocol.STRUCTURE, f"{name} is a {type(tensor).__name__}, not a plain torch.Tensor")
        if tensor.device.type != kind or tensor.layout is not strided:
            raise Failure(protocol.STRUCTURE, f"{name} is a {tensor.layout} tensor on {tensor.device}")
        try:
            return name_of(tensor.dtype), tuple(tensor.shape)
        except KeyError:
            return str(tensor.dtype), tuple(tensor.shape)

    last: list[Any] = [None]
    # Where the only output is one tensor, further calls of a series are described at once: it is time that nothing else explains.
    single = (dtypes.parse(outputs[0].dtype), torch.Size(outputs[0].shape)) if len(outputs) == 1 else None
    is_single: list[bool] = [False]
    plain = torch.Tensor

    def describe(value: Any, materialized: dict[int, torch.Tensor], follows: bool = False) -> list[torch.Tensor]:
        if follows and is_single[0] and type(value) is plain and (value.dtype, value.shape) == single:
            if value.device.type == kind and value.layout is strided:
                return [materialized.get(id(value), value)]
        if function_modes() or dispatch_modes():
            raise Failure(protocol.STRUCTURE, "forward() left a torch function mode active")
        try:
            flat = flatten(value, "output")
        except unusable as error:
            raise Failure(protocol.STRUCTURE, str(error)) from None
        found = [describe_one(name, tensor) for name, tensor in flat.tensors]
        if report is not None and not (follows and last[0] == (flat.structure, found)):
            last[0] = (flat.structure, found)
            tensors = [{"dtype": dtype, "shape": list(shape)} for dtype, shape in found]
            text = dumps({"structure": flat.structure, "tensors": tensors}).encode("ascii")
            if len(text) > limit:
                raise Failure(protocol.STRUCTURE, "forward() returns too many values")
            data = len(text).to_bytes(4, "little") + text
            memmove(report.address, data, len(data))
        is_single[0] = type(value) is plain and found == expected
        return [materialized.get(id(tensor), tensor) for _, tensor in flat.tensors] if found == expected else []

    return describe


def make_writer(outputs: list[MappedTensor]) -> Callable[[list[torch.Tensor]], None]:
    """A function that copies outputs into the exchange memory, for workers that cannot fetch them."""
    copy, views, no_grad = torch._C.TensorBase.copy_, [place.view() for place in outputs], torch.no_grad

    def write(tensors: list[torch.Tensor]) -> None:
        with no_grad():
            for view, tensor in zip(views, tensors):
                copy(view, tensor)

    return write


def make_materializer() -> Callable[[Any], dict[int, torch.Tensor]]:
    """A function for the end of the timed part, which materializes results: strided and lazy views become contiguous tensors.

    Negated, conjugated and expanded views put work off until they are read, and the reference may have done that work.
    It returns what it made, by the id of the tensor that it stands for.
    """
    base = torch._C.TensorBase
    is_neg, is_conj, is_contiguous, clone = base.is_neg, base.is_conj, base.is_contiguous, base.clone
    is_zero, layout_of, strided = base._is_zerotensor, base.layout.__get__, torch.strided
    contiguous, resolve_neg, resolve_conj = torch.contiguous_format, base.resolve_neg, base.resolve_conj

    def materialize_into(made: dict[int, torch.Tensor], value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN_TYPES:
            if layout_of(value) is not strided:
                return
            if is_neg(value) or is_conj(value) or is_zero(value) or not is_contiguous(value):
                made[id(value)] = resolve_neg(resolve_conj(clone(value, memory_format=contiguous)))
        elif isinstance(value, dict):
            for item in value.values():
                materialize_into(made, item)
        elif isinstance(value, (tuple, list)):
            for item in value:
                materialize_into(made, item)

    def materialize(value: Any) -> dict[int, torch.Tensor]:
        made: dict[int, torch.Tensor] = {}
        materialize_into(made, value)
        return made

    return materialize


def make_addresses() -> Callable[[list[torch.Tensor]], list[int]]:
    """A function that tells where tensors lie. It raises Failure for those that lie nowhere."""
    data_ptr = torch._C.TensorBase.data_ptr

    def addresses(tensors: list[torch.Tensor]) -> list[int]:
        try:
            return [data_ptr(tensor) for tensor in tensors]
        except RuntimeError as error:
            raise Failure(protocol.STRUCTURE, f"an output has no memory: {error}") from None

    return addresses
