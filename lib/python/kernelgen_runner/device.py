"""The GPU of one runner: opened in the sandbox before any candidate is known, and everything that a call needs of it.

Functions for use after the import of the candidate are bound before it, so that patching torch changes nothing.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelgen_common.gpu import Gpu, GpuError, TimedCall, tensor_at, use_only
from kernelgen_common.platform import Platform, platform_of

from . import protocol
from .compiler import has_streams_of_its_own
from .protocol import Failure, Reply

#: NaN in every float format.
_POISON_BYTE = 0xFF
#: Maximal bytes of torch's cached memory that are poisoned: 2 ms of an H200's bandwidth.
_MOST_POISONED = 8 << 30
#: Sizes of the blocks that torch uses for small results.
_SMALL_BLOCKS = (512, 4096, 1 << 16, 1 << 20)
#: Maximal number of bytes of an output that are checked after a replay.
_SAMPLES = 1 << 16
#: Python code that may launch in other threads; backward does.
_OTHER_THREADS = re.compile(r"enable_grad|autograd|torch\.func\b|functorch|threading|concurrent")
#: Statuses that may be due to a broken device.
_MAYBE_DEVICE_FAULT = frozenset({protocol.IMPORT, protocol.EXCEPTION, protocol.OUT_OF_MEMORY, protocol.STRUCTURE})


def device_failure(error: GpuError, more: str = "") -> Failure:
    """The reply for an error of the driver; `more` is the candidate's own message."""
    status = protocol.OUT_OF_MEMORY if error.out_of_memory else protocol.DEVICE_FAULT
    failure = Failure(status, f"{error}\n{more}".rstrip())
    failure.reply.detail = error.number
    return failure


