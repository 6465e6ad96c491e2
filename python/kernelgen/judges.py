"""Judges: candidate and task in, record out."""

from __future__ import annotations

import abc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import _core
from ._calls import Begin, await_for, overrides, wait_for
from ._codec import decode, encode
from .compilers import KernelCompiler
from .compilers import native_of as native_compiler
from .options import EvaluationOptions, plain
from .records import EvaluationRecord, TaskDescription, _record_from
from .tasks import Candidate, Task, candidate_of, task_of

StopToken = _core.StopToken
StopSource = _core.StopSource


@dataclass(frozen=True)
class EvaluationProgress:
    """A step of an evaluation, for display only: "admit", "compile", "correctness", "timing", ..."""

    phase: str
    detail: str = ""


ProgressCallback = Callable[[EvaluationProgress], object]
"""Receives the steps of an evaluation, on a thread of the call, one at a time. What it raises ends the evaluation, and
is raised by it."""

AnyTask = Task | str | os.PathLike[str]
"""A task, or the path or name of one: see load_task()."""
AnyCandidate = Candidate | str | os.PathLike[str]
"""A candidate, or the path of its file: see load_candidate()."""


class Benchmarker(abc.ABC):
    """Judges candidates. Subclasses are called from several threads at once.

    A subclass of yours can be used wherever a judge is wanted: by repair(), by run(), and behind another benchmarker.
    """

    @abc.abstractmethod
    def evaluate(self, task: AnyTask, candidate: AnyCandidate, options: EvaluationOptions = EvaluationOptions(), *,
                 progress: ProgressCallback | None = None, stop: StopToken | None = None) -> EvaluationRecord:
        """Evaluates one candidate. The record's outcome says what the candidate did.

        An exception of kernelgen.errors means that the machinery failed, and says nothing about the candidate: a search
        handles it by its class. Any other exception ends the search that asked, and is raised there.
        """

    def describe(self, task: AnyTask, options: EvaluationOptions = EvaluationOptions(), *,
                 stop: StopToken | None = None) -> TaskDescription:
        """Builds and runs the reference only. Unless overridden, only the task's name is known."""
        source = task_of(task)
        return TaskDescription(name=source.name, content_id=source.content_id)

    async def evaluate_async(self, task: AnyTask, candidate: AnyCandidate,
                             options: EvaluationOptions = EvaluationOptions(), *,
                             progress: ProgressCallback | None = None) -> EvaluationRecord:
        """Awaits an evaluation. Cancelling the task ends it. Many may be under way at once."""
        call = _evaluation(native_of(self), task, candidate, options, progress)
        return _record_from(await await_for(call))

    async def describe_async(self, task: AnyTask, options: EvaluationOptions = EvaluationOptions()) -> TaskDescription:
        """Awaits a description."""
        return description_from(await await_for(_description(native_of(self), task, options)))


class Judge(Benchmarker):
    """A judge with a worker process, made by open_local_judge(). Thread-safe: calls queue for the device.

    The worker starts with the first evaluation and ends with close(), at the end of the `with` block, or with the
    object. A forked child that uses the judge gets a worker of its own. A subclass may override evaluate() and
    describe().
    """

    def __init__(self, native: _core.NativeJudge):
        self._native = native

    def evaluate(self, task: AnyTask, candidate: AnyCandidate, options: EvaluationOptions = EvaluationOptions(), *,
                 progress: ProgressCallback | None = None, stop: StopToken | None = None) -> EvaluationRecord:
        """Evaluates one candidate. The record's outcome says what the candidate did.

        Ctrl-C ends it, and so does `stop`: the token that a callback of a search got, or of a StopSource. Raises InvalidArgument for
        options that are not possible; MissingTool where the Python has no torch; InvalidTask for a task that cannot be
        used; UnsuitableDevice, MissingDevice, Timeout, Unavailable, Cancelled.
        """
        return _record_from(wait_for(_evaluation(self._native, task, candidate, options, progress), stop))

    def describe(self, task: AnyTask, options: EvaluationOptions = EvaluationOptions(), *,
                 stop: StopToken | None = None) -> TaskDescription:
        """Builds and runs the reference only: its inputs, outputs, work and, in full mode, its time."""
        return description_from(wait_for(_description(self._native, task, options), stop))

    def close(self) -> None:
        """Ends the worker once nothing uses it. Later evaluations raise InvalidArgument."""
        self._native.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()


