"""From the text of a task to a Python module: shrinking, execution, swallowed output, one-line errors."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import linecache
import re
import sys
import types
import warnings
from dataclasses import dataclass
from typing import Iterator, Sequence

import torch

from .errors import TaskError, describe_exception, is_out_of_memory, lacking_memory, one_line

OUTPUT_CAP = 64 * 1024


@dataclass(frozen=True)
class TaskSource:
    """A KernelBench-format file as text. `level` is "unknown" or an override."""

    name: str
    text: str
    path: str = ""
    level: str = "unknown"

    @property
    def content_id(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


class CappedText(io.TextIOBase):
    """Captures the output of a task and keeps the first `cap` characters."""

    def __init__(self, cap: int = OUTPUT_CAP):
        self._cap = cap
        self._parts: list[str] = []
        self._kept = 0
        self.written = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written += len(text)
        if self._kept < self._cap:
            part = text[: self._cap - self._kept]
            self._parts.append(part)
            self._kept += len(part)
        return len(text)

    def text(self) -> str:
        return "".join(self._parts)


@contextlib.contextmanager
def quiet(sink: CappedText) -> Iterator[None]:
    """A context in which Python's stdout and stderr go to `sink`, and warnings are dropped. File descriptors are not
    redirected."""
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def task_errors(doing: str, filename: str | None = None) -> Iterator[None]:
    """Turns whatever task code raises into a TaskError: `doing: line 3: ValueError: text`."""
    try:
        yield
    except TaskError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit of a task must not end the judge
        if is_out_of_memory(error):
            raise lacking_memory(doing, describe_exception(error, filename)) from error
        raise TaskError(f"{doing}: {describe_exception(error, filename)}") from error


def parse(source: TaskSource) -> ast.Module:
    """The syntax tree, or a TaskError with the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, filename=source.name)
    except SyntaxError as error:
        raise TaskError(f"{source.name}: syntax error in line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"{source.name}: not Python source: {one_line(error)}") from error


def _constant_int(node: ast.expr) -> int | None:
    """The value of an integer literal or of arithmetic on integer literals; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant_int(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        left, right = _constant_int(node.left), _constant_int(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.FloorDiv) and right != 0:
            return left // right
        if isinstance(node.op, ast.Pow) and 0 <= right <= 62 and abs(left) <= 1024:
            return left**right
        if isinstance(node.op, ast.LShift) and 0 <= right <= 62:
            return left << right
    return None


def _constant_assignments(tree: ast.Module) -> list[tuple[str, ast.expr, int]]:
    """(name, value node, value) of integer constants assigned at module top level.

    `a, b = 2, 3` gives "a" and "b"; `shape = (2, 3)` gives "shape[0]" and "shape[1]".
    """
    found = []
    for statement in tree.body:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                both = (ast.Tuple, ast.List)
                if isinstance(target, both) and isinstance(statement.value, both) and len(target.elts) == len(statement.value.elts):
                    pairs += zip(target.elts, statement.value.elts)
                else:
                    pairs.append((target, statement.value))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            pairs.append((statement.target, statement.value))
        for target, value in pairs:
            if not isinstance(target, ast.Name):
                continue
            elements = value.elts if isinstance(value, (ast.Tuple, ast.List)) else None
            named = [(target.id, value)] if elements is None else [(f"{target.id}[{i}]", e) for i, e in enumerate(elements)]
            found += [(name, node, number) for name, node in named if (number := _constant_int(node)) is not None]
    return found


def integer_constants(source: TaskSource) -> dict[str, int]:
    """Integer constants assigned at module top level: what `shrink` may replace."""
    return {name: value for name, _, value in _constant_assignments(parse(source))}


def shrunk_text(source: TaskSource, shrink: Sequence[tuple[str, int]]) -> str:
    """The text with module-level integer constants replaced; line numbers stay. TaskError names a missing constant."""
    if not shrink:
        return source.text
    assignments = _constant_assignments(parse(source))
    edits: dict[tuple[int, int], tuple[int, int, str]] = {}
    for name, value in shrink:
        nodes = [node for found, node, _ in assignments if found == name]
        if not nodes:
            known = ", ".join(dict.fromkeys(found for found, _, _ in assignments)) or "none"
            raise TaskError(f"shrink: {source.name} has no integer constant {name} at module level (there are: {known})")
        for node in nodes:
            edits[(node.lineno, node.col_offset)] = (node.end_lineno, node.end_col_offset, repr(int(value)))
    lines = source.text.encode("utf-8").split(b"\n")
    for (row, column), (end_row, end_column, text) in sorted(edits.items(), reverse=True):
        # A value spread over lines keeps its line breaks inside parentheses, so that later line numbers hold.
        body = text if end_row == row else f"({text}" + "\n" * (end_row - row) + ")"
        merged = lines[row - 1][:column] + body.encode() + lines[end_row - 1][end_column:]
        lines[row - 1 : end_row] = merged.split(b"\n")
    return b"\n".join(lines).decode("utf-8")


def load_module(source: TaskSource, shrink: Sequence[tuple[str, int]], sink: CappedText) -> types.ModuleType:
    """Executes the task in a fresh module that `inspect` understands. Raises TaskError.

    The module is named after the task and stays in sys.modules (dataclasses and pickling inside tasks look there).
    """
    parse(source)
    text = shrunk_text(source, shrink)
    filename = source.path or f"<task {source.name}>"
    name = "kernelgen_task_" + re.sub(r"\W", "_", source.name)
    module = types.ModuleType(name)
    module.__file__ = filename
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sys.modules[name] = module
    with quiet(sink), task_errors(f"{source.name}: import failed", filename):
        exec(compile(text, filename, "exec", dont_inherit=True), module.__dict__)
    if not isinstance(module.__dict__.get("Model"), type) or not issubclass(module.Model, torch.nn.Module):
        raise TaskError(f"{source.name}: no class Model derived from torch.nn.Module")
    if not callable(module.__dict__.get("get_inputs")):
        raise TaskError(f"{source.name}: no function get_inputs()")
    return module
