"""Dataclasses from JSON, and back. The rules are those of the library's JSON: docs/records.md."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar, Union

from . import _core

T = TypeVar("T")

_Decode = Callable[[Any], Any]
_decoders: dict[type, list[tuple[str, _Decode | None]]] = {}


def _number(value: Any) -> float:
    """A number; those that JSON lacks come as "nan", "inf" and "-inf"."""
    return float(value)


def _decode_of(kind: Any) -> _Decode | None:
    """The function that converts a value of JSON to a type; None where it stays as it is."""
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        inner = [_decode_of(one) for one in typing.get_args(kind) if one is not type(None)]
        convert = inner[0]
        return None if convert is None else lambda value: None if value is None else convert(value)
    if origin is tuple:
        arguments = typing.get_args(kind)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            item = _decode_of(arguments[0])
            return tuple if item is None else lambda values: tuple([item(value) for value in values])
        return tuple
    if kind is float:
        return _number
    if dataclasses.is_dataclass(kind):
        return lambda value: decode(typing.cast(type, kind), value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind
    return None


def _fields_of(cls: type) -> list[tuple[str, _Decode | None]]:
    found = _decoders.get(cls)
    if found is None:
        hints = typing.get_type_hints(cls)
        found = [(field.name, _decode_of(hints[field.name])) for field in dataclasses.fields(cls) if field.init]
        _decoders[cls] = found
    return found


def decode(cls: type[T], data: dict[str, Any]) -> T:
    """A dataclass from an object of JSON. Unknown members are ignored, missing ones keep their defaults."""
    values = {}
    for name, convert in _fields_of(cls):
        if name in data:
            value = data[name]
            values[name] = value if convert is None else convert(value)
    return cls(**values)


def encode(value: Any) -> Any:
    """A value as JSON has it. Raises InvalidArgument for a text that has no form in UTF-8."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: encode(getattr(value, name)) for name, _ in _fields_of(type(value))}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, str):
        _core.check_text(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
