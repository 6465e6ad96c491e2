"""Decides whether a candidate's outputs equal the reference's.

The rule, for every element of every floating output (c candidate, r reference):

    |c - r|  <=  rtol * |r|  +  atol * scale

`scale` is the rms of r, over the whole output or per row. Rows are what the trailing dimensions span, as few of them as
give 64 elements. They are compared on their own scale when they differ in scale: when the rms of the dense rows (at least
half of the elements not exactly zero) spans more than a factor of 8. A sparse row (a ReLU that is nearly all zero) then
still uses the rms of the whole output if that is larger, because its error comes from values that were cut away. The
scale of a row never falls below 2^-20 of the whole output's. No candidate must be closer to the reference than the reference is
to the truth: with a float64 result, the scale (of the row, or of the whole output) is raised until 8
times the largest own error there is allowed, but to no more than 8 times the rms of the whole output.

NaN and infinities must stand in the same places, with the same sign. Integers and booleans are equal or wrong. Shape,
dtype and structure are equal or wrong; nothing is broadcast. The rule is multiplied out in float32 (float64 for float64
and complex128): its own rounding is a thousandth of the smallest tolerance.

The float64 rule, where a float64 result r64 exists, for each output as a whole:

    rms(c - r64) / rms(r64)  <=  max(max_rms_error_multiple * rms(r - r64) / rms(r64),  floor)

with a multiple of 256 and a floor of 8 eps for float32, 8 and 1 eps for float16 and bfloat16. Few elements say little about the
reference's error (a loss is one number, which may be exact by luck): below 64 elements its error counts as at least the average
rounding error, 0.2 eps. Measurements (more in
docs/measurements/tolerances.md; tests/python/test_compare.py repeats it), as multiples of the reference's own error:
    plain sequential float32 sum over 65536 elements    64 to 71 (torch.rand), 29 to 33 (torch.randn)
    the same with inputs rounded to TF32                1266 to 1517 (torch.randn)
    float16/bfloat16 product, rounded every 64 steps    1.4
    float16/bfloat16 product, accumulated in that type  11 (K = 256) to 45 (K = 4096)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping

import torch

from kernelgen_common import values as common_values

from .arithmetic import all_finite, chunk_of, one_thread, rms
from .errors import one_line
from .values import DTYPE_NAMES, Flat

ROW_ELEMENTS = 64
ROW_RATIO = 8.0
SCALE_FLOOR = 2.0**-20
NOISE_MULTIPLE, NOISE_LIMIT = 8.0, 8.0
FLOAT64_MULTIPLE, FLOAT64_MULTIPLE_HALF = 256.0, 8.0
FLOOR_EPS, FLOOR_EPS_HALF = 8.0, 1.0
FEW_ELEMENTS, ROUNDING_EPS = ROW_ELEMENTS, 0.2
_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Tolerance:
    """JSON as `Tolerance` in include/kernelgen/core/record.hpp."""

    rtol: float = 1e-4
    atol: float = 1e-4
    max_rms_error_multiple: float = FLOAT64_MULTIPLE
    standard: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "rtol": self.rtol,
            "atol": self.atol,
            "max_rms_error_multiple": self.max_rms_error_multiple,
            "standard": self.standard,
        }


def default_tolerance(dtype: torch.dtype) -> Tolerance:
    """The defaults by dtype: 1e-4, and 1e-2 for float16 and bfloat16."""
    return Tolerance(1e-2, 1e-2, FLOAT64_MULTIPLE_HALF) if dtype in _HALF else Tolerance()


@dataclass
class OutputError:
    """How far one output was off; JSON as `OutputError` in include/kernelgen/core/record.hpp."""

    output: str
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_error_ratio: float = 0.0
    rms_error_vs_float64: float | None = None
    reference_rms_error_vs_float64: float | None = None
    kernelbench_allclose: bool = False
    #: True if this output makes the answer wrong. Not in JSON.
    wrong: bool = False

    def to_json(self) -> dict[str, Any]:
        return {key: _finite(value) for key, value in self.__dict__.items() if value is not None and key != "wrong"}


def _finite(value: Any) -> Any:
    """The number for JSON, which has no infinities: they become the largest double."""
    if isinstance(value, float) and not math.isfinite(value):
        return 1.7976931348623157e308
    return value


@dataclass
class Comparison:
    """The result of a comparison. `kind` is "correct" or "accuracy"; `detail` is "", "mismatch", "nan", "shape", "dtype" or
    "structure"."""

    kind: str = "correct"
    detail: str = ""
    message: str = ""
    outputs: list[OutputError] = field(default_factory=list)

    @property
    def correct(self) -> bool:
        return self.kind == "correct"

    def to_json(self) -> dict[str, Any]:
        return {
            "outcome": {"kind": self.kind, "detail": self.detail, "message": self.message},
            "outputs": [output.to_json() for output in self.outputs],
        }


def _wrong(detail: str, message: str, outputs: list[OutputError] | None = None) -> Comparison:
    return Comparison("accuracy", detail, one_line(message), outputs or [])


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of reals, in a last dimension of their own."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _chunks(left: torch.Tensor, right: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Equal parts of two flat tensors."""
    size = chunk_of(left)
    return zip(left.split(size), right.split(size))


