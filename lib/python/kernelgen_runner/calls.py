"""One call of a candidate, on the processor and on a device: inputs, the clock, outputs in their places.

Gradients are not tracked, as in KernelBench: no_grad, not inference mode, which would forbid threads of the candidate's own
to write to its tensors. The functions made here are made before the candidate is imported, with everything they need bound,
so that patching torch or this package changes nothing.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelgen_common.seeding import make_seeder

from . import protocol
from .device import Device
from .graphs import Captured, make_capture
from .outputs import MappedTensor, make_addresses, make_describer, make_materializer, make_writer
from .protocol import Command, Failure, Reply
from .support import Support

#: glibc fills new memory with the complement, 0x7F, which is far from any answer in every float format.
POISON_BYTE = 0x80

_NOT_CAPTURED = "a replay leaves an output unwritten: what is launched on another stream than torch's current one is not captured"

Run = Callable[[Command], Reply]


@dataclass
class Work:
    """The data for the calls of one runner."""

    places: list[MappedTensor]
    #: By slot.
    arguments: list[list[Any]]
    #: By weight set, filled as modules are built.
    models: dict[int, Callable[..., Any]]
    #: Restores the state that forward() changes.
    restore: Callable[[int], None]
    #: CPU nanoseconds spent when the process should have slept.
    side_work: Callable[[], int]
    #: The captured graph, or the reason why there is none, by weight set and number of calls.
    graphs: dict[tuple[int, int], Captured | Failure] = field(default_factory=dict)
    #: The outputs of the last call, which the worker reads in place until the next command. Small ones are there until the next call has
    #: ended.
    held: list[Any] = field(default_factory=list)

    def outputs(self, slot: int = 0) -> list[MappedTensor]:
        return [place for place in self.places if place.role == "output" and place.slot == slot]

    @property
    def report(self) -> MappedTensor | None:
        return next((place for place in self.places if place.role == "report"), None)


def make_host_run(work: Work, support: Support) -> Run:
    """Calls on the processor. Outputs stay where they are for the worker to fetch, or are copied into the arena."""
    models, arguments, restore, side_work = work.models, work.arguments, work.restore, work.side_work
    describe, slots = make_describer(work.outputs(), work.report), len(work.arguments)
    writers = [make_writer(work.outputs(slot)) for slot in range(slots)]
    materialize, addresses, pack = make_materializer(), make_addresses(), struct.pack
    hold, release = work.held.extend, work.held.clear
    now, seed, track_gradients = time.monotonic_ns, make_seeder(), torch._C._set_grad_enabled
    # The reference's threads have just worked when it is called, but this process was stopped. Waking a sleeping core takes 100
    # us and more, which must not count.
    wake, something = torch._C.TensorBase.neg_, torch.ones(1 << 17)
    count, tensor, copy = sys.getrefcount, torch.Tensor, torch._C.TensorBase.clone

    def run(command: Command) -> Reply:
        index, forward_seed, flags, first, calls = command.arguments[:5]
        if flags & protocol.RUN_GRAPH:
            raise Failure(protocol.NOT_CAPTURABLE, "a processor has no graphs")
        chosen = slots_of(first, max(calls, 1), slots)
        series, found = [arguments[slot] for slot in chosen], []
        model, note, made, several = models[index], found.append, [], calls > 1
        restore(index)
        seed(forward_seed)
        if flags & protocol.RUN_POISON:
            support.poison_allocations(POISON_BYTE)
        track_gradients(False)
        try:
            wake(something)
            started = now()
            # Nothing else between two calls, as for the reference: helper threads that wait longer fall asleep.
            for inputs in series:
                value = model(*inputs)
                # A result that the candidate keeps may be overwritten by the next call.
                note(copy(value) if several and count(value) > 2 and isinstance(value, tensor) else value)
            ended = now()
            made = [materialize(value) for value in found]
            if any(made):
                ended = now()
        finally:
            track_gradients(True)
            support.poison_allocations(0)
        release()
        places: list[int] = []
        for slot, value, materialized in zip(chosen, found, made):
            tensors = describe(value, materialized, slot != chosen[0])
            hold((value, materialized, tensors))
            if not tensors:
                places = []
                break
            if flags & protocol.RUN_IN_PLACE:
                places += addresses(tensors)
            else:
                writers[slot](tensors)
        told = (side_work(), 0, len(places), 0)
        return Reply(start_ns=started, end_ns=ended, arguments=told, data=pack(f"<{len(places)}Q", *places))

    return run


def slots_of(first: int, calls: int, slots: int) -> list[int]:
    """The slots of a series of calls; after the last slot comes the first. Raises Failure."""
    if first >= slots or calls > slots:
        raise Failure(protocol.PROTOCOL, f"{calls} calls from slot {first} on, of {slots} slots")
    return [(first + index) % slots for index in range(calls)]


def make_device_run(work: Work, support: Support, device: Device) -> Run:
    """Calls on a device: between two events on the stream, after the cache was flushed. Outputs go to the device arena."""
    outputs, every_output = work.outputs(), [work.outputs(slot) for slot in range(len(work.arguments))]
    models, series, restore, side_work = work.models, work.arguments, work.restore, work.side_work
    arguments = series[0]
    describe, materialize = make_describer(outputs, work.report, device.torch), make_materializer()
    addresses, queue_copies, check = make_addresses(), device.make_copier(), device.check
    synchronize = device.synchronize
    now, seed, track_gradients = time.monotonic_ns, make_seeder(), torch._C._set_grad_enabled
    clock_of, forget, refused_launch = device.clock, device.forget_errors, device.refused_launch
    capture, poison = make_capture(device), device.make_poisoner([place.nbytes for place in outputs])
    # Where the device's memory is the processor's.
    poison_host = support.poison_allocations if device.torch.type == "cpu" else lambda byte: None
    graphs, replay_writes, toolkit = work.graphs, device.make_replay_check(), device.gpu.platform.toolkit

    def call(model: Callable[..., Any]) -> tuple[Any, dict[int, torch.Tensor]]:
        value = model(*arguments)
        return value, materialize(value)

    def call_series(model: Callable[..., Any], calls: int) -> tuple[Any, dict[int, torch.Tensor]]:
        """Calls on the inputs of the first slots; what the first call returned. The outputs of each are copied into the arena right
        after it, because the next one may overwrite them."""
        first = None
        for slot, (inputs, places) in enumerate(zip(series[:calls], every_output)):
            value = model(*inputs)
            made = materialize(value)
            tensors = describe(value, made, slot > 0)
            queue_copies([(p.address, a, p.nbytes) for p, a in zip(places, addresses(tensors))])
            first = first or (value, made)
        assert first is not None
        return first

    def checked_capture(model: Callable[..., Any], calls: int) -> Captured:
        captured = capture(lambda: call_series(model, calls) if calls > 1 else call(model))
        if calls > 1:
            written = [(place.address, place.nbytes) for places in every_output[:calls] for place in places]
        else:
            found = zip(outputs, addresses(describe(*captured.value)))
            written = [(address, place.nbytes) for place, address in found]
        if not replay_writes(captured.replay, written):
            raise Failure(protocol.NOT_CAPTURABLE, _NOT_CAPTURED)
        return captured

    def graph_of(index: int, calls: int) -> Captured:
        found = graphs.get((index, calls))
        if found is None:
            try:
                found = checked_capture(models[index], calls)
            except Failure as failure:
                found = failure
            graphs[index, calls] = found
        if isinstance(found, Failure):
            raise found
        return found

    def run(command: Command) -> Reply:
        index, forward_seed, flags, slot, calls = command.arguments[:5]
        calls = max(calls, 1)
        if slot or calls > (len(series) if flags & protocol.RUN_GRAPH else 1):
            raise Failure(protocol.PROTOCOL, f"{calls} calls from slot {slot} on, on a device with {len(series)} slots")
        model = models[index]
        track_gradients(False)
        try:
            captured = graph_of(index, calls) if flags & protocol.RUN_GRAPH else None
            restore(index)
            seed(forward_seed)
            if flags & protocol.RUN_POISON:
                poison()
                poison_host(POISON_BYTE)
            forget()
            clock = clock_of()
            # The worker's clock bounds a series, so its launch need not be hidden behind flushes.
            check(clock.begin() if captured is None or calls > 1 else clock.begin_replay())
            started = now()
            if captured is None:
                value, materialized = call(model)
            else:
                captured.replay()
            status = clock.end()
            ended = now()
        finally:
            track_gradients(True)
            poison_host(0)
        check(status)
        refused = refused_launch()
        if refused:
            raise Failure(protocol.EXCEPTION, f"{toolkit} error: {refused}: a kernel of this call was not started")
        if captured is not None:
            value, materialized = captured.value
        tensors = describe(value, materialized)
        if calls == 1:
            queue_copies([(p.address, a, p.nbytes) for p, a in zip(outputs, addresses(tensors))])
            synchronize()
        told = (side_work(), max(clock.times.off_stream_ns, 0), 0, max(clock.times.device_ns, 0))
        return Reply(start_ns=started, end_ns=ended, arguments=told)

    return run
