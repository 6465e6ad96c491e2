"""The candidate's file: compiled, imported, and asked for its ModelNew; and every tensor that a module holds."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import linecache
import os
import re
import sys
import tempfile
import traceback
from dataclasses import dataclass
from typing import Any

import torch

from kernelgen_common import dtypes
from kernelgen_common.seeding import seed_everything
from kernelgen_common.values import child_name
from kernelgen_common.weight_transforms import transformed

from . import protocol
from .protocol import Failure

MODULE_NAME = "kernelgen_candidate"
MAX_SOURCE = 16 << 20
_TEXT = 3500
_FRAMES = 4
_CAUSES = 4
_LONG_LINE = 400
_COMPILER_ERROR = re.compile(r"\b(?:fatal )?error\s*:|\b(?:ptxas|nvlink) (?:error|fatal)|\bundefined (?:symbol|reference)\b")
#: When a pass of Triton's compiler fails, the exception says only this. The reason is in standard error, below the whole program.
_PASS_FAILED = "PassManager::run failed"
_OF_A_PASS = re.compile(r"(?:^|:\d+: )error: |Pipeline failed while executing|Assertion .* failed|LLVM ERROR")
_PASS_LINES, _PASS_LINE, _ERROR_OUTPUT = 6, 300, 4 << 20
_MAX_DEPTH = 6
_MAX_TENSORS = 16384
_INTERNAL = frozenset(
    "_parameters _buffers _modules _non_persistent_buffers_set _backward_pre_hooks _backward_hooks _forward_hooks "
    "_forward_pre_hooks _state_dict_hooks _load_state_dict_pre_hooks _flat_weights _flat_weight_refs".split()
)
#: Kinds of memory that can be exported.
_READABLE = frozenset({"cpu", "cuda"})
_EXHAUSTED = ("can't allocate memory", "not enough memory", "out of memory", "cannot allocate memory")


def decisive(text: str, limit: int) -> str:
    """The part of a long message that says what is wrong: a compiler's errors with their lines, or beginning and end."""
    if len(text) <= limit:
        return text
    lines = text.splitlines()
    errors = [i for i, line in enumerate(lines) if len(line) < _LONG_LINE and _COMPILER_ERROR.search(line)]
    if not errors:
        head = text[: limit // 3]
        return f"{head}\n...\n{text[-(limit - len(head) - 5) :]}"
    # Behind an error stand the source's line and a mark below it.
    wanted = dict.fromkeys(i for first in errors for i in range(first, min(first + 3, len(lines))))
    title = [] if errors[0] == 0 else [lines[0][: min(_LONG_LINE, limit // 4)]]
    return "\n".join([*title, *(lines[i][:_LONG_LINE] for i in wanted)])[:limit]


def message_of(error: BaseException) -> str:
    """The message of an exception."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the candidate's own __str__
        return "(its message cannot be read)"


def causes_of(error: BaseException) -> str:
    """The causes of an exception, with one or more lines each. Triton's errors in a function that a kernel calls have the reason
    only there."""
    told, text, cause = message_of(error), "", error.__cause__
    for _ in range(_CAUSES):
        if cause is None or cause is error:
            break
        message = message_of(cause)
        # Newer versions of Triton repeat the reason in the outer message.
        if message and message not in told:
            text += f"\ncaused by {type(cause).__name__[:200]}: {decisive(message, _TEXT // 4)}"
            told += message
        cause = cause.__cause__
    return text


def errors_of_a_pass(path: str) -> str:
    """What the compiler's passes have written to standard error about a failure, one line each; "" where that is not kept."""
    try:
        written = os.pread(2, _ERROR_OUTPUT, 0).decode("utf-8", "replace")
    except OSError:
        return ""
    place = re.compile(re.escape(path) + r":(\d+):\d+")
    found = (place.sub(r"line \1", line)[:_PASS_LINE] for line in written.splitlines() if _OF_A_PASS.search(line))
    return "".join(f"\n{line}" for line in list(dict.fromkeys(found))[:_PASS_LINES])


def describe(error: BaseException, path: str) -> str:
    """Type, message, what caused it, and the innermost lines that lie in the candidate's own file."""
    message = message_of(error)
    if message.startswith(_PASS_FAILED):
        message += errors_of_a_pass(path)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    places = "".join(f"\n  line {f.lineno}, in {f.name}: {(f.line or '')[:200]}" for f in frames[-_FRAMES:])
    name, causes = type(error).__name__[:200], causes_of(error)[: _TEXT // 2]
    return f"{name}: {decisive(message, _TEXT - len(name) - len(places) - len(causes))}{causes}{places}"[:_TEXT]


def failure(error: BaseException, status: int, path: str) -> Failure:
    """The reply for an exception. A lack of memory has its own class. SystemExit ends the process."""
    if isinstance(error, SystemExit):
        os._exit(error.code if isinstance(error.code, int) else 1)
    if isinstance(error, Failure):
        return error
    text = describe(error, path)
    exhausted = isinstance(error, MemoryError) or any(word in text.lower() for word in _EXHAUSTED)
    return Failure(protocol.OUT_OF_MEMORY if exhausted else status, text)


def read_source(descriptor: int) -> bytes:
    """Reads the whole source. Raises Failure if it is too long."""
    size = os.fstat(descriptor).st_size
    if size > MAX_SOURCE:
        raise Failure(protocol.SYNTAX, f"the source is longer than {MAX_SOURCE} bytes")
    return os.pread(descriptor, size, 0)


class Candidate:
    """An imported file with a class ModelNew."""

    def __init__(self, source: bytes):
        """Compiles, then imports. Raises Failure."""
        directory = tempfile.mkdtemp(prefix="candidate-")
        self.path = os.path.join(directory, MODULE_NAME + ".py")
        with open(self.path, "wb") as file:
            file.write(source)
        self._check_syntax(source)
        self._module = self._import()
        model = getattr(self._module, "ModelNew", None)
        if not isinstance(model, type) or not issubclass(model, torch.nn.Module):
            raise Failure(protocol.INTERFACE, "there is no class ModelNew derived from torch.nn.Module")
        self._model = model

    def _check_syntax(self, source: bytes) -> None:
        try:
            compile(source, self.path, "exec", dont_inherit=True)
        except SyntaxError as error:
            # Some errors, such as null bytes, have no line.
            place = f"\n  line {error.lineno}: {(error.text or '').strip()[:200]}" if error.lineno else ""
            raise Failure(protocol.SYNTAX, f"{type(error).__name__}: {error.msg}{place}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Failure(protocol.SYNTAX, f"{type(error).__name__}: {error}") from None

    def _import(self) -> Any:
        # A real file: triton and inspect read sources from there.
        spec = importlib.util.spec_from_file_location(MODULE_NAME, self.path)
        if spec is None or spec.loader is None:
            raise Failure(protocol.IMPORT, "the source cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE_NAME] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises
            linecache.checkcache(self.path)
            raise failure(error, protocol.IMPORT, self.path) from None
        return module

    def construct(
        self, arguments: list[Any], seed: int, cast: torch.dtype | None, transform: int = 0, everywhere: bool = False
    ) -> torch.nn.Module:
        """ModelNew under a seed and a weight transform. Raises Failure.

        `everywhere`: constants are weights also where they are no parameters.
        """
        try:
            seed_everything(seed)
            with torch.no_grad():
                with transformed(transform, seed) as finish:
                    model = self._model(*arguments)
                    finish([tensor for _, tensor in _own_tensors(model)] if everywhere else [])
                return model if cast is None else model.to(cast)
        except BaseException as error:  # noqa: BLE001
            raise failure(error, protocol.EXCEPTION, self.path) from None

    def move(self, model: torch.nn.Module, device: torch.device) -> torch.nn.Module:
        """Moves the module to a device, as its users do. Raises Failure."""
        try:
            return model.to(device)
        except BaseException as error:  # noqa: BLE001
            raise failure(error, protocol.EXCEPTION, self.path) from None

    def declared(self) -> dict[str, str | None]:
        """WEIGHT_MAP, as far as it is a dictionary of names."""
        given = getattr(self._module, "WEIGHT_MAP", None)
        if type(given) is not dict:
            return {}
        pairs = list(given.items())[:_MAX_TENSORS]
        return {str(k): v for k, v in pairs if type(k) is str and (v is None or type(v) is str)}


class _Collector:
    """Every tensor below a module, each object once: registered ones, plain attributes, containers, own objects."""

    def __init__(self) -> None:
        self.found: list[tuple[str, torch.Tensor]] = []
        self._seen: set[int] = set()

    def walk(self, value: Any, name: str, depth: int = 0) -> None:
        if depth > _MAX_DEPTH or len(self.found) >= _MAX_TENSORS:
            return
        if isinstance(value, torch.Tensor):
            self._keep(value, name)
        elif isinstance(value, torch.nn.Module):
            self._module(value, name, depth)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self.walk(item, f"{name}[{index}]", depth + 1)
        elif isinstance(value, dict):
            for key, item in list(value.items()):
                self.walk(item, child_name(name, key), depth + 1)
        elif type(value).__module__ == MODULE_NAME and hasattr(value, "__dict__") and self._first(value):
            for key, item in list(vars(value).items()):
                self.walk(item, f"{name}.{key}", depth + 1)

    def _first(self, value: Any) -> bool:
        first = id(value) not in self._seen
        self._seen.add(id(value))
        return first

    def _keep(self, tensor: torch.Tensor, name: str) -> None:
        plain = tensor.layout == torch.strided and tensor.device.type in _READABLE and dtypes.is_supported(tensor.dtype)
        if plain and not torch.nn.parameter.is_lazy(tensor) and self._first(tensor):
            self.found.append((name, tensor.detach()))

    def _module(self, module: torch.nn.Module, prefix: str, depth: int) -> None:
        if not self._first(module):
            return
        start = f"{prefix}." if prefix else ""
        for table in (module._parameters, module._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    self._keep(tensor, start + key)
        for key, child in module._modules.items():
            if child is not None:
                self._module(child, start + key, depth)
        for key, value in list(vars(module).items()):
            if key not in _INTERNAL:
                self.walk(value, start + key, depth + 1)


def _own_tensors(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """(name, tensor) of everything that a module holds, where it is. Raises whatever a hostile module raises."""
    collector = _Collector()
    collector._module(model, "", 0)
    return collector.found


def tensors_of(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """The same, on the processor."""
    return [(name, tensor.cpu()) for name, tensor in _own_tensors(model)]


@dataclass
class StateExport:
    """The state of a module as bytes: a header, then contiguous contents."""

    head: bytes
    tensors: list[torch.Tensor]
    total: int


def prepare_export(model: torch.nn.Module, declared: dict[str, str | None]) -> StateExport:
    """Computes the layout of an export."""
    named = tensors_of(model)
    table, offset = [], 0
    for name, tensor in named:
        count = tensor.numel() * tensor.element_size()
        entry = {"name": name, "dtype": dtypes.name_of(tensor.dtype), "shape": list(tensor.shape)}
        table.append({**entry, "offset": offset, "nbytes": count})
        offset += count
    # Offsets count from the start of the file and the length of the header depends on them, so the header is padded to a fixed
    # size.
    room = (len(json.dumps({"tensors": table, "declared": declared})) + 24 * len(table) + 4096) // 4096 * 4096
    for entry in table:
        entry["offset"] += 4 + room
    text = json.dumps({"tensors": table, "declared": declared}).encode("ascii").ljust(room)
    return StateExport(len(text).to_bytes(4, "little") + text, [tensor for _, tensor in named], 4 + len(text) + offset)


def write_export(export: StateExport, descriptor: int) -> None:
    """Writes everything to a memory file. Raises OSError."""
    position = _write_all(descriptor, export.head, 0)
    for tensor in export.tensors:
        flat = tensor.contiguous()
        count = flat.numel() * flat.element_size()
        if count:
            content = (ctypes.c_char * count).from_address(flat.data_ptr())
            position = _write_all(descriptor, memoryview(content).cast("B"), position)


def _write_all(descriptor: int, data: bytes | memoryview, position: int) -> int:
    view, done = memoryview(data), 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done : done + (1 << 26)], position + done)
    return position + done
