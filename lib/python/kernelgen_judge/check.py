"""Compares the outputs of a call in the arena with the expected ones."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kernelgen_common import dtypes

from . import compare
from .device import Device, GpuDevice
from .distributions import OWN, SPECIAL, is_about_range, slack_of
from .errors import TaskError, one_line
from .exchange import REPORT_BYTES, Layout, Memory, Placed, as_signed, make_layout
from .oracle import Oracle, OracleBudget, OracleUnavailable
from .quick import QuickComparer
from .call_preparer import Expected, CallPreparer
from .stability import answers_nearby, is_stable, is_wrong_like
from .target import Allowance, Tolerance, Truth, default_tolerance
from .task import Task
from .values import Flat
from .weights import SETS, Weights

#: Outputs up to this size are always compared in full, because that costs next to nothing.
ALWAYS_FULL_BYTES = 64 << 20
SAMPLE_BLOCKS = 64
SAMPLE_ELEMENTS = 16384
#: Tolerance factor for samples, because the scale of an output is less certain from a sample.
SAMPLE_SLACK = 2.0
#: Changes of inputs and weights that are tried before an answer under weights that need it is refused.
STABILITY_TRIES = 6
_MAX_NAMES = 8


@dataclass(frozen=True)
class _Report:
    """The description of what ModelNew returned, by a Python runner. Untrusted."""

    structure: Any
    tensors: list[tuple[str, tuple[int, ...]]]


def _outcome(kind: str, detail: str, message: str, outputs: list[Any] | None = None) -> dict[str, Any]:
    found = {"kind": kind, "detail": detail, "message": one_line(message, 2000)}
    return {"outcome": found, "outputs": outputs or []}


def _of_call(reply: dict[str, Any], index: int, calls: int) -> dict[str, Any]:
    """The reply about one of several calls in a row, with a message that tells which one it is."""
    if calls == 1:
        return reply
    outcome = reply["outcome"]
    message = one_line(f"call {index + 1} of {calls} in a row: {outcome['message']}", 2000)
    return {**reply, "outcome": {**outcome, "message": message}}


def _largest_error(reply: dict[str, Any]) -> float:
    """As a share of what is allowed, over all outputs."""
    return max((output["max_error_ratio"] for output in reply["outputs"]), default=0.0)


def forged(message: str) -> dict[str, Any]:
    """The outcome for anything that a runner's own code would not have written."""
    return _outcome("cheat", "protocol", message)


def out_of_memory(message: str) -> dict[str, Any]:
    """The outcome for what is too large to be judged."""
    return _outcome("out_of_memory", "", message)