class Device:
    """One device. `torch` is the torch device of its tensors."""

    def __init__(self, library: str, uuid: str, variable: str = ""):
        """Opens the device and makes its context work once; see use_only. Raises GpuError."""
        use_only(variable, uuid)
        self.gpu = Gpu(library, uuid)
        self.torch = self.gpu.torch_device
        self._on_gpu = self.torch.type == "cuda"
        self._last_error: Callable[[], str] = lambda: ""
        if self._on_gpu:
            self._start_torch()
        self._clocks: dict[int, TimedCall] = {}
        self._stream = torch._C._cuda_getCurrentRawStream if self._on_gpu else lambda index: 0
        self.clock()

    def _start_torch(self) -> None:
        """torch's own part of the context, its first kernel, its generator and the handle of its library for products, which cannot
        be made while a candidate captures a graph. Other libraries cost memory."""
        try:
            torch.cuda.init()
            (torch.ones(8, device=self.torch) + 1).sum().item()
            torch.rand(8, device=self.torch)
            torch.mm(torch.ones(8, 8, device=self.torch), torch.ones(8, 8, device=self.torch))
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - a torch without CUDA asserts
            raise GpuError(f"torch cannot use the device: {error}") from None
        self._last_error = _runtime_errors(self.gpu.platform)

    @property
    def thread_stream(self) -> int:
        """The stream on which launches of extensions are that name none; 0: they are on the legacy one."""
        return self.gpu.platform.thread_stream if self._on_gpu else 0

    def choose_stream(self, source: bytes) -> None:
        """Makes that stream torch's current one where a candidate needs it: for an extension, unless anything else than this thread may launch,
        or there are streams that only the legacy one waits for. With the legacy stream as the current one, all of these are in order, and
        cannot be captured."""
        text = source.decode("utf-8", "replace")
        if self.thread_stream and "cpp_extension" in text and not (has_streams_of_its_own(text) or _OTHER_THREADS.search(text)):
            torch.cuda.set_stream(torch.cuda.ExternalStream(self.thread_stream, device=self.torch))

    @property
    def architecture(self) -> dict[str, str]:
        """The variable that tells torch's extensions the architecture."""
        return architecture_setting(self.gpu.facts.vendor, self.gpu.facts.architecture)

    # -- memory ---------------------------------------------------------------------------------------------------

    def import_arena(self, descriptor: int, count: int) -> int:
        """The address of the judge's memory here. Raises Failure."""
        try:
            return self.gpu.import_shared(descriptor, count)
        except GpuError as error:
            raise device_failure(error) from None

    def make_copier(self) -> Callable[[Sequence[tuple[int, int, int]]], None]:
        """A function that queues copies (to, from, bytes) within the device. It raises Failure."""
        copy, stream = self.gpu.copy, self._stream

        def copy_all(copies: Sequence[tuple[int, int, int]]) -> None:
            try:
                on = stream(0)
                for to, source, count in copies:
                    copy(to, source, count, on)
            except GpuError as error:
                raise device_failure(error) from None

        return copy_all

    def make_poisoner(self, sizes: Sequence[int]) -> Callable[[], None]:
        """A function that fills the memory which torch hands out next with NaN, blocks of these sizes among it."""
        if not self._on_gpu:
            return lambda: None
        empty, snapshot, fill, device = torch.empty, torch.cuda.memory_snapshot, self.gpu.fill, self.torch
        wanted, exhausted, kind = [*sizes, *_SMALL_BLOCKS], torch.cuda.OutOfMemoryError, torch.uint8

        def poison() -> None:
            try:
                # Twice each: a candidate may need as much again before it makes its result.
                blocks = [empty(size, dtype=kind, device=device) for size in wanted * 2 if size]
            except exhausted:
                blocks = []
            del blocks
            left = _MOST_POISONED
            for address, size in _free_blocks(snapshot()):
                fill(address, _POISON_BYTE, min(size, left))
                left -= min(size, left)
                if left == 0:
                    break

        return poison

    def make_marks(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """Functions for the start and the end of what is captured on torch's current stream. They raise Failure."""
        start, end = self.gpu.marks()
        check, stream = self.check, self._stream
        # The end uses the stream of the start, because a candidate may change torch's current one.
        marked = [0]

        def mark_start() -> None:
            marked[0] = stream(0)
            check(start(marked[0]))

        return mark_start, lambda: check(end(marked[0]))

    def make_replay_check(self) -> Callable[[Callable[[], None], Sequence[tuple[int, int]]], bool]:
        """A function that tells whether a replay writes each of some (address, bytes); it raises Failure.

        It checks samples, and restores memory that a replay does not write, because it may be an input.
        """
        fill, copy, synchronize, exhausted = self.gpu.fill, self.gpu.copy, self.synchronize, torch.cuda.OutOfMemoryError
        view, empty, device, kind, stream = tensor_at, torch.empty, self.torch, torch.uint8, self._stream

        def replay_writes(replay: Callable[[], None], places: Sequence[tuple[int, int]]) -> bool:
            places = [(address, count) for address, count in places if count]
            try:
                saved = [empty(count, dtype=kind, device=device) for _, count in places]
            except exhausted:
                return True
            for (address, count), safe in zip(places, saved):
                copy(safe.data_ptr(), address, count, stream(0))
                fill(address, _POISON_BYTE, count, stream(0))
            replay()
            synchronize()
            written = True
            for (address, count), safe in zip(places, saved):
                if bool((view(address, count, device)[:: max(1, count // _SAMPLES)] == _POISON_BYTE).all()):
                    copy(address, safe.data_ptr(), count, stream(0))
                    written = False
            synchronize()
            return written

        return replay_writes

    # -- calls ----------------------------------------------------------------------------------------------------

    def clock(self) -> TimedCall:
        """The clock for the stream that is torch's current one now."""
        stream = self._stream(0)
        found = self._clocks.get(stream)
        if found is None:
            found = self._clocks[stream] = self.gpu.timed_call(stream)
        return found

    def check(self, status: int) -> None:
        """Raises Failure if a status of a clock is an error."""
        if status:
            try:
                self.gpu.check(status)
            except GpuError as error:
                raise device_failure(error) from None

    def forget_errors(self) -> None:
        """Clears earlier errors of the runtime, which belong to no call."""
        self._last_error()

    def refused_launch(self) -> str:
        """The runtime's message about a kernel of the last call that failed to launch; empty if there is none."""
        return self._last_error()

    def synchronize(self) -> None:
        """Waits for everything that is queued. Raises Failure for what failed in it."""
        try:
            self.gpu.synchronize()
        except GpuError as error:
            raise device_failure(error) from None

    def broken(self, text: str) -> Failure:
        """Reports a device that does not work any more, with the driver's error number if there is one."""
        try:
            self.gpu.synchronize()
        except GpuError as error:
            return device_failure(error, text)
        return Failure(protocol.DEVICE_FAULT, text)

    def explain(self, reply: Reply) -> Reply:
        """The reply to a command that failed: if the device broke under it, that is the reason."""
        if reply.status not in _MAYBE_DEVICE_FAULT:
            return reply
        try:
            self.gpu.synchronize()
        except GpuError as error:
            return device_failure(error, reply.text).reply
        return reply


def _free_blocks(segments: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """(address, bytes) of the memory that torch's allocator holds unused."""
    found = []
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "inactive":
                found.append((address, block["size"]))
            address += block["size"]
    return found


def architecture_setting(vendor: str, architecture: str) -> dict[str, str]:
    """What tells torch's extensions the architecture of a device, for the environment; nothing where it is unknown."""
    platform = platform_of(vendor)
    told = platform.architecture_of(architecture)
    return {platform.architecture_variable: told} if told else {}


def _runtime_errors(platform: Platform) -> Callable[[], str]:
    """A function that takes the last error of the runtime which torch has loaded, as a text; "" for none.

    A launch with impossible dimensions is refused silently: without a query, old results would be used.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        path = re.search(rf"/\S*/{platform.runtime_library}\S*", file.read())
    if path is None:
        return lambda: ""
    library = ctypes.CDLL(path[0])
    take, text_of = (getattr(library, name) for name in platform.runtime_errors)
    text_of.restype = ctypes.c_char_p

    def last_error() -> str:
        number = take()
        return f"{text_of(number).decode('ascii', 'replace')} ({number})" if number else ""

    return last_error


def open_device(library: str | None, uuid: str, variable: str = "") -> Device:
    """The device of that UUID; see use_only. Raises GpuError."""
    if library is None:
        raise GpuError("a GPU needs libkgen_runner_support.so")
    try:
        return Device(library, uuid, variable)
    except (OSError, AttributeError) as error:
        raise GpuError(f"{os.path.basename(library)} cannot be used: {error}") from None
