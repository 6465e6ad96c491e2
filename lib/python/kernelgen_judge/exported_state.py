"""The state of a ModelNew as its runner exported it. It is parsed strictly, because a candidate may have written it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

import torch

from kernelgen_common import dtypes

MAX_HEADER = 16 << 20
MAX_TENSORS = 65536
MAX_BYTES = 1 << 40
MAX_NAME = 1024
_READ = 1 << 24


class StateFormatError(Exception):
    """The export is not what a runner writes."""


@dataclass(frozen=True)
class ExportedTensor:
    """One tensor of a ModelNew: where its contiguous bytes lie in the export."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclass
class ExportedState:
    """The table of an export, and the file to read it from."""

    tensors: list[ExportedTensor] = field(default_factory=list)
    declared: dict[str, str | None] = field(default_factory=dict)
    contents: dict[str, torch.Tensor] = field(default_factory=dict)


def read_state(descriptor: int, size: int) -> ExportedState:
    """Reads a whole export with os.pread. Raises StateFormatError, OSError."""
    length = int.from_bytes(_read(descriptor, 0, 4, size), "little")
    if length > MAX_HEADER:
        raise StateFormatError("its header is too long")
    try:
        header = json.loads(_read(descriptor, 4, length, size).decode("utf-8"))
    except (ValueError, RecursionError):
        raise StateFormatError("its header is not JSON") from None
    state = _parse_header(header, 4 + length, size)
    for tensor in state.tensors:
        data = _read(descriptor, tensor.offset, tensor.nbytes, size)
        flat = torch.frombuffer(data, dtype=dtypes.parse(tensor.dtype)) if data else _empty(tensor.dtype)
        state.contents[tensor.name] = flat
    return state


def _empty(dtype: str) -> torch.Tensor:
    return torch.empty(0, dtype=dtypes.parse(dtype))


def _read(descriptor: int, offset: int, count: int, size: int) -> bytearray:
    if offset < 0 or count < 0 or offset + count > size:
        raise StateFormatError("it points outside of itself")
    data = bytearray(count)
    view, done = memoryview(data), 0
    while done < count:
        read = os.preadv(descriptor, [view[done : done + _READ]], offset + done)
        if read == 0:
            raise StateFormatError("it ends too early")
        done += read
    return data


def _parse_header(header: object, data_start: int, size: int) -> ExportedState:
    if not isinstance(header, dict) or not isinstance(header.get("tensors"), list):
        raise StateFormatError("its header is malformed")
    if len(header["tensors"]) > MAX_TENSORS:
        raise StateFormatError(f"it lists more than {MAX_TENSORS} tensors")
    state = ExportedState(declared=_parse_declared(header.get("declared")))
    names: set[str] = set()
    total = 0
    for entry in header["tensors"]:
        tensor = _parse_tensor(entry)
        total += tensor.nbytes
        if tensor.name in names or tensor.offset < data_start or total > min(size, MAX_BYTES):
            raise StateFormatError("its table of tensors is inconsistent")
        names.add(tensor.name)
        state.tensors.append(tensor)
    return state


def _parse_tensor(entry: object) -> ExportedTensor:
    if not isinstance(entry, dict):
        raise StateFormatError("its table of tensors is malformed")
    name, dtype, shape = entry.get("name"), entry.get("dtype"), entry.get("shape")
    offset, nbytes = entry.get("offset"), entry.get("nbytes")
    if not isinstance(name, str) or len(name) > MAX_NAME or not isinstance(dtype, str):
        raise StateFormatError("a tensor has no proper name or dtype")
    if not isinstance(shape, list) or len(shape) > 64 or not all(_is_size(number) for number in shape):
        raise StateFormatError("a tensor has no proper shape")
    if not _is_size(offset) or not _is_size(nbytes):
        raise StateFormatError("a tensor has no proper place")
    try:
        expected = dtypes.size_of(dtype)
    except KeyError:
        raise StateFormatError("a tensor has an unknown dtype") from None
    for number in shape:
        expected *= number
    if expected != nbytes:
        raise StateFormatError("a tensor's size does not fit its shape")
    return ExportedTensor(name, dtype, tuple(shape), offset, nbytes)


def _is_size(number: object) -> bool:
    return type(number) is int and 0 <= number < 1 << 48


def _parse_declared(declared: object) -> dict[str, str | None]:
    if declared is None:
        return {}
    if not isinstance(declared, dict) or len(declared) > MAX_TENSORS:
        raise StateFormatError("WEIGHT_MAP is not a dictionary of names")
    for key, value in declared.items():
        if len(key) > MAX_NAME or not (value is None or (isinstance(value, str) and len(value) <= MAX_NAME)):
            raise StateFormatError("WEIGHT_MAP is not a dictionary of names")
    return declared
