"""Decides whether a candidate's outputs are right.

What is compared with is the truth: the reference's result in float64 where there is one, else the reference's own. The
rule, for every element of every floating output (c candidate, t truth):

    |c - t|  <=  rtol * |t|  +  max(atol * scale, noise)

`scale` is the rms of the reference's output, over the whole output or per row. Rows are what the trailing dimensions span, as few
of them as give 64 elements. They are compared on their own scale when they differ in scale: when the rms of the dense rows (at
least half of the elements not exactly zero) spans more than a factor of 8. A sparse row (a ReLU that is nearly all zero) then
still uses the rms of the whole output if that is larger, because its error comes from values that were cut away. The
scale of a row never falls below 2^-20 of the whole output's.

`noise` (of the row, or of the whole output) is how far from the truth an honest answer may be: 8 times the largest error of
the reference, or, where TF32 is the class's own precision for an operation of the task, twice the largest error that TF32
operands cause (see rounding); then the reference's own error counts only if TF32 does not explain it. It is at most a quarter of
the rms of the whole output, so zeros are never right. Where a call has no float64 result, the reference's output is compared
with, and what was measured on other calls of the same distribution (`Allowance`) is added.

An element is also right if it is this close to the reference's own: a reference that is far from the truth in a few places is
still an answer.

NaN and infinities must stand in the reference's places, with the same sign. Integers and booleans are equal or wrong. Shape,
dtype and structure are equal or wrong; nothing is broadcast. The rule is multiplied out in float32 (float64 for float64
and complex128): its own rounding is a thousandth of the smallest tolerance.

The float64 rule, where a float64 result t exists, for each output as a whole, with e = rms(r - t) / rms(t) of the reference r:

    rms(c - t) / rms(t)  <=  max(floor,  min(multiple * e, rtol + atol),  8 * e)

The last is twice the error of TF32 instead where that explains e. The multiple is 256 and the floor 8 eps for float32, 8 and
1 eps for float16 and bfloat16. In the class strict, less is allowed where admission could simulate the task with plain
sequential float32 sums (see rounding): ROUNDING_MARGIN times their error takes the place of multiple * e if it is smaller. Few elements say little about an error (a loss is one number, which may be exact by
luck): below 64 elements an error counts as at least the average rounding error, 0.2 eps. Measurements are in
docs/measurements/tolerances.md.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Mapping

import torch

from kernelgen_common import values as common_values

from .arithmetic import one_thread
from .errors import one_line
from .target import HALF, Allowance, Target, Tolerance, Truth, chunks, default_tolerance, real_numbers
from .values import DTYPE_NAMES, Flat

#: Simulations of rounding before an answer is refused; fewer where the others would make it right with less than about this chance.
ROUNDING_LOTS, CHANCE = 12, 1e-4
#: An error is one of few elements where the largest has at least this share of the sum of squares.
FEW_SHARE = 1 / 8
#: About how many elements of an output is_far_in_samples looks at, and how many times the tolerance is far: a row may have a larger
#: scale than the samples.
FAR_SAMPLES, FAR_MULTIPLE = 1 << 16, 64.0


@dataclass
class OutputError:
    """How far one output was off; JSON as `OutputError` in include/kernelgen/core/record.hpp."""

    output: str
    #: Against float64 where there is one, as the other errors; only `kernelbench_allclose` is always about the reference.
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_error_ratio: float = 0.0
    rms_error_vs_float64: float | None = None
    reference_rms_error_vs_float64: float | None = None
    kernelbench_allclose: bool = False
    #: True if this output makes the answer wrong. Not in JSON.
    wrong: bool = False
    #: How many elements are outside of what is allowed. Not in JSON.
    wrong_elements: int = 0
    #: The sum of the squared errors. Not in JSON.
    squares: float = 0.0
    #: The error as a multiple of what is allowed, by the rule that a wrong output breaks. Not in JSON.
    excess: float = 0.0

    @property
    def is_of_few(self) -> bool:
        """True if few elements have most of the error, as where a step (rounding to integers, a threshold) falls the other way."""
        return self.max_abs * self.max_abs > FEW_SHARE * self.squares

    def to_json(self) -> dict[str, Any]:
        hidden = ("wrong", "wrong_elements", "squares", "excess")
        return {key: _finite(value) for key, value in self.__dict__.items() if value is not None and key not in hidden}


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
    #: True if nothing is wrong, but an answer as far from the reference may have too little precision.
    needs_truth: bool = False

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


@dataclass
class _Worst:
    scaled: float = 0.0
    index: int = -1
    wrong: int = 0


class Expected:
    """The reference's outputs of one call, prepared for many comparisons."""

    def __init__(
        self,
        outputs: Flat,
        truth: Truth | None = None,
        tolerance: Tolerance | None = None,
        known: Mapping[str, Allowance] | None = None,
        slack: float = 1.0,
    ):
        """`tolerance` overrides the defaults by dtype; `known` has what other calls showed, by output. With a `slack` above 1 the
        tolerance is so many times as large; above MOST_SLACK the float64 rule does not hold."""
        self.structure = outputs.structure
        self.has_truth = truth is not None
        with one_thread():
            self.targets = {
                name: Target(name, tensor, truth, tolerance, (known or {}).get(name), slack)
                for name, tensor in outputs.tensors.items()
            }

    def learned(self) -> dict[str, Allowance]:
        """What this call showed, for others on the same distribution; empty without a truth."""
        return {name: target.learned for name, target in self.targets.items() if target.oracle is not None}

    def allow_rounding(self, rounded: Mapping[str, torch.Tensor]) -> None:
        """Allows what plain sequential float32 sums cost on this very call; `rounded` are the outputs that they give."""
        with one_thread():
            for name, target in self.targets.items():
                target.allow_rounding(rounded[name])

    def may_be_rounding(self, candidate: Mapping[str, torch.Tensor]) -> bool:
        """Whether there is a rounding with which allow_rounding() would make these outputs right."""
        most = copy.copy(self)
        most.targets = {name: copy.copy(target) for name, target in self.targets.items()}
        with one_thread():
            for target in most.targets.values():
                target.allow_most_rounding()
            return all(_is_right(target, candidate[name].detach()) for name, target in most.targets.items())

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
        errors, verdict, is_far = [], None, False
        with one_thread():
            for name, target in self.targets.items():
                error, wrong = _compare_one(target, candidate[name].detach())
                error.wrong = wrong is not None
                errors.append(error)
                # A mismatch may be explained later, a NaN never.
                if wrong is not None and (verdict is None or verdict[0] == "mismatch" != wrong[0]):
                    verdict = wrong
                is_far = is_far or target.is_far_from_reference(error.squares)
        if verdict is None:
            return Comparison(outputs=errors, needs_truth=is_far)
        return _wrong(verdict[0], verdict[1], errors)


