"""Names of element types, and views of tensors as raw integers."""

from __future__ import annotations

import torch

_DTYPES: dict[str, torch.dtype] = {
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
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_ITEM_BYTES = {name: torch.empty(0, dtype=dtype).element_size() for name, dtype in _DTYPES.items()}
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def name_of(dtype: torch.dtype) -> str:
    """The name of a type in all protocols ("float32"). Raises KeyError for a type that kernelgen does not carry."""
    return _NAMES[dtype]


def is_supported(dtype: torch.dtype) -> bool:
    """True if name_of() knows the type."""
    return dtype in _NAMES


def parse(name: str) -> torch.dtype:
    """The inverse of name_of(). Raises KeyError."""
    return _DTYPES[name]


def size_of(name: str) -> int:
    """Bytes per element of the type with this name. Raises KeyError."""
    return _ITEM_BYTES[name]


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as integers of the same size, without a copy (complex128: pairs of int64)."""
    if tensor.dtype == torch.complex128:
        return torch.view_as_real(tensor).view(torch.int64)
    return tensor.view(_BITS[tensor.element_size()])


def bits_dtype(item_bytes: int) -> torch.dtype:
    """The integer type that is item_bytes wide (1, 2, 4 or 8)."""
    return _BITS[item_bytes]