def _names(names: list[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def parse_report(data: bytes) -> _Report | None:
    """Reads the output description: u32 length, then {"structure": .., "tensors": [{"dtype": .., "shape": [..]}]}.

    None if there is none. Raises ValueError for anything that is not exactly that.
    """
    length = int.from_bytes(data[:4], "little")
    if length == 0:
        return None
    if length > REPORT_BYTES - 4:
        raise ValueError("the output description is too long")
    try:
        body = json.loads(data[4 : 4 + length].decode("utf-8"))
    except RecursionError:
        raise ValueError("the output description is nested too deeply") from None
    if not isinstance(body, dict) or not isinstance(body.get("tensors"), list):
        raise ValueError("the output description is malformed")
    tensors = []
    for entry in body["tensors"][:65536]:
        dtype, shape = entry["dtype"], entry["shape"]
        if not isinstance(dtype, str) or not isinstance(shape, list) or len(shape) > 64:
            raise ValueError("the output description is malformed")
        if not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
            raise ValueError("the output description has impossible shapes")
        tensors.append((dtype[:40], tuple(shape)))
    return _Report(body.get("structure"), tensors)


class Checker:
    """Copies outputs out of the arena, then judges the copy. One thread."""

    always_full_bytes = ALWAYS_FULL_BYTES

    def __init__(
        self,
        task: Task,
        layout: Layout,
        arena: Placed,
        preparer: CallPreparer,
        weights: Weights,
        request: Mapping[str, Any],
        host: Memory | None = None,
    ):
        """`host` is the arena with the report, if the tensors are in another one."""
        self._task = task
        self._arena = arena
        self._preparer = preparer
        self._weights = weights
        self._tolerance = requested_tolerance(task, request)
        self._segments = layout.of("output")
        private = make_layout([("output", segment.spec) for segment in self._segments], with_report=False)
        self._pairs = list(zip(self._segments, private.segments))
        self._copy = self._make_copy(private)
        self._views = {segment.name: self._copy.view(segment) for segment in private.segments}
        self._host = arena if host is None else host
        self._report = self._host.layout.of("report")
        self._full = sum(segment.nbytes for segment in self._segments) <= self.always_full_bytes
        self._budget = oracle_budget(request, task.device)
        self._oracles: dict[int, Oracle | None] = {}
        self._seen: set[tuple[int, str]] = set()
        self._learned: dict[tuple[int, str], dict[str, Allowance]] = {}
        self._rng = random.SystemRandom()
        self._quick = QuickComparer(self._tolerance)

    def _make_copy(self, private: Layout) -> Placed:
        return Memory.private(private, "kernelgen-outputs")

    # -- the answer -----------------------------------------------------------------------------------------------

    def check(self, mode: str) -> dict[str, Any]:
        """{"outcome": {kind, detail, message}, "outputs": [OutputError...]} for the prepared call."""
        full = mode == "full" or self._full
        preparer, worst = self._preparer, _outcome("correct", "", "")
        for index, preparer.current in enumerate(preparer.series):
            if full:
                self._fetch_outputs()
            if index == 0:
                refused = self._find_illegal_writes() or self._check_description()
                if refused is not None:
                    return refused
            found = self._compare_in_full() if full else self._compare_sample()
            if found["outcome"]["kind"] != "correct":
                return _of_call(found, index, len(preparer.series))
            if index == 0 or _largest_error(found) > _largest_error(worst):
                worst = found
        return worst

    def _fetch_outputs(self) -> None:
        """Copies the outputs of a call out of the arena."""
        for segment, (_, private) in zip(self._preparer.outputs(), self._pairs):
            self._copy.copy_in(private, self._arena.raw(segment))

    def digest(self) -> str:
        """SHA-256 over the raw outputs in the arena."""
        assert isinstance(self._copy, Memory)
        self._fetch_outputs()
        found = hashlib.sha256()
        for _, private in self._pairs:
            found.update(self._copy.bytes_of(private))
        return found.hexdigest()

    def _find_illegal_writes(self) -> dict[str, Any] | None:
        """Finds writes to memory that is not an output."""
        broken = self._preparer.padding.broken(self._preparer.slots)
        if broken:
            self._preparer.padding.fill()
            return _outcome("crash", "out_of_bounds", f"wrote outside of {_names(broken)}")
        changed = self._preparer.changed_inputs()
        if changed:
            return _outcome("mutated_input", "", f"input {_names(changed)} was overwritten")
        overwritten = self._weights.overwritten()
        if overwritten:
            return _outcome("mutated_input", "", f"weight {_names(overwritten)} was overwritten")
        return None

    # -- Python targets -------------------------------------------------------------------------------------------

    def _check_description(self) -> dict[str, Any] | None:
        """Checks a Python runner's description of its outputs; None if it fits or there is none.

        Whatever goes wrong here is the candidate's doing: the runner's own code writes what can be read.
        """
        try:
            report = parse_report(self._read_report())
            return None if report is None else self._compare_description(report)
        except Exception as error:  # noqa: BLE001 - see above
            return forged(f"the outputs are not described as a runner describes them: {error}")

    def _compare_description(self, report: _Report) -> dict[str, Any] | None:
        difference = compare.common_values.difference(self._task.output_structure, report.structure)
        if not difference:
            difference = compare._scalar_difference(self._task.output_structure, report.structure)
        if difference:
            return _outcome("accuracy", "structure", difference)
        if len(report.tensors) != len(self._segments):
            return _outcome(
                "accuracy", "structure", f"{len(report.tensors)} tensors returned, expected {len(self._segments)}"
            )
        for segment, (dtype, shape) in zip(self._segments, report.tensors):
            spec = segment.spec
            if shape != tuple(spec.shape):
                return _outcome(
                    "accuracy", "shape", f"{spec.name} has shape {list(shape)}, expected {list(spec.shape)}"
                )
            if dtype != spec.dtype:
                return _outcome("accuracy", "dtype", f"{spec.name} has dtype {dtype}, expected {spec.dtype}")
        return None

    def _read_report(self) -> bytes:
        """A private copy of the report, of the size that it announces."""
        assert isinstance(self._host, Memory)
        for segment in self._report:
            memory = self._host.bytes_of(segment)
            announced = int.from_bytes(memory[:4], "little")
            return announced.to_bytes(4, "little") + bytes(memory[4 : 4 + min(announced, REPORT_BYTES)])
        return bytes(4)

    # -- comparison -----------------------------------------------------------------------------------------------

    def _prepared(self, expected: Expected, at_any_cost: bool = False) -> compare.Expected:
        """The prepared expected outputs, computed once for each answer of the reference; `at_any_cost` with the truth, if there
        is one."""
        found = expected.prepared
        if found is None or (at_any_cost and not found.has_truth):
            truth = self._truth(expected) if at_any_cost or self._wants_truth(expected) else None
            if found is not None and truth is None:
                return found
            distribution = OWN if self._preparer.current is None else self._preparer.current.distribution
            found = compare.Expected(expected.outputs, truth, self._tolerance, self._known(expected), slack_of(distribution))
            self._learn(expected, found)
            expected.prepared = found
        return found

    def _truth(self, expected: Expected) -> Truth | None:
        """The truth about the prepared call; None if there is none within the budget."""
        chosen = self._preparer.current
        if chosen is None or self._task.randomness == "stochastic":
            return None
        self._seen.add((expected.weight_set, chosen.distribution))
        try:
            oracle = self._oracle(expected)
            return None if oracle is None else oracle.run(chosen.inputs, expected.forward_seed, expected.draws)
        except OracleUnavailable:
            self._oracles[expected.weight_set] = None
            return None

    def _allow_rounding(
        self, expected: Expected, prepared: compare.Expected, comparison: compare.Comparison
    ) -> compare.Comparison:
        """Compares once more with what plain sequential sums cost in the very call, where that can be simulated."""
        chosen, oracle = self._preparer.current, self._oracles.get(expected.weight_set)
        if chosen is None or oracle is None or is_about_range(chosen.distribution):
            return comparison
        oracle.renew_rounding_time()
        return compare.compare_with_rounding(
            prepared,
            self._views,
            comparison,
            lambda lot: oracle.run_rounded(chosen.inputs, expected.forward_seed, expected.draws, lot),
        )

    def _is_chaotic(self, expected: Expected) -> bool:
        """True if the prepared call cannot tell right from wrong, because rounding decides it under these weights."""
        chosen = self._preparer.current
        if chosen is None or not self._weights.needs_stability(expected.weight_set):
            return False
        reference = self._weights.get(expected.weight_set).reference
        try:
            return not is_stable(reference, chosen.inputs, expected.forward_seed, STABILITY_TRIES, expected.draws)
        except TaskError:
            return False

    def _is_like_the_reference(
        self, expected: Expected, prepared: compare.Expected, comparison: compare.Comparison
    ) -> bool:
        """True if the prepared call shows an extreme on which the reference is no more right than the answer, in other elements or by chance."""
        chosen = self._preparer.current
        if chosen is None or not is_about_range(chosen.distribution):
            return False
        reference = self._weights.get(expected.weight_set).reference
        nearby = answers_nearby(reference, chosen.inputs, expected.forward_seed, expected.draws)
        try:
            return is_wrong_like(nearby, prepared, comparison)
        except TaskError:
            return False

    def _wants_truth(self, expected: Expected) -> bool:
        """True for the first call on each distribution under each weight set."""
        chosen = self._preparer.current
        if chosen is None or chosen.distribution == SPECIAL or self._task.randomness == "stochastic":
            return False
        return (expected.weight_set, chosen.distribution) not in self._seen

    def _known(self, expected: Expected) -> dict[str, Allowance]:
        """What admission, and earlier calls under the same weights, showed about the current distribution."""
        distribution = "" if self._preparer.current is None else self._preparer.current.distribution
        known = dict(self._task.allowances.get(distribution, {}))
        for name, learned in self._learned.get((expected.weight_set, distribution), {}).items():
            known[name] = known.get(name, Allowance()).merged(learned)
        return known

    def _learn(self, expected: Expected, prepared: compare.Expected) -> None:
        if prepared.has_truth and self._preparer.current is not None:
            key = (expected.weight_set, self._preparer.current.distribution)
            before = self._learned.get(key, {})
            self._learned[key] = {
                name: before.get(name, Allowance()).merged(found) for name, found in prepared.learned().items()
            }


    def _oracle(self, expected: Expected) -> Oracle | None:
        """What knows the truth under a weight set; None where admission found that it costs too much."""
        if expected.weight_set not in self._oracles:
            self._oracles = {kept: oracle for kept, oracle in self._oracles.items() if kept in SETS}
            reference = self._weights.get(expected.weight_set).reference
            self._oracles[expected.weight_set] = Oracle(reference, self._budget, expected.nanoseconds * 1e-9)
        return self._oracles[expected.weight_set]

    def compare_outputs(self, outputs: Flat) -> compare.Comparison:
        """Compares outputs of the prepared call that did not come from a candidate, by the same rules."""
        assert self._preparer.current is not None and self._preparer.current.expected is not None
        return self._prepared(self._preparer.current.expected).compare(outputs.tensors, outputs.structure)

    def _compare_in_full(self) -> dict[str, Any]:
        assert self._preparer.current is not None and self._preparer.current.expected is not None
        expected = self._preparer.current.expected
        found = self._find_invalid_booleans(expected)
        if found is None and expected.prepared is None and not self._wants_truth(expected):
            accepted = self._quick.accept(expected.outputs.tensors, self._views, self._known(expected))
            if accepted is not None:
                return _outcome("correct", "", "", [error.to_json() for error in accepted])
        return found or self._compare_exactly(expected)

    def _find_invalid_booleans(self, expected: Expected) -> dict[str, Any] | None:
        """Finds booleans with bytes other than 0 and 1, which torch must not read as booleans."""
        for name, view in self._views.items():
            if view.dtype == torch.bool and view.numel() and int(view.view(torch.uint8).max()) > 1:
                hint = self._hint(expected)
                return _outcome("accuracy", "mismatch", f"{name} holds bytes that are no booleans{hint}")
        return None

    def _compare_exactly(self, expected: Expected) -> dict[str, Any]:
        prepared = self._prepared(expected)
        comparison = prepared.compare(self._views)
        if not prepared.has_truth and (comparison.detail == "mismatch" or comparison.needs_truth):
            # The reference's own answer does not decide where the truth can be had.
            prepared = self._prepared(expected, at_any_cost=True)
            comparison = prepared.compare(self._views)
        if prepared.has_truth and comparison.detail == "mismatch":
            # Before an answer is refused.
            comparison = self._allow_rounding(expected, prepared, comparison)
        if comparison.detail == "mismatch" and (
            self._is_chaotic(expected) or self._is_like_the_reference(expected, prepared, comparison)
        ):
            comparison = compare.Comparison(outputs=comparison.outputs)
        if not comparison.correct and self._preparer.current is not None and self._preparer.current.distribution == SPECIAL:
            comparison = self._compare_on_special_values(expected) or comparison
        reply = comparison.to_json()
        if not comparison.correct:
            hint = self._hint(expected)
            if "not written" in hint and comparison.detail == "nan":
                reply["outcome"]["detail"] = "mismatch"
            reply["outcome"]["message"] = one_line(comparison.message + hint, 2000)
        return reply

    def _compare_on_special_values(self, expected: Expected) -> compare.Comparison | None:
        """Compares with the truth where the answer agrees with it, and with the reference elsewhere; None without a truth."""
        truth = self._truth(expected)
        if truth is None:
            return None
        outputs = compare.with_truth_where_right(expected.outputs, truth, self._views, self._tolerance)
        return compare.Expected(outputs, None, self._tolerance, self._known(expected), slack_of(SPECIAL)).compare(self._views)

    def _compare_sample(self) -> dict[str, Any]:
        """Secret blocks of large outputs, by the elementwise rule."""
        assert self._preparer.current is not None and self._preparer.current.expected is not None
        expected = self._preparer.current.expected
        known = self._known(expected)
        for segment in self._preparer.outputs():
            given = self._arena.view(segment).reshape(-1)
            wanted = expected.outputs.tensors[segment.name].reshape(-1)
            message = self._sample_one(given, wanted, known.get(segment.name, Allowance()).least)
            if message:
                return _outcome("accuracy", "mismatch", f"{segment.name}: {message}")
        return _outcome("correct", "", "")

    def _sample_one(self, given: torch.Tensor, wanted: torch.Tensor, more: float) -> str:
        """What is wrong, or "". `more` is added to the absolute tolerance."""
        count = min(SAMPLE_ELEMENTS, given.numel())
        tolerance = self._tolerance or default_tolerance(given.dtype)
        for _ in range(SAMPLE_BLOCKS if count else 0):
            start = self._rng.randrange(given.numel() - count + 1)
            c, r = given[start : start + count].clone(), wanted[start : start + count]
            if torch.equal(dtypes.bits(c), dtypes.bits(r)):
                continue
            if not (c.is_floating_point() or c.is_complex()):
                return f"differs between elements {start} and {start + count}"
            wide = torch.complex128 if c.is_complex() else torch.float64
            c, r = c.to(wide), r.to(wide)
            scale = math.sqrt(float(r.abs().nan_to_num(0, 0, 0).square().mean()))
            allowed = SAMPLE_SLACK * (tolerance.rtol * r.abs() + tolerance.atol * scale) + more * scale
            agrees = ((c - r).abs() <= allowed) | (c == r) | (c.isnan() & r.isnan())
            if not bool(agrees.all()):
                return f"{int((~agrees).sum())} of {count} elements from {start} on are wrong"
        return ""

    # -- hints ----------------------------------------------------------------------------------------------------

    def _hint(self, expected: Expected) -> str:
        """Hints about a wrong output, for the message."""
        unwritten = self._unwritten()
        if unwritten:
            return "; " + unwritten
        if self._is_earlier_answer(expected):
            return "; stale: it equals the answer of another call"
        if self._is_other_weights_answer(expected):
            return "; it equals the answer under the other weight set"
        return ""

    def _unwritten(self) -> str:
        for (_, private), (word, size) in zip(self._pairs, self._preparer.poison_words):
            raw = self._copy.raw(private).view(dtypes.bits_dtype(size))
            poisoned = int((raw == as_signed(word, size)).sum()) if raw.numel() else 0
            if poisoned and poisoned == raw.numel():
                return f"{private.name} was not written"
            # One byte matches by chance in one of 256 elements.
            if poisoned and size > 1:
                return f"{poisoned} of {raw.numel()} elements of {private.name} were not written"
        return ""

    def _close_to(self, outputs: Flat) -> bool:
        try:
            if compare.is_far_in_samples(outputs.tensors, self._views, self._tolerance):
                return False
            return compare.Expected(outputs, None, self._tolerance).compare(self._views).correct
        except RuntimeError:
            return False

    def _is_earlier_answer(self, expected: Expected) -> bool:
        """True for the answer to the call before this one, to the first of the series, or to an earlier one at the same addresses."""
        # One that is near the right answer, too, is an imprecise one.
        if self._close_to(expected.outputs):
            return False
        series, current = self._preparer.series, self._preparer.current
        others = [] if current is None else [series[0], series[series.index(current) - 1]]
        if any(self._close_to(one.expected.outputs) for one in others if one is not current and one.expected is not None):
            return True
        if self._preparer.previous is not None and self._close_to(self._preparer.previous):
            return True
        reference = self._weights.get(expected.weight_set).reference
        try:
            return any(
                self._close_to(reference.run(inputs, expected.forward_seed).outputs) for inputs in self._preparer.earlier_inputs()
            )
        except TaskError:
            return False

    def _is_other_weights_answer(self, expected: Expected) -> bool:
        chosen = self._preparer.current
        others = [index for index in SETS if index != expected.weight_set and self._weights.built(index)]
        if chosen is None or not others or not self._task.parameters:
            return False
        try:
            other = self._weights.get(others[0]).reference.run(chosen.inputs, expected.forward_seed, replay=expected.draws or None)
        except TaskError:
            return False
        return self._close_to(other.outputs)


def oracle_budget(request: Mapping[str, Any], device: Device) -> OracleBudget:
    """The limits of the load request for float64; on a device always half of its free memory."""
    given, standard = request.get("budget") or {}, OracleBudget()
    seconds = float(given.get("float64_seconds", standard.seconds))
    if isinstance(device, GpuDevice):
        return OracleBudget(seconds, device.free_bytes() // 2)
    return OracleBudget(seconds, int(given.get("float64_bytes", standard.bytes)))


def requested_tolerance(task: Task, request: Mapping[str, Any]) -> Tolerance | None:
    """The tolerance of the request if it differs from the defaults; None means by dtype."""
    rtol, atol = request.get("rtol"), request.get("atol")
    if rtol is None and atol is None:
        return None
    half = any(spec.dtype in ("float16", "bfloat16") for spec in task.outputs)
    standard = default_tolerance(torch.float16 if half else torch.float32)
    rtol = standard.rtol if rtol is None else float(rtol)
    atol = standard.atol if atol is None else float(atol)
    is_standard = rtol <= standard.rtol and atol <= standard.atol
    return Tolerance(rtol, atol, standard.max_rms_error_multiple, is_standard)
