"""Nested values (call arguments, outputs) as JSON, and as lists of named leaves.

Encoding: null, bool, int and str are themselves; {"float": "0x1.8p+0"}, {"tensor": name}, {"list": [..]}, {"tuple": [..]}
(a named tuple adds "fields": [..]), {"dict": [[key, value]..]}, {"object": "Class", "fields": [[name, value]..]} (a
dataclass; outputs only), {"dtype": "float32"}, {"device": "cpu"}, {"size": [2, 3]}. Nothing is ever unpickled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelgen_common import dtypes

MAX_DEPTH = 32
MAX_LEAVES = 4096


class ValueFormatError(Exception):
    """A value that the encoding does not carry, or JSON that is not the encoding of a value."""


@dataclass
class Flat:
    """A nested value taken apart: its structure (tensors by name), and the tensors in order."""

    structure: Any
    tensors: list[tuple[str, torch.Tensor]] = field(default_factory=list)


def flatten(value: Any, root: str) -> Flat:
    """Names every tensor in value by its path: root, root[0], root.key. Raises ValueFormatError."""
    flat = Flat(None)

    def keep(tensor: torch.Tensor, name: str) -> str:
        if len(flat.tensors) >= MAX_LEAVES:
            raise ValueFormatError(f"more than {MAX_LEAVES} tensors")
        flat.tensors.append((name, tensor))
        return name

    flat.structure = encode(value, root, keep)
    return flat


def child_name(path: str, key: Any) -> str:
    """The name of an element: path[0] for positions, path.key for identifiers, path['odd key'] otherwise."""
    if type(key) is str and key.isidentifier():
        return f"{path}.{key}"
    return f"{path}[{key!r}]"


def encode(value: Any, path: str, on_tensor: Callable[[torch.Tensor, str], str], depth: int = 0) -> Any:
    """The JSON form of value. on_tensor gets each tensor with its path and returns its name. Raises ValueFormatError."""
    if depth > MAX_DEPTH:
        raise ValueFormatError(f"{path} is nested too deeply")
    if value is None or isinstance(value, (bool, str)):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, torch.Tensor):
        return {"tensor": on_tensor(value, path)}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return {"float": float.hex(value)}
    if isinstance(value, torch.Size):
        return {"size": [int(size) for size in value]}
    if isinstance(value, (tuple, list)):
        return _encode_sequence(value, path, on_tensor, depth)
    if isinstance(value, dict):
        return {"dict": [_encode_pair(key, item, path, on_tensor, depth) for key, item in dict.items(value)]}
    if isinstance(value, torch.dtype):
        return {"dtype": dtypes.name_of(value)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in dataclasses.fields(value)]
        pairs = [_encode_pair(name, getattr(value, name), path, on_tensor, depth) for name in names]
        return {"object": type(value).__name__, "fields": pairs}
    raise ValueFormatError(f"{path} is a {type(value).__name__}")


_OnTensor = Callable[[torch.Tensor, str], str]


def _encode_sequence(value: tuple[Any, ...] | list[Any], path: str, on_tensor: _OnTensor, depth: int) -> Any:
    if isinstance(value, list):
        elements: list[Any] = list(list.__iter__(value))
        return {"list": [encode(item, f"{path}[{i}]", on_tensor, depth + 1) for i, item in enumerate(elements)]}
    elements = list(tuple.__iter__(value))
    fields = getattr(type(value), "_fields", None)
    if isinstance(fields, tuple) and len(fields) == len(elements):
        items = [encode(item, child_name(path, key), on_tensor, depth + 1) for key, item in zip(fields, elements)]
        return {"tuple": items, "fields": [str(key) for key in fields]}
    return {"tuple": [encode(item, f"{path}[{i}]", on_tensor, depth + 1) for i, item in enumerate(elements)]}


def _encode_pair(key: Any, item: Any, path: str, on_tensor: _OnTensor, depth: int) -> list[Any]:
    if not isinstance(key, (str, int)):
        raise ValueFormatError(f"{path} has a key that is a {type(key).__name__}")
    return [key, encode(item, child_name(path, key), on_tensor, depth + 1)]


def decode(encoded: Any, tensors: Mapping[str, torch.Tensor], depth: int = 0) -> Any:
    """The value that encode() wrote, with tensors looked up by name. Raises ValueFormatError."""
    if depth > MAX_DEPTH:
        raise ValueFormatError("nested too deeply")
    if encoded is None or isinstance(encoded, (bool, int, str)):
        return encoded
    if not isinstance(encoded, dict) or len(encoded) != 1:
        raise ValueFormatError("not the encoding of a value")
    (kind, content), = encoded.items()
    if kind == "tuple" and isinstance(content, list):
        return tuple(decode(item, tensors, depth + 1) for item in content)
    if kind == "size" and isinstance(content, list):
        return torch.Size(content)
    if kind == "list" and isinstance(content, list):
        return [decode(item, tensors, depth + 1) for item in content]
    if kind == "dict" and isinstance(content, list):
        return _decode_dict(content, tensors, depth)
    if isinstance(content, str):
        return _decode_text(kind, content, tensors)
    raise ValueFormatError(f"not the encoding of a value: {kind[:40]}")


def _decode_dict(pairs: list[Any], tensors: Mapping[str, torch.Tensor], depth: int) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], (str, int)):
            raise ValueFormatError("not a dictionary entry")
        result[pair[0]] = decode(pair[1], tensors, depth + 1)
    return result


def _decode_text(kind: str, content: str, tensors: Mapping[str, torch.Tensor]) -> Any:
    try:
        if kind == "tensor":
            return tensors[content]
        if kind == "float":
            return float.fromhex(content)
        if kind == "dtype":
            return dtypes.parse(content)
        if kind == "device":
            return torch.device(content)
    except (KeyError, ValueError, OverflowError, RuntimeError):
        raise ValueFormatError(f"unknown {kind}: {content[:80]}") from None
    raise ValueFormatError(f"not the encoding of a value: {kind[:40]}")


def difference(expected: Any, actual: Any, path: str = "output", depth: int = 0) -> str:
    """Where two encoded structures differ, in words; "" when they agree. Tuples and lists count as the same."""
    if depth > MAX_DEPTH:
        return f"{path} is nested too deeply"
    kind, content = _kind(expected)
    other_kind, other = _kind(actual)
    if kind != other_kind:
        return f"{path} is {_a(other_kind, other)}, expected {_a(kind, content)}"
    if kind == "sequence":
        if len(content) != len(other):
            return f"{path} has {len(other)} elements, expected {len(content)}"
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(content, other))]
    elif kind == "dict":
        keys, other_keys = [repr(p[0]) for p in content], [repr(p[0]) for p in other]
        if sorted(keys) != sorted(other_keys):
            return f"{path} has keys {', '.join(other_keys)[:200]}, expected {', '.join(keys)[:200]}"
        found = {repr(p[0]): p[1] for p in other}
        pairs = [(child_name(path, p[0]), p[1], found[repr(p[0])]) for p in content]
    elif kind in ("tensor", "float"):
        return ""
    else:
        return "" if content == other else f"{path} is {other!r:.80}, expected {content!r:.80}"
    for name, a, b in pairs:
        found_difference = difference(a, b, name, depth + 1)
        if found_difference:
            return found_difference
    return ""


def _kind(encoded: Any) -> tuple[str, Any]:
    if isinstance(encoded, dict) and "fields" in encoded and isinstance(encoded["fields"], list):
        encoded = {"tuple": encoded["tuple"]} if "tuple" in encoded else {"dict": encoded["fields"]}
    if isinstance(encoded, dict) and len(encoded) == 1:
        (kind, content), = encoded.items()
        if kind in ("tuple", "list", "size") and isinstance(content, list):
            return "sequence", content
        if kind == "dict" and not (isinstance(content, list) and all(isinstance(p, list) and len(p) == 2 for p in content)):
            return "unknown", None
        return str(kind), content
    return ("None" if encoded is None else type(encoded).__name__), encoded


def _a(kind: str, content: Any) -> str:
    if kind == "sequence":
        return f"a sequence of {len(content)}"
    return "None" if kind == "None" else f"a {kind}"
