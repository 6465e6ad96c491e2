"""Targets and compilers of your own: a language that ends as a shared object with the kernel ABI, or as a module."""

from __future__ import annotations

import abc
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from . import _core
from ._calls import Begin, overrides, wait_for
from ._codec import decode, encode
from .records import CompileReport, EvaluationRecord, Outcome
from .tasks import Candidate

StopToken = _core.StopToken


def register_target(name: str, *, artifact: str = "shared_object", device: str = "cpu", gpu_vendor: str = "",
                    file_extension: str = "", language: str = "", fence_tag: str = "", entry_point: str = "",
                    prompt_text: str = "") -> str:
    """Registers a target for this process, and returns its name. From then on tasks, prompts, searches and records have
    it like any other.

    `artifact` is what it compiles to: "shared_object" with the kernel ABI (docs/abi.md), or "python_module" with a
    class ModelNew. `device` is "cpu", "gpu" or "any". `prompt_text` has the rules of the target for prompts, `language`
    and `fence_tag` name it there, and `entry_point` is a word that every source holds. Raises InvalidArgument for a
    malformed name or extension, and for the name of another target.
    """
    return _core.register_target({
        "name": name, "artifact": artifact, "device": device, "gpu_vendor": gpu_vendor,
        "file_extension": file_extension, "language": language, "fence_tag": fence_tag, "entry_point": entry_point,
        "prompt_text": prompt_text})


@dataclass(frozen=True)
class CompileRequest:
    """One candidate to compile. `timeout` is in seconds."""

    candidate: Candidate
    extra_flags: tuple[str, ...] = ()
    timeout: float = 300.0


@dataclass(frozen=True)
class Compiled:
    """The answer for a candidate that compiled: the path of its artifact, at most 32 MiB."""

    path: str | os.PathLike[str]
    report: CompileReport = CompileReport()
    key: str = field(default="", compare=False)


@dataclass(frozen=True)
class CompileFailed:
    """The answer for a candidate that did not compile. The outcome is of the kind syntax, compile, resource or
    timeout."""

    outcome: Outcome
    report: CompileReport = CompileReport()


class KernelCompiler(abc.ABC):
    """Compiles candidates of some targets. Subclasses are called from several threads at once."""

    @abc.abstractmethod
    def supports(self, target: str) -> bool:
        """Whether it compiles candidates for this target."""

    @abc.abstractmethod
    def compile(self, request: CompileRequest, stop: StopToken) -> Compiled | CompileFailed:
        """Compiles. Should return or raise soon after `stop.stop_requested`, which comes after the time for building.

        It compiles text that a model wrote: what you start yourself works in no sandbox, unless you see to it. An
        exception of kernelgen.errors means that the machinery failed. Any other exception ends the call that evaluates,
        and is raised there.
        """

    def key(self, request: CompileRequest, stop: StopToken) -> str:
        """Everything besides the source that can change the output, as lines "name value". The record has a digest of
        it. Empty: unknown."""
        return ""


class LocalCompiler(KernelCompiler):
    """The compiler of evaluations on this machine, made by open_local_compiler(). It works in a sandbox, and keeps what
    it built. A subclass may override supports(), compile() and key()."""

    def __init__(self, native: _core.NativeCompiler):
        self._native = native

    def supports(self, target: str) -> bool:
        return self._native.supports(str(target))

    def compile(self, request: CompileRequest | Candidate, stop: StopToken | None = None) -> Compiled | CompileFailed:
        """Compiles, or finds what was compiled before. Ctrl-C ends it. Raises MissingTool without the compiler."""
        asked = _plain(request)
        return _outcome_from(wait_for(lambda on_done: _core.start_compile(self._native, asked, on_done), stop))

    def key(self, request: CompileRequest | Candidate, stop: StopToken | None = None) -> str:
        asked = _plain(request)
        return str(wait_for(lambda on_done: _core.start_key(self._native, asked, on_done), stop))


def open_local_compiler(target: str = "cpp", *, device: str = "", compiler: str = "c++",
                        cache_dir: str | os.PathLike[str] = "",
                        installation: str | os.PathLike[str] = "") -> LocalCompiler:
    """The compiler of a target for a device of this machine. `device` is as in EvaluationOptions.

    Raises MissingTool without the installation, and MissingDevice. The compiler that the target needs is looked for when
    something is compiled: compile() and key() raise MissingTool without it.
    """
    request = {"target": str(target), "device": device, "compiler": compiler, "cache_dir": os.fspath(cache_dir),
               "prefix": os.fspath(installation)}
    begin: Begin = lambda on_done: _core.start_open_compiler(request, on_done)
    return LocalCompiler(wait_for(begin))


def native_of(compiler: KernelCompiler) -> Any:
    """What the extension calls: a compiler of the library, or an object of Python."""
    if isinstance(compiler, LocalCompiler) and not overrides(compiler, LocalCompiler, ("supports", "compile", "key")):
        return compiler._native
    return compiler


def _plain(request: CompileRequest | Candidate) -> dict[str, Any]:
    asked = CompileRequest(request) if isinstance(request, Candidate) else request
    return {"candidate": vars(asked.candidate), "extra_flags": list(asked.extra_flags), "timeout": asked.timeout}


def _outcome_from(found: dict[str, Any]) -> Compiled | CompileFailed:
    record = decode(EvaluationRecord, json.loads(found["record"]))
    report = record.compile or CompileReport()
    if found["path"] is None:
        return CompileFailed(record.outcome, report)
    return Compiled(found["path"], report, found["key"])


def request_from(values: dict[str, Any]) -> CompileRequest:
    """A request as a compiler in Python gets it."""
    return CompileRequest(Candidate(**values["candidate"]), tuple(values["extra_flags"]), values["timeout"])


def plain_outcome(compiler: KernelCompiler, outcome: Compiled | CompileFailed) -> dict[str, Any]:
    """An answer of a compiler as the extension takes it."""
    if isinstance(outcome, Compiled):
        record = EvaluationRecord(compile=outcome.report)
        return {"record": json.dumps(encode(record)), "path": os.fspath(outcome.path), "key": outcome.key}
    if isinstance(outcome, CompileFailed):
        record = EvaluationRecord(outcome=outcome.outcome, compile=outcome.report)
        return {"record": json.dumps(encode(record)), "path": None, "key": ""}
    raise TypeError(
        f"{type(compiler).__name__}.compile() returned {type(outcome).__name__}, not Compiled or CompileFailed")


def key_with_digest(compiler: KernelCompiler, text: str) -> tuple[str, str]:
    """The text of a key, and its SHA-256; both empty where the key is unknown."""
    if not isinstance(text, str):
        raise TypeError(f"{type(compiler).__name__}.key() returned {type(text).__name__}, not a text")
    _core.check_text(text)
    return text, hashlib.sha256(text.encode()).hexdigest() if text else ""
