"""Repairs, whole searches, and what they leave behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core
from ._calls import Begin, await_for, wait_for
from .errors import Error, error_from
from .flow_records import ActionResult, Event, event_from, history_from
from .judges import AnyCandidate, AnyTask, Benchmarker, StopToken, default_judge
from .judges import native_of as native_judge
from .models import LLMClient, Prices
from .models import native_of as native_model
from .options import Budget, EvaluationOptions, check_group, plain
from .policies import AnyPolicy, HybridPolicy
from .policies import native_of as native_policy
from .records import EvaluationRecord
from .tasks import candidate_of, task_of


@dataclass(frozen=True)
class FlowProgress:
    """How far a search is. Its tokens, requests, evaluations and cost are those of all its sessions."""

    tokens: int
    requests: int
    evaluations: int
    cost: float
    finished_actions: int
    max_actions: int | None
    best: str
    best_score: float | None


class FlowObserver:
    """Watches a search. Override what you want to know.

    The methods are called on threads of the search, never on two at once. What one raises ends the search, and is
    raised there.
    """

    def on_event(self, event: Event) -> None:
        """An event, right after it was journaled."""

    def on_evaluation_step(self, action_id: str, phase: str, detail: str) -> None:
        """A step of an evaluation."""

    def on_pause(self, action_id: str, reason: str, seconds: float) -> None:
        """A pause before another attempt."""

    def on_reply_progress(self, action_id: str, text_bytes: int, reasoning_bytes: int) -> None:
        """A reply on its way; told at most ten times a second."""

    def on_progress(self, progress: FlowProgress) -> None:
        """How far the search is; told before each event."""


@dataclass(frozen=True)
class RepairOutcome:
    """What a repair came to. Everything that is known is here, also when an error ended it.

    The candidate itself is "start", the attempts are "start/repair1", ... `best` is the id of the best correct result;
    empty: none is correct.
    """

    history: dict[str, ActionResult]
    best: str
    reason: str
    error: Error | None = None

    @property
    def best_result(self) -> ActionResult | None:
        return self.history.get(self.best)


@dataclass(frozen=True)
class FlowOutcome:
    """The result of a search. `reached` tells whether the best score is at least the goal."""

    history: dict[str, ActionResult]
    best: str
    reached: bool
    reason: str

    @property
    def best_result(self) -> ActionResult | None:
        return self.history.get(self.best)


def _notify(observer: FlowObserver | None) -> Callable[..., object] | None:
    if observer is None:
        return None
    take: dict[str, Callable[..., object]] = {
        "event": lambda line: observer.on_event(event_from(line)),
        "evaluation_step": observer.on_evaluation_step,
        "action_paused": observer.on_pause,
        "reply_progress": observer.on_reply_progress,
        "flow_progress": lambda *values: observer.on_progress(FlowProgress(*values)),
    }
    return lambda kind, *values: take[kind](*values)


def _check_observer(observer: FlowObserver | None) -> None:
    if observer is not None and not isinstance(observer, FlowObserver):
        raise TypeError(f"option observer is {type(observer).__name__}; give an object of a FlowObserver of yours")


def _repair_outcome(values: dict[str, Any]) -> RepairOutcome:
    error = values["error"]
    return RepairOutcome(history_from(values["history"]), values["best"], values["reason"],
                         error_from(*error) if error is not None else None)


def _flow_outcome(values: dict[str, Any]) -> FlowOutcome:
    return FlowOutcome(history_from(values["history"]), values["best"], values["reached"], values["reason"])


def _repair_call(task: AnyTask, candidate: AnyCandidate, model: LLMClient, judge: Benchmarker | None,
                 options: EvaluationOptions, record: EvaluationRecord | None, max_attempts: int, temperature: float,
                 escalations: tuple[str, ...] | None, max_prompt_tokens: int | None, request_timeout: float,
                 observer: FlowObserver | None) -> Begin:
    check_group("options", options, EvaluationOptions)
    _check_observer(observer)
    request = {
        "task": vars(task_of(task)), "candidate": vars(candidate_of(candidate)), "options": plain(options),
        "record": record.to_json() if record is not None else None, "max_attempts": max_attempts,
        "temperature": temperature, "escalations": list(escalations) if escalations is not None else None,
        "max_prompt_tokens": max_prompt_tokens, "request_timeout": request_timeout}
    native = native_judge(judge if judge is not None else default_judge())
    return lambda on_done: _core.start_repair(native_model(model), native, request, _notify(observer), on_done)


def repair(task: AnyTask, candidate: AnyCandidate, model: LLMClient, judge: Benchmarker | None = None, *,
           options: EvaluationOptions = EvaluationOptions(), record: EvaluationRecord | None = None,
           max_attempts: int = 4, temperature: float = 0.7, escalations: tuple[str, ...] | None = None,
           max_prompt_tokens: int | None = None, request_timeout: float = 600.0,
           observer: FlowObserver | None = None, stop: StopToken | None = None) -> RepairOutcome:
    """Asks a model to repair a candidate until it is correct or the attempts are used up.

    `record` is what is known about the candidate already; None: it is evaluated first. `judge` is that of this machine
    unless one is given. Failures of the machinery are in the outcome; Ctrl-C, a stop (Cancelled) and exceptions of your
    callbacks are raised.
    """
    return _repair_outcome(wait_for(_repair_call(
        task, candidate, model, judge, options, record, max_attempts, temperature, escalations, max_prompt_tokens,
        request_timeout, observer), stop))


async def repair_async(task: AnyTask, candidate: AnyCandidate, model: LLMClient, judge: Benchmarker | None = None, *,
                       options: EvaluationOptions = EvaluationOptions(), record: EvaluationRecord | None = None,
                       max_attempts: int = 4, temperature: float = 0.7, escalations: tuple[str, ...] | None = None,
                       max_prompt_tokens: int | None = None, request_timeout: float = 600.0,
                       observer: FlowObserver | None = None) -> RepairOutcome:
    """Awaits repair(). Cancelling the task ends it."""
    return _repair_outcome(await await_for(_repair_call(
        task, candidate, model, judge, options, record, max_attempts, temperature, escalations, max_prompt_tokens,
        request_timeout, observer)))


def _run_call(task: AnyTask, model: LLMClient, judge: Benchmarker | None, policy: AnyPolicy, target: str,
              options: EvaluationOptions, budget: Budget, directory: str | os.PathLike[str] | None, name: str,
              start: AnyCandidate | None, continues: bool, goal: float, max_prompt_tokens: int | None,
              max_output_tokens: int | None, effort: str, request_timeout: float, parallel_requests: int,
              parallel_evaluations: int | None, prompt_overrides: str | os.PathLike[str], prices: Prices | None,
              profiles: bool, sanitize_winner: bool, observer: FlowObserver | None) -> Begin:
    check_group("options", options, EvaluationOptions)
    check_group("budget", budget, Budget)
    _check_observer(observer)
    request = {
        "task": vars(task_of(task)), "target": str(target), "options": plain(options), "budget": plain(budget),
        "directory": os.fspath(directory) if directory is not None else None, "name": name,
        "start": vars(candidate_of(start)) if start is not None else None, "continues": continues, "goal": float(goal),
        "max_prompt_tokens": max_prompt_tokens, "max_output_tokens": max_output_tokens, "effort": effort,
        "request_timeout": request_timeout, "parallel_requests": parallel_requests,
        "parallel_evaluations": parallel_evaluations, "prompt_overrides": os.fspath(prompt_overrides),
        "prices": plain(prices) if prices is not None else None, "profiles": profiles,
        "sanitize_winner": sanitize_winner}
    native = native_judge(judge if judge is not None else default_judge())
    return lambda on_done: _core.start_run(
        native_model(model), native, native_policy(policy), request, _notify(observer), on_done)


def run(task: AnyTask, model: LLMClient, judge: Benchmarker | None = None, *, policy: AnyPolicy = HybridPolicy(),
        target: str = "cpp", options: EvaluationOptions = EvaluationOptions(), budget: Budget = Budget(),
        directory: str | os.PathLike[str] | None = None, name: str = "", start: AnyCandidate | None = None,
        continues: bool = False, goal: float = 1.0, max_prompt_tokens: int | None = None,
        max_output_tokens: int | None = None, effort: str = "", request_timeout: float = 600.0,
        parallel_requests: int = 4, parallel_evaluations: int | None = None,
        prompt_overrides: str | os.PathLike[str] = "", prices: Prices | None = None, profiles: bool = False,
        sanitize_winner: bool = True, observer: FlowObserver | None = None,
        stop: StopToken | None = None) -> FlowOutcome:
    """Searches for a fast kernel: runs a policy to its end.

    With a `directory`, every step is journaled there, and a search that ended early goes on from there when it is
    called again with the same arguments. Without one, everything is kept in memory. `policy` is the name of a policy,
    one of the classes such as EvolvePolicy, or one of yours. A budget of cost counts `prices`, or those that the model
    knows. Without `parallel_evaluations` there is one at once for each GPU of this machine that judges. With `profiles`
    policies ask for profiles before their prompts, and the worker of the judge takes them, in the sandbox of
    candidates. With `sanitize_winner` the winner is judged once more, under the tools of SanitizerOptions.

    A call waits for calls of this process that were stopped and still write the same directory.

    Raises InvalidArgument for a directory with a search of other options; Busy for one that another process uses;
    Pending where the search is paused because the model does not answer or the machine is too busy; MissingDevice;
    errors of models that cannot be asked at all; Cancelled where `stop` ended it: with a directory it can be resumed;
    what your callbacks raise.
    """
    return _flow_outcome(wait_for(_run_call(
        task, model, judge, policy, target, options, budget, directory, name, start, continues, goal,
        max_prompt_tokens, max_output_tokens, effort, request_timeout, parallel_requests, parallel_evaluations,
        prompt_overrides, prices, profiles, sanitize_winner, observer), stop))


async def run_async(task: AnyTask, model: LLMClient, judge: Benchmarker | None = None, *,
                    policy: AnyPolicy = HybridPolicy(), target: str = "cpp",
                    options: EvaluationOptions = EvaluationOptions(), budget: Budget = Budget(),
                    directory: str | os.PathLike[str] | None = None, name: str = "",
                    start: AnyCandidate | None = None, continues: bool = False, goal: float = 1.0,
                    max_prompt_tokens: int | None = None, max_output_tokens: int | None = None, effort: str = "",
                    request_timeout: float = 600.0, parallel_requests: int = 4,
                    parallel_evaluations: int | None = None, prompt_overrides: str | os.PathLike[str] = "",
                    prices: Prices | None = None, profiles: bool = False, sanitize_winner: bool = True,
                    observer: FlowObserver | None = None) -> FlowOutcome:
    """Awaits run(). Cancelling the task ends the search; with a directory, it can be resumed."""
    return _flow_outcome(await await_for(_run_call(
        task, model, judge, policy, target, options, budget, directory, name, start, continues, goal,
        max_prompt_tokens, max_output_tokens, effort, request_timeout, parallel_requests, parallel_evaluations,
        prompt_overrides, prices, profiles, sanitize_winner, observer)))


def read_journal(directory: str | os.PathLike[str]) -> list[Event]:
    """The events of a run, oldest first. Another process may be writing it.

    Raises NotFound for a directory without a run, and InvalidArgument, with the line, for a damaged journal.
    """
    return [event_from(line) for line in _core.read_events(os.fspath(directory))]


def read_history(directory: str | os.PathLike[str]) -> dict[str, ActionResult]:
    """The finished actions of a run, by id. Raises what read_journal() raises."""
    return history_from(_core.read_history(os.fspath(directory)))
