"""The kernels of a call, by torch's profiler: names, how often, how long. Needs no counters and no permission."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from .calls import Profiled


def _host_times(profiled: Profiled, calls: int) -> list[int]:
    """Nanoseconds of single calls, waiting for the device included."""
    times = []
    for _ in range(calls):
        profiled.device.synchronize()
        start = time.perf_counter_ns()
        profiled.call()
        profiled.device.synchronize()
        times.append(time.perf_counter_ns() - start)
    return times


def _is_kernel(event: Any, on_device: bool) -> bool:
    if on_device:
        annotation = getattr(event, "is_user_annotation", False)
        return event.device_type == torch.autograd.DeviceType.CUDA and not annotation
    # On a CPU: torch's operators, without those that another one called, because its time includes theirs.
    return event.device_type == torch.autograd.DeviceType.CPU and event.cpu_parent is None


@dataclass
class Session:
    """One call under torch's profiler: durations in nanoseconds by kernel, and from the first start to the last end."""

    kernels: dict[str, list[float]] = field(default_factory=dict)
    span_ns: float = 0.0


def _session(profiled: Profiled, on_device: bool) -> Session:
    with profile(activities=[ProfilerActivity.CUDA if on_device else ProfilerActivity.CPU]) as profiler:
        profiled.call()
        profiled.device.synchronize()
    events = [event for event in profiler.events() if _is_kernel(event, on_device)]
    session = Session()
    for event in events:
        session.kernels.setdefault(event.name, []).append(event.time_range.elapsed_us() * 1e3)
    if on_device and events:
        start = min(event.time_range.start for event in events)
        session.span_ns = (max(event.time_range.end for event in events) - start) * 1e3
    return session


def _median_kernel(name: str, sessions: list[Session]) -> dict[str, Any]:
    times = [one.kernels.get(name, []) for one in sessions]
    return {
        "name": name,
        "launches": statistics.median(len(one) for one in times),
        "duration_ns": statistics.median(sum(one) for one in times),
    }


def record(profiled: Profiled, warmups: int, calls: int) -> dict[str, Any]:
    """What `parse_timeline` of lib/profile reads. Raises CandidateError."""
    for _ in range(warmups):
        profiled.call()
    profiled.device.synchronize()
    call_ns = statistics.median(_host_times(profiled, calls))
    on_device = profiled.device.torch.type == "cuda"
    # The first session of a profiler takes seconds, which would count as the kernels' own.
    _session(profiled, on_device)
    sessions = [_session(profiled, on_device) for _ in range(calls)]
    names = dict.fromkeys(name for one in sessions for name in one.kernels)
    # Kernels that ran in few of the calls are not part of a call.
    kernels = [kernel for kernel in (_median_kernel(name, sessions) for name in names) if kernel["launches"] >= 1]
    if not kernels and not on_device:
        # torch sees a native candidate on a CPU as one operation.
        kernels = [{"name": "kgen_run", "launches": 1, "duration_ns": call_ns}]
    name = torch.cuda.get_device_name() if on_device else "cpu"
    return {
        "schema": 1,
        "device": name,
        "call_ns": call_ns,
        "span_ns": statistics.median(one.span_ns for one in sessions),
        "kernels": kernels,
    }


def count(profiled: Profiled, warmups: int, calls: int) -> None:
    """Calls between cudaProfilerStart and cudaProfilerStop, for a profiler outside. Raises CandidateError."""
    for _ in range(warmups):
        profiled.call()
    profiled.device.synchronize()
    runtime = torch.cuda.cudart()
    runtime.cudaProfilerStart()
    for _ in range(calls):
        profiled.call()
    profiled.device.synchronize()
    runtime.cudaProfilerStop()
