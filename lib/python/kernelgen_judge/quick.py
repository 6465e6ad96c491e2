"""A quick comparison of outputs that are probably right: it accepts only outputs that are certainly within the rule of compare.

The rule allows rtol * |r| + atol * scale, where scale is never below the least rms of any row. With that least rms as scale, one
pass over cache-sized chunks decides; compare decides about outputs that it does not accept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from .compare import OutputError
from .target import HALF, Allowance, Tolerance, default_tolerance, row_shape
from .exchange import same_bytes

#: Chunk size below which torch uses one thread, because barriers between threads cost more than they save here.
CHUNK = 32704
_WORKABLE = (torch.float32, *HALF)


class QuickComparer:
    """The quick comparison. It keeps its working memory between calls. One thread."""

    def __init__(self, tolerance: Tolerance | None):
        self._tolerance = tolerance
        self._gap = torch.empty(CHUNK)
        self._allowed = torch.empty(CHUNK)
        self._within = torch.empty(CHUNK, dtype=torch.bool)

    def accept(
        self,
        expected: Mapping[str, torch.Tensor],
        candidate: Mapping[str, torch.Tensor],
        known: Mapping[str, Allowance] = MappingProxyType({}),
    ) -> list[OutputError] | None:
        """The errors of outputs that are right beyond doubt; None where the full comparison must decide.

        Shapes and dtypes are the expected ones; candidate tensors are contiguous. `known` is what other calls showed, by output.
        """
        errors = []
        for name, wanted in expected.items():
            error = self._accept_one(name, wanted, candidate[name], known.get(name, Allowance()))
            if error is None:
                return None
            errors.append(error)
        return errors

    def _accept_one(self, name: str, wanted: torch.Tensor, given: torch.Tensor, known: Allowance) -> OutputError | None:
        error = OutputError(name, kernelbench_allclose=True)
        # Bytes are compared: what a view conjugates or negates has to be in memory.
        wanted = wanted.resolve_conj().resolve_neg().contiguous()
        if wanted.numel() == 0:
            return error
        if _are_same_numbers(wanted, given):
            return error
        if wanted.dtype not in _WORKABLE:
            return None
        found = self._pass(error, wanted.reshape(-1), given.reshape(-1), row_shape(tuple(wanted.shape)), known.least)
        return None if found is None or is_far(found, known.distance, lambda: _rms(wanted)) else found

    def _pass(
        self, error: OutputError, wanted: torch.Tensor, given: torch.Tensor, grid: tuple[int, int], more: float
    ) -> OutputError | None:
        tolerance = self._tolerance or default_tolerance(wanted.dtype)
        kernelbench = 1e-2 if wanted.dtype in HALF else 1e-4
        total, scale = 0.0, -1.0
        for r, c in zip(wanted.split(CHUNK), given.split(CHUNK)):
            gap, allowed, within = self._gap, self._allowed, self._within
            if r.numel() != CHUNK:
                gap, allowed, within = gap[: r.numel()], allowed[: r.numel()], within[: r.numel()]
            if r.dtype == torch.float32:
                torch.sub(c, r, out=gap)
            else:
                torch.sub(gap.copy_(c), allowed.copy_(r), out=gap)
            # A NaN of the candidate stays one, and fails every comparison below.
            largest = float(gap.abs_().max())
            if largest == 0.0:
                continue
            if scale < 0.0:
                scale = _least_rms(wanted.view(grid))
            torch.abs(r if r.dtype == torch.float32 else allowed, out=allowed)
            allowed.mul_(tolerance.rtol).add_((tolerance.atol + more) * scale)
            scaled = float(torch.div(gap, allowed, out=allowed).max())
            if not scaled <= 1.0:
                return None
            total += float(gap.sum())
            error.max_abs = max(error.max_abs, largest)
            error.max_error_ratio = max(error.max_error_ratio, scaled)
            if largest > kernelbench and error.kernelbench_allclose:
                torch.abs(c, out=allowed) if c.dtype == torch.float32 else allowed.copy_(c).abs_()
                allowed.mul_(kernelbench).add_(kernelbench)
                error.kernelbench_allclose = bool(torch.le(gap, allowed, out=within).all())
        error.mean_abs = total / wanted.numel()
        return error


def is_far(error: OutputError, distance: float | None, rms_of_wanted: Callable[[], float]) -> bool:
    """True unless the answer is certainly within this relative rms distance from the reference; None is any distance.

    No error exceeds the largest one, so the rms is at most the root of the largest times the mean.
    """
    if distance is None or error.max_abs == 0.0:
        return False
    return math.sqrt(error.max_abs * error.mean_abs) > distance * rms_of_wanted()


def _rms(tensor: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float32)) / math.sqrt(tensor.numel())


def _are_same_numbers(wanted: torch.Tensor, given: torch.Tensor) -> bool:
    """True if all bytes are the same and all numbers are finite. The full comparison handles the others."""
    if not same_bytes(wanted.data_ptr(), given.data_ptr(), wanted.numel() * wanted.element_size()):
        return False
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return True
    return bool(torch.view_as_real(wanted).sum().isfinite()) if wanted.is_complex() else math.isfinite(float(wanted.sum()))


def _least_rms(grid: torch.Tensor) -> float:
    """The rms of the smallest row."""
    step = max(1, CHUNK // max(1, grid.shape[1]))
    norms = [torch.linalg.vector_norm(part, dim=1, dtype=torch.float32).min() for part in grid.split(step)]
    return float(torch.stack(norms).min()) / math.sqrt(grid.shape[1])
