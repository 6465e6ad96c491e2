"""Audits: kernels judged again, and which claims about them stand (docs/audit.md)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import _core
from ._calls import Begin, await_for, wait_for
from ._codec import decode
from .judges import Benchmarker, StopToken, default_judge, native_of
from .options import EvaluationOptions, plain
from .records import Ratio


@dataclass(frozen=True)
class Claim:
    """What the author of a kernel says about it. None: nothing."""

    correct: bool | None = None
    speedup: float | None = None
    interval: Ratio | None = None
    kind: str = "per_call"
    device: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditMeasurement:
    """What several evaluations of one kernel add up to."""

    times: int = 0
    correct: int = 0
    failure: str = ""
    message: str = ""
    speedup_per_call: Ratio | None = None
    score: Ratio | None = None
    device: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditFinding:
    """The result of one kernel.

    `verdict` is "stands", "understated", "overstated", "wrong", "cannot be judged" or "no claim"; `reason` is one line.
    """

    name: str = ""
    task: str = ""
    target: str = ""
    candidate_id: str = ""
    verdict: str = "no claim"
    reason: str = ""
    claim: Claim = Claim()
    measurement: AuditMeasurement = AuditMeasurement()


@dataclass(frozen=True)
class AuditReport:
    """Everything that an audit found. `counts` has the number of findings by verdict."""

    findings: tuple[AuditFinding, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    times: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditStep:
    """One evaluation that ended, for display only. `outcome` is empty where it failed, and `text` says why."""

    over: int
    planned: int
    name: str
    repetition: int
    outcome: str
    text: str


def _audit_call(paths: Sequence[str | os.PathLike[str]], judge: Benchmarker | None, task: str, times: int,
                parallel: int, margin: float, any_device: bool, records_directory: str, kernelbench_dir: str,
                options: EvaluationOptions, progress: Callable[[AuditStep], object] | None) -> Begin:
    request = {
        "paths": [os.fspath(path) for path in paths], "task": task, "times": times, "parallel": parallel,
        "margin": float(margin), "any_device": any_device, "records_directory": records_directory,
        "kernelbench_dir": kernelbench_dir, "options": plain(options)}
    native = native_of(judge if judge is not None else default_judge())
    report = (lambda *values: progress(AuditStep(*values))) if progress is not None else None
    return lambda on_done: _core.start_audit(native, request, report, on_done)


def _report_from(found: tuple[str, list[str]]) -> AuditReport:
    text, notes = found
    data = json.loads(text)
    return AuditReport(tuple(decode(AuditFinding, finding) for finding in data["findings"]), data["counts"],
                       data["times"], tuple(notes))


def audit(paths: Sequence[str | os.PathLike[str]], judge: Benchmarker | None = None, *, task: str = "", times: int = 3,
          parallel: int = 1, margin: float = 0.05, any_device: bool = False,
          records_directory: str | os.PathLike[str] | None = None, kernelbench_dir: str | os.PathLike[str] = "",
          options: EvaluationOptions = EvaluationOptions(),
          progress: Callable[[AuditStep], object] | None = None, stop: StopToken | None = None) -> AuditReport:
    """Judges kernels again, several times, and tells which claims about them stand.

    Each path is a results directory, a run folder of KernelBench, another folder with sources, or a source file. Claims
    stand in eval_results.json or in claims.json beside the sources. `task` is the task of every file; empty: each
    file's name tells it. A judge of the library opens a worker of its own for each repetition. An audit with the same
    `records_directory` judges nothing again. Raises NotFound, and InvalidArgument for a folder without kernels.
    """
    with tempfile.TemporaryDirectory() as directory:
        return _report_from(wait_for(_audit_call(
            paths, judge, task, times, parallel, margin, any_device, os.fspath(records_directory or directory),
            os.fspath(kernelbench_dir), options, progress), stop))


async def audit_async(paths: Sequence[str | os.PathLike[str]], judge: Benchmarker | None = None, *, task: str = "",
                      times: int = 3, parallel: int = 1, margin: float = 0.05, any_device: bool = False,
                      records_directory: str | os.PathLike[str] | None = None,
                      kernelbench_dir: str | os.PathLike[str] = "",
                      options: EvaluationOptions = EvaluationOptions(),
                      progress: Callable[[AuditStep], object] | None = None) -> AuditReport:
    """Awaits audit(). Cancelling the task ends it; the records in its directory stay."""
    with tempfile.TemporaryDirectory() as directory:
        return _report_from(await await_for(_audit_call(
            paths, judge, task, times, parallel, margin, any_device, os.fspath(records_directory or directory),
            os.fspath(kernelbench_dir), options, progress)))
