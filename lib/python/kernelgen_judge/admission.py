"""Admission: the checks of a task before candidates are judged on it. It is done once and cached as JSON.

    admission = admit(task, AdmissionBudget())
    admission.scored            -> False: labelled, a candidate gets "not scored"
    admission.distributions     -> ["own", "zero_mean", ...]
    admission.make_inputs(task, "negate", seed)
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from kernelgen_common.weight_transforms import TRANSFORMS, number_of

from .arithmetic import all_finite, one_thread
from .compare import Expected
from .distributions import NOT_LARGER, OWN, REPEATS, SPECIAL, TensorFacts
from .distributions import applicable, family_of, has_special_probe, inspect_inputs, is_off_centre
from .distributions import make_inputs as make_distribution
from .errors import is_out_of_memory, one_line
from .guarded import guarding
from .oracle import Oracle, OracleBudget, OracleUnavailable, is_lack_of_memory, is_lack_of_time
from .sensitivity import sensitive_bytes
from .stability import is_stable
from .target import FEW_ELEMENTS, NOISE_LIMIT, NOISE_MULTIPLE, ROUNDING_MARGIN, Allowance, Tolerance, Truth, default_tolerance
from .task import CallInputs, CallResult, Reference, Task, TaskError
from .trivial import TrivialCheck
from .values import Flat, same_bits

VERSION = 9
_NO_MEMORY = "the device has not enough memory for it"
_TIME_WAS_OVER = "the time for admission was over"
#: Draws of weights on which a reference must be stable under a transform that needs it.
_STABLE_DRAWS = 4
#: Members of a cached admission that must match the task.
_IDENTITY = ("content_id", "precision", "shrink", "torch", "device")
#: The largest error of the reference itself on a transform, as a multiple of the tolerance. On the task's own distribution a larger
#: error is allowed for, and then on its transforms twice that one.
_TRANSFORM_LIMIT = 5.0
#: The same for extremes: where values are far from zero, what sums cost is allowed for in each call; on the others, algorithms that
#: are equally good differ more; and the offsets that are there for the range of exp() are not to take digits from a mean.
_OFF_CENTRE_LIMIT, _EXTREME_LIMIT, _RANGE_LIMIT = 1.0, 0.25, 0.05


@dataclass(frozen=True)
class AdmissionBudget:
    """`seconds` bounds the search for further distributions; the first few calls are made in any case."""

    seconds: float = 45.0
    float64: OracleBudget = OracleBudget()
    #: Time for finding out which bytes of its inputs the reference needs.
    sensitivity: float = 2.0
    #: Time for all draws of weights on which a reference must be stable but the first.
    stability: float = 4.0
    #: A task gets two more weight sets if its Model is built and called in this time.
    cheap_set: float = 0.03

    def times(self, factor: int) -> AdmissionBudget:
        """So many times as long."""
        return AdmissionBudget(
            factor * self.seconds,
            replace(self.float64, seconds=factor * self.float64.seconds),
            factor * self.sensitivity,
            factor * self.stability,
            factor * self.cheap_set,
        )


@dataclass
class Admission:
    """The results of an admission, in types that JSON can represent, so that they can be cached."""

    content_id: str
    precision: str
    shrink: list[list[Any]]
    torch: str
    #: The kind of device that the reference ran on; "" is the CPU.
    device: str = ""
    mode: str = ""
    randomness: str = "none"
    distributions: list[str] = field(default_factory=lambda: [OWN])
    #: The weight transform of each weight set, "" for the initial distribution. Calls are timed under the second set.
    weight_sets: list[str] = field(default_factory=lambda: ["", ""])
    #: A distribution on which differences are a label and no more, "" if there is none.
    probe: str = ""
    #: Transforms that were left out: {"negate": "the reference gives NaN or infinity", "weights spread": ...}.
    dropped: dict[str, str] = field(default_factory=dict)
    facts: list[TensorFacts] = field(default_factory=list)
    tolerance: dict[str, Any] = field(default_factory=dict)
    float64: str = "none: not tried"
    #: Distributions for which the float64 reference ran.
    float64_distributions: list[str] = field(default_factory=list)
    #: The reference's own error against float64: {"own": {"output": 5e-8}}.
    float64_errors: dict[str, dict[str, float]] = field(default_factory=dict)
    #: What these calls showed for others: {"own": {"output": {"share": .., "level": .., "rounding": ..}}}; see compare.Allowance.
    allowances: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    trivial: dict[str, str] = field(default_factory=dict)
    #: Reasons why the task is not scored, then notes for a reader.
    labels: list[str] = field(default_factory=list)
    #: True if two equal calls of the reference gave equal bytes.
    deterministic: bool = True
    #: Bytes of inputs and weights that the outputs depend on; None where this was not measured (the CPU) or takes too long.
    sensitive_bytes: int | None = None
    #: Median of the reference calls made here.
    reference_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def scored(self) -> bool:
        """True unless a label forbids a verdict."""
        return not self.blocking()

    def blocking(self) -> list[str]:
        """Labels that forbid a verdict."""
        kinds = ("trivial:", "stochastic:", "nondeterministic:", "ill-conditioned:")
        return [label for label in self.labels if label.startswith(kinds)]

    @property
    def asks_for_bytes(self) -> bool:
        """True if sensitive_bytes are looked for: on a device, where equal calls give equal bytes."""
        return bool(self.device) and self.deterministic and self.randomness != "stochastic"

    def lacked_memory(self) -> bool:
        """True if something was left out because the device had too little memory."""
        return _NO_MEMORY in self.dropped.values() or is_lack_of_memory(self.float64)

    def lacked_time(self) -> bool:
        """True if something was left out because its time was over."""
        was_over = any(reason.startswith(_TIME_WAS_OVER) for reason in self.dropped.values())
        return was_over or is_lack_of_time(self.float64) or (self.asks_for_bytes and self.sensitive_bytes is None)

    def make_inputs(self, task: Task, distribution: str, seed: int) -> CallInputs:
        """Inputs of an admitted distribution."""
        return make_distribution(task, self.facts, distribution, seed)

    def known_allowances(self) -> dict[str, dict[str, Allowance]]:
        """By distribution and output."""
        return {
            distribution: {output: Allowance(**values) for output, values in found.items()}
            for distribution, found in self.allowances.items()
        }

    def to_json(self) -> dict[str, Any]:
        data = dict(self.__dict__)
        data["facts"] = [item.to_json() for item in self.facts]
        data["version"] = VERSION
        data["scored"] = self.scored
        return data

    @staticmethod
    def from_json(data: dict[str, Any], task: Task) -> "Admission | None":
        """Reads a cached admission; None if it is of another version, task, precision, shrinking, torch or device."""
        try:
            known = {key: data[key] for key in Admission.__dataclass_fields__}
            known["facts"] = [TensorFacts.from_json(item) for item in data["facts"]]
            admission = Admission(**known)
            Tolerance(**admission.tolerance)
            admission.known_allowances()
        except (KeyError, TypeError, AttributeError):
            return None
        fresh = _empty(task)
        same = all(getattr(admission, key) == getattr(fresh, key) for key in _IDENTITY)
        names = [spec.name for spec in task.inputs] == [item.name for item in admission.facts]
        return admission if data.get("version") == VERSION and same and names else None


def _empty(task: Task) -> Admission:
    shrink = [[name, value] for name, value in task.shrink]
    return Admission(task.source.content_id, task.precision, shrink, torch.__version__, task.device.label, mode=task.mode)


def task_tolerance(task: Task) -> Tolerance:
    """The tolerance that is reported for a task: that of its coarsest floating output."""
    floating = [tensor for tensor in task.outputs if tensor.dtype in ("float16", "bfloat16")]
    return default_tolerance(torch.float16 if floating else torch.float32)


class _Admitter:
    """One admission in progress."""

    def __init__(self, task: Task, budget: AdmissionBudget, seed: int):
        self.task = task
        self.budget = budget
        self.base_seed = seed
        self.started = time.monotonic()
        self.result = _empty(task)
        self.result.tolerance = task_tolerance(task).to_json()
        self.reference: Reference = task.build(self.seed("weights"))
        self.oracle: Oracle | None = None
        self.times: list[float] = []
        self.transform_limit = _TRANSFORM_LIMIT
        #: The rms of each output on the task's own inputs.
        self.magnitudes: dict[str, float] = {}

    def seed(self, purpose: str) -> int:
        digest = hashlib.sha256(f"{self.base_seed}/{purpose}".encode()).digest()
        return int.from_bytes(digest[:8], "little") >> 1

    def call(self, inputs: CallInputs, forward_seed: int) -> CallResult:
        result = self.reference.run(inputs, forward_seed)
        self.times.append(result.seconds)
        return result

    def run(self) -> Admission:
        task, result = self.task, self.result
        forward = self.seed("forward")
        inputs, others = task.make_inputs(self.seed("own 1")), task.make_inputs(self.seed("own 2"))
        result.facts = inspect_inputs(inputs, others)
        first = self.call(inputs, forward)
        self._consistency(inputs, first, forward)
        other = self.call(others, self.seed("forward 2")).outputs
        self.trivial = TrivialCheck(other)
        third = self.call(task.make_inputs(self.seed("own 3")), forward).outputs
        finite = all(_all_finite(outputs) for outputs in (first.outputs, other, third))
        if not finite:
            result.labels.append("non-finite: the reference gives NaN or infinity on its own inputs")
        del others, third
        if result.asks_for_bytes:
            rng = random.Random(self.seed("sensitivity"))
            result.sensitive_bytes = sensitive_bytes(self.reference, inputs, forward, self.budget.sensitivity, rng)
        if result.randomness != "stochastic":
            self._start_oracle()
            self._judge(OWN, inputs, first, forward)
            self._transforms(forward, finite)
            self._plan_probe(forward)
            self._plan_weight_sets(inputs, forward, finite)
            self._finish_trivial()
            self._state_multiple()
        result.labels = task.labels + result.labels
        result.reference_seconds = sorted(self.times)[len(self.times) // 2]
        result.seconds = time.monotonic() - self.started
        return result

    def _consistency(self, inputs: CallInputs, first: CallResult, forward: int) -> None:
        """Checks that equal calls agree, and that another forward seed changes nothing unless forward() draws."""
        task, result = self.task, self.result
        again = self.call(inputs, forward).outputs
        result.randomness = task.randomness
        result.deterministic = all(same_bits(t, again.tensors[name]) for name, t in first.outputs.tensors.items())
        if not result.deterministic:
            comparison = Expected(first.outputs).compare(again.tensors, again.structure)
            if not comparison.correct:
                result.labels.append(f"nondeterministic: equal calls of the reference disagree: {comparison.message}")
        if task.randomness == "none" and result.deterministic:
            reseeded = self.call(inputs, self.seed("forward 3")).outputs
            if any(not same_bits(t, reseeded.tensors[name]) for name, t in first.outputs.tensors.items()):
                result.randomness = task.randomness = "stochastic"
                result.labels.append("stochastic: forward() depends on a random generator other than torch's")

    def _start_oracle(self) -> None:
        try:
            self.oracle = Oracle(self.reference, self.budget.float64, min(self.times))
        except OracleUnavailable as error:
            self.result.float64 = one_line(f"none: {error}", 240)

    def _truth(self, inputs: CallInputs, call: CallResult, forward: int) -> Truth | None:
        """The truth about a call, or None with the reason kept."""
        if self.oracle is None:
            return None
        try:
            return self.oracle.run(inputs, forward, call.draws)
        except OracleUnavailable as error:
            self._note_end_of_float64(str(error))
            self.oracle = None
            return None

    def _note_end_of_float64(self, why: str) -> None:
        done = len(self.result.float64_distributions)
        self.result.float64 = one_line(f"partial: {done} distributions: {why}" if done else f"none: {why}", 240)

    def _judge(self, name: str, inputs: CallInputs, call: CallResult, forward: int) -> str:
        """Float64 error and trivial answers on one distribution. Returns why it must be dropped, or ""."""
        truth = self._truth(inputs, call, forward)
        expected = Expected(call.outputs, truth, known={output: Allowance(magnitude=size) for output, size in self.magnitudes.items()})
        if name == OWN:
            self.magnitudes = {output: target.magnitude for output, target in expected.targets.items()}
        if truth is None and family_of(name):
            return "there is no float64 result to judge the reference by"
        if truth is not None:
            problem = _own_problem(expected, call.outputs, truth, self._limit_of(name))
            if problem and name != OWN:
                return problem
            if problem:
                self.result.labels.append(f"ill-conditioned: {problem}")
            self._note_errors(name, expected, truth, self._rounding(name, inputs, call, forward, expected))
        self.trivial.add(name, inputs, expected, call.outputs)
        if name == OWN and truth is not None:
            self._label_raised(expected)
        return ""

    def _limit_of(self, distribution: str) -> float:
        """The largest error of the reference itself, as a multiple of the tolerance."""
        if distribution == OWN:
            return math.inf
        if is_off_centre(distribution):
            return _OFF_CENTRE_LIMIT
        if family_of(distribution):
            return _RANGE_LIMIT if family_of(distribution) in ("far", "below") else _EXTREME_LIMIT
        return self.transform_limit

    def _note_errors(self, name: str, expected: Expected, truth: Truth, rounding: dict[str, float]) -> None:
        errors = {target.name: target.own_error for target in expected.targets.values() if target.own_error is not None}
        learned = expected.learned()
        self.result.allowances[name] = {
            output: replace(found, rounding=rounding.get(output, 0.0), distance=None, magnitude=self.magnitudes[output]).__dict__
            for output, found in learned.items()
        }
        if truth.is_float64:
            self.result.float64_errors[name] = errors
            self.result.float64_distributions.append(name)

    def _rounding(self, name: str, inputs: CallInputs, call: CallResult, forward: int, expected: Expected) -> dict[str, float]:
        """The error that plain sequential float32 sums would have, by output; only the class strict asks for it."""
        if self.task.precision != "strict" or self.oracle is None or name not in NOT_LARGER:
            return {}
        rounded = self.oracle.run_rounded(inputs, forward, call.draws)
        if rounded is None:
            return {}
        # One number says little about an error.
        usable = [t for t in expected.targets.values() if t.has_float64 and t.values.numel() >= FEW_ELEMENTS]
        return {target.name: target.error_of(rounded[target.name]) or 0.0 for target in usable}

    def _label_raised(self, expected: Expected) -> None:
        """Labels a task with a reference that is further from the truth than the tolerance; its own error is what is allowed then."""
        worst = max(expected.targets.values(), key=lambda target: target.unexplained_multiple, default=None)
        if worst is None or worst.unexplained_multiple <= 1.0 or self.result.blocking():
            return
        self.transform_limit = max(_TRANSFORM_LIMIT, 2 * worst.unexplained_multiple)
        error = f"the reference's own error in {worst.name} is up to {worst.unexplained:.2g} of its rms"
        passing = self.trivial.passing()
        if passing:
            self.result.labels.append(f"ill-conditioned: {error}, so that {', '.join(passing[:4])} cannot be told from right")
        else:
            self.result.labels.append(f"raised tolerance: {error}, and {NOISE_MULTIPLE:g} times that is allowed")

    def _transforms(self, forward: int, finite: bool) -> None:
        result = self.result
        for name in applicable(self.task, result.facts):
            families = set(map(family_of, result.distributions))
            # Wide values are scaled up far more.
            if family_of(name) and family_of(name) in families or name == "scale_up" and "wide" in families:
                continue
            if name == REPEATS and self.task.leaves_ties_open:
                result.dropped[name] = "the order of equal elements is not defined"
                continue
            spent = time.monotonic() - self.started
            if spent > self.budget.seconds and len(result.distributions) > 1:
                result.dropped[name] = f"{_TIME_WAS_OVER} after {self.budget.seconds:.0f} s"
                continue
            why = self._transform(name, forward, finite)
            if why:
                result.dropped[name] = why
            else:
                result.distributions.append(name)
        if self.oracle is not None and self.oracle.without_float64:
            self._note_end_of_float64(f"{self.oracle.without_float64}; TF32 was compared with float32")
        elif self.oracle is not None:
            result.float64 = "full"

    def _state_multiple(self) -> None:
        """Puts into the tolerance what the float64 rule allows on the task's own distribution, as a multiple of the reference's
        error."""
        own, found = self.result.float64_errors.get(OWN, {}), self.result.allowances.get(OWN, {})
        multiples = [
            max(NOISE_MULTIPLE, ROUNDING_MARGIN * found[output]["rounding"] / error) for output, error in own.items() if error > 0
        ]
        if multiples and all(found[output]["rounding"] > 0 for output in own):
            most = float(self.result.tolerance["max_rms_error_multiple"])
            self.result.tolerance["max_rms_error_multiple"] = min(most, float(f"{max(multiples):.2g}"))

    def _transform(self, name: str, forward: int, finite: bool) -> str:
        """Tries one transform; returns why it is dropped, or ""."""
        try:
            return self._try_transform(name, forward, finite)
        except RuntimeError as error:
            if not self.task.device.is_gpu or not is_out_of_memory(error):
                raise
            self.task.device.release_cache()
            return _NO_MEMORY

    def _try_transform(self, name: str, forward: int, finite: bool) -> str:
        inputs = make_distribution(self.task, self.result.facts, name, self.seed(f"inputs {name}"))
        try:
            with guarding(self.task.device):
                call = self.call(inputs, forward)
        except TaskError as error:
            return one_line(f"the reference raises: {error.message}", 240)
        if finite and not _all_finite(call.outputs):
            return "the reference gives NaN or infinity"
        if call.outputs.specs() != self.task.outputs:
            return "the reference gives outputs of other shapes"
        return self._judge(name, inputs, call, forward)

    def _plan_probe(self, forward: int) -> None:
        """Decides whether candidates are called on special values, and whether these decide."""
        result = self.result
        if not has_special_probe(self.task, result.facts):
            return
        inputs = make_distribution(self.task, result.facts, SPECIAL, self.seed(f"inputs {SPECIAL}"))
        try:
            with guarding(self.task.device):
                outputs = self.call(inputs, forward).outputs
        except TaskError as error:
            result.dropped[SPECIAL] = one_line(f"the reference raises: {error.message}", 240)
            return
        if outputs.specs() != self.task.outputs:
            result.dropped[SPECIAL] = "the reference gives outputs of other shapes"
        elif any(item.nonfinite for item in result.facts):
            result.distributions.append(SPECIAL)
        else:
            result.probe = SPECIAL

    def _plan_weight_sets(self, inputs: CallInputs, forward: int, finite: bool) -> None:
        """Chooses the weight transforms under which the reference still means something."""
        if not any(entry.tensor.is_floating_point() for entry in self.reference.state):
            self.result.weight_sets = ["", "", ""] if self.reference.state else ["", ""]
            return
        started = time.monotonic()
        others = self.task.make_inputs(self.seed("own 2"))
        spread = self._first_weights(("spread", "mild"), inputs, others, forward, finite)
        saturated = self._first_weights(("saturated", spread), inputs, others, forward, finite)
        trained = self._first_weights(("trained", "settled", spread), inputs, others, forward, finite)
        tried = max(1, len([name for name in self.result.dropped if name.startswith("weights ")]) + 3)
        sets = ["", spread, saturated, trained]
        # The float64 calls are part of the time, and a verdict makes them, too.
        if (time.monotonic() - started) / tried < self.budget.cheap_set:
            sets += [spread, saturated]
        self.result.weight_sets = sets

    def _first_weights(
        self, names: tuple[str, ...], inputs: CallInputs, others: CallInputs, forward: int, finite: bool
    ) -> str:
        """The first of these weight transforms that the reference can be judged under; "" if there is none."""
        for name in names:
            if f"weights {name}" in self.result.dropped:
                continue
            why = self._try_weights(name, inputs, others, forward, finite) if name else ""
            if not why:
                return name
            self.result.dropped[f"weights {name}"] = why
        return ""

    def _try_weights(self, name: str, inputs: CallInputs, others: CallInputs, forward: int, finite: bool) -> str:
        """Tries one weight transform; returns why it is dropped, or ""."""
        try:
            reference = self.task.build_to_try(self.seed(f"weights {name}"), number_of(name))
            call, other = reference.run(inputs, forward), reference.run(others, forward)
        except TaskError as error:
            return one_line(f"the reference raises: {error.message}", 240)
        if finite and not _all_finite(call.outputs):
            return "the reference gives NaN or infinity"
        if call.outputs.specs() != self.task.outputs:
            return "the reference gives outputs of other shapes"
        truth = self._weights_truth(reference, inputs, call, forward)
        expected = Expected(call.outputs, truth)
        if expected.compare(other.outputs.tensors).correct:
            return "the reference's outputs no longer depend on its inputs"
        problem = "" if truth is None else _own_problem(expected, call.outputs, truth, self.transform_limit)
        if problem or not TRANSFORMS[number_of(name)].needs_stability:
            return problem
        try:
            stable = is_stable_on_draws(self.task, number_of(name), self.seed, self.budget.stability)
        except TaskError as error:
            return one_line(f"the reference raises: {error.message}", 240)
        return "" if stable else "the reference is chaotic: next to nothing in inputs and weights changes its outputs"

    def _weights_truth(self, reference: Reference, inputs: CallInputs, call: CallResult, forward: int) -> Any:
        """float64 outputs under other weights, or None where there are none within the budget."""
        if self.oracle is None:
            return None
        left = replace(self.budget.float64, seconds=self.budget.float64.seconds - self.oracle.spent)
        try:
            return Oracle(reference, left, min(self.times)).run(inputs, forward, call.draws)
        except OracleUnavailable:
            return None

    def _finish_trivial(self) -> None:
        result = self.result
        result.trivial = self.trivial.to_json()
        passing = self.trivial.passing()
        if passing:
            where = "on every admitted distribution"
            result.labels.append(f"trivial: {', '.join(passing[:4])} {'passes' if len(passing) == 1 else 'pass'} {where}")
        partly = [] if passing else self.trivial.partly()
        if partly:
            result.labels.append(f"partly trivial: {', '.join(partly[:4])}")


def is_stable_on_draws(
    task: Task, transform: int, seed: Callable[[str], int], seconds: float = AdmissionBudget.stability
) -> bool:
    """True if the reference is stable under draws of a weight transform, as many as `seconds` allow; `seed` gives seeds by their
    purpose."""
    started = time.monotonic()
    for draw in range(_STABLE_DRAWS):
        reference, inputs = task.build_to_try(seed(f"stable weights {draw}"), transform), task.make_inputs(seed(f"stable inputs {draw}"))
        if not is_stable(reference, inputs, seed(f"stable forward {draw}")):
            return False
        if time.monotonic() - started > seconds:
            break
    return True


def _all_finite(outputs: Flat) -> bool:
    with one_thread():
        return all(all_finite(tensor) for tensor in outputs.tensors.values())


def _own_problem(expected: Expected, outputs: Flat, truth: Truth, limit: float) -> str:
    """The reason why the reference is too far from the truth to judge others by, or "". `limit`: its largest error as a
    multiple of the tolerance."""
    rounded = {name: truth.outputs[name].to(tensor.dtype) for name, tensor in outputs.tensors.items()}
    comparison = expected.compare(rounded)
    if not comparison.correct and comparison.detail != "mismatch":
        return f"the reference differs in kind from its float64 form: {comparison.message}"
    if not comparison.correct:
        return f"the reference's own rounding decides an output that is compared exactly: {comparison.message}"
    for target in expected.targets.values():
        if target.own_error is not None and target.own_error > NOISE_LIMIT:
            # No tolerance is wider than NOISE_LIMIT, so an honest answer with as much rounding would be within it by chance only.
            return f"rounding decides {target.name}: the reference's is {target.own_error:.2g} of its rms from the float64 result"
    worst = max((target.unexplained_multiple for target in expected.targets.values()), default=0.0)
    comparison = expected.compare(outputs.tensors)
    if not comparison.correct or worst > limit:
        return f"the reference's own rounding is up to {worst:.2g} times the allowed error"
    coarse = max((target.tf32_share for target in expected.targets.values()), default=0.0)
    if coarse > NOISE_LIMIT and limit < math.inf:
        # An honest candidate may use TF32 where the reference happens not to, and the reverse.
        return f"TF32 may cost up to {coarse:.2g} of an output's rms"
    return ""


def admit(
    task: Task,
    budget: AdmissionBudget = AdmissionBudget(),
    cached: dict[str, Any] | None = None,
    seed: int = 0,
) -> Admission:
    """Admits a task, or takes `cached` (an earlier to_json()) where it fits.

    `seed` is no secret, because candidates never see what is drawn here. With a seed from the OS, a transform at the edge of its
    limits would be admitted by one judge and dropped by another, and a candidate that is wrong under it would be right by chance.

    Raises TaskError only where the task's own inputs cannot be made or its own call fails.
    """
    if cached is not None:
        known = Admission.from_json(cached, task)
        if known is not None:
            task.randomness, task.allowances = known.randomness, known.known_allowances()
            return known
    admission = _Admitter(task, budget, seed).run()
    task.allowances = admission.known_allowances()
    return admission
