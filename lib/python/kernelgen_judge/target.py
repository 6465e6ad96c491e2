"""What a candidate's output is compared with: the truth about it, and how far from that an honest answer may be. See compare."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from .arithmetic import all_finite, chunk_of, rms
from .values import DTYPE_NAMES

ROW_ELEMENTS = 64
ROW_RATIO = 8.0
SCALE_FLOOR = 2.0**-20
NOISE_MULTIPLE, TF32_MULTIPLE = 8.0, 2.0
#: The largest noise, as a share of the rms of the whole output, or of the truth about it if that is smaller.
NOISE_LIMIT = 0.25
FLOAT64_MULTIPLE, FLOAT64_MULTIPLEHALF = 256.0, 8.0
#: Allowed multiple of the simulated error of plain sequential sums: of its rms, and of its largest error.
ROUNDING_MARGIN, ROUNDING_MARGIN_LARGEST = 3.0, 5.0
#: Where the errors of simulations differ by more than this share of their mean, all elements share the error of few sums, such as the one
#: of a row's softmax, which is one number: of 400 calls, one honest one is off by more than three times what is usual.
ONE_NUMBER_SPREAD, ONE_NUMBER_MARGIN = 0.3, 5.0
FLOOR_EPS, FLOOR_EPSHALF = 8.0, 1.0
FEW_ELEMENTS, ROUNDING_EPS = ROW_ELEMENTS, 0.2
#: With a slack that is there for gross errors, so many eps of the output on the task's own inputs are allowed for certain.
GROSS_FLOOR_EPS = 64.0
TF32_EPS = 2.0**-10
#: Up to this slack the error of a whole output has a limit.
MOST_SLACK = 2.0
HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Tolerance:
    """JSON as `Tolerance` in include/kernelgen/core/record.hpp."""

    rtol: float = 1e-4
    atol: float = 1e-4
    max_rms_error_multiple: float = FLOAT64_MULTIPLE
    standard: bool = True

    def times(self, slack: float) -> "Tolerance":
        """So many times as loose; the multiple of the reference's error grows with the square."""
        multiple = slack * slack * self.max_rms_error_multiple
        return self if slack == 1.0 else replace(self, rtol=slack * self.rtol, atol=slack * self.atol, max_rms_error_multiple=multiple)

    def to_json(self) -> dict[str, Any]:
        return {
            "rtol": self.rtol,
            "atol": self.atol,
            "max_rms_error_multiple": self.max_rms_error_multiple,
            "standard": self.standard,
        }


def default_tolerance(dtype: torch.dtype) -> Tolerance:
    """The defaults by dtype: 1e-4, and 1e-2 for float16 and bfloat16."""
    return Tolerance(1e-2, 1e-2, FLOAT64_MULTIPLEHALF) if dtype in HALF else Tolerance()


@dataclass(frozen=True)
class Allowance:
    """What is known of an output from other calls on the same distribution: how far an honest answer may be from the reference
    beyond the tolerance, and what the rounding of float32 alone may cost."""

    #: As a share of the scale of the row, and of the rms of the whole output; the smaller amount counts.
    share: float = 0.0
    level: float = 0.0
    #: The relative rms error of plain sequential float32 sums; 0 where it is not known or does not count.
    rounding: float = 0.0
    #: The relative rms distance from the reference up to which the float64 rule holds for certain; None where it is not known.
    distance: float | None = None
    #: The rms of the output on the task's own inputs; 0 where it is not known.
    magnitude: float = 0.0

    @property
    def least(self) -> float:
        """The share of any scale that is allowed for certain."""
        return min(self.share, self.level)

    def merged(self, other: "Allowance") -> "Allowance":
        """The larger of both, but the smaller distance."""
        distances = [one for one in (self.distance, other.distance) if one is not None]
        return Allowance(
            max(self.share, other.share),
            max(self.level, other.level),
            max(self.rounding, other.rounding),
            min(distances, default=None),
            max(self.magnitude, other.magnitude),
        )


@dataclass(frozen=True)
class Truth:
    """The outputs of the reference's computation without its rounding, by name.

    `tf32` has the same with TF32 operands, where the class allows them and the task has such operations. `is_float64` is
    False where float64 was not to be had: then both were computed in float32, and only the elementwise rule holds.
    """

    outputs: Mapping[str, torch.Tensor]
    tf32: Mapping[str, torch.Tensor] | None = None
    is_float64: bool = True


