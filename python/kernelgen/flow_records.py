"""Steps of a search and what came of them, as its journal keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._codec import decode
from .enums import ActionStatus, PromptKind
from .records import EvaluationRecord
from .tasks import Candidate


@dataclass(frozen=True)
class Action:
    """One request to a model, and for code the evaluation of what it wrote. Equal ids mean the same action."""

    id: str
    kind: PromptKind = PromptKind.SEED
    base: str = ""
    analysis: str = ""
    variant: str = ""
    temperature: float = 0.7
    instructions: str = ""
    second_base: str = ""


@dataclass(frozen=True)
class Analysis:
    """The answer to an analysis prompt."""

    worth_optimizing: bool = True
    reason: str = ""
    bottleneck: str = ""
    method: str = ""
    plan: str = ""
    expected_speedup: str = ""
    output_requirement: str = ""
    correction: str = ""


@dataclass(frozen=True)
class Headroom:
    """A kernel's time against a lower bound for every kernel of its task."""

    bound: str = ""
    floor_ns: float = 0.0
    time_ns: float = 0.0
    ratio: float = 0.0
    sentence: str = ""


@dataclass(frozen=True)
class Metric:
    """One number about a kernel."""

    name: str = ""
    value: float = 0.0
    unit: str = ""


@dataclass(frozen=True)
class KernelProfile:
    """All launches of one kernel in one call of the module."""

    name: str = ""
    function: str = ""
    origin: str = "own"
    launches: int = 0
    duration_ns: float = 0.0
    counted_launches: int = 0
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True)
class ProfileUnavailable:
    """The reason why something could not be profiled."""

    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Profile:
    """One call of a module, taken apart."""

    schema: int = 1
    source: str = ""
    device: str = ""
    metric_set: str = ""
    call_ns: float = 0.0
    span_ns: float = 0.0
    kernels: tuple[KernelProfile, ...] = ()
    unavailable: ProfileUnavailable | None = None
    no_counters: ProfileUnavailable | None = None


@dataclass(frozen=True)
class ActionResult:
    """The result of an action."""

    action: Action = Action("")
    number: int = 0
    status: ActionStatus = ActionStatus.NO_CODE
    message: str = ""
    candidate: Candidate | None = None
    record: EvaluationRecord | None = None
    analysis: Analysis | None = None
    critique: str | None = None
    recurrence: str | None = None
    headroom: Headroom | None = None
    profile: Profile | None = None
    change: str = ""

    @property
    def correct(self) -> bool:
        """Whether it was evaluated, and passed every check."""
        evaluated = (ActionStatus.EVALUATED, ActionStatus.DUPLICATE, ActionStatus.UNCHANGED)
        return self.status in evaluated and self.record is not None and self.record.correct

    @property
    def score(self) -> float | None:
        """The score of the record; None unless correct."""
        return self.record.score if self.correct and self.record is not None else None


@dataclass(frozen=True)
class Event:
    """One line of a journal: docs/results.md lists the types and their members."""

    type: str
    time: str
    data: dict[str, Any]


def event_from(line: str) -> Event:
    """An event from the line of a journal."""
    data = json.loads(line)
    return Event(data.pop("type"), data.pop("time"), data)


def action_result_from(line: str) -> ActionResult:
    """A result from the line of a journal that holds one."""
    return decode(ActionResult, json.loads(line)["result"])


def history_from(results: list[tuple[str, str]]) -> dict[str, ActionResult]:
    return {id: action_result_from(line) for id, line in results}