class _Target:
    """One expected output, with everything about it that does not depend on the candidate."""

    def __init__(self, name: str, tensor: torch.Tensor, oracle: torch.Tensor | None, tolerance: Tolerance | None):
        self.name = name
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.exact = not (tensor.is_floating_point() or tensor.is_complex())
        self.tolerance = tolerance or default_tolerance(tensor.dtype)
        flat = _real(tensor.detach()).contiguous()
        self.rows, self.columns = _row_shape(flat.shape)
        self.values = flat.reshape(-1)
        self.oracle = None if oracle is None or self.exact else _real(oracle.detach()).contiguous().reshape(-1).double()
        self.work = torch.float64 if flat.dtype == torch.float64 else torch.float32
        self.finite = self.exact or all_finite(flat)
        self.own_error: float | None = None
        self.oracle_rms = 0.0
        self.scale: float | torch.Tensor = 0.0
        if not self.exact:
            self._prepare()

    def _prepare(self) -> None:
        whole = rms(self.values)
        if self.oracle is not None:
            self.oracle_rms = rms(self.oracle)
            self.own_error = self.error_against_oracle(self.values)
        self.scale = max(whole, self._noise_scale(self._largest_own_error(), whole))
        if self.rows < 2 or self.columns < ROW_ELEMENTS or not self.finite:
            return
        grid = self.values.view(self.rows, self.columns)
        device = grid.device
        row_rms = torch.empty(self.rows, dtype=torch.float64, device=device)
        dense = torch.empty(self.rows, dtype=torch.bool, device=device)
        noise = torch.zeros(self.rows, dtype=torch.float64, device=device)
        step = max(1, chunk_of(grid) // self.columns)
        for start in range(0, self.rows, step):
            part = grid[start : start + step].double()
            row_rms[start : start + step] = part.square().mean(dim=1).sqrt()
            dense[start : start + step] = (part != 0).double().mean(dim=1) >= 0.5
            if self.oracle is not None:
                truth = self.oracle.view(self.rows, self.columns)[start : start + step]
                noise[start : start + step] = (part - truth).abs().amax(dim=1).nan_to_num(0.0)
        some = row_rms[dense]
        if some.numel() < 2 or float(some.max()) <= ROW_RATIO * float(some.min()):
            return
        scale = torch.where(dense, row_rms, row_rms.clamp(min=whole)).clamp(min=SCALE_FLOOR * whole)
        self.scale = torch.maximum(scale, self._noise_scale(noise, whole))

    def _noise_scale(self, own: Any, whole: float) -> Any:
        """The scale that allows NOISE_MULTIPLE times an own error (a number, or one for each row), limited."""
        if self.tolerance.atol <= 0:
            return own * 0.0
        raised = own * (NOISE_MULTIPLE / self.tolerance.atol)
        limit = NOISE_LIMIT * whole
        return raised.clamp(max=limit) if torch.is_tensor(raised) else min(raised, limit)

    def _largest_own_error(self) -> float:
        """Largest |r - r64| over the finite elements; 0 without a float64 result."""
        if self.oracle is None:
            return 0.0
        largest = 0.0
        for part, truth in _chunks(self.values, self.oracle):
            gap = (part.double() - truth).abs_()
            top = float(gap.max()) if gap.numel() else 0.0
            largest = max(largest, top if math.isfinite(top) else float(gap.nan_to_num_(0.0, 0.0, 0.0).max()))
        return largest

    def error_against_oracle(self, values: torch.Tensor) -> float | None:
        """rms(values - r64) / rms(r64) over the elements finite in both; None where r64 is all zero or absent."""
        if self.oracle is None or self.oracle_rms == 0.0:
            return None
        total, count = 0.0, 0
        for part, truth in _chunks(values, self.oracle):
            difference = part.double() - truth
            square = difference.square_()
            partial = float(square.sum())
            if not math.isfinite(partial):
                square = square[truth.isfinite() & part.isfinite()]
                partial = float(square.sum())
            total += partial
            count += square.numel()
        return math.sqrt(total / count) / self.oracle_rms if count else None

    def scale_of(self, start: int, count: int) -> float | torch.Tensor:
        """The scale of elements start .. start + count."""
        if isinstance(self.scale, float):
            return self.scale
        first, last = start // self.columns, (start + count - 1) // self.columns
        spread = self.scale[first : last + 1].to(self.work).repeat_interleave(self.columns)
        skip = start - first * self.columns
        return spread[skip : skip + count]


def _row_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, elements per row): trailing dimensions until a row has ROW_ELEMENTS."""
    columns, dim = 1, len(shape)
    while dim > 0 and columns < ROW_ELEMENTS:
        dim -= 1
        columns *= shape[dim]
    rows = 1
    for size in shape[:dim]:
        rows *= size
    return rows, columns


@dataclass
class _Worst:
    scaled: float = 0.0
    index: int = -1
    wrong: int = 0


class Expected:
    """The reference's outputs of one call, prepared for many comparisons."""

    def __init__(self, outputs: Flat, oracle: Mapping[str, torch.Tensor] | None = None, tolerance: Tolerance | None = None):
        """`oracle` has float64 outputs by name; `tolerance` overrides the defaults by dtype."""
        self.structure = outputs.structure
        with one_thread():
            self.targets = {
                name: _Target(name, tensor, (oracle or {}).get(name), tolerance)
                for name, tensor in outputs.tensors.items()
            }

    def compare(self, candidate: Mapping[str, torch.Tensor], structure: Any = ...) -> Comparison:
        """Compares all outputs in full. `structure` is the candidate's, if it has one of its own."""
        if structure is not ...:
            found = common_values.difference(self.structure, structure) or _scalar_difference(self.structure, structure)
            if found:
                return _wrong("structure", found)
        missing = [name for name in self.targets if name not in candidate]
        if missing or len(candidate) != len(self.targets):
            detail = f"missing {', '.join(missing[:4])}" if missing else f"{len(candidate)} outputs"
            return _wrong("structure", f"{detail}, expected {len(self.targets)} outputs")
        for name, target in self.targets.items():
            given = candidate[name]
            if given.dtype != target.dtype:
                got = DTYPE_NAMES.get(given.dtype, str(given.dtype))
                return _wrong("dtype", f"{name} has dtype {got}, expected {DTYPE_NAMES[target.dtype]}")
            if tuple(given.shape) != target.shape:
                return _wrong("shape", f"{name} has shape {list(given.shape)}, expected {list(target.shape)}")
        errors, verdict = [], None
        with one_thread():
            for name, target in self.targets.items():
                error, wrong = _compare_one(target, candidate[name].detach())
                error.wrong = wrong is not None
                errors.append(error)
                verdict = verdict or wrong
        if verdict is None:
            return Comparison(outputs=errors)
        return _wrong(verdict[0], verdict[1], errors)


