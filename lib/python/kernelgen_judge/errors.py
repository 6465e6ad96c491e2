"""The one error of task handling."""

from __future__ import annotations

import re

#: The code of a TaskError for a lack of memory. On another machine, or later, the task may work.
OUT_OF_MEMORY = "out_of_memory"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_ALLOCATION = re.compile(r"(can't allocate memory|not enough memory|out of memory|Cannot allocate memory|_STATUS_ALLOC_FAILED)", re.I)


def one_line(text: object, limit: int = 400) -> str:
    """`text` without control characters and line breaks, at most `limit` characters."""
    line = _CONTROL.sub(" ", str(text)).strip()
    return line if len(line) <= limit else line[: limit - 3] + "..."


def gib(count: float) -> str:
    """A number of bytes for a person."""
    return f"{count / (1 << 30):.3g} GiB"


class TaskError(Exception):
    """A task that cannot be used. `code` is a name of kernelgen::ErrorCode, `message` is one line for a person."""

    def __init__(self, message: str, code: str = "invalid_task"):
        super().__init__(one_line(message))
        self.code = code
        self.message = one_line(message)


def is_out_of_memory(error: BaseException) -> bool:
    """True if an exception reports a lack of memory (torch raises RuntimeError for it on the CPU)."""
    return isinstance(error, MemoryError) or bool(_ALLOCATION.search(str(error)))


def lacking_memory(doing: str, error: object) -> TaskError:
    """The message for a lack of memory: the requested and the free bytes, without the allocator's advice."""
    told = str(error).split(" is free.")
    text = told[0] + " is free" if len(told) > 1 else told[0]
    return TaskError(f"{doing}: needs more memory than there is: {text}", OUT_OF_MEMORY)


def describe_exception(error: BaseException, filename: str | None = None) -> str:
    """`line 12: ValueError: text`, with the innermost line that lies in `filename`, if there is one."""
    text = one_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    line = None
    frame = error.__traceback__
    while frame is not None:
        if filename is not None and frame.tb_frame.f_code.co_filename == filename:
            line = frame.tb_lineno
        frame = frame.tb_next
    return text if line is None else f"line {line}: {text}"