def compare_with_rounding(
    expected: Expected,
    candidate: Mapping[str, torch.Tensor],
    comparison: Comparison,
    simulate: Callable[[int], Mapping[str, torch.Tensor] | None],
) -> Comparison:
    """Compares outputs that differ, by `comparison`, once more with what plain sequential sums cost in the very call. `simulate` gives
    the outputs with that rounding, other ones for each number, or None without time for them. Several simulations are made, because a
    mean of a row, or a loss, is one number that may be right by chance; no more than may still make the outputs right."""
    if not expected.may_be_rounding(candidate):
        return comparison
    for lot in range(ROUNDING_LOTS):
        rounded = simulate(lot)
        if rounded is None:
            break
        expected.allow_rounding(rounded)
        comparison = expected.compare(candidate)
        if comparison.correct or _is_beyond_chance(comparison, lot + 1):
            break
    return comparison


def _is_beyond_chance(comparison: Comparison, lots: int) -> bool:
    """True if all simulations so far would have to be small by chance for the others to allow the outputs. At worst all elements share
    one normal number. Twelve of these allow at most about two deviations (the largest one; or their rms with 5/3 of the margin, see
    ONE_NUMBER_MARGIN), and one is below 2/n deviations in less than 2 of n cases, so all of them are in (2/n)^lots. A step is no
    normal number: it shows in some simulations and not at all in others, so errors of few elements get all of them."""
    excess = max((error.excess for error in comparison.outputs if error.wrong and not error.is_of_few), default=0.0)
    return excess > 2.0 * CHANCE ** (-1.0 / lots)


