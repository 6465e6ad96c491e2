"""Options of evaluations and limits of searches. All times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core
from .enums import EvaluationMode, LibraryUse, Precision


@dataclass(frozen=True)
class MeasureOptions:
    """How long and how often to measure."""

    max_relative_interval: float = 0.01
    """Stop once the 95 % confidence interval of the ratio is narrower than this fraction of it."""
    full_comparisons: int = 44
    """Timed calls that are compared in full. Fewer than 44 marks the record "reduced verification"."""
    max_samples: int = 100
    """Timed pairs of calls at most."""
    warmup_calls: int = 0
    """Pairs that are called and checked before the first sample is kept."""
    deadline: float = 20.0
    """Seconds of the timing phase at most. Wins over every other criterion."""


@dataclass(frozen=True)
class BaselineOptions:
    """Baselines to compare a correct candidate with besides the eager reference. The score does not change."""

    kinds: tuple[str, ...] = ()
    """"compile", "compile-max-autotune". Each is compiled and timed once per task, which may take minutes."""
    timeout: float = 300.0
    """Seconds for compiling one baseline and comparing it with the reference."""


@dataclass(frozen=True)
class SanitizerOptions:
    """Tools that watch further calls of a correct candidate. What they find becomes the outcome."""

    enabled: bool = False
    timeout: float = 180.0
    """Seconds of each tool."""


@dataclass(frozen=True)
class EvaluationOptions:
    """Options of one evaluation. The defaults give a verdict that can be published."""

    mode: str = EvaluationMode.FULL
    """"full", "quick" (fewer samples) or "correctness_only" (no timing; works on a busy machine)."""
    precision: str = Precision.STRICT
    """"strict", "default", "tf32", "fp16" or "bf16"."""
    rtol: float | None = None
    """Relative tolerance; None: by dtype. A looser one marks the record "non-standard"."""
    atol: float | None = None
    measure: MeasureOptions = MeasureOptions()
    call_timeout: float = 30.0
    """Seconds for one call of the candidate, and for loading it."""
    build_timeout: float = 300.0
    """Seconds for compiling a native candidate, and for what a Python candidate builds."""
    task_timeout: float = 300.0
    """Seconds for importing and admitting the task."""
    memory_limit: int = 8 << 30
    """Bytes that a candidate may use beyond the exchange buffers."""
    threads: int = 0
    """Threads on both sides; 0: one per core."""
    device: str = ""
    """"cpu", or a GPU by index, maker and index ("amd:0"), UUID or name. Empty: what the target needs."""
    shrink: tuple[tuple[str, int], ...] = ()
    """Integer constants at the top of the task file to replace before it is loaded. A shrunk task is labelled."""
    allow_weak_isolation: bool = False
    """Judges even where a candidate could reach other processes. The record is labelled."""
    library_use: str = LibraryUse.ANYTHING
    """What may do the work of a right candidate: "own-kernels", "assisted" or "anything"."""
    baselines: BaselineOptions = BaselineOptions()
    sanitizers: SanitizerOptions = SanitizerOptions()
    hip_wave_size: int = 64
    """Lanes of a wavefront where a processor executes `hip` kernels: 64 or 32."""
    compile_for: tuple[str, ...] = ()
    """Architectures of AMD's GPUs for which a `triton` candidate is compiled besides: "gfx942"."""

    def check(self) -> None:
        """Raises InvalidArgument, naming the option, for a value that is not possible."""
        _core.check_options(plain(self))


@dataclass(frozen=True)
class Budget:
    """Limits of a search; the first one that is reached ends it. None: no limit."""

    tokens: int | None = None
    requests: int | None = None
    evaluations: int | None = None
    cost: float | None = None
    """In the currency of the prices, which every kind of prompt then needs."""
    time: float | None = None
    """Seconds in all sessions of the search together."""


def check_group(name: str, value: object, kind: type) -> None:
    """Raises TypeError for a group of options that is a dictionary or another group."""
    if not isinstance(value, kind):
        raise TypeError(f"option {name} is {type(value).__name__}; give {kind.__name__}(...)")


def plain(options: Any) -> dict[str, Any]:
    """Options as the extension takes them: a dictionary, with dictionaries in it."""
    values: dict[str, Any] = {}
    for name in options.__dataclass_fields__:
        value = getattr(options, name)
        if hasattr(value, "__dataclass_fields__"):
            value = plain(value)
        elif isinstance(value, str):
            value = str(value)
        elif isinstance(value, (tuple, list)):
            value = [str(item) if isinstance(item, str) else item for item in value]
        values[name] = value
    return values


def options_from(values: dict[str, Any]) -> EvaluationOptions:
    """Options from such a dictionary."""
    return EvaluationOptions(**{
        **values,
        "measure": MeasureOptions(**values["measure"]),
        "baselines": BaselineOptions(tuple(values["baselines"]["kinds"]), values["baselines"]["timeout"]),
        "sanitizers": SanitizerOptions(**values["sanitizers"]),
        "shrink": tuple((name, value) for name, value in values["shrink"]),
        "compile_for": tuple(values["compile_for"]),
    })
