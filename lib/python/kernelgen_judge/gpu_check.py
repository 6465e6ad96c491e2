"""Compares the outputs of a call in the memory of a device, by the same rules but with few passes and few waits."""

from __future__ import annotations

import ctypes
import hashlib
import os
import weakref
from collections.abc import Callable
from typing import Any

import torch

from kernelgen_common import dtypes

from .check import SAMPLE_BLOCKS, SAMPLE_ELEMENTS, SAMPLE_SLACK, Checker, _outcome
from .compare import OutputError
from .device_memory import read_flags
from .distributions import OWN
from .errors import is_out_of_memory
from .exchange import Layout, Placed
from .gpu_quick import GpuQuickComparer
from .gpu_call_preparer import GpuCallPreparer
from .gpu_weights import GpuWeights
from .call_preparer import Expected, InputSet
from .target import default_tolerance

_HASH_ROW = 4096
_HASH_ROWS = 4096


class Digest:
    """A digest that is computed on the device. Every object has its own secret key.

    Rows of 32-bit words are hashed by two random linear functions modulo 2^64 of which the upper halves count (any two
    different rows agree with probability 2^-62), their hashes by SHA-256.
    """

    def __init__(self, device: torch.device):
        key = torch.frombuffer(bytearray(os.urandom(2 * _HASH_ROW * 8)), dtype=torch.int64)
        self._key = key.view(2, _HASH_ROW).to(device)

    def of(self, parts: list[torch.Tensor]) -> str:
        """Over uint8 tensors, one after the other; lengths count."""
        found = hashlib.sha256()
        for raw in parts:
            found.update(raw.numel().to_bytes(8, "little"))
            whole = raw.numel() - raw.numel() % (4 * _HASH_ROW)
            rows = raw[:whole].view(torch.int32).view(-1, _HASH_ROW)
            hashes = [self._hash(some) for some in rows.split(_HASH_ROWS)] if whole else []
            if hashes:
                numbers = torch.cat(hashes).cpu()
                found.update(ctypes.string_at(numbers.data_ptr(), numbers.numel() * numbers.element_size()))
            if whole != raw.numel():
                found.update(bytes(raw[whole:].cpu().tolist()))
        return found.hexdigest()

    def _hash(self, rows: torch.Tensor) -> torch.Tensor:
        wide = rows.to(torch.int64)
        return torch.stack([(wide * key).sum(dim=1) >> 32 for key in self._key], dim=1).contiguous()


class ComparisonMemo:
    """A memo of the last comparison, by the digest of the outputs. A failing call is repeated, and so is the first one: the same bytes for
    the same inputs need no second full comparison, which takes a quarter of a second for gigabytes, and a digest a tenth of it."""

    def __init__(self) -> None:
        #: A weak reference, because an answer may have gigabytes.
        self._expected: Callable[[], Expected | None] = lambda: None
        self._digest = ""
        self._outcome: dict[str, Any] = {}

    def store(self, expected: Expected, digest: str, outcome: dict[str, Any]) -> None:
        self._expected, self._digest, self._outcome = weakref.ref(expected), digest, outcome

    def is_about(self, expected: Expected) -> bool:
        return self._expected() is expected

    def find(self, digest: str) -> dict[str, Any] | None:
        return self._outcome if digest == self._digest else None


