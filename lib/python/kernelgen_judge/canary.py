"""Canary lines: a few secret places of an input set, which are changed before a timed call.

A candidate that answers from a cache is then wrong. The set is still one that the task could have drawn: new contents come from
the same tensor, by whole rows if rows share a property (a sum, a norm), and patterns of zeros, symmetry and order are kept.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

ROWS = 4
CHUNKS = 16
CHUNK_ELEMENTS = 16
MAX_ROW_BYTES = 1 << 18
_PROBE_ROWS = 256


@dataclass(frozen=True)
class CanaryPlan:
    """How one input may be changed: "rows", "chunks", "swap" (nonzero elements of a row), "symmetric", "exchange", "none"."""

    kind: str


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() > 1 else tensor.reshape(1, -1)


def _is_sorted(tensor: torch.Tensor) -> bool:
    rows = _rows(tensor)[:_PROBE_ROWS]
    steps = rows[:, 1:] - rows[:, :-1]
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _is_symmetric(tensor: torch.Tensor) -> bool:
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2]:
        return False
    part = tensor.reshape(-1, *tensor.shape[-2:])[0]
    return bool(torch.equal(part, part.T))


def _rows_share_property(rows: torch.Tensor) -> bool:
    """Whether all rows have the same sum or the same norm, as probabilities and normalized vectors have."""
    some = rows[:_PROBE_ROWS].double()
    for measure in (some.sum(1), some.square().sum(1)):
        spread = (measure - measure.mean()).abs().max()
        if rows.shape[0] > 1 and spread <= 1e-2 * measure.abs().max():
            return True
    return False


def plan_for(tensor: torch.Tensor) -> CanaryPlan:
    """Decides from one draw of an input which changes stay within the task's domain."""
    if tensor.numel() < 2 or not tensor.is_contiguous() or tensor.dtype == torch.bool or tensor.is_complex():
        return CanaryPlan("none")
    if _is_symmetric(tensor):
        return CanaryPlan("symmetric" if tensor.dim() == 2 and tensor.is_floating_point() else "none")
    if tensor.shape[-1] > 1 and _is_sorted(tensor):
        return CanaryPlan("none")
    if not tensor.is_floating_point():
        return CanaryPlan("exchange")
    rows = _rows(tensor)
    some = rows[:_PROBE_ROWS]
    if int((some == 0).sum()) * 4 >= some.numel():
        return CanaryPlan("swap")
    row_bytes = rows.shape[1] * tensor.element_size()
    if rows.shape[0] > 1 and (row_bytes <= MAX_ROW_BYTES or _rows_share_property(rows)):
        return CanaryPlan("rows")
    return CanaryPlan("chunks")


class Canary:
    """Changes one input in place and can undo the change. Contiguous tensors only."""

    def __init__(self, tensor: torch.Tensor, plan: CanaryPlan, rng: random.Random):
        self._flat = tensor.view(-1)
        self._columns = tensor.shape[-1] if tensor.dim() > 1 else tensor.numel()
        self._count = max(1, tensor.numel() // max(1, self._columns))
        self._kind = plan.kind
        self._rng = rng
        self._undo: list[tuple[int, torch.Tensor]] = []

    def revert(self) -> list[tuple[int, int]]:
        """Undoes the last change; returns (first element, elements) of every changed place."""
        touched = []
        for start, saved in reversed(self._undo):
            self._flat[start : start + saved.numel()] = saved
            touched.append((start, saved.numel()))
        self._undo = []
        return touched

    def forget(self) -> None:
        """Forgets the last change, because the tensor has new contents."""
        self._undo = []

    def apply(self) -> list[tuple[int, int]]:
        """Makes a new secret change; returns (first element, elements) of every changed place."""
        before = len(self._undo)
        if self._kind == "rows":
            self._copy_lines(ROWS, self._columns, aligned=True)
        elif self._kind == "chunks":
            self._copy_lines(CHUNKS, min(CHUNK_ELEMENTS, max(1, self._flat.numel() // 4)), aligned=False)
        elif self._kind == "exchange":
            for _ in range(CHUNKS):
                self._swap(self._rng.randrange(self._flat.numel()), self._rng.randrange(self._flat.numel()))
        elif self._kind == "swap":
            self._swap_nonzero()
        elif self._kind == "symmetric":
            self._permute_symmetric()
        return [(start, saved.numel()) for start, saved in self._undo[before:]]

    def _save(self, start: int, count: int) -> None:
        self._undo.append((start, self._flat[start : start + count].clone()))

    def _copy_lines(self, lines: int, width: int, aligned: bool) -> None:
        places = self._count if aligned else self._flat.numel() - width + 1
        step = self._columns if aligned else 1
        for _ in range(min(lines, max(1, places // 4))):
            to, source = self._rng.randrange(places) * step, self._rng.randrange(places) * step
            content = self._flat[source : source + width].clone()
            self._save(to, width)
            self._flat[to : to + width] = content

    def _swap(self, a: int, b: int) -> None:
        first, second = self._flat[a].clone(), self._flat[b].clone()
        self._save(a, 1)
        self._flat[a] = second
        self._save(b, 1)
        self._flat[b] = first

    def _swap_nonzero(self) -> None:
        for _ in range(ROWS):
            start = self._rng.randrange(self._count) * self._columns
            places = torch.nonzero(self._flat[start : start + self._columns]).view(-1)
            if places.numel() < 2:
                continue
            for _ in range(ROWS):
                a, b = (int(places[self._rng.randrange(places.numel())]) for _ in range(2))
                self._swap(start + a, start + b)

    def _permute_symmetric(self) -> None:
        """Exchanges two indices in both dimensions."""
        i, j = self._rng.sample(range(self._columns), 2)
        self._save(0, self._flat.numel())
        matrix = self._flat.view(self._columns, self._columns)
        matrix[[i, j]] = matrix[[j, i]]
        matrix[:, [i, j]] = matrix[:, [j, i]]
