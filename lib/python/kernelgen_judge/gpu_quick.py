"""The quick comparison of outputs (see quick) on a GPU: few passes over large chunks, and one wait for all results.

A pass is limited by memory bandwidth and intermediate results cost as much as inputs, so the first pass only computes the largest
difference. Where that is within the least absolute allowance of any row, everything is right, and the recorded share of the
tolerance is an upper bound; else a second pass evaluates the rule exactly. If the last answer was equal to the reference's, the
next one probably is, which takes half as many passes to check. The accepting pass reads each element of the candidate once, so a
candidate that is still writing gains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import torch

from kernelgen_common import dtypes

from .compare import OutputError
from .quick import is_far
from .target import HALF, Allowance, Tolerance, default_tolerance, row_shape
from .device_memory import differs
from .call_preparer import Expected

CHUNK = 1 << 26
_WORKABLE = (torch.float32, *HALF)
#: The first pass accepts up to this share of the absolute tolerance; its own rounding is far below the rest.
_SAFE = 0.999


@dataclass
class _Look:
    """One output that is compared as numbers."""

    error: OutputError
    wanted: torch.Tensor
    given: torch.Tensor
    tolerance: Tolerance
    #: Largest gap, sum of the gaps, least rms of a row.
    numbers: list[torch.Tensor]
    #: See Allowance.
    distance: float | None = None
    least: float = 0.0

    @property
    def kernelbench(self) -> float:
        return 1e-2 if self.wanted.dtype in HALF else 1e-4

    def rms(self) -> float:
        """Of what is expected."""
        return float(torch.linalg.vector_norm(self.wanted, dtype=torch.float32)) / math.sqrt(self.wanted.numel())


@dataclass
class _Answer:
    """The outputs of one call."""

    expected: Expected
    candidate: Mapping[str, torch.Tensor]
    errors: list[OutputError] = field(default_factory=list)
    looks: list[_Look] = field(default_factory=list)
    #: Flags of the outputs that are compared bit by bit.
    different: list[torch.Tensor] = field(default_factory=list)
    #: None until it is decided.
    accepted: bool | None = None


class GpuQuickComparer:
    """The quick comparison. It keeps its working memory between calls. One thread."""

    def __init__(self, tolerance: Tolerance | None, chunk: int = CHUNK):
        self._tolerance = tolerance
        self._chunk = chunk
        self._gap = torch.empty(0, dtype=torch.float32)
        self._allowed = torch.empty(0, dtype=torch.float32)
        self._equal = torch.empty(0, dtype=torch.bool)
        self._was_equal = False

    def accept(
        self, expected: Expected, candidate: Mapping[str, torch.Tensor], known: Mapping[str, Allowance] = MappingProxyType({})
    ) -> list[OutputError] | None:
        """The errors of outputs that are right beyond doubt; None where the full comparison must decide.

        Shapes and dtypes are the expected ones; candidate tensors are contiguous. `known` is what other calls showed, by output.
        """
        return self.accept_all([(expected, candidate)], known)[0]

    def accept_all(
        self, answers: Sequence[tuple[Expected, Mapping[str, torch.Tensor]]], known: Mapping[str, Allowance] = MappingProxyType({})
    ) -> list[list[OutputError] | None]:
        """`accept` for the answers of several calls, with the waits of one."""
        if self._was_equal and self._are_equal(answers):
            return [[OutputError(name, kernelbench_allclose=True) for name in expected.outputs.tensors] for expected, _ in answers]
        found = self._measure(answers, known)
        self._was_equal = all(errors and all(error.max_abs == 0.0 for error in errors) for errors in found)
        return found

    def _are_equal(self, answers: Sequence[tuple[Expected, Mapping[str, torch.Tensor]]]) -> bool:
        """Whether all numbers are equal; a NaN is equal to nothing."""
        found = []
        for expected, candidate in answers:
            for name, wanted in expected.outputs.tensors.items():
                flat = wanted.contiguous().reshape(-1)
                self._equal = _grown(self._equal, flat, self._chunk)
                for r, c in zip(flat.split(self._chunk), candidate[name].reshape(-1).split(self._chunk)):
                    found.append(torch.eq(c, r, out=self._equal[: c.numel()]).all())
        return bool(torch.stack(found).all())

    def _measure(
        self, answers: Sequence[tuple[Expected, Mapping[str, torch.Tensor]]], known: Mapping[str, Allowance]
    ) -> list[list[OutputError] | None]:
        measured = [_Answer(expected, candidate) for expected, candidate in answers]
        for answer in measured:
            self._queue(answer, known)
        self._decide([answer for answer in measured if answer.accepted is None])
        return [answer.errors if answer.accepted else None for answer in measured]

    def _queue(self, answer: _Answer, known: Mapping[str, Allowance]) -> None:
        """Queues the first look at all outputs, if each of them can be looked at."""
        for name, wanted in answer.expected.outputs.tensors.items():
            error = OutputError(name, kernelbench_allclose=True)
            answer.errors.append(error)
            if wanted.numel() == 0:
                continue
            wanted, given = wanted.contiguous().reshape(-1), answer.candidate[name].reshape(-1)
            if wanted.dtype in _WORKABLE:
                answer.looks.append(self._look(answer.expected, error, wanted, given, known.get(name, Allowance())))
            elif wanted.is_floating_point() or wanted.is_complex():
                answer.accepted = False
                return
            else:
                answer.different.append(differs(_bytes(wanted), _bytes(given)))

    def _decide(self, answers: list[_Answer]) -> None:
        queued = [[number for look in answer.looks for number in look.numbers] for answer in answers]
        for numbers, answer in zip(queued, answers):
            numbers += [flag.float() for flag in answer.different]
        for answer, read in zip(answers, _read(queued)):
            self._decide_one(answer, read)
        self._decide_doubtful([answer for answer in answers if answer.accepted is None])

    def _decide_one(self, answer: _Answer, read: list[float]) -> None:
        """Decides what the numbers of the first look decide."""
        doubtful = []
        answer.accepted = False
        if any(read[3 * len(answer.looks) :]):
            return
        for index, look in enumerate(answer.looks):
            largest, total, look.least = read[3 * index : 3 * index + 3]
            # The sum is NaN or infinite if any element is.
            if not math.isfinite(total) or not math.isfinite(look.least):
                return
            look.error.max_abs, look.error.mean_abs = largest, total / look.wanted.numel()
            if is_far(look.error, look.distance, lambda: look.least) and is_far(look.error, look.distance, look.rms):
                return
            allowance = look.tolerance.atol * look.least
            if largest > 0.0:
                look.error.max_error_ratio = largest / allowance if allowance > 0.0 else math.inf
            if look.error.max_error_ratio > _SAFE or largest > look.kernelbench:
                doubtful.append(look)
        answer.looks, answer.accepted = doubtful, None if doubtful else True

    # -- the first look -------------------------------------------------------------------------------------------

    def _look(
        self, expected: Expected, error: OutputError, wanted: torch.Tensor, given: torch.Tensor, known: Allowance
    ) -> _Look:
        tops, sums = [], []
        for r, c in zip(wanted.split(self._chunk), given.split(self._chunk)):
            gap = self._gap_of(c, r)
            tops.append(torch.linalg.vector_norm(gap, math.inf))
            sums.append(torch.linalg.vector_norm(gap, 1))
        least = expected.least_rms.get(error.output)
        if least is None:
            shape = tuple(expected.outputs.tensors[error.output].shape)
            least = expected.least_rms[error.output] = self._least_rms(wanted.view(row_shape(shape)))
        numbers = [_only(tops, torch.amax), _only(sums, torch.sum), least]
        tolerance = self._tolerance or default_tolerance(wanted.dtype)
        return _Look(error, wanted, given, replace(tolerance, atol=tolerance.atol + known.least), numbers, known.distance)

    def _gap_of(self, c: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
        """c - r in float32, in memory that the next chunk uses again."""
        self._gap = _grown(self._gap, c, self._chunk)
        gap = self._gap[: c.numel()]
        if c.dtype == torch.float32:
            return torch.sub(c, r, out=gap)
        return gap.copy_(c).sub_(r)

    def _least_rms(self, grid: torch.Tensor) -> torch.Tensor:
        """The rms of the smallest row."""
        step = max(1, self._chunk // max(1, grid.shape[1]))
        norms = [torch.linalg.vector_norm(part, dim=1, dtype=torch.float32).amin() for part in grid.split(step)]
        return _only(norms, torch.amin) / math.sqrt(grid.shape[1])

    # -- the second look ------------------------------------------------------------------------------------------

    def _decide_doubtful(self, answers: list[_Answer]) -> None:
        """Evaluates the rule exactly, with the least rms as scale. Differences are computed again, and only these count."""
        read = _read([[number for look in answer.looks for number in self._look_again(look)] for answer in answers])
        for answer, numbers in zip(answers, read):
            answer.accepted = all(share <= 1.0 for share in numbers[::2])
            for look, share, outside_kernelbench in zip(answer.looks, numbers[::2], numbers[1::2]):
                look.error.max_error_ratio = share
                look.error.kernelbench_allclose = outside_kernelbench == 0.0

    def _look_again(self, look: _Look) -> list[torch.Tensor]:
        """The largest share of what is allowed, and whether anything is outside of KernelBench's rule."""
        scaled, outside = [], []
        for r, c in zip(look.wanted.split(self._chunk), look.given.split(self._chunk)):
            gap = self._gap_of(c, r).abs_()
            self._allowed = _grown(self._allowed, c, self._chunk)
            allowed = self._allowed[: c.numel()].copy_(c).abs_().mul_(look.kernelbench).add_(look.kernelbench)
            outside.append((gap > allowed).any())
            allowed.copy_(r).abs_().mul_(look.tolerance.rtol).add_(look.tolerance.atol * look.least)
            # 0 / 0 is an error of zero where none is allowed; the gap itself holds no NaN, or its share is one.
            share = torch.where(gap == 0, gap, gap.div(allowed))
            scaled.append(share.amax())
        return [_only(scaled, torch.amax), _only(outside, torch.any).float()]


def _read(queued: list[list[torch.Tensor]]) -> list[list[float]]:
    """Numbers on the device, read with one wait."""
    together = [number for numbers in queued for number in numbers]
    read = iter(torch.stack(together).tolist() if together else [])
    return [[next(read) for _ in numbers] for numbers in queued]


def _bytes(flat: torch.Tensor) -> torch.Tensor:
    return dtypes.bits(flat).view(torch.uint8)


def _only(parts: list[torch.Tensor], combine: object) -> torch.Tensor:
    """Combines the numbers of all chunks into one."""
    return parts[0] if len(parts) == 1 else combine(torch.stack(parts))  # type: ignore[operator]


def _grown(buffer: torch.Tensor, like: torch.Tensor, most: int) -> torch.Tensor:
    """A buffer of the same type with room for what is like `like`, but for no more than `most` elements."""
    wanted = min(like.numel(), most)
    if buffer.numel() >= wanted and buffer.device == like.device:
        return buffer
    return torch.empty(wanted, dtype=buffer.dtype, device=like.device)