class GpuChecker(Checker):
    """A Checker for an arena in memory of a device."""

    #: Comparing this many bytes costs less than checking samples tensor by tensor.
    always_full_bytes = 256 << 20

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        layout = self._arena.layout
        slots = [layout.of("output", slot=slot) for slot in range(layout.slots)]
        self._views_of_slots = [{segment.name: self._arena.view(segment) for segment in outputs} for outputs in slots]
        #: What the quick comparison found in this check, by call.
        self._accepted: dict[int, list[OutputError] | None] = {}
        self._views = self._arena_views
        self._gpu_quick = GpuQuickComparer(self._tolerance)
        self._digest = Digest(self._task.device.torch)
        self._memo = ComparisonMemo()

    @property
    def _arena_views(self) -> dict[str, torch.Tensor]:
        """The outputs of the call that is looked at."""
        current = self._preparer.current
        return self._views_of_slots[0 if current is None else current.slot]

    def _make_copy(self, private: Layout) -> Placed:
        """None is needed until the quick look has failed: see `_copy_outputs`."""
        self._private = private
        return Placed(private, torch.empty(private.total_bytes, dtype=torch.uint8, device="meta"))

    def _fetch_outputs(self) -> None:
        self._views = self._arena_views

    def _copy_outputs(self) -> None:
        """Copies the outputs to private memory; where there is not enough, they are compared in place."""
        try:
            whole = torch.empty(self._private.total_bytes, dtype=torch.uint8, device=self._task.device.torch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            self._copy, self._pairs = self._arena, [(segment, segment) for segment in self._preparer.outputs()]
            return
        self._copy = Placed(self._private, whole)
        for segment, (_, private) in zip(self._preparer.outputs(), self._pairs):
            self._copy.copy_in(private, self._arena.raw(segment))
        self._views = {private.name: self._copy.view(private) for _, private in self._pairs}

    def digest(self) -> str:
        return self._digest.of([self._arena.raw(segment) for segment in self._preparer.outputs()])

    def check(self, mode: str) -> dict[str, Any]:
        self._accepted = {}
        return super().check(mode)

    def _find_illegal_writes(self) -> dict[str, Any] | None:
        """Checks all protected memory with one wait; names are looked up only when something was overwritten."""
        preparer, weights = self._preparer, self._weights
        assert isinstance(preparer, GpuCallPreparer) and isinstance(weights, GpuWeights)
        if any(read_flags([*preparer.flags(), *weights.flags()])):
            return super()._find_illegal_writes()
        preparer.unchanged()
        return None

    def _compare_in_full(self) -> dict[str, Any]:
        chosen = self._preparer.current
        assert chosen is not None and chosen.expected is not None
        expected = chosen.expected
        if not self._needs_truth(expected):
            accepted = self._look_at(chosen, expected)
            if accepted is not None:
                return _outcome("correct", "", "", [error.to_json() for error in accepted])
        known = self._memo.find(self.digest()) if self._memo.is_about(expected) else None
        return known or self._compare_unknown(expected)

    def _look_at(self, chosen: InputSet, expected: Expected) -> list[OutputError] | None:
        """The quick comparison of a call. The calls after it in a series are looked at together with it, because each look waits for
        the device."""
        if id(chosen) not in self._accepted:
            series = self._preparer.series
            later = [(one, one.expected) for one in series[series.index(chosen) :] if one.expected is not None]
            quick = [(one, answer) for one, answer in later if not self._needs_truth(answer)]
            answers = [(answer, self._views_of_slots[one.slot]) for one, answer in quick]
            found = self._gpu_quick.accept_all(answers, self._known(expected))
            self._accepted.update(zip((id(one) for one, _ in quick), found))
        return self._accepted[id(chosen)]

    def _compare_unknown(self, expected: Expected) -> dict[str, Any]:
        try:
            self._copy_outputs()
            outcome = self._find_invalid_booleans(expected) or self._compare_exactly(expected)
            if self._copy is not self._arena and self._may_be_repeated(outcome):
                # Of the copy: the arena may hold something else by now.
                digest = self._digest.of([self._copy.raw(private) for _, private in self._pairs])
                self._memo.store(expected, digest, outcome)
            return outcome
        finally:
            self._copy = self._make_copy(self._private)
            self._pairs = list(zip(self._segments, self._private.segments))
            self._views = self._arena_views

    def _may_be_repeated(self, reply: dict[str, Any]) -> bool:
        """Whether the same call may come again: one that failed, or one on the task's own inputs, as the first is."""
        current = self._preparer.current
        return reply["outcome"]["kind"] != "correct" or (current is not None and current.distribution == OWN)

    def _needs_truth(self, expected: Expected) -> bool:
        """True if the truth decides, which the quick comparison does not know."""
        return self._wants_truth(expected) if expected.prepared is None else expected.prepared.has_truth

    # -- samples --------------------------------------------------------------------------------------------------

    def _sample_one(self, given: torch.Tensor, wanted: torch.Tensor, more: float) -> str:
        """All blocks at once."""
        count = min(SAMPLE_ELEMENTS, given.numel())
        if count == 0:
            return ""
        starts = [self._rng.randrange(given.numel() - count + 1) for _ in range(SAMPLE_BLOCKS)]
        places = torch.tensor(starts, device=given.device)[:, None] + torch.arange(count, device=given.device)
        c, r = dtypes.bits(given)[places], dtypes.bits(wanted)[places]
        if given.dtype.is_complex or not given.dtype.is_floating_point:
            return self._sample_complex_or_exact(given, wanted, places, starts, more)
        c, r = c.view(given.dtype).double(), r.view(given.dtype).double()
        tolerance = self._tolerance or default_tolerance(given.dtype)
        scale = r.nan_to_num(0.0, 0.0, 0.0).square().mean(dim=1, keepdim=True).sqrt()
        allowed = SAMPLE_SLACK * (tolerance.rtol * r.abs() + tolerance.atol * scale) + more * scale
        agrees = ((c - r).abs() <= allowed) | (c == r) | (c.isnan() & r.isnan())
        return _first_wrong((~agrees).sum(dim=1).tolist(), starts, count)

    def _sample_complex_or_exact(
        self, given: torch.Tensor, wanted: torch.Tensor, places: torch.Tensor, starts: list[int], more: float
    ) -> str:
        if given.dtype.is_complex:
            c, r = torch.view_as_real(given)[places], torch.view_as_real(wanted)[places]
            reals = [part.reshape(len(starts), -1).double() for part in (c, r)]
            tolerance = self._tolerance or default_tolerance(given.dtype)
            scale = reals[1].nan_to_num(0.0, 0.0, 0.0).square().mean(dim=1, keepdim=True).sqrt()
            allowed = SAMPLE_SLACK * (tolerance.rtol * reals[1].abs() + tolerance.atol * scale) + more * scale
            agrees = ((reals[0] - reals[1]).abs() <= allowed) | (reals[0] == reals[1])
            agrees |= reals[0].isnan() & reals[1].isnan()
            return _first_wrong((~agrees).sum(dim=1).tolist(), starts, places.shape[1])
        differing = dtypes.bits(given)[places] != dtypes.bits(wanted)[places]
        return _first_wrong(differing.sum(dim=1).tolist(), starts, places.shape[1])


def _first_wrong(wrong: list[int], starts: list[int], count: int) -> str:
    for number, start in zip(wrong, starts):
        if number:
            return f"{number} of {count} elements from {start} on are wrong"
    return ""