def open_local_judge(*, python: str | None = None, cache_dir: str | os.PathLike[str] = "",
                     installation: str | os.PathLike[str] = "", compilers: Sequence[KernelCompiler] = ()) -> Judge:
    """A judge on this machine, from nothing.

    `python` is the Python with torch: None means KGEN_PYTHON of the environment, else the one that runs this.
    `cache_dir` keeps what was built and learned; empty: kernelgen/ in XDG_CACHE_HOME or ~/.cache. `installation` is the
    prefix of another kernelgen. The first of `compilers` that supports a candidate's target builds it, in this process;
    the record is labelled "custom-compiler". Raises MissingTool for a part or a Python that is not there.
    """
    return Judge(_core.open_judge(python_of(python), os.fspath(cache_dir), os.fspath(installation), [],
                                  [native_compiler(compiler) for compiler in compilers]))


def open_remote_judge(launch_prefix: Sequence[str], *, python: str = "", cache_dir: str = "",
                      installation: str | os.PathLike[str] = "", compilers: Sequence[KernelCompiler] = ()) -> Judge:
    """A judge on another machine. Its worker is started behind a command: ["ssh", "node"], ["srun", "--gres=gpu:1"].

    `compilers` build in this process: see open_local_judge().
    """
    if not launch_prefix:
        from .errors import InvalidArgument

        raise InvalidArgument("option launch_prefix is empty; it must be a command, such as [\"ssh\", \"node\"]")
    return Judge(_core.open_judge(python, cache_dir, os.fspath(installation), [str(part) for part in launch_prefix],
                                  [native_compiler(compiler) for compiler in compilers]))


def python_of(python: str | None) -> str:
    """The Python with torch: the one that was asked for, else that of KGEN_PYTHON, else the one that runs this."""
    return python if python is not None else os.environ.get("KGEN_PYTHON") or sys.executable or ""


def native_of(judge: Benchmarker) -> Any:
    """What the extension calls: a judge of the library, or an object of Python."""
    if isinstance(judge, Judge) and not overrides(judge, Judge, ("evaluate", "describe")):
        return judge._native
    return judge


def _report_to(progress: ProgressCallback | None) -> Callable[[str, str], object] | None:
    if progress is None:
        return None
    return lambda phase, detail: progress(EvaluationProgress(phase, detail))


def _evaluation(judge: Any, task: AnyTask, candidate: AnyCandidate, options: EvaluationOptions,
                progress: ProgressCallback | None) -> Begin:
    arguments = (judge, vars(task_of(task)), vars(candidate_of(candidate)), plain(options), _report_to(progress))
    return lambda on_done: _core.start_evaluate(*arguments, on_done)


def _description(judge: Any, task: AnyTask, options: EvaluationOptions) -> Begin:
    arguments = (judge, vars(task_of(task)), plain(options))
    return lambda on_done: _core.start_describe(*arguments, on_done)


def description_line(description: TaskDescription) -> str:
    """A description as the line of a journal, which the extension reads."""
    import json

    return json.dumps({
        "schema": 1, "type": "task_described", "time": "", "description": encode(description), "device": [],
        "gpu": None, "threads": 0})


def description_from(line: str) -> TaskDescription:
    """A description from the line of a journal that holds one."""
    import json

    return decode(TaskDescription, json.loads(line)["description"])


_default_judge: Judge | None = None


def default_judge() -> Judge:
    """The judge of evaluate() and describe(): one for the whole process, opened by the first of them."""
    global _default_judge
    if _default_judge is None:
        _default_judge = open_local_judge()
    return _default_judge


def evaluate(task: AnyTask, candidate: AnyCandidate, options: EvaluationOptions = EvaluationOptions(), *,
             progress: ProgressCallback | None = None, stop: StopToken | None = None) -> EvaluationRecord:
    """Evaluates one candidate on this machine: see Judge.evaluate()."""
    return default_judge().evaluate(task, candidate, options, progress=progress, stop=stop)


async def evaluate_async(task: AnyTask, candidate: AnyCandidate, options: EvaluationOptions = EvaluationOptions(), *,
                         progress: ProgressCallback | None = None) -> EvaluationRecord:
    """Awaits an evaluation on this machine: see Benchmarker.evaluate_async()."""
    return await default_judge().evaluate_async(task, candidate, options, progress=progress)


def describe(task: AnyTask, options: EvaluationOptions = EvaluationOptions(), *,
             stop: StopToken | None = None) -> TaskDescription:
    """Builds and runs a reference on this machine: see Judge.describe()."""
    return default_judge().describe(task, options, stop=stop)
