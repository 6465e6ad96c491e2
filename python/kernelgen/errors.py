"""Errors of the machinery: a disk that is full, a tool that is missing, a call that was cancelled.

What a candidate did is no error. It is the outcome in the record of its evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class Error(Exception):
    """A failure of kernelgen or of the machine.

    Branch on the class, or on `code`; never on the text.
    """

    code: ClassVar[str] = "internal"
    message: str
    context: tuple[str, ...]

    def __init__(self, message: str, context: Sequence[str] = (), line: str | None = None):
        """`context` has the operations that were under way, innermost first. `line` is the text of both together."""
        self.message = message
        self.context = tuple(context)
        self._line = line if line is not None else ": ".join([*reversed(self.context), message])
        super().__init__(self._line)

    def __str__(self) -> str:
        return self._line

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.context, self._line)


class InvalidArgument(Error, ValueError):
    """The caller passed something that cannot work."""

    code = "invalid_argument"


class NotFound(Error, FileNotFoundError):
    """A file or name that does not exist."""

    code = "not_found"


class PermissionDenied(Error, PermissionError):
    """The operating system, or a server that does not accept a key, refused."""

    code = "permission_denied"


class NoSpace(Error, OSError):
    """The disk or a memory file is full."""

    code = "no_space"


class Io(Error, OSError):
    """Any other failure of input or output."""

    code = "io"


class MissingTool(Error):
    """A compiler, a Python or a library is not installed."""

    code = "missing_tool"


class MissingDevice(Error):
    """A device that is not there."""

    code = "missing_device"


class UnsuitableDevice(Error):
    """The device does not run kernels of this target."""

    code = "unsuitable_device"


class Timeout(Error, TimeoutError):
    """A deadline passed."""

    code = "timeout"


class Cancelled(Error):
    """The call was stopped."""

    code = "cancelled"


class Protocol(Error):
    """A peer broke the protocol."""

    code = "protocol"


class Unavailable(Error, ConnectionError):
    """A helper process died, or a server does not answer. Trying again may work."""

    code = "unavailable"


class Unsupported(Error, NotImplementedError):
    """Not possible with this version."""

    code = "unsupported"


class InvalidTask(Error, ValueError):
    """The task file cannot be used; the message gives the reason."""

    code = "invalid_task"


class OutOfMemory(Error, MemoryError):
    """The task needs more memory than is available."""

    code = "out_of_memory"


class Busy(Error):
    """Another process holds the resource."""

    code = "busy"


class PromptTooLong(Error, ValueError):
    """A model takes only shorter prompts."""

    code = "prompt_too_long"


class Pending(Error):
    """Work that is done elsewhere is not finished."""

    code = "pending"


class Internal(Error, RuntimeError):
    """A bug in kernelgen."""

    code = "internal"


_CLASSES: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (
        InvalidArgument, NotFound, PermissionDenied, NoSpace, Io, MissingTool, MissingDevice, UnsuitableDevice, Timeout,
        Cancelled, Protocol, Unavailable, Unsupported, InvalidTask, OutOfMemory, Busy, PromptTooLong, Pending, Internal)
}


def error_from(code: str, message: str, context: Sequence[str], line: str) -> Error:
    """The exception that belongs to an error of the library."""
    return _CLASSES.get(code, Error)(message, context, line)
