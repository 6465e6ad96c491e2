"""The record of an evaluation: everything that is needed to argue about its verdict.

The classes mirror the JSON of records (docs/records.md). They are frozen. Times carry their unit in the name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property

from . import _core
from ._codec import decode, encode
from .enums import EvaluationMode, OutcomeKind, Precision


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a task. `strides` are in elements."""

    name: str = ""
    dtype: str = "float32"
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class ScalarSpec:
    """A number or text among the inputs. `value` is a literal of Python."""

    name: str = ""
    type: str = ""
    value: str = ""


@dataclass(frozen=True)
class OperationFact:
    """A torch function that forward() calls, with equal calls counted together."""

    name: str = ""
    count: int = 1
    inputs: tuple[tuple[int, ...], ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()
    dtype: str = ""


@dataclass(frozen=True)
class RecurrenceFact:
    """A reference that carries state along a dimension."""

    kind: str = "loop"
    layers: int = 1
    directions: int = 1
    steps: int = 0
    hidden_size: int | None = None
    returns: str | None = None


@dataclass(frozen=True)
class TaskFacts:
    """The work of one call of the reference, as the judge observed it."""

    operations: tuple[OperationFact, ...] = ()
    unlisted_operations: int = 0
    product_flops: int = 0
    other_flops: int = 0
    input_bytes: int = 0
    state_bytes: int = 0
    output_bytes: int = 0
    families: tuple[str, ...] = ()
    recurrence: RecurrenceFact | None = None
    least_flops: int | None = None
    least_read_bytes: int | None = None


@dataclass(frozen=True)
class ReferenceTime:
    """Times of the reference, alone on the device: medians of a few calls."""

    call_ns: float = 0.0
    graph_ns: float | None = None
    on_gpu: bool = False


@dataclass(frozen=True)
class TaskDescription:
    """Facts that the judge found by building and running the reference."""

    name: str = ""
    content_id: str = ""
    level: str = "unknown"
    mode: str = "train"
    randomness: str = "none"
    precision: Precision = Precision.STRICT
    inputs: tuple[TensorSpec, ...] = ()
    parameters: tuple[TensorSpec, ...] = ()
    buffers: tuple[TensorSpec, ...] = ()
    attributes: tuple[TensorSpec, ...] = ()
    draws: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    scalars: tuple[ScalarSpec, ...] = ()
    mutated_inputs: tuple[str, ...] = ()
    mutated_buffers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    facts: TaskFacts | None = None
    reference_time: ReferenceTime | None = None

    @property
    def is_recurrent(self) -> bool:
        """Whether the reference is known to carry state along a dimension."""
        return self.facts is not None and self.facts.recurrence is not None


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment: a class, its detail, and one line for a person or a model."""

    kind: OutcomeKind = OutcomeKind.CORRECT
    detail: str = ""
    message: str = ""

    @property
    def correct(self) -> bool:
        """Whether the candidate passed every check."""
        return self.kind == OutcomeKind.CORRECT

    @property
    def name(self) -> str:
        """The class with its detail: "accuracy:mismatch", "timeout"."""
        return f"{self.kind}:{self.detail}" if self.detail else str(self.kind)

    @property
    def could_not_be_measured(self) -> bool:
        """Whether other work on the machine was in the way. Trying again later may give a verdict."""
        return self.kind == OutcomeKind.SUSPECT and self.detail in ("busy machine", "memory in use")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Diagnostic:
    """A message of a compiler. Lines and columns count from 1; 0 where the tool gave none."""

    severity: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    message: str = ""
    source_line: str = ""


@dataclass(frozen=True)
class KernelResources:
    """The resources that one kernel needs: 32-bit registers and bytes of stack per thread, shared bytes per block."""

    name: str = ""
    registers: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    static_shared_bytes: int = 0
    constant_bytes: int = 0
    barriers: int = 0
    scalar_registers: int | None = None
    spilled_scalar_registers: int | None = None
    accumulation_registers: int | None = None
    occupancy: int | None = None
    dynamic_shared_bytes: int | None = None


@dataclass(frozen=True)
class CompileReport:
    """How a compilation went."""

    command: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    log: str = ""
    log_truncated: bool = False
    duration_ns: int = 0
    cache: str = ""
    isolation: str = ""
    kernels: tuple[KernelResources, ...] = ()


@dataclass(frozen=True)
class Tolerance:
    """The meaning of "right": |candidate - truth| <= rtol * |truth| + atol * rms(truth)."""

    rtol: float = 1e-4
    atol: float = 1e-4
    max_rms_error_multiple: float = 0.0
    standard: bool = True


@dataclass(frozen=True)
class OutputError:
    """The error of one output. A `max_error_ratio` above 1 fails."""

    output: str = ""
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_error_ratio: float = 0.0
    rms_error_vs_float64: float | None = None
    reference_rms_error_vs_float64: float | None = None
    kernelbench_allclose: bool = False


@dataclass(frozen=True)
class CaseResult:
    """One checked call of the candidate."""

    distribution: str = ""
    seed: int = 0
    weight_set: int = 1
    call: int = 1
    outcome: Outcome = Outcome()
    outputs: tuple[OutputError, ...] = ()


@dataclass(frozen=True)
class WeightReport:
    """How the weights of a ModelNew were matched with the reference's tensors."""

    by_content: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    by_declaration: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ratio:
    """A ratio with its 95 % confidence interval."""

    value: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def contains_one(self) -> bool:
        """Whether the samples leave open which side is faster."""
        return self.low <= 1 <= self.high


@dataclass(frozen=True)
class MeasureReport:
    """The options of a measurement as they took effect."""

    max_relative_interval: float = 0.01
    full_comparisons: int = 44
    max_samples: int = 100
    warmup_calls: int = 0
    deadline_ms: int = 20000


@dataclass(frozen=True)
class BaselineReport:
    """How a candidate compares with another form of the reference. Not part of the score."""

    name: str = "compile"
    samples_ns: tuple[int, ...] = ()
    median_ns: float | None = None
    speedup: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class MemoryFloor:
    """The least memory traffic of a right kernel on a device. Bytes, and bytes per second."""

    read_bytes: int | None = None
    written_bytes: int = 0
    bytes_per_second: float = 0.0


@dataclass(frozen=True)
class ReplayedSeries:
    """A series of calls, replayed as one graph, by the worker's clock. Nanoseconds."""

    calls: int = 0
    host_ns: tuple[int, ...] = ()
    overhead_ns: float = 0.0
    looseness_ns: float = 0.0
    least_call_ns: float = 0.0
    least_replay_ns: float = 0.0


@dataclass(frozen=True)
class SeparateCalls:
    """Calls one by one, where others are timed in series. Nanoseconds."""

    reference_ns: tuple[int, ...] = ()
    candidate_ns: tuple[int, ...] = ()
    host_ns: tuple[int, ...] = ()
    speedup: Ratio = Ratio()


@dataclass(frozen=True)
class TimingReport:
    """Raw samples and what was computed from them. Nanoseconds. Ratios are reference over candidate."""

    options: MeasureReport | None = None
    reference_alone_before_ns: tuple[int, ...] = ()
    reference_ns: tuple[int, ...] = ()
    candidate_ns: tuple[int, ...] = ()
    host_ns: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    clock_overhead_ns: float = 0.0
    clock_looseness_ns: float = 0.0
    clock_per_call_ns: float = 0.0
    fresh: tuple[int, ...] = ()
    reference_alone_after_ns: tuple[int, ...] = ()
    off_stream_ns: tuple[int, ...] = ()
    clock_mhz: tuple[int, ...] = ()
    reference_alone_graph_ns: tuple[int, ...] = ()
    reference_graph_ns: tuple[int, ...] = ()
    candidate_graph_ns: tuple[int, ...] = ()
    graph_host_ns: tuple[int, ...] = ()
    replayed_series: ReplayedSeries | None = None
    separate_calls: SeparateCalls | None = None
    reference_median_ns: float = 0.0
    candidate_median_ns: float = 0.0
    speedup_call: Ratio = Ratio()
    speedup_device: Ratio | None = None
    speedup_device_reason: str = ""
    stop_reason: str = "criterion"
    full_comparisons: int = 0
    sampled_comparisons: int = 0
    discarded: int = 0
    contention: float | None = None
    device_contention: float | None = None
    memory_floor: MemoryFloor | None = None
    prepare_ns: int = 0
    first_call_ns: int = 0
    baselines: tuple[BaselineReport, ...] = ()


@dataclass(frozen=True)
class WorkActivity:
    """What ran in a call: a kernel on a device, or a shared object on the processor."""

    name: str = ""
    origin: str = "own"
    microseconds: float = 0.0


@dataclass(frozen=True)
class WorkReport:
    """What does the work of a candidate's calls. Shares are 0 to 1."""

    source: str = ""
    own: float = 0.0
    library: float = 0.0
    framework: float = 0.0
    copies: float = 0.0
    examined_ns: float = 0.0
    timed_ns: float = 0.0
    activities: tuple[WorkActivity, ...] = ()
    unavailable: str = ""


@dataclass(frozen=True)
class EnvironmentReport:
    """Versions, device and isolation of an evaluation."""

    kernelgen_version: str = ""
    device: str = ""
    device_uuid: str = ""
    system: str = ""
    compiler: str = ""
    python: str = ""
    torch: str = ""
    triton: str = ""
    threads: int = 0
    isolation: str = ""
    stand_in: str | None = None


@dataclass(frozen=True)
class Phase:
    """One phase of an evaluation and its duration."""

    name: str = ""
    milliseconds: float = 0.0


@dataclass(frozen=True)
class SanitizerReport:
    """A tool that watched calls of the candidate."""

    tool: str = ""
    version: str = ""
    status: str = ""
    reason: str = ""
    findings: tuple[Diagnostic, ...] = ()
    duration_ns: int = 0


@dataclass(frozen=True)
class ArchitectureReport:
    """The resources that a candidate's kernels need on an architecture on which they did not run."""

    architecture: str = ""
    kernels: tuple[KernelResources, ...] = ()
    failure: Outcome | None = None


@dataclass(frozen=True)
class EvaluationRecord:
    """The record of one evaluation."""

    schema: int = 1
    id: str = ""
    started: str = ""
    task_name: str = ""
    task_content_id: str = ""
    candidate_id: str = ""
    target: str = "cpp"
    language: str = "cpp"
    precision: Precision = Precision.STRICT
    mode: EvaluationMode = EvaluationMode.FULL
    outcome: Outcome = Outcome()
    labels: tuple[str, ...] = ()
    task: TaskDescription | None = None
    compile: CompileReport | None = None
    tolerance: Tolerance = Tolerance()
    cases: tuple[CaseResult, ...] = ()
    weights: WeightReport | None = None
    timing: TimingReport | None = None
    work: WorkReport | None = None
    sanitizers: tuple[SanitizerReport, ...] = ()
    compiled_for: tuple[ArchitectureReport, ...] = ()
    environment: EnvironmentReport = EnvironmentReport()
    phases: tuple[Phase, ...] = ()
    _text: str = field(default="", init=False, repr=False, compare=False)

    @staticmethod
    def from_json(text: str) -> EvaluationRecord:
        """Reads the JSON of a record, of this or an older schema.

        Raises InvalidArgument for a text that is no record, and Unsupported for a newer schema.
        """
        return _record_from(_core.check_record(text))

    def to_json(self) -> str:
        """The record as JSON, with a schema number; the same form in which kgen stores it."""
        return self._text or json.dumps(encode(self))

    @property
    def correct(self) -> bool:
        """Whether the candidate passed every check."""
        return self.outcome.correct

    @cached_property
    def score(self) -> float | None:
        """The number that a search compares: how many times as fast as the reference. None unless correct and timed."""
        return _core.score_of(self.to_json()) if self.correct and self.timing is not None else None

    def _repr_html_(self) -> str:
        from ._html import html_of_record

        return html_of_record(self)


def _record_from(text: str) -> EvaluationRecord:
    """A record from JSON that the library wrote."""
    return record_from_data(json.loads(text), text)


def record_from_data(data: dict[str, object], text: str = "") -> EvaluationRecord:
    """A record from JSON that was read already."""
    record = decode(EvaluationRecord, data)
    object.__setattr__(record, "_text", text)
    return record
