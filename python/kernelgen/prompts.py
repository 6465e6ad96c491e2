"""Prompts, code out of replies, classes of errors, and the detector of time loops."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._codec import decode
from .enums import PromptKind
from .flow_records import Analysis
from .judges import AnyTask, description_line
from .models import Reply
from .records import EvaluationRecord, TaskDescription
from .tasks import Candidate, task_of


@dataclass(frozen=True)
class Prompt:
    """The text for a model, with what is known about it. Tokens are estimated at four bytes each."""

    kind: str
    text: str
    estimated_tokens: int
    dropped: tuple[str, ...]
    fingerprint: str
    shared_bytes: int


@dataclass(frozen=True)
class Attempt:
    """An earlier candidate and its verdict. `message` says why there is no record."""

    source: str = ""
    record: EvaluationRecord | None = None
    action_id: str = "seed1"
    message: str = ""
    change: str = ""


@dataclass(frozen=True)
class ExtractedCode:
    """The code in a reply, or in one line the reason why there is none."""

    code: str | None
    problem: str
    change: str


@dataclass(frozen=True)
class ErrorReport:
    """The error of a failed candidate; `error_class` is empty for a correct one (docs/errors.md)."""

    error_class: str
    lines: tuple[str, ...]
    numbers: dict[str, int]
    advice: str
    fingerprint: str


@dataclass(frozen=True)
class Evidence:
    """One finding of the detector. Lines count from 1."""

    kind: str = ""
    line: int = 0
    name: str = ""
    detail: str = ""


@dataclass(frozen=True)
class DetectorWarning:
    """A property that makes a persistent kernel slow or wrong."""

    line: int = 0
    name: str = ""
    message: str = ""


@dataclass(frozen=True)
class PersistenceReport:
    """Whether a source keeps its time loop on the device: "persistent", "per-step", "not-recurrent" or "unknown"."""

    verdict: str = "unknown"
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[DetectorWarning, ...] = ()


def _plain(attempt: Attempt) -> dict[str, Any]:
    return {**vars(attempt), "record": attempt.record.to_json() if attempt.record is not None else None}


class PromptBuilder:
    """Builds prompts from templates. Thread-safe and pure: equal arguments give equal prompts.

    Templates in `overrides` replace those of the same name (docs/prompts.md). Raises NotFound for a missing template,
    and InvalidArgument, with file and line, for one that is no mustache.
    """

    def __init__(self, overrides: str | os.PathLike[str] = "", *, installation: str | os.PathLike[str] = ""):
        self._native = _core.open_prompts(os.fspath(installation), os.fspath(overrides))

    def build(self, task: AnyTask, *, kind: str = PromptKind.SEED, target: str = "cpp", language: str | None = None,
              description: TaskDescription | None = None, base: Attempt | None = None, second: Attempt | None = None,
              history: Sequence[Attempt] = (), analysis: Analysis | None = None, critique: str | None = None,
              findings: Sequence[str] = (), headroom: str = "", variant: str = "", instructions: str = "",
              device: Sequence[tuple[str, str]] = (), threads: int = 1, on_gpu: bool = False, gpu_vendor: str = "",
              gpu_architecture: str = "", rtol: float | None = None, atol: float | None = None,
              max_tokens: int | None = None, without: Sequence[str] = ()) -> Prompt:
        """The prompt of a kind: "seed", "repair", "analysis", "optimize", "stage", "reflect", "critic", "crossover".

        Every kind but "seed" needs `base`. Raises InvalidArgument when something required is missing or a name is
        unknown.
        """
        line = description_line(description) if description is not None else None
        prompt = self._native.build({
            "task": vars(task_of(task)), "kind": str(kind), "target": str(target), "language": language,
            "description": line, "base": _plain(base) if base is not None else None,
            "second": _plain(second) if second is not None else None, "history": [_plain(one) for one in history],
            "analysis": dict(vars(analysis)) if analysis is not None else None, "critique": critique,
            "findings": list(findings), "headroom": headroom, "variant": variant, "instructions": instructions,
            "device": list(device), "threads": threads, "on_gpu": on_gpu, "gpu_vendor": gpu_vendor,
            "gpu_architecture": gpu_architecture, "rtol": rtol, "atol": atol, "max_tokens": max_tokens,
            "without": list(without)})
        return Prompt(**{**prompt, "dropped": tuple(prompt["dropped"])})

    def variants(self, kind: str, target: str = "cpp") -> list[str]:
        """The values of `variant`: strategies of seeds, stages, ways to repair, subjects of critics."""
        return self._native.variants(str(kind), str(target))


def extract_code(reply: Reply | str, target: str = "cpp") -> ExtractedCode:
    """Finds the code in a model's reply, whatever stands around it."""
    text, finish = (reply.text, reply.finish) if isinstance(reply, Reply) else (reply, "stop")
    return ExtractedCode(**_core.extract_code(text, str(target), finish))


def read_analysis(reply: str) -> Analysis:
    """Reads the JSON object of an analysis reply. Raises InvalidArgument where there is none."""
    return Analysis(**_core.read_analysis(reply))


def classify_error(record: EvaluationRecord, source: str = "") -> ErrorReport:
    """Classifies the error in a record. With the source, advice on resources names the constants to change."""
    found = _core.classify_error(record.to_json(), source)
    return ErrorReport(found["error_class"], tuple(found["lines"]), dict(found["numbers"]), found["advice"],
                       found["fingerprint"])


def error_classes() -> list[str]:
    """Every class that classify_error() can give, sorted."""
    return _core.error_classes()


def detect(source: str | Candidate, target: str = "cpp") -> PersistenceReport:
    """Tells whether a source keeps its time loop inside the kernel. Nothing is run; any text is accepted."""
    if isinstance(source, Candidate):
        target, source = source.target, source.source
    return decode(PersistenceReport, json.loads(_core.detect(source, str(target))))