def real_numbers(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of reals, in a last dimension of their own."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def chunks(left: torch.Tensor, right: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Equal parts of two flat tensors."""
    size = chunk_of(left)
    return zip(left.split(size), right.split(size))


class Target:
    """One expected output, with everything about it that does not depend on the candidate."""

    def __init__(
        self,
        name: str,
        tensor: torch.Tensor,
        truth: Truth | None,
        tolerance: Tolerance | None,
        known: Allowance | None,
        slack: float = 1.0,
    ):
        self.name = name
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.exact = not (tensor.is_floating_point() or tensor.is_complex())
        self.tolerance = (tolerance or default_tolerance(tensor.dtype)).times(slack)
        self._slack = slack
        #: True if the error of the whole output has a limit.
        self.limits_error = slack <= MOST_SLACK
        self.known = known or Allowance()
        flat = real_numbers(tensor.detach()).contiguous()
        self.rows, self.columns = row_shape(flat.shape)
        self.values = flat.reshape(-1)
        self.oracle = None if truth is None or self.exact else _wide(truth.outputs.get(name))
        self.has_float64 = self.oracle is not None and truth is not None and truth.is_float64
        self.work = torch.float64 if flat.dtype == torch.float64 else torch.float32
        self.finite = self.exact or all_finite(flat)
        self.own_error: float | None = None
        self.tf32_error = 0.0
        self.oracle_rms = 0.0
        #: What is nothing beside the output on the task's own inputs has no digits that count.
        self._least_rms = SCALE_FLOOR * self.known.magnitude
        #: The relative rms error of plain sequential float32 sums on this very call, where it was asked for, and in each simulation.
        self.rounding_error = 0.0
        self._rounding_errors: list[float] = []
        self.scale: float | torch.Tensor = 0.0
        #: Largest error of the reference over the rms of the whole output; 0 where TF32 explains it.
        self.unexplained = 0.0
        #: What TF32 may cost, over the same rms; 0 where there is none.
        self.tf32_share = 0.0
        self.learned = Allowance()
        if not self.exact:
            self._prepare(None if truth is None or truth.tf32 is None else _wide(truth.tf32.get(name)))

    def _prepare(self, tf32: torch.Tensor | None) -> None:
        whole = self._whole = max(rms(self.values), self._least_rms)
        if self.oracle is not None:
            self.oracle_rms = rms(self.oracle)
            own = self.error_against_oracle(self.values)
            self.own_error = own if self.has_float64 else None
            if tf32 is not None:
                error = self.error_against_oracle(tf32)
                self.tf32_error = self._at_least(error, TF32_EPS) if error else 0.0
        row_scale = self._row_scale(whole)
        if row_scale is None:
            scale, rows = torch.tensor([whole], dtype=torch.float64), 1
        else:
            scale, rows = row_scale, self.rows
        #: The scale of each row, or of the whole output, before noise raises it.
        self._plain_scale = scale
        if self.oracle is None:
            raised = scale + (self.known.share * scale).clamp(max=self.known.level * whole) / self._atol
        else:
            raised = self._raised(scale, whole, self._largest_errors(self.values, rows), self._largest_errors(tf32, rows))
        if not self.limits_error:
            floor = min(GROSS_FLOOR_EPS * torch.finfo(self.dtype).eps, self._atol / self._slack) * self.known.magnitude
            raised = raised.clamp(min=floor / self._atol)
        self.scale = float(raised) if row_scale is None else raised
        if self.own_error is not None and self.limits_error:
            # What is this close to the reference is close enough to the truth, by the triangle inequality.
            self.learned = replace(self.learned, distance=max(0.0, self.allowed_error()[0] - self.own_error))

    def allow_rounding(self, rounded: torch.Tensor) -> None:
        """Allows what plain sequential float32 sums cost on this very call: `rounded` is a result that has their rounding. Of several
        results the rms of the errors counts, and of elements the largest one. Few elements say too little, but far from zero."""
        if not self._has_rounding():
            return
        values = _wide(rounded)
        self._rounding_errors.append(self.error_against_oracle(values) or 0.0)
        self.rounding_error = math.sqrt(sum(error**2 for error in self._rounding_errors) / len(self._rounding_errors))
        if self._whole == 0.0:
            return
        scale = self._plain_scale
        # The error of a row's mean is one number, small by chance in one row or another.
        share = float((self._largest_errors(values, len(scale)) / scale).max())
        self._allow_noise(ROUNDING_MARGIN_LARGEST * share * scale)

    def allow_most_rounding(self) -> None:
        """Allows as much as any rounding could make allow_rounding() allow."""
        if self._has_rounding():
            self.rounding_error = NOISE_LIMIT
            self._allow_noise(torch.full_like(self._plain_scale, math.inf))

    def _has_rounding(self) -> bool:
        few = self.values.numel() < FEW_ELEMENTS and self._slack == 1.0
        return not self.exact and self.oracle is not None and not few

    def _allow_noise(self, noise: torch.Tensor) -> None:
        """Raises the scale of each row until its noise is allowed, within NOISE_LIMIT."""
        scale = noise.clamp(max=NOISE_LIMIT * min(self._whole, self.oracle_rms)) / self._atol
        self.scale = max(self.scale, float(scale)) if isinstance(self.scale, float) else torch.maximum(self.scale, scale)

    @property
    def magnitude(self) -> float:
        """The rms of the reference's output; 0 for integers."""
        return 0.0 if self.exact else rms(self.values)

    @property
    def unexplained_multiple(self) -> float:
        """`unexplained` as a multiple of the tolerance."""
        return self.unexplained / self._atol

    @property
    def _atol(self) -> float:
        return max(self.tolerance.atol, 1e-30)

    def _raised(self, scale: torch.Tensor, whole: float, own: torch.Tensor, tf32: torch.Tensor) -> torch.Tensor:
        """The scale of each row, raised until its noise is allowed."""
        tf32 = torch.where(tf32 > 0, torch.clamp(tf32, min=self._at_least(0.0, TF32_EPS) * whole), tf32)
        unexplained = torch.where(own > TF32_MULTIPLE * tf32, own, torch.zeros_like(own))
        coarse, least = TF32_MULTIPLE * self._spread_of_rows(len(scale)) * tf32, min(whole, self.oracle_rms)
        noise = torch.maximum(coarse, NOISE_MULTIPLE * unexplained).clamp(max=NOISE_LIMIT * least)
        raised = torch.maximum(scale, noise / self._atol)
        beyond = (raised - scale) * self._atol + own
        if least > 0:
            self.tf32_share = float(coarse.max()) / least
        if whole > 0:
            self.unexplained = float(unexplained.max()) / whole
            share = float((beyond / scale.clamp(min=SCALE_FLOOR * whole)).max())
            self.learned = Allowance(share, float(beyond.max()) / whole, self.known.rounding)
        return raised

    def _spread_of_rows(self, rows: int) -> float:
        """How much larger the largest error of all rows is than that of one row, by chance: the largest of n normal numbers grows like
        sqrt(log n), and an honest answer has its largest error in another row than the simulation."""
        if rows < 2:
            return 1.0
        return math.sqrt(math.log(self.values.numel()) / math.log(self.columns))

    def _at_least(self, error: float, eps: float) -> float:
        """A relative error; no less than what rounding to `eps` costs on average if there are few elements."""
        return max(error, ROUNDING_EPS * eps) if self.values.numel() < FEW_ELEMENTS else error

    def _row_scale(self, whole: float) -> torch.Tensor | None:
        """The scale of each row; None where one scale serves the whole output."""
        if self.rows < 2 or self.columns < ROW_ELEMENTS or not self.finite:
            return None
        grid = self.values.view(self.rows, self.columns)
        row_rms = torch.empty(self.rows, dtype=torch.float64, device=grid.device)
        dense = torch.empty(self.rows, dtype=torch.bool, device=grid.device)
        step = max(1, chunk_of(grid) // self.columns)
        for start in range(0, self.rows, step):
            part = grid[start : start + step].double()
            row_rms[start : start + step] = part.square().mean(dim=1).sqrt()
            dense[start : start + step] = (part != 0).double().mean(dim=1) >= 0.5
        some = row_rms[dense]
        if some.numel() < 2 or float(some.max()) <= ROW_RATIO * float(some.min()):
            return None
        return torch.where(dense, row_rms, row_rms.clamp(min=whole)).clamp(min=SCALE_FLOOR * whole)

    def _largest_errors(self, values: torch.Tensor | None, rows: int) -> torch.Tensor:
        """Largest |values - truth| over the finite elements of each row, in float64; zeros without values."""
        assert self.oracle is not None
        device = self.values.device if rows > 1 else torch.device("cpu")
        largest = torch.zeros(rows, dtype=torch.float64, device=device)
        if values is None or values.numel() == 0:
            return largest
        if rows == 1:
            for part, truth in chunks(values, self.oracle):
                top = (part.double() - truth).abs_().nan_to_num_(0.0, 0.0, 0.0).max()
                largest = torch.maximum(largest, top.cpu())
            return largest
        step = max(1, chunk_of(self.values) // self.columns)
        grid, truths = values.view(rows, self.columns), self.oracle.view(rows, self.columns)
        for start in range(0, rows, step):
            gap = (grid[start : start + step].double() - truths[start : start + step]).abs_()
            largest[start : start + step] = gap.nan_to_num_(0.0, 0.0, 0.0).amax(dim=1)
        return largest

    def error_of(self, tensor: torch.Tensor) -> float | None:
        """error_against_oracle of a tensor like the output, of any floating dtype."""
        return self.error_against_oracle(_wide(tensor))

    def error_against_oracle(self, values: torch.Tensor) -> float | None:
        """rms(values - truth) / rms(truth) over the elements finite in both; None where the truth is all zero or absent. The rms of
        the truth counts as no less than 2^-20 of the output's on the task's own inputs."""
        size = max(self.oracle_rms, self._least_rms)
        if self.oracle is None or size == 0.0:
            return None
        total, count = 0.0, 0
        for part, truth in chunks(values, self.oracle):
            difference = part.double() - truth
            square = difference.square_()
            partial = float(square.sum())
            if not math.isfinite(partial):
                square = square[truth.isfinite() & part.isfinite()]
                partial = float(square.sum())
            total += partial
            count += square.numel()
        return math.sqrt(total / count) / size if count else None

    def expected_part(self, start: int, reference: torch.Tensor) -> torch.Tensor:
        """What is compared with from element `start` on: the truth, but the reference's own where either is not finite."""
        if self.oracle is None:
            return reference
        truth = self.oracle[start : start + reference.numel()].to(self.work, copy=True)  # callers change it
        if self._all_finite:
            return truth
        return torch.where(truth.isfinite() & reference.isfinite(), truth, reference)

    @functools.cached_property
    def _all_finite(self) -> bool:
        """True if the reference and the truth are finite in the dtype in which they are compared."""
        assert self.oracle is not None
        return self.finite and all(all_finite(part.to(self.work)) for part in self.oracle.split(chunk_of(self.oracle)))

    def allowed_error(self) -> tuple[float, str]:
        """The limit of the float64 rule, and where it comes from."""
        assert self.own_error is not None
        eps, half = torch.finfo(self.dtype).eps, self.dtype in HALF
        # Twice the average: an honest sequential sum of one row in six was further off than that.
        own = self._at_least(self.own_error, 2 * eps)
        multiple = self.tolerance.max_rms_error_multiple
        reordered = (multiple * own, f"{multiple:g} times the reference's own {own:.3g}")
        if self.known.rounding > 0 and not half:
            rounding = f"{ROUNDING_MARGIN:g} times the {self.known.rounding:.3g} of plain sequential float32 sums"
            reordered = min(reordered, (ROUNDING_MARGIN * self.known.rounding, rounding))
        limits = [
            ((FLOOR_EPSHALF if half else FLOOR_EPS) * eps, f"what few roundings to {DTYPE_NAMES[self.dtype]} cost"),
            min(reordered, (self.tolerance.rtol + self.tolerance.atol, "the tolerance")),
        ]
        if self.own_error <= TF32_MULTIPLE * self.tf32_error:
            limits.append((TF32_MULTIPLE * self.tf32_error, f"twice the {self.tf32_error:.3g} of TF32"))
        else:
            limits.append((NOISE_MULTIPLE * own, f"{NOISE_MULTIPLE:g} times the reference's own {own:.3g}"))
        if self.rounding_error > 0:
            margin = ONE_NUMBER_MARGIN if self._is_one_number() else ROUNDING_MARGIN
            rounding = f"{margin:g} times the {self.rounding_error:.3g} of plain sequential float32 sums on these inputs"
            limits.append((min(margin * self.rounding_error, NOISE_LIMIT), rounding))
        return max(limits)

    def _is_one_number(self) -> bool:
        """True if the simulations say that all elements share one error."""
        errors = self._rounding_errors
        return len(errors) > 3 and statistics.stdev(errors) > ONE_NUMBER_SPREAD * statistics.fmean(errors)

    def is_far_from_reference(self, squares: float) -> bool:
        """True if only the truth can tell whether the float64 rule holds; `squares` is the sum of squares of candidate - reference."""
        if self.has_float64 or self.known.distance is None or self.exact:
            return False
        return squares > (self.known.distance * rms(self.values)) ** 2 * self.values.numel()

    def scale_of(self, start: int, count: int) -> float | torch.Tensor:
        """The scale of elements start .. start + count."""
        if isinstance(self.scale, float):
            return self.scale
        first, last = start // self.columns, (start + count - 1) // self.columns
        spread = self.scale[first : last + 1].to(self.work).repeat_interleave(self.columns)
        skip = start - first * self.columns
        return spread[skip : skip + count]


def _wide(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """The elements in float64, one after the other; complex ones as pairs."""
    return None if tensor is None else real_numbers(tensor.detach()).contiguous().reshape(-1).double()


def row_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, elements per row): trailing dimensions until a row has ROW_ELEMENTS."""
    columns, dim = 1, len(shape)
    while dim > 0 and columns < ROW_ELEMENTS:
        dim -= 1
        columns *= shape[dim]
    rows = 1
    for size in shape[:dim]:
        rows *= size
    return rows, columns
