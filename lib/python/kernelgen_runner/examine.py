"""Calls without a score, which show what does the work of a candidate's calls. They come after everything that is timed.

On the processor the worker looks from outside at what the process executes. On a device the driver's tools interface is asked,
in this process. As in calls.py, everything is bound before the candidate is imported.
"""

from __future__ import annotations

import time

import torch

from kernelgen_common.seeding import make_seeder

from . import protocol
from .calls import Run, Work
from .device import Device
from .outputs import make_materializer
from .protocol import Command, Failure, Reply


def make_host_examine(work: Work) -> Run:
    """Repeats a call for the time that the command gives, at least once."""
    models, arguments, restore = work.models, work.arguments[0], work.restore
    now, seed, track_gradients, materialize = time.monotonic_ns, make_seeder(), torch._C._set_grad_enabled, make_materializer()

    def examine(command: Command) -> Reply:
        index, forward_seed, nanoseconds = command.arguments[:3]
        model, calls = models[index], 0
        restore(index)
        seed(forward_seed)
        track_gradients(False)
        try:
            started = ended = now()
            while calls == 0 or ended - started < nanoseconds:
                materialize(model(*arguments))
                calls, ended = calls + 1, now()
        finally:
            track_gradients(True)
        return Reply(start_ns=started, end_ns=ended, arguments=(calls, 0, 0, 0))

    return examine


def make_device_examine(work: Work, device: Device) -> Run:
    """One call, with a cold cache as in timed calls. The reply's text has the activities of the device."""
    models, arguments, restore = work.models, work.arguments[0], work.restore
    now, seed, track_gradients, materialize = time.monotonic_ns, make_seeder(), torch._C._set_grad_enabled, make_materializer()
    clock_of, check, synchronize = device.clock, device.check, device.synchronize
    begin, end = device.gpu.activities(protocol.TEXT_BYTES)

    def examine(command: Command) -> Reply:
        index, forward_seed = command.arguments[:2]
        model = models[index]
        restore(index)
        seed(forward_seed)
        # The clock is not needed, but the flush that comes with it.
        check(clock_of().begin())
        synchronize()
        refused = begin()
        if refused:
            raise Failure(protocol.FAILED, refused)
        track_gradients(False)
        try:
            started = now()
            materialize(model(*arguments))
            synchronize()
            ended = now()
        finally:
            track_gradients(True)
            span_ns, text = end()
        return Reply(start_ns=started, end_ns=ended, arguments=(1, 0, 0, span_ns), data=text)

    return examine
