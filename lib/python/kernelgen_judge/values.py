"""Arguments and outputs of a call: tensors with path names, scalars, and the structure that holds them.

A structure is JSON, spelled as the runner's job spells it:
  null, true, 3, "text"      themselves
  {"float": "0x1.8p+0"}      float.hex, also "inf", "-inf" and "nan"
  {"tensor": "x[0]"}         a tensor, by its path name
  {"tuple": [...]}           also {"list": [...]}; a named tuple adds "fields": [...]
  {"dict": [[key, v], ...]}  in insertion order
  {"object": "Class", "fields": [[name, v], ...]}   a dataclass; outputs only
  {"dtype": "float32"}, {"device": "cpu"}, {"size": [2, 3]}
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass, field
from typing import Any, Callable

import torch

from kernelgen_common import dtypes

from .errors import TaskError

DTYPES: dict[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}
DTYPE_NAMES: dict[torch.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}
_MAX_DEPTH = 32


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype, shape and strides of a tensor; JSON as in include/kernelgen/core/task.hpp."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def itemsize(self) -> int:
        return DTYPES[self.dtype].itemsize

    @property
    def extent_bytes(self) -> int:
        """Bytes from the first to the last element, holes included; less than elements for expanded tensors."""
        if self.elements == 0:
            return 0
        return (1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides))) * self.itemsize

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape), "strides": list(self.strides)}


@dataclass(frozen=True)
class ScalarSpec:
    """A number or text among inputs, constructor arguments or outputs."""

    name: str
    type: str
    value: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.type, "value": self.value}


@dataclass
class Flat:
    """A flattened value: its structure, its tensors by path name in order, and its scalars."""

    structure: Any
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    scalars: list[ScalarSpec] = field(default_factory=list)

    def specs(self) -> list[TensorSpec]:
        return [spec_of(name, tensor) for name, tensor in self.tensors.items()]


def spec_of(name: str, tensor: torch.Tensor) -> TensorSpec:
    """The spec of a dense tensor; TaskError names what cannot be exchanged."""
    if tensor.layout != torch.strided:
        raise TaskError(f"{name}: tensors of layout {tensor.layout} are not supported", "unsupported")
    if tensor.is_quantized or tensor.dtype not in DTYPE_NAMES:
        raise TaskError(f"{name}: dtype {tensor.dtype} is not supported", "unsupported")
    return TensorSpec(name, DTYPE_NAMES[tensor.dtype], tuple(tensor.shape), tuple(tensor.stride()))


def _scalar(name: str, kind: str, value: Any, flat: Flat) -> Any:
    flat.scalars.append(ScalarSpec(name, kind, repr(value) if kind != "str" else value))
    return {"float": value.hex()} if kind == "float" else value


def key_path(name: str, key: Any) -> str:
    """Path name of a dictionary entry or a field: "output.hidden", or "output['a b']" for odd keys."""
    return f"{name}.{key}" if isinstance(key, str) and key.isidentifier() else f"{name}[{key!r}]"


class _Flattener:
    """Walks one value. `role` is "input" or "output" and appears in errors."""

    def __init__(self, role: str):
        self.role = role
        self.flat = Flat(None)

    def walk(self, value: Any, name: str, depth: int = 0) -> Any:
        if depth > _MAX_DEPTH:
            raise TaskError(f"{self.role} {name} is nested too deeply", "unsupported")
        if isinstance(value, torch.Tensor):
            return self._tensor(value, name)
        if value is None:
            self.flat.scalars.append(ScalarSpec(name, "none", "None"))
            return None
        if type(value) in (bool, int, float, str):
            return _scalar(name, type(value).__name__, value, self.flat)
        if isinstance(value, torch.Size):
            return {"size": list(value)}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        return self._container(value, name, depth)

    def _tensor(self, value: torch.Tensor, name: str) -> Any:
        if name in self.flat.tensors:
            raise TaskError(f"two tensors have the path name {name}", "unsupported")
        spec_of(name, value)
        tensor = value.detach()
        self.flat.tensors[name] = tensor.resolve_conj().resolve_neg() if value.is_complex() else tensor
        return {"tensor": name}

    def _container(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            if self.role == "input":
                raise TaskError(f"input {name}: named tuples are not supported as inputs", "unsupported")
            items = [self.walk(item, key_path(name, key), depth + 1) for key, item in zip(value._fields, value)]
            return {"tuple": items, "fields": list(value._fields)}
        if isinstance(value, (list, tuple)):
            items = [self.walk(item, f"{name}[{index}]", depth + 1) for index, item in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        if isinstance(value, dict):
            for key in value:
                if type(key) not in (str, int, bool):
                    raise TaskError(f"{self.role} {name}: keys of type {type(key).__name__} are not supported", "unsupported")
            return {"dict": [[key, self.walk(item, key_path(name, key), depth + 1)] for key, item in value.items()]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and self.role == "output":
            fields = [item.name for item in dataclasses.fields(value)]
            walked = [[key, self.walk(getattr(value, key), key_path(name, key), depth + 1)] for key in fields]
            return {"object": type(value).__name__, "fields": walked}
        raise TaskError(f"{self.role} {name}: values of type {type(value).__qualname__} are not supported", "unsupported")


def flatten_output(value: Any) -> Flat:
    """The outputs of a call: "output", "output[0]", "output.hidden". At least one tensor, else TaskError."""
    walker = _Flattener("output")
    walker.flat.structure = walker.walk(value, "output")
    if not walker.flat.tensors:
        raise TaskError(f"forward() returns no tensor, but {type(value).__qualname__}")
    return walker.flat


def flatten_arguments(arguments: list | tuple, names: list[str]) -> Flat:
    """Arguments of a call under their parameter names; the structure is always a list."""
    walker = _Flattener("input")
    walker.flat.structure = {"list": [walker.walk(value, name) for value, name in zip(arguments, names)]}
    return walker.flat


def argument_names(function: Callable, count: int) -> list[str]:
    """Path names of `count` positional arguments of a function (without self): "x", "mask", "args[0]"."""
    names: list[str] = []
    variadic = "args"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind == parameter.VAR_POSITIONAL:
            variadic = parameter.name
    rest = count - len(names)
    return names[:count] + [f"{variadic}[{index}]" for index in range(rest)]


def unflatten(structure: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Rebuilds a value from its structure. Named tuples come back as tuples, dataclasses as dictionaries."""
    if not isinstance(structure, dict):
        return structure
    if "tensor" in structure:
        return tensors[structure["tensor"]]
    if "float" in structure:
        return float.fromhex(structure["float"])
    if "tuple" in structure:
        return tuple(unflatten(item, tensors) for item in structure["tuple"])
    if "list" in structure:
        return [unflatten(item, tensors) for item in structure["list"]]
    if "dict" in structure:
        return {key: unflatten(item, tensors) for key, item in structure["dict"]}
    if "dtype" in structure:
        return getattr(torch, structure["dtype"])
    if "device" in structure:
        return torch.device(structure["device"])
    if "size" in structure:
        return torch.Size(structure["size"])
    return {key: unflatten(item, tensors) for key, item in structure["fields"]}