def _scalar_difference(expected: Any, actual: Any, path: str = "output") -> str:
    """Floats in two structures of equal form: equal within 1e-4 (scalars of a reference are seldom exact)."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if "float" in expected:
            want, got = float.fromhex(expected["float"]), float.fromhex(actual.get("float", "nan"))
            same = want == got or (math.isnan(want) and math.isnan(got)) or abs(want - got) <= 1e-4 * abs(want)
            return "" if same else f"{path} is {got!r}, expected {want!r}"
        expected, actual = list(expected.values())[0], list(actual.values())[0]
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (left, right) in enumerate(zip(expected, actual)):
            found = _scalar_difference(left, right, f"{path}[{index}]")
            if found:
                return found
    return ""


def _compare_one(target: _Target, candidate: torch.Tensor) -> tuple[OutputError, tuple[str, str] | None]:
    """The error of one output of right shape and dtype, and (detail, message) if it is wrong."""
    values = _real(candidate).contiguous().reshape(-1)
    error = OutputError(target.name, reference_rms_error_vs_float64=target.own_error)
    if values.numel() == 0:
        error.kernelbench_allclose = True
        error.reference_rms_error_vs_float64 = None
        return error, None
    if target.exact:
        return _compare_exact(target, values, error)
    worst, nonfinite = _compare_floats(target, values, error)
    if nonfinite is not None:
        error.max_error_ratio = math.inf
        return error, ("nan", nonfinite)
    error.max_error_ratio = worst.scaled
    error.rms_error_vs_float64 = target.error_against_oracle(values)
    if worst.wrong:
        return error, ("mismatch", _mismatch_message(target, values, worst))
    return error, _float64_verdict(target, error)


def _float64_verdict(target: _Target, error: OutputError) -> tuple[str, str] | None:
    if error.rms_error_vs_float64 is None or target.own_error is None:
        return None
    eps = torch.finfo(target.dtype).eps
    floor = (FLOOR_EPS_HALF if target.dtype in _HALF else FLOOR_EPS) * eps
    own = max(target.own_error, ROUNDING_EPS * eps) if target.values.numel() < FEW_ELEMENTS else target.own_error
    allowed = max(target.tolerance.max_rms_error_multiple * own, floor)
    if error.rms_error_vs_float64 <= allowed:
        return None
    return (
        "mismatch",
        f"{target.name}: relative rms error against float64 is {error.rms_error_vs_float64:.3g}, allowed {allowed:.3g} "
        f"(the reference's own is {target.own_error:.3g})",
    )


def _compare_exact(target: _Target, values: torch.Tensor, error: OutputError) -> tuple[OutputError, tuple[str, str] | None]:
    differing = values != target.values
    count = int(differing.sum())
    if count:
        gap = (values.double() - target.values.double()).abs()
        error.max_abs, error.mean_abs = float(gap.max()), float(gap.mean())
        error.max_error_ratio = math.inf
        index = int(differing.nonzero()[0])
        worst = _Worst(math.inf, index, count)
        error.kernelbench_allclose = bool((gap <= 1e-4 + 1e-4 * values.double().abs()).all())
        return error, ("mismatch", _mismatch_message(target, values, worst))
    error.kernelbench_allclose = True
    return error, None


def _compare_floats(target: _Target, values: torch.Tensor, error: OutputError) -> tuple[_Worst, str | None]:
    """One pass over both tensors in cache-sized chunks. Returns a message instead if NaN or infinities differ."""
    tolerance, worst = target.tolerance, _Worst()
    kernelbench = 1e-2 if target.dtype in _HALF else 1e-4
    total, allclose, start = 0.0, True, 0
    for part, wanted in _chunks(values, target.values):
        c, r = part.to(target.work), wanted.to(target.work)
        gap = (c - r).abs_()
        summed = float(gap.sum(dtype=torch.float64))
        if not math.isfinite(summed):
            message = _nonfinite_difference(target, c, r, start)
            if message is not None:
                return worst, message
            allclose = allclose and not bool(r.isnan().any())
            gap = torch.where(r.isfinite(), gap, torch.zeros_like(gap))
            r = torch.where(r.isfinite(), r, torch.zeros_like(r))
            c = torch.where(c.isfinite(), c, torch.zeros_like(c))
            summed = float(gap.sum(dtype=torch.float64))
        total += summed
        largest = float(gap.max())
        error.max_abs = max(error.max_abs, largest)
        if largest > kernelbench:
            allclose = allclose and bool((gap <= c.abs().mul_(kernelbench).add_(kernelbench)).all())
        if largest > 0:
            allowed = r.abs_().mul_(tolerance.rtol) if r is not wanted else r.abs().mul_(tolerance.rtol)
            scale = target.scale_of(start, c.numel())
            allowed.add_(scale, alpha=tolerance.atol) if torch.is_tensor(scale) else allowed.add_(scale * tolerance.atol)
            _note_worst(worst, gap, allowed, start)
        start += c.numel()
    error.mean_abs = total / values.numel()
    error.kernelbench_allclose = allclose
    return worst, None


def _note_worst(worst: _Worst, gap: torch.Tensor, allowed: torch.Tensor, start: int) -> None:
    """Updates the worst element and the count of wrong ones. An error of zero is right even if the allowed error is zero."""
    scaled = gap.div_(allowed).nan_to_num_(nan=0.0)
    top = float(scaled.max())
    if top > worst.scaled:
        worst.scaled, worst.index = top, start + int(scaled.argmax())
    if top > 1.0:
        worst.wrong += int((scaled > 1.0).sum())


def _nonfinite_difference(target: _Target, c: torch.Tensor, r: torch.Tensor, start: int) -> str | None:
    """Where NaN or infinities of the candidate are not the reference's; None if they agree (float overflow of c - r aside)."""
    bad = (c.isnan() != r.isnan()) | (c.isinf() != r.isinf()) | (c.isinf() & r.isinf() & (c != r))
    if not bool(bad.any()):
        return None
    index = int(bad.nonzero()[0])
    where = _position(target, start + index)
    return f"{target.name}{where} is {float(c[index])}, expected {float(r[index]):.6g}; {int(bad.sum())} such elements there"


def _position(target: _Target, flat: int) -> str:
    """The index of an element: "[3, 17]"."""
    position = []
    flat = flat // 2 if target.dtype.is_complex else flat
    for size in reversed(target.shape):
        position.append(flat % size)
        flat //= size
    return str(position[::-1]) if position else ""


def _mismatch_message(target: _Target, values: torch.Tensor, worst: _Worst) -> str:
    got, want = values[worst.index].item(), target.values[worst.index].item()
    share = f"{worst.wrong} of {values.numel()} elements are wrong"
    if target.exact:
        return f"{target.name}: {share}; first at {_position(target, worst.index)}: got {got}, expected {want}"
    return (
        f"{target.name}: {share}; worst at {_position(target, worst.index)}: got {got:.8g}, expected {want:.8g}, "
        f"{worst.scaled:.3g} times the allowed error"
    )
