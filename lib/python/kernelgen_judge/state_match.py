"""Checks whether a ModelNew holds the weights of the reference.

Both were built under the same seed, twice: once from the initial distribution, and once under a weight transform, which
changes constants as well. What is not found makes no candidate wrong: it explains why its outputs are. A tensor of the
reference that depends on the seed is matched when its contents are found in the candidate both times:

  - bit for bit, under any name and shape, dimensions permuted or not, or cast to another floating type;
  - packed (concatenated, split, stacked, interleaved): every element, and every run of neighbours where elements are
    too short to tell, stands somewhere in the candidate.

A tensor that is the same under every seed (a zero bias, BatchNorm's ones) says nothing by its contents. It is matched by
its name, or by an equal tensor of its shape, or as part of something packed. A buffer or attribute of that kind is
a constant of the task that a kernel may well have built in: it is never missed. What is left can be declared in a
module-level dictionary WEIGHT_MAP; anything else is unmapped.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelgen_common import dtypes
from kernelgen_common.limits import available_memory

from .exchange import same_bytes
from .check import forged, out_of_memory
from .errors import is_out_of_memory
from .exported_state import ExportedState, read_state
from .weights import SETS, Weights

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_MAX_PERMUTED_DIMS = 4
#: Minimal number of different values that identifies a tensor by its contents.
_MIN_DISTINCT_VALUES = 8
#: Elements in which so many different values are looked for first.
_FIRST_ELEMENTS = 4096
#: Sorting a pool takes as long as looking for so many values one by one.
_SORTING_PASSES = 16
_MAX_NAMED = 40
#: Maximal number of elements of one type that are searched for packed tensors: sorting takes 40 bytes for each.
MAX_SEARCHED = 1 << 25
#: An export may take this part of the memory that is left: both of them are kept, and searching takes some.
_SHARE_OF_MEMORY = 3


@dataclass
class _Wanted:
    """One tensor of the reference under both seeds."""

    name: str
    role: str
    values: tuple[torch.Tensor, torch.Tensor]

    @property
    def is_constant(self) -> bool:
        return _same(self.values[0], self.values[1])


@dataclass
class MatchReport:
    """Names of the reference's tensors, by the way in which they were found."""

    by_content: list[str] = field(default_factory=list)
    by_name: list[str] = field(default_factory=list)
    by_declaration: list[str] = field(default_factory=list)
    unmapped: list[str] = field(default_factory=list)


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal elements bit for bit, whatever the shapes."""
    if left.dtype != right.dtype or left.numel() != right.numel():
        return False
    if left.is_contiguous() and right.is_contiguous():
        return same_bytes(left.data_ptr(), right.data_ptr(), left.numel() * left.element_size())
    return torch.equal(dtypes.bits(left).reshape(-1), dtypes.bits(right).reshape(-1))


def _casts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor, and its casts to the other floating types, made lazily."""
    yield tensor
    if tensor.dtype in _FLOATS:
        yield from (tensor.to(dtype) for dtype in _FLOATS if dtype != tensor.dtype)


