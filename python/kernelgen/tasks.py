"""Tasks and candidates."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from . import _core
from .errors import InvalidArgument, NotFound, PermissionDenied


@dataclass(frozen=True)
class Task:
    """The text of a KernelBench-format file; nothing of it has been run.

    `content_id` is the SHA-256 of the text. `path` is empty for a text that no file holds.
    """

    name: str
    text: str
    path: str = ""
    content_id: str = ""
    level: str = "unknown"

    def __post_init__(self) -> None:
        if not self.content_id:
            _core.check_text(self.text)
            object.__setattr__(self, "content_id", hashlib.sha256(self.text.encode()).hexdigest())


@dataclass(frozen=True)
class Candidate:
    """One source text for one target: "cpp", "cuda", "hip", "hipkittens", "triton" or "torch".

    `language` is "c" for C in a `cpp` candidate. `id` is the SHA-256 of target, language and source; it is computed.
    Raises InvalidArgument for a target or a language that does not exist.
    """

    source: str
    target: str = "cpp"
    language: str | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if self.id:
            return  # From a record, perhaps for a target that this process does not know.
        made = _core.make_candidate(
            {"source": self.source, "target": str(self.target), "language": self.language and str(self.language)})
        for name in ("target", "language", "id"):
            object.__setattr__(self, name, made[name])


def load_task(name: str | os.PathLike[str], kernelbench_dir: str | os.PathLike[str] = "") -> Task:
    """Reads a task by path ("tasks/relu.py") or by its name in KernelBench ("level3/40"). Nothing of it is run.

    Without `kernelbench_dir`, the checkout of KernelBench is that of KERNELBENCH_DIR in the environment.
    Raises NotFound, with names that come close; InvalidArgument for a folder or an ambiguous name; InvalidTask for a
    file that cannot be a task; PermissionDenied.
    """
    return Task(**_core.load_task(os.fspath(name), kernelbench_of(kernelbench_dir)))


def kernelbench_of(directory: str | os.PathLike[str]) -> str:
    """The checkout of KernelBench that is meant; empty: none."""
    return os.fspath(directory) or os.environ.get("KERNELBENCH_DIR", "")


def load_candidate(path: str | os.PathLike[str], target: str | None = None) -> Candidate:
    """Reads a candidate from a file. Unless it is named, the target follows from the file's name and content.

    Raises NotFound, PermissionDenied, and InvalidArgument for a file that is not UTF-8 or tells no target.
    """
    file = Path(path)
    try:
        source = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no {file}") from None
    except PermissionError:
        raise PermissionDenied(f"{file} may not be read") from None
    except (IsADirectoryError, UnicodeError) as error:
        raise InvalidArgument(f"{str(file)!r} is no source file: {error}") from None
    if target is None:
        target = _core.guess_target(file.name, source)
        if target is None:
            raise InvalidArgument(f"{file.name} does not tell the target; name it, such as target=\"cpp\"")
    return Candidate(source, str(target), _core.guess_language(file.name, str(target)))


def task_of(task: Task | str | os.PathLike[str]) -> Task:
    """The task itself, or the one that the path or the name means."""
    return task if isinstance(task, Task) else load_task(task)


def candidate_of(candidate: Candidate | str | os.PathLike[str]) -> Candidate:
    """The candidate itself, or the one in the file of this path."""
    return candidate if isinstance(candidate, Candidate) else load_candidate(candidate)


def targets() -> list[str]:
    """The names of all targets."""
    return _core.targets()
