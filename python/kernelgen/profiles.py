"""Profiles: where the time of a kernel goes, and what it waits for (docs/profiling.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._calls import Begin, await_for, wait_for
from ._codec import decode
from .compilers import KernelCompiler
from .compilers import native_of as native_compiler
from .enums import Precision
from .errors import Io, NotFound
from .flow_records import Profile
from .judges import AnyCandidate, AnyTask, StopToken, python_of
from .options import EvaluationOptions, plain
from .tasks import candidate_of, task_of


@dataclass(frozen=True)
class ProfileFinding:
    """One finding about what limits the speed. `weight` is about the share of the call that it concerns."""

    name: str
    message: str
    weight: float


@dataclass(frozen=True)
class ProfileReport:
    """A profile, and what it means: the most important finding first."""

    profile: Profile
    findings: tuple[ProfileFinding, ...] = ()


def _report_from(found: tuple[str, list[dict[str, Any]]]) -> ProfileReport:
    text, findings = found
    return ProfileReport(decode(Profile, json.loads(text)), tuple(ProfileFinding(**one) for one in findings))


def _profile_call(task: AnyTask, candidate: AnyCandidate | None, device: str, counters: bool, metric_set: str,
                  precision: str, shrink: tuple[tuple[str, int], ...], timeout: float, sandboxed: bool,
                  compiler: KernelCompiler | None, python: str | None, cache_dir: str | os.PathLike[str],
                  installation: str | os.PathLike[str]) -> Begin:
    request = {
        **plain(EvaluationOptions(precision=precision, shrink=shrink, device=device)), "task": vars(task_of(task)),
        "candidate": vars(candidate_of(candidate)) if candidate is not None else None, "counters": counters,
        "metric_set": metric_set, "timeout": timeout, "sandboxed": sandboxed, "python": python_of(python),
        "cache_dir": os.fspath(cache_dir), "prefix": os.fspath(installation)}
    native = native_compiler(compiler) if compiler is not None else None
    return lambda on_done: _core.start_profile(request, native, on_done)


def profile(task: AnyTask, candidate: AnyCandidate | None = None, *, device: str = "", counters: bool = True,
            metric_set: str = "brief", precision: str = Precision.STRICT, shrink: tuple[tuple[str, int], ...] = (),
            timeout: float = 180.0, sandboxed: bool = False, compiler: KernelCompiler | None = None,
            python: str | None = None, cache_dir: str | os.PathLike[str] = "",
            installation: str | os.PathLike[str] = "", stop: StopToken | None = None) -> ProfileReport:
    """Profiles a candidate on this machine; without one, the task's own module, the reference.

    On a GPU there are counters, those of `metric_set` ("brief", "full", or a stage such as "block_tiling"), unless
    `counters` is False. On a processor there is the timeline alone. `timeout` is the limit of each run in seconds.
    Unless `sandboxed`, the code runs with your rights, because profilers reach into processes: profile what you have
    read. `compiler` builds candidates of a target of yours. What cannot be profiled is a value: `profile.unavailable`
    and `profile.no_counters` give the reason. Raises MissingTool, MissingDevice, Unsupported, and what load_task()
    raises.
    """
    return _report_from(wait_for(_profile_call(
        task, candidate, device, counters, metric_set, precision, shrink, timeout, sandboxed, compiler, python,
        cache_dir, installation), stop))


async def profile_async(task: AnyTask, candidate: AnyCandidate | None = None, *, device: str = "",
                        counters: bool = True, metric_set: str = "brief", precision: str = Precision.STRICT,
                        shrink: tuple[tuple[str, int], ...] = (), timeout: float = 180.0, sandboxed: bool = False,
                        compiler: KernelCompiler | None = None, python: str | None = None,
                        cache_dir: str | os.PathLike[str] = "",
                        installation: str | os.PathLike[str] = "") -> ProfileReport:
    """Awaits profile(). Cancelling the task ends it."""
    return _report_from(await await_for(_profile_call(
        task, candidate, device, counters, metric_set, precision, shrink, timeout, sandboxed, compiler, python,
        cache_dir, installation)))


def read_profile_reports(paths: Sequence[str | os.PathLike[str]]) -> ProfileReport:
    """Reads what ncu, rocprof, rocprofv2 or rocprofv3 wrote, also on another machine: one file for each pass.

    Raises NotFound, Io, and InvalidArgument, with the number of the report, for what is none.
    """
    texts = []
    for path in paths:
        try:
            texts.append(Path(path).read_bytes())
        except FileNotFoundError:
            raise NotFound(f"there is no {os.fspath(path)}") from None
        except OSError as error:
            raise Io(f"cannot read {os.fspath(path)}: {error}") from None
    return _report_from(_core.read_profile_reports(texts))
