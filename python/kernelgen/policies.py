"""Policies: which steps a search takes."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .enums import PromptKind
from .flow_records import Action, ActionResult
from .options import plain
from .records import TaskDescription

History = Mapping[str, ActionResult]
"""All results so far, by the ids of their actions."""


@dataclass(frozen=True)
class Decision:
    """The next step of a policy."""

    actions: Sequence[Action] = ()
    """Actions that must finish next. Running and finished ones may be among them."""
    best: str = ""
    """Id of the action with the best candidate so far; empty: none is correct."""
    finished: bool = False
    reason: str = ""
    """The reason for the end of the search, in one line."""
    profiles: Sequence[str] = ()
    """Ids of correct results that must have a profile before the policy goes on."""


@dataclass(frozen=True)
class SearchFacts:
    """What a policy may know beside the history. The same at every resume."""

    target: str = "cpp"
    task: TaskDescription | None = None
    threads: int | None = None
    earlier: frozenset[str] = field(default_factory=frozenset)
    """Ids of the actions that began before the run was continued."""


def best_of(history: History) -> ActionResult | None:
    """The correct result with the highest score; the first id wins a tie. One without a score ranks below all."""
    scores = {id: result.score for id, result in history.items() if result.correct}
    correct = [(score if score is not None else -1.0, id) for id, score in scores.items()]
    if not correct:
        return None
    most = max(score for score, _ in correct)
    return history[min(id for score, id in correct if score == most)]


class Policy(abc.ABC):
    """A search strategy. Decisions are functions of the history alone, so that a search can be resumed."""

    def name(self) -> str:
        """Part of what a resumed run must have in common with the run before."""
        return type(self).__name__

    def options(self) -> Mapping[str, object]:
        """Its settings; part of what a resumed run must have in common."""
        return {}

    @abc.abstractmethod
    def next(self, history: History) -> Decision:
        """The next step. A decision without actions that is not finished, while nothing runs, is an error."""

    def decide(self, history: History, facts: SearchFacts) -> Decision:
        """The same for policies that want to know the facts as well. This is what a search calls."""
        return self.next(history)

    def max_actions(self) -> int | None:
        """Upper bound on the actions of a search. None: unknown."""
        return None


@dataclass(frozen=True)
class BuiltInPolicy:
    """A policy of the library, with its settings."""

    kind: ClassVar[str] = ""

    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in plain(self).items() if value is not None}


@dataclass(frozen=True)
class HybridPolicy(BuiltInPolicy):
    """Seeds, repairs, analysis, optimized kernels, repairs, stages (docs/flow.md)."""

    kind: ClassVar[str] = "hybrid"
    seeds: int = 2
    has_start: bool = False
    strategies: tuple[str, ...] | None = None
    """Strategy hints of the seeds, used in turn. None: those of the templates; (): none."""
    temperature: float = 0.7
    seed_repairs: int = 4
    optimize_repairs: int = 3
    stage_repairs: int = 1
    analyze: bool = True
    stages: tuple[str, ...] = ("auto",)
    stage_tries: int = 3
    skip_stages_score: float = 0.0
    min_stage_gain: float = 0.02
    stop_score: float = 0.0
    escalations: tuple[str, ...] | None = None
    floor_ratio: float = 1.1
    early_exit: bool = False
    """Skips stages that profiles show as done."""


@dataclass(frozen=True)
class EvolvePolicy(BuiltInPolicy):
    """Islands, each with a small archive of diverse correct kernels."""

    kind: ClassVar[str] = "evolve"
    islands: int = 2
    has_start: bool = False
    archive: int = 4
    generations: int = 10
    strategies: tuple[str, ...] | None = None
    temperature: float = 0.7
    seed_repairs: int = 4
    child_repairs: int = 1
    stop_score: float = 0.0
    escalations: tuple[str, ...] | None = None
    floor_ratio: float = 1.1


@dataclass(frozen=True)
class ReflectPolicy(BuiltInPolicy):
    """Attempts of several samples each; every later one starts from feedback on the best sample so far."""

    kind: ClassVar[str] = "reflect"
    attempts: int = 3
    samples: int = 3
    temperature: float = 0.7
    stop_score: float | None = None
    """None: the goal of the search."""


@dataclass(frozen=True)
class RoundsPolicy(BuiltInPolicy):
    """A coder and a critic, in turns."""

    kind: ClassVar[str] = "rounds"
    rounds: int = 10
    temperature: float = 0.7
    patience: int = 3
    stop_score: float = 0.0
    strategy: str | None = None
    """Strategy hint of the first kernel. None: the first one of the templates; empty: none."""
    escalations: tuple[str, ...] | None = None
    floor_ratio: float = 1.1


@dataclass(frozen=True)
class OneShotPolicy(BuiltInPolicy):
    """Independent samples of the seed prompt."""

    kind: ClassVar[str] = "one-shot"
    samples: int = 3
    temperature: float = 0.7


AnyPolicy = Policy | BuiltInPolicy | str


def native_of(policy: AnyPolicy) -> Any:
    """What the extension takes: a name with settings, or an object of Python."""
    if isinstance(policy, BuiltInPolicy):
        return (policy.kind, policy.settings())
    if isinstance(policy, str):
        return (policy, {})
    if isinstance(policy, type):
        raise TypeError(f"option policy is the class {policy.__name__}; give an object: {policy.__name__}()")
    if not isinstance(policy, Policy):
        raise TypeError(f"option policy is {type(policy).__name__}; give a name, such as \"hybrid\", or a Policy")
    return policy


__all__ = [
    "Action", "AnyPolicy", "BuiltInPolicy", "Decision", "EvolvePolicy", "History", "HybridPolicy", "OneShotPolicy",
    "Policy", "PromptKind", "ReflectPolicy", "RoundsPolicy", "SearchFacts", "best_of", "native_of"]