def _permutations(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor flattened in every other order of its dimensions of more than one element."""
    squeezed = tensor.squeeze()
    if 2 <= squeezed.dim() <= _MAX_PERMUTED_DIMS:
        for order in list(itertools.permutations(range(squeezed.dim())))[1:]:
            yield squeezed.permute(order).reshape(-1)


class _Pool:
    """All tensors of a candidate of one dtype under one seed, for many lookups. It is sorted once that pays."""

    def __init__(self, tensors: list[torch.Tensor]):
        self._tensors = tensors
        self._sorted: dict[int, torch.Tensor] = {}
        self._passes = 0
        self.elements = sum(tensor.numel() for tensor in tensors)

    def may_hold(self, elements: int) -> bool:
        """False if so many elements cannot be there, or are not searched for."""
        return elements <= self.elements and not self.is_too_large

    @property
    def is_too_large(self) -> bool:
        """True if it is not searched: the candidate decides how much it holds, and the judge's memory must not depend on that."""
        return self.elements > MAX_SEARCHED

    @functools.cached_property
    def _single(self) -> torch.Tensor:
        """All elements as keys, until they are sorted."""
        return self._windows(0)

    def _keys(self, step: int) -> torch.Tensor:
        """Sorted windows of elements that lie `step` apart (0: single elements)."""
        if step not in self._sorted:
            self._sorted[step] = (self._single if step == 0 else self._windows(step)).sort().values
            if step == 0:
                del self._single
        return self._sorted[step]

    def _windows(self, step: int) -> torch.Tensor:
        return torch.cat([_windows(tensor, step) for tensor in self._tensors] or [torch.empty(0, dtype=torch.int64)])

    def _count(self, values: torch.Tensor) -> Iterator[int]:
        """How often the candidate has each value, found one by one."""
        for value in values.tolist():
            if 0 in self._sorted or self._passes >= _SORTING_PASSES:
                ends = [int(torch.searchsorted(self._keys(0), value, right=right)) for right in (False, True)]
                yield ends[1] - ends[0]
            else:
                self._passes += 1
                yield int((self._single == value).sum())

    def may_contain(self, values: torch.Tensor) -> bool:
        """False if a few of the elements, from all over the tensor, show that it is not there: that takes no sorting."""
        few = values.reshape(-1)[:: max(1, values.numel() // _SORTING_PASSES)][:_SORTING_PASSES]
        return all(count > 0 for count in self._count(_windows(few.contiguous(), 0)))

    def contains_all(self, keys: torch.Tensor, step: int) -> bool:
        """True if every key is a window of the candidate."""
        pool = self._keys(step)
        if pool.numel() == 0:
            return keys.numel() == 0
        places = torch.searchsorted(pool, keys).clamp_(max=pool.numel() - 1)
        return bool(torch.equal(pool[places], keys))

    def contains_counted(self, values: torch.Tensor, counts: torch.Tensor) -> bool:
        """True if the candidate has every value at least so many times."""
        if values.numel() <= 2:
            return all(found >= count for found, count in zip(self._count(values), counts.tolist()))
        pool = self._keys(0)
        first = torch.searchsorted(pool, values)
        last = torch.searchsorted(pool, values, right=True)
        return bool(((last - first) >= counts).all())


def _windows(tensor: torch.Tensor, step: int) -> torch.Tensor:
    """Single elements as 64-bit keys, or the runs of four 16-bit elements that lie `step` apart."""
    bits = dtypes.bits(tensor.reshape(-1)).to(torch.int64).reshape(-1)
    if step == 0:
        return bits
    length = bits.numel() - 3 * step
    if length <= 0:
        return bits[:0]
    key = torch.zeros(length, dtype=torch.int64)
    for index in range(4):
        key = (key << 16) | (bits[index * step : index * step + length] & 0xFFFF)
    return key


def _row_windows(rows: torch.Tensor) -> torch.Tensor:
    """The runs of four neighbours in each row of a matrix."""
    bits = dtypes.bits(rows.contiguous()).to(torch.int64) & 0xFFFF
    key = torch.zeros(bits.shape[0], bits.shape[1] - 3, dtype=torch.int64)
    for index in range(4):
        key = (key << 16) | bits[:, index : index + key.shape[1]]
    return key.reshape(-1)


class _Candidate:
    """The candidate's tensors under one seed."""

    def __init__(self, state: ExportedState):
        self.state = state
        self.shapes = {tensor.name: tensor.shape for tensor in state.tensors}
        self._pools: dict[torch.dtype, _Pool] = {}

    def by_elements(self, count: int, dtype: torch.dtype) -> list[tuple[str, torch.Tensor]]:
        """Tensors with this many elements of this type."""
        return [(n, t) for n, t in self.state.contents.items() if t.numel() == count and t.dtype == dtype]

    def pool(self, dtype: torch.dtype) -> _Pool:
        if dtype not in self._pools:
            self._pools[dtype] = _Pool([t for t in self.state.contents.values() if t.dtype == dtype])
        return self._pools[dtype]

    def steps(self, dtype: torch.dtype) -> list[int]:
        """Distances between neighbours along the dimensions of the candidate's tensors."""
        steps = {1}
        for name, shape in self.shapes.items():
            if self.state.contents[name].dtype == dtype:
                stride = 1
                for size in reversed(shape):
                    steps.add(stride)
                    stride *= max(size, 1)
        return sorted(steps)[:8]


class _Matcher:
    """Matches one reference against one candidate, both under two seeds."""

    def __init__(self, wanted: list[_Wanted], candidates: tuple[_Candidate, _Candidate]):
        self._wanted = wanted
        self._candidates = candidates

    def match(self) -> MatchReport:
        report = MatchReport()
        for tensor in self._wanted:
            if tensor.values[0].numel() == 0:
                report.by_name.append(tensor.name)
            elif tensor.is_constant:
                self._match_constant(tensor, report)
            elif self._has_exactly(tensor) or self._has_packed(tensor):
                report.by_content.append(tensor.name)
            elif self._is_declared(tensor):
                report.by_declaration.append(tensor.name)
            else:
                report.unmapped.append(tensor.name)
        return report

    def holds_initial(self, name: str) -> bool:
        """True if a constant stands in the candidate under the first seed, which changes no constants."""
        tensor = next(tensor for tensor in self._wanted if tensor.name == name)
        first = tensor.values[0]
        if first.numel() == 0 or bool((first != first.reshape(-1)[0]).any()):
            return False
        found = self._exact_names(self._candidates[0], first)
        return bool(found) or self._contains(self._candidates[0], first)

    def _match_constant(self, tensor: _Wanted, report: MatchReport) -> None:
        if self._same_name(tensor):
            report.by_name.append(tensor.name)
        elif self._has_exactly(tensor) or self._has_counted(tensor):
            report.by_content.append(tensor.name)
        elif self._is_declared(tensor) or tensor.role != "parameter":
            report.by_declaration.append(tensor.name)
        else:
            report.unmapped.append(tensor.name)

    def _same_name(self, tensor: _Wanted) -> bool:
        """A tensor of that name with those contents, cast or not, under both seeds."""
        for candidate, values in zip(self._candidates, tensor.values):
            held = candidate.state.contents.get(tensor.name)
            if held is None or not any(_same(held, cast.reshape(-1)) for cast in _casts(values)):
                return False
        return True

    def _has_exactly(self, tensor: _Wanted) -> bool:
        """True if one tensor of the candidate holds the contents, in some order of dimensions, under both seeds."""
        if self._same_name(tensor):
            return True
        names = [self._exact_names(c, v) for c, v in zip(self._candidates, tensor.values)]
        return bool(names[0] & names[1])

    @staticmethod
    def _exact_names(candidate: _Candidate, values: torch.Tensor) -> set[str]:
        """Cheap comparisons come first: equal bits, then permuted, then cast."""
        for cast in _casts(values):
            held = candidate.by_elements(cast.numel(), cast.dtype)
            if held:
                plain = {name for name, tensor in held if _same(tensor, cast.reshape(-1))}
                if plain:
                    return plain
                for flat in _permutations(cast):
                    found = {name for name, tensor in held if _same(tensor, flat)}
                    if found:
                        return found
        return set()

    def _has_packed(self, tensor: _Wanted) -> bool:
        """True if the candidate's tensors of one floating type contain every element, under both seeds."""
        if not tensor.values[0].is_floating_point():
            return False
        for dtype in [tensor.values[0].dtype, *[d for d in _FLOATS if d != tensor.values[0].dtype]]:
            pairs = list(zip(self._candidates, tensor.values))
            if not all(c.pool(dtype).may_hold(values.numel()) for c, values in pairs):
                continue
            if self._identified_by(tensor, dtype) and all(self._contains(c, values.to(dtype)) for c, values in pairs):
                return True
        return False

    @staticmethod
    def _identified_by(tensor: _Wanted, dtype: torch.dtype) -> bool:
        """True if the contents under one of the seeds have enough different values."""
        least = min(_MIN_DISTINCT_VALUES, tensor.values[0].numel())
        first = [values.reshape(-1)[:_FIRST_ELEMENTS] for values in tensor.values]
        return any(torch.unique(values.to(dtype)).numel() >= least for values in (*first, *tensor.values))

    def _contains(self, candidate: _Candidate, values: torch.Tensor) -> bool:
        pool = candidate.pool(values.dtype)
        if not pool.may_hold(values.numel()) or not pool.may_contain(values):
            return False
        keys = _windows(values.contiguous(), 0)
        distinct, counts = torch.unique(keys, return_counts=True)
        if not pool.contains_counted(distinct, counts):
            return False
        if values.element_size() > 2 or keys.numel() < 16 or distinct.numel() == 1:
            return True
        return self._contains_runs(candidate, values)

    @staticmethod
    def _contains_runs(candidate: _Candidate, values: torch.Tensor) -> bool:
        """16-bit elements repeat by chance; runs of four neighbours do not."""
        pool = candidate.pool(values.dtype)
        for dim in range(values.dim()):
            if values.shape[dim] < 4:
                continue
            keys = _row_windows(values.movedim(dim, -1).reshape(-1, values.shape[dim]))
            if any(pool.contains_all(keys, step) for step in candidate.steps(values.dtype)):
                return True
        return False

    def _has_counted(self, tensor: _Wanted) -> bool:
        """A constant as part of something packed: each value stands there as often as here."""
        pools = [candidate.pool(tensor.values[0].dtype) for candidate in self._candidates]
        if any(pool.is_too_large for pool in pools):
            return False
        distinct, counts = torch.unique(_windows(tensor.values[0].contiguous(), 0), return_counts=True)
        return all(pool.contains_counted(distinct, counts) for pool in pools)

    def _is_declared(self, tensor: _Wanted) -> bool:
        """True if WEIGHT_MAP says null (not needed as such, for example folded), or names a tensor that depends on the seed as
        this one does."""
        first, second = (candidate.state for candidate in self._candidates)
        if tensor.name not in first.declared or first.declared != second.declared:
            return False
        target = first.declared[tensor.name]
        if target is None:
            return True
        if target not in first.contents or target not in second.contents:
            return False
        return tensor.is_constant or not _same(first.contents[target], second.contents[target])


class StateMatcher:
    """Collects a candidate's exports for both weight sets, then matches them."""

    def __init__(self, weights: Weights):
        self._weights = weights
        self._states: dict[int, ExportedState] = {}
        #: The outcome of an export that cannot be matched; empty where there is none.
        self._refused: dict[str, Any] = {}

    def read(self, index: int, descriptor: int, size: int) -> None:
        """Takes the export for a weight set. The first set of a candidate starts anew."""
        if index not in SETS:
            raise ValueError(f"there is no weight set {index}")
        if index == SETS[0]:
            self._states, self._refused = {}, {}
        # What was here makes room first.
        self._states[index] = ExportedState()
        try:
            if size > available_memory() // _SHARE_OF_MEMORY:
                raise MemoryError
            self._states[index] = read_state(descriptor, size)
        except Exception as error:  # noqa: BLE001 - whatever a runner wrote, it is not the judge's failure
            told = f"the exported state is not what a runner writes: {error}"
            self._refused = _too_large() if is_out_of_memory(error) else forged(told)

    def reply(self) -> dict[str, Any]:
        """The report, once both sets are there; and the outcome of an export that no runner wrote."""
        nothing = {"weights": _as_json(MatchReport()), "done": True, "missed": False}
        if self._refused:
            return {**nothing, **self._refused}
        if any(index not in self._states for index in SETS):
            return {**nothing, "done": False}
        try:
            report, missed = self._match()
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            self._states = {}
            return {**nothing, **_too_large()}
        return {"weights": _as_json(report), "done": True, "missed": missed, "message": _message(report)}

    def _match(self) -> tuple[MatchReport, bool]:
        """The report, and whether the second set's transform missed a constant that the candidate holds."""
        states = [{e.name: e for e in self._weights.get(index).reference.state} for index in SETS]
        for index in SETS:
            self._weights.get(index).reference.restore()
        wanted = [
            # Compared on the CPU, where the export is, with the bits that the module was built with.
            _Wanted(name, entry.role, (entry.tensor.detach().cpu(), states[1][name].tensor.detach().cpu()))
            for name, entry in states[0].items()
        ]
        first, second = (_Candidate(self._states[index]) for index in SETS)
        matcher = _Matcher(wanted, (first, second))
        report = matcher.match()
        missed = any(matcher.holds_initial(name) for name in report.unmapped)
        if not missed:
            self._states = {}
        return report, missed


def _too_large() -> dict[str, Any]:
    return out_of_memory("its weights take more memory than the judge has for comparing them with the reference's")


def _as_json(report: MatchReport) -> dict[str, list[str]]:
    return {
        "by_content": report.by_content,
        "by_name": report.by_name,
        "by_declaration": report.by_declaration,
        "unmapped": report.unmapped,
    }


def _message(report: MatchReport) -> str:
    if not report.unmapped:
        return ""
    more = len(report.unmapped) - _MAX_NAMED
    names = ", ".join(report.unmapped[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"ModelNew does not hold these tensors of Model, built under the same seed: {names}"
