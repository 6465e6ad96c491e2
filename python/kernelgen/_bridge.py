"""What the extension calls when a judge, a model or a policy is written in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from . import _core
from ._codec import encode
from .compilers import KernelCompiler, key_with_digest, plain_outcome, request_from
from .enums import PromptKind
from .flow_records import Action, action_result_from
from .judges import Benchmarker, EvaluationProgress, description_from, description_line
from .models import LLMClient, ModelTerms, Reply, Request
from .options import options_from, plain
from .policies import Decision, Policy, SearchFacts
from .records import EvaluationRecord, TaskDescription
from .tasks import Candidate, Task

action_result = action_result_from


def evaluate(judge: Benchmarker, task: dict[str, Any], candidate: dict[str, Any], options: dict[str, Any],
             report: Callable[[str, str], None], stop: _core.StopToken) -> str:
    """A record as JSON, from a judge."""
    def progress(step: EvaluationProgress) -> None:
        report(step.phase, step.detail)

    asked = Candidate(**candidate)
    record = judge.evaluate(Task(**task), asked, options_from(options), progress=progress, stop=stop)
    if not isinstance(record, EvaluationRecord):
        raise TypeError(f"{type(judge).__name__}.evaluate() returned {type(record).__name__}, not an EvaluationRecord")
    if record.candidate_id:
        return record.to_json()
    # What identifies the record need not be filled in by every judge.
    return json.dumps({
        **encode(record), "task_name": task["name"], "task_content_id": task["content_id"], "candidate_id": asked.id,
        "target": asked.target, "language": asked.language, "mode": options["mode"], "precision": options["precision"]})


def describe(judge: Benchmarker, task: dict[str, Any], options: dict[str, Any], stop: _core.StopToken) -> str:
    """A description as the line of a journal, from a judge."""
    description = judge.describe(Task(**task), options_from(options), stop=stop)
    if not isinstance(description, TaskDescription):
        raise TypeError(
            f"{type(judge).__name__}.describe() returned {type(description).__name__}, not a TaskDescription")
    return description_line(description)


def complete(model: LLMClient, request: dict[str, Any], stop: _core.StopToken) -> dict[str, Any]:
    """The members of a reply, from a model."""
    reply = model.complete(Request(**request), stop)
    if isinstance(reply, str):
        reply = Reply(reply)
    if not isinstance(reply, Reply):
        raise TypeError(f"{type(model).__name__}.complete() returned {type(reply).__name__}, not a Reply or a text")
    for name in _COUNTS:
        _check_count(model, "complete", name, getattr(reply, name))
    return {**vars(reply), "text": _whole_characters(reply.text)}


_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens")


def _check_count(model: LLMClient, method: str, name: str, count: int | None) -> None:
    """Ends the call where a model counts tokens below 0: a limit of tokens or money would not hold."""
    if isinstance(count, (int, float)) and not count >= 0:
        raise ValueError(f"{type(model).__name__}.{method}() returned {name}={count}; it must be None, or 0 or more")


def _whole_characters(text: str) -> str:
    """A text with U+FFFD in place of halves of surrogate pairs, which json.loads makes of a reply that was cut: a
    search goes on whatever a model wrote."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def terms(model: LLMClient) -> dict[str, dict[str, Any]]:
    """What a model knows of its prices and limits, by the kinds of prompts."""
    found = {}
    for kind in PromptKind:
        known = model.terms(str(kind))
        if not isinstance(known, ModelTerms):
            raise TypeError(f"{type(model).__name__}.terms() returned {type(known).__name__}, not ModelTerms")
        _check_count(model, "terms", "max_output_tokens", known.max_output_tokens)
        found[str(kind)] = plain(known)
    return found


def supports(compiler: KernelCompiler, target: str) -> bool:
    """Whether a compiler takes candidates of a target."""
    return bool(compiler.supports(target))


def compiler_key(compiler: KernelCompiler, request: dict[str, Any], stop: _core.StopToken) -> tuple[str, str]:
    """A key and its digest, from a compiler."""
    return key_with_digest(compiler, compiler.key(request_from(request), stop))


def compile_candidate(compiler: KernelCompiler, request: dict[str, Any], stop: _core.StopToken) -> dict[str, Any]:
    """The parts of an answer, from a compiler."""
    return plain_outcome(compiler, compiler.compile(request_from(request), stop))


def policy_options(policy: Policy) -> list[tuple[str, str]]:
    """The settings of a policy as text, in the order in which journals keep them."""
    return sorted((str(name), str(value)) for name, value in policy.options().items())


def decide(policy: Policy, history: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """The members of a decision, from a policy."""
    task = facts["task"]
    decision = policy.decide(history, SearchFacts(
        facts["target"], description_from(task) if task is not None else None, facts["threads"],
        frozenset(facts["earlier"])))
    if not isinstance(decision, Decision):
        raise TypeError(f"{type(policy).__name__}.decide() returned {type(decision).__name__}, not a Decision")
    actions = []
    for action in decision.actions:
        if not isinstance(action, Action):
            raise TypeError(f"an action of {type(policy).__name__} is {type(action).__name__}, not an Action")
        actions.append({**vars(action), "kind": str(action.kind)})
    return {"actions": actions, "profiles": list(decision.profiles), "best": decision.best,
            "finished": decision.finished, "reason": decision.reason}
