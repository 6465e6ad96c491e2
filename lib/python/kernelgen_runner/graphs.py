"""A candidate's call as a graph: captured once, replayed for every sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from . import protocol
from .device import Device
from .protocol import Failure

#: Number of warm-up calls: libraries initialize themselves in their first call on a stream, which cannot be captured.
_WARM_UPS = 2
_REASON = 300


@dataclass
class Captured:
    """A graph with what its call returned: memory that every replay writes anew."""

    replay: Callable[[], None]
    value: Any


Capture = Callable[[Callable[[], Any]], Captured]


def make_capture(device: Device) -> Capture:
    """A function that captures a call. It raises Failure; the process then goes on without graphs.

    Everything is bound here, before a candidate is imported.
    """
    if device.torch.type != "cuda":

        def refuse(call: Callable[[], Any]) -> Captured:
            raise Failure(protocol.NOT_CAPTURABLE, "no graphs on this device")

        return refuse
    new_graph, capturing = torch.cuda.CUDAGraph, torch.cuda.graph
    on_stream, current, use = torch.cuda.stream, torch.cuda.current_stream, torch.cuda.set_stream
    side, thread = torch.cuda.Stream(), device.thread_stream
    synchronize, rand, where = torch.cuda.synchronize, torch.rand, device.torch
    mark_start, mark_end = device.make_marks()

    def capturable(before: Any) -> Any:
        """The current stream where launches that name none are on it, too; else another one than the legacy stream."""
        return before if thread and before.cuda_stream == thread else side

    def warm_up(call: Callable[[], Any]) -> None:
        before = current()
        stream = capturable(before)
        stream.wait_stream(before)
        with on_stream(stream):
            for _ in range(_WARM_UPS):
                call()
        before.wait_stream(stream)
        synchronize()

    def record(call: Callable[[], Any]) -> Captured:
        graph, reasons = new_graph(), []
        try:
            with capturing(graph, stream=capturable(current()), capture_error_mode="thread_local"):
                try:
                    mark_start()
                    value = call()
                    mark_end()
                except BaseException as error:
                    reasons.append(error)
                    raise
        except BaseException as error:
            # The end of a broken capture raises as well, with a less useful message.
            raise (reasons[0] if reasons else error) from None
        synchronize()
        return Captured(graph.replay, value)

    def recover() -> None:
        """A broken capture may leave torch's generator in capture mode; a successful capture resets it."""
        synchronize()
        record(lambda: rand(1, device=where))
        rand(1, device=where).sum().item()
        synchronize()

    def capture(call: Callable[[], Any]) -> Captured:
        before = current()
        try:
            warm_up(call)
            return record(call)
        except Exception as error:  # noqa: BLE001 - whatever a candidate raises
            use(before)
            reason = _one_line(error)
        try:
            recover()
        except Exception as error:  # noqa: BLE001
            use(before)
            text = f"the device cannot be used after a capture that failed ({reason}): {_one_line(error)}"
            raise device.broken(text) from None
        raise Failure(protocol.NOT_CAPTURABLE, reason)

    return capture


def _one_line(error: BaseException) -> str:
    """Type and first line of an exception. In those of CUDA, advice follows."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - the candidate's own __str__
        text = ""
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:_REASON].rstrip(": ")