def writable_base(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a tensor that holds each memory location once: expanded dimensions reduced to one."""
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def empty_like_spec(spec: TensorSpec, device: torch.device | None = None) -> torch.Tensor:
    """An uninitialized tensor with the spec's shape and strides."""
    return torch.empty_strided(spec.shape, spec.strides, dtype=DTYPES[spec.dtype], device=device)


def assign(destination: torch.Tensor, source: torch.Tensor) -> None:
    """Copies values; the destination may be expanded (its repeated elements are written once)."""
    base = writable_base(destination)
    part = source
    for dim, size in enumerate(base.shape):
        if size != source.shape[dim]:
            part = part.narrow(dim, 0, 1)
    base.copy_(part)


def clone_with_strides(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with equal strides in storage of its own."""
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    assign(copy, tensor)
    return copy


def move_with_strides(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The tensor on a device, with equal strides; the tensor itself where it is there already."""
    if tensor.device == device:
        return tensor
    moved = tensor.to(device)
    if moved.stride() == tensor.stride():
        return moved
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    assign(copy, tensor)
    return copy


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal shape, dtype and bytes: NaN equals the same NaN, 0.0 differs from -0.0."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return torch.equal(_bits(left), _bits(right))


def differ_in_bits(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """A boolean on the tensors' device, for tensors of equal shape and dtype."""
    return (_bits(left) != _bits(right)).any()


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as integers; booleans, which may be any byte, as they are."""
    return tensor if tensor.dtype == torch.bool else dtypes.bits(tensor.contiguous())
