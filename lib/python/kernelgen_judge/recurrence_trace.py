"""Finds state that a call carries along a dimension, and which part of it is returned, by the flow of data between tensors.

A loop over steps takes slices of one tensor, one after the other, and each step's operation joins the next slice with a value that the
slices before it went into. A chain of such joins by one and the same operation is a recurrence; a plain sum of slices is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

#: Tensors of which slices are followed; a call seldom loops over more.
_MAX_BASES = 64
#: A chain with fewer joins is no loop: attention joins queries, keys and values of one tensor by two products.
_LEAST_JOINS = 3
#: Operations that only move or add what they are given.
_ADDING = frozenset("add add_ sub sub_ stack cat copy_ clone maximum minimum _to_copy".split())
_JOINING = frozenset("stack cat".split())
_UNREAD = frozenset("empty empty_like new_empty zeros_like new_zeros ones_like full_like new_ones new_full".split())
_REDUCING = frozenset("mean sum amax amin max min prod norm linalg_vector_norm logsumexp var std median argmax argmin any all".split())
_SPLITTING = frozenset("unbind split split_with_sizes unsafe_split unsafe_chunk".split())
#: Functions of which the result takes elements from anywhere.
_GATHERING = frozenset("index gather index_select take".split())


class Part(IntEnum):
    """The part of a recurrence in a value; where two values meet, the higher one wins."""

    NOTHING = 0
    STEP = 1
    FINAL = 2
    REDUCED = 3
    SEQUENCE = 4


_NAMES = {Part.STEP: "other", Part.FINAL: "final_state_only", Part.REDUCED: "other", Part.SEQUENCE: "full_sequence"}
_Chain = tuple[int, str]


@dataclass
class _Value:
    """The history of a tensor."""

    #: The slices that went into it, by the tensor they were taken of, as bits.
    slices: dict[int, int] = field(default_factory=dict)
    #: The number of joins, by that tensor and the operation that joined.
    joins: dict[_Chain, int] = field(default_factory=dict)
    #: True if it was changed other than by adding since its last join.
    changed: bool = False
    part: Part = Part.NOTHING
    #: The history of the tensor that it is a view of.
    root: "_Value | None" = None
    #: Numbers of its dimensions of which slices were taken, by stride.
    bases: dict[int, int] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return max(self.joins.values(), default=0)


def _merged(values: list[_Value]) -> _Value:
    made = _Value()
    for value in values:
        for base, bits in value.slices.items():
            made.slices[base] = made.slices.get(base, 0) | bits
        for chain, count in value.joins.items():
            made.joins[chain] = max(made.joins.get(chain, 0), count)
        made.changed = made.changed or value.changed and value.depth > 0
        made.part = max(made.part, value.part)
    return made


def _join(made: _Value, values: list[_Value], name: str) -> None:
    """Counts a join if the operation brought together slices that no operand had together."""
    adds = name in _ADDING
    joined = False
    for base, bits in made.slices.items():
        if any(value.slices.get(base, 0) == bits for value in values):
            continue
        chain = (base, name)
        before = made.joins.get(chain, 0)
        # Several slices that are stacked are no steps, and neither are the terms of a sum.
        if name in _JOINING and len(values) > 2 or adds and before and not made.changed:
            continue
        made.joins[chain] = before + 1
        joined = True
    made.changed = not joined and (made.changed or not adds) or joined and not adds


class RecurrenceTrace:
    """Follows the tensors of one call. `observe` gets every operation of ATen, with its tensors."""

    def __init__(self) -> None:
        self._values: Any = WeakIdKeyDictionary()
        self._base_count = 0
        self._deepest = 0
        self._layer_steps: set[int] = set()

    def _of(self, tensor: torch.Tensor) -> _Value:
        return self._values.get(tensor) or _Value()

    def layer(self, sequence: torch.Tensor, states: list[torch.Tensor], steps: int) -> None:
        """Notes the results of a recurrent layer of torch.nn."""
        self._layer_steps.add(steps)
        self._values[sequence] = _Value(part=Part.SEQUENCE)
        for state in states:
            self._values[state] = _Value(part=Part.FINAL)

    def observe(self, name: str, tensors: list[torch.Tensor], args: tuple[Any, ...], outputs: list[torch.Tensor]) -> None:
        if name in _UNREAD or not tensors or not outputs:
            return
        if name in _SPLITTING:
            dim = args[-1] if name != "unbind" and len(args) > 2 else args[1] if name == "unbind" and len(args) > 1 else 0
            for index, output in enumerate(outputs):
                self._slice(tensors[0], int(dim), index, len(outputs), output)
            return
        if name == "select":
            self._slice(tensors[0], int(args[1]), int(args[2]), tensors[0].shape[int(args[1])], outputs[0])
            return
        if name == "slice" and outputs[0].shape != tensors[0].shape:
            dim = int(args[1]) if len(args) > 1 else 0
            start = int(args[2] or 0) if len(args) > 2 else 0
            self._slice(tensors[0], dim, start, tensors[0].shape[dim], outputs[0])
            return
        values = [self._of(tensor) for tensor in tensors]
        made = _merged(values)
        _join(made, values, name)
        self._deepest = max(self._deepest, made.depth)
        made.part = self._part(name, made.part, values, outputs[0])
        for output in outputs:
            self._put(output, tensors[0], made)

    def _put(self, output: torch.Tensor, first: torch.Tensor, made: _Value) -> None:
        """Notes a result. A result in the memory of the first operand is a view of it, or was written there."""
        value = _Value(dict(made.slices), dict(made.joins), made.changed, made.part)
        if output.untyped_storage()._cdata == first.untyped_storage()._cdata:
            value.root = self._root(first)
            # A step of a longer tensor was written.
            if output is first and value.depth and value.root is not self._values.get(first):
                value.root.part = Part.SEQUENCE
                merged = _merged([value.root, value])
                value.root.slices, value.root.joins = merged.slices, merged.joins
            elif output is first:
                value.root = None if value.root is self._values.get(first) else value.root
        if value.slices or value.joins or value.part or value.root is not None:
            self._values[output] = value

    def _root(self, tensor: torch.Tensor) -> _Value:
        """The history of the tensor of which this one is a view, or its own."""
        value = self._values.get(tensor)
        if value is None:
            value = self._values[tensor] = _Value()
        return value.root or value

    def _slice(self, tensor: torch.Tensor, dim: int, index: int, length: int, output: torch.Tensor) -> None:
        # Slices written here later are steps of the root.
        root = self._root(tensor)
        value = self._values[tensor]
        index = index + tensor.shape[dim] if index < 0 else index
        made = _Value(dict(value.slices), dict(value.joins), value.changed, value.part, root)
        if value.part >= Part.REDUCED:
            size = output.shape[dim] if output.dim() == tensor.dim() else 1
            if size == 1 and length in self._steps():
                made.part = Part.FINAL if index == tensor.shape[dim] - 1 else Part.STEP
        elif not value.slices and self._base_count < _MAX_BASES:
            # Slices of slices, such as the gates of one step, are no steps.
            stride = tensor.stride(dim)
            if stride not in root.bases:
                root.bases[stride] = self._base_count
                self._base_count += 1
            made.slices[root.bases[stride]] = 1 << index
        self._values[output] = made

    def _steps(self) -> set[int]:
        return self._layer_steps | ({self.steps} if self.steps else set())

    def _part(self, name: str, part: Part, values: list[_Value], output: torch.Tensor) -> Part:
        if name in _JOINING and len({value.depth for value in values}) >= 3:
            return Part.SEQUENCE
        if name in _JOINING and sum(Part.STEP <= value.part <= Part.FINAL for value in values) >= 3:
            return Part.SEQUENCE
        keeps_steps = any(size in self._steps() for size in output.shape)
        if part == Part.SEQUENCE and (name in _REDUCING and not keeps_steps or name in _GATHERING):
            return Part.REDUCED
        return part

    @property
    def steps(self) -> int:
        """Steps of the longest loop so far; 0 if there is none."""
        return self._deepest + 1 if self._deepest >= _LEAST_JOINS else 0

    def returned(self, outputs: list[torch.Tensor]) -> str | None:
        """The part of the recurrence that the outputs of the call have; None if there is no recurrence, or it is not known."""
        last = self.steps - 1
        parts = []
        for value in map(self._of, outputs):
            part = value.part
            if part == Part.NOTHING and value.depth:
                part = Part.FINAL if value.depth == last else Part.STEP
            parts.append(part)
        part = max(parts, default=Part.NOTHING)
        return _NAMES.get(part) if self._layer_steps or last > 0 else None