def with_truth_where_right(
    outputs: Flat, truth: Truth, candidate: Mapping[str, torch.Tensor], tolerance: Tolerance | None
) -> Flat:
    """The reference's outputs, with the truth in the places where a candidate agrees with it. On special values either is right: a
    reference overflows, or makes a NaN, where the truth is a number. A candidate of another dtype or shape agrees nowhere."""
    mixed = dict(outputs.tensors)
    for name, wanted in outputs.tensors.items():
        true, given = truth.outputs.get(name), candidate.get(name)
        if true is None or given is None or not wanted.is_floating_point():
            continue
        if given.dtype == wanted.dtype and given.shape == wanted.shape == true.shape:
            true = true.to(wanted.dtype)
            rtol = (tolerance or default_tolerance(wanted.dtype)).rtol
            mixed[name] = torch.where(torch.isclose(given, true, rtol=rtol, atol=0.0, equal_nan=True), true, wanted)
    return replace(outputs, tensors=mixed)


def is_far_in_samples(
    expected: Mapping[str, torch.Tensor], candidate: Mapping[str, torch.Tensor], tolerance: Tolerance | None
) -> bool:
    """True if a few elements show that a full comparison would almost surely fail. False says nothing."""
    for name, tensor in expected.items():
        given = candidate.get(name)
        if given is None or given.dtype != tensor.dtype or given.shape != tensor.shape:
            return True
        # Others would be copied as a whole.
        if tensor.is_contiguous() and given.is_contiguous() and _is_far(tensor, given, tolerance):
            return True
    return False


def _is_far(tensor: torch.Tensor, given: torch.Tensor, tolerance: Tolerance | None) -> bool:
    wanted, found = real_numbers(tensor.detach()).reshape(-1), real_numbers(given.detach()).reshape(-1)
    # Odd, so that samples are not all of one column.
    step = (wanted.numel() // FAR_SAMPLES) | 1
    r, c = wanted[::step].double(), found[::step].double()
    if not wanted.is_floating_point():
        return bool((c != r).any())
    rule = tolerance or default_tolerance(wanted.dtype)
    scale = r.nan_to_num(0.0, 0.0, 0.0).square().mean().sqrt()
    return bool(((c - r).abs() > FAR_MULTIPLE * (rule.rtol * r.abs() + rule.atol * scale)).any())


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


def _compare_one(target: Target, candidate: torch.Tensor) -> tuple[OutputError, tuple[str, str] | None]:
    """The error of one output of right shape and dtype, and (detail, message) if it is wrong."""
    values = real_numbers(candidate).contiguous().reshape(-1)
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
    error.max_error_ratio, error.wrong_elements = worst.scaled, worst.wrong
    if target.has_float64:
        error.rms_error_vs_float64 = target.error_against_oracle(values)
    if worst.wrong:
        error.excess = worst.scaled
        return error, ("mismatch", _mismatch_message(target, values, worst))
    return error, _float64_verdict(target, error)


def _is_right(target: Target, candidate: torch.Tensor) -> bool:
    """Whether _compare_one finds nothing wrong; ends at the first chunk that is wrong."""
    values = real_numbers(candidate).contiguous().reshape(-1)
    if values.numel() == 0 or target.exact:
        return torch.equal(values, target.values)
    error = OutputError(target.name)
    worst, nonfinite = _compare_floats(target, values, error, stop_when_wrong=True)
    if nonfinite is not None or worst.wrong:
        return False
    error.rms_error_vs_float64 = target.error_against_oracle(values) if target.has_float64 else None
    return _float64_verdict(target, error) is None


def _float64_verdict(target: Target, error: OutputError) -> tuple[str, str] | None:
    if error.rms_error_vs_float64 is None or target.own_error is None or not target.limits_error:
        return None
    allowed, why = target.allowed_error()
    if error.rms_error_vs_float64 <= allowed:
        return None
    error.excess = error.rms_error_vs_float64 / allowed
    return (
        "mismatch",
        f"{target.name}: relative rms error against float64 is {error.rms_error_vs_float64:.3g}, allowed {allowed:.3g} ({why})",
    )


def _compare_exact(target: Target, values: torch.Tensor, error: OutputError) -> tuple[OutputError, tuple[str, str] | None]:
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


def _compare_floats(
    target: Target, values: torch.Tensor, error: OutputError, stop_when_wrong: bool = False
) -> tuple[_Worst, str | None]:
    """One pass over both tensors in chunks; with `stop_when_wrong` up to the first wrong one. Returns a message instead if NaN or
    infinities differ."""
    tolerance, worst = target.tolerance, _Worst()
    kernelbench = 1e-2 if target.dtype in HALF else 1e-4
    total, allclose, start = 0.0, True, 0
    for part, wanted in chunks(values, target.values):
        c, r = part.to(target.work), wanted.to(target.work)
        if target.oracle is not None:
            allclose = allclose and _is_kernelbench_close(c, r, kernelbench)
            r = target.expected_part(start, r)
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
        error.squares += float(torch.linalg.vector_norm(gap, dtype=torch.float64)) ** 2
        largest = float(gap.max())
        error.max_abs = max(error.max_abs, largest)
        if largest > kernelbench and target.oracle is None:
            allclose = allclose and bool((gap <= c.abs().mul_(kernelbench).add_(kernelbench)).all())
        if largest > 0:
            allowed = r.abs_().mul_(tolerance.rtol) if r is not wanted else r.abs().mul_(tolerance.rtol)
            scale = target.scale_of(start, c.numel())
            allowed.add_(scale, alpha=tolerance.atol) if torch.is_tensor(scale) else allowed.add_(scale * tolerance.atol)
            if target.oracle is not None and bool((gap > allowed).any()):
                gap = torch.minimum(gap, (c - wanted.to(target.work)).abs_().nan_to_num_(nan=math.inf))
            _note_worst(worst, gap, allowed, start)
            if stop_when_wrong and worst.wrong:
                break
        start += c.numel()
    error.mean_abs = total / values.numel()
    error.kernelbench_allclose = allclose
    return worst, None


def _is_kernelbench_close(c: torch.Tensor, r: torch.Tensor, tolerance: float) -> bool:
    """KernelBench's verdict, which is about the reference; places with NaN or infinities are looked at elsewhere."""
    close = (c - r).abs_() <= c.abs().mul_(tolerance).add_(tolerance)
    return bool(close.all()) or bool((close | ~r.isfinite()).all())


def _note_worst(worst: _Worst, gap: torch.Tensor, allowed: torch.Tensor, start: int) -> None:
    """Updates the worst element and the count of wrong ones. An error of zero is right even if the allowed error is zero."""
    scaled = gap.div_(allowed).nan_to_num_(nan=0.0)
    top = float(scaled.max())
    if top > worst.scaled:
        worst.scaled, worst.index = top, start + int(scaled.argmax())
    if top > 1.0:
        worst.wrong += int((scaled > 1.0).sum())


def _nonfinite_difference(target: Target, c: torch.Tensor, r: torch.Tensor, start: int) -> str | None:
    """Where NaN or infinities of the candidate are not the reference's; None if they agree (float overflow of c - r aside)."""
    bad = (c.isnan() != r.isnan()) | (c.isinf() != r.isinf()) | (c.isinf() & r.isinf() & (c != r))
    if not bool(bad.any()):
        return None
    index = int(bad.nonzero()[0])
    where = _position(target, start + index)
    return f"{target.name}{where} is {float(c[index])}, expected {float(r[index]):.6g}; {int(bad.sum())} such elements there"


def _position(target: Target, flat: int) -> str:
    """The index of an element: "[3, 17]"."""
    position = []
    flat = flat // 2 if target.dtype.is_complex else flat
    for size in reversed(target.shape):
        position.append(flat % size)
        flat //= size
    return str(position[::-1]) if position else ""


def _mismatch_message(target: Target, values: torch.Tensor, worst: _Worst) -> str:
    got, own = values[worst.index].item(), target.values[worst.index].item()
    want = own if target.exact else target.expected_part(worst.index, target.values[worst.index].to(target.work).view(1)).item()
    share = f"{worst.wrong} of {values.numel()} elements are wrong"
    if target.exact:
        return f"{target.name}: {share}; first at {_position(target, worst.index)}: got {got}, expected {want}"
    return (
        f"{target.name}: {share}; worst at {_position(target, worst.index)}: got {got:.8g}, expected {want:.8g}"
        f"{'' if target.oracle is None else f' (the reference gives {own:.8g})'}, "
        f"{worst.scaled:.3g} times the allowed error"
    )
