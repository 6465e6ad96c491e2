"""Input sets in memory of a device, as many as fit next to a runner, and replays of references as graphs.

Graphs have addresses for good, so single calls are always in the first slot, and calls in a row in the first slots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from .arithmetic import DEVICE_CHUNK
from .device import PROCESS_BYTES, GpuDevice
from .device_memory import DeviceMemory, DevicePadding, Mirror
from .errors import OUT_OF_MEMORY, TaskError, gib
from .exchange import Layout
from .gpu_timing import GpuTimedReference, ReferenceGraph
from .call_preparer import POOL_SETS, InputSet, CallPreparer, PreparedCall, _Changes
from .task import Task
from .device_probe import PROBE_BYTES
from .timing import TimedReference
from .values import differ_in_bits

#: Memory for a runner's own outputs, relative to their size, including fragmentation.
_RUNNER_OUTPUTS = 1.25
#: Bytes of working memory per element of a chunk that a thorough comparison holds at its peak.
_COMPARISON_BYTES = 48


@dataclass(frozen=True)
class MemoryPlan:
    """How the memory of a device is shared between the judge and a runner. All in bytes."""

    #: Free bytes when there was only the arena.
    free: int
    #: The least that a runner needs.
    runner: int
    #: The share of a runner if there is enough memory: a candidate may work in more steps than the reference, with a copy for
    #: each.
    runner_ample: int
    #: The least that the judge needs besides one input set.
    least: int
    #: The bytes that the judge should have before it gets a second input set.
    ample: int
    #: The size of an input set of the first slot, including the expected answer.
    per_set: int
    #: The size of the arena.
    exchanged: int = 0

    @property
    def sets(self) -> int:
        """Input sets that fit, at most POOL_SETS. Raises TaskError where none does."""
        needed = self.runner + self.least + self.per_set
        if needed > self.free:
            wanted, had = gib(self.exchanged + needed), gib(self.exchanged + max(0, self.free))
            text = f"needs {wanted} of device memory for inputs, answers and a candidate, and can have {had}"
            raise TaskError(text, OUT_OF_MEMORY)
        return max(1, min(POOL_SETS, self._ample_sets))

    @property
    def is_ample(self) -> bool:
        """True if nothing has less memory than it could use."""
        return self._ample_sets >= POOL_SETS

    @property
    def _ample_sets(self) -> int:
        """Input sets that leave a runner its ample share."""
        return (self.free - self.runner_ample - self.ample) // max(1, self.per_set)

    @property
    def kept(self) -> int:
        """The bytes that the judge keeps after its first calls."""
        return self.ample + self.sets * self.per_set

    @property
    def left(self) -> int:
        """The bytes that a runner may use."""
        return self.free - self.judge

    @property
    def judge(self) -> int:
        """The most that the judge may use."""
        return min(max(self.kept, self.free - self.runner_ample), self.free - self.runner)


def plan_memory(device: GpuDevice, task: Task, layout: Layout) -> MemoryPlan:
    """Plans the memory for a task with an allocated arena."""
    inputs, outputs = layout.bytes_of("input", "draw"), layout.bytes_of("output")
    weights = layout.bytes_of("parameter", "buffer", "attribute")
    largest = max((segment.nbytes // segment.spec.itemsize for segment in layout.of("output")), default=0)
    call = max(task.call_bytes, outputs)
    # A weight set with what restores it, and the copy that the arena's is compared with; fresh inputs on their way into a
    # set; a call of the reference; the answer before the current one; working memory of the comparison.
    least = 3 * weights + inputs + call + outputs + _COMPARISON_BYTES * min(largest, DEVICE_CHUNK)
    # An input set and an expected answer for each further slot; padding takes as much as in the arena.
    further = (layout.slots - 1) * (layout.slot_bytes + task.kept_bytes)
    least += further
    # Two other weight sets; a transform of inputs; a call inside of graphs; outputs that must be looked at twice.
    ample = least + 4 * weights + inputs + call + outputs
    # A ModelNew has weights of its own, and may keep another form of them.
    runner = int(outputs * _RUNNER_OUTPUTS) + 2 * weights + (PROCESS_BYTES if device.torch.type == "cuda" else 0)
    more = runner + 2 * (inputs + call) + further
    return MemoryPlan(_free_bytes(device), runner, more, least, ample, inputs + outputs, layout.total_bytes)


def has_room_for_slots(device: GpuDevice, task: Task, layout: Layout) -> bool:
    """Whether a layout that is not allocated yet leaves ample memory for everything else. A task that just fits with one slot must
    not fail because of others."""
    device.release_cache()
    plan = plan_memory(device, task, layout)
    return replace(plan, free=plan.free - layout.total_bytes).is_ample


def _free_bytes(device: GpuDevice) -> int:
    """Free bytes once the probing process runs as well."""
    free = device.free_bytes()
    return free - PROBE_BYTES if device.torch.type == "cuda" else free


class GpuCallPreparer(CallPreparer):
    """A CallPreparer for an arena in memory of a device."""

    #: Drawing up to this time is cheap compared with the other costs of a call on a device.
    cheap_draw_seconds = 2e-3

    def __init__(self, task: Task, layout: Layout, arena: DeviceMemory, draw: Any, host: Any, plan: MemoryPlan):
        self._plan = plan
        self._device_arena = arena
        self._mirrors: dict[int, tuple[Mirror, Mirror]] = {}
        self._graphs: dict[tuple[int, int], ReferenceGraph] = {}
        super().__init__(task, layout, arena, draw, host, arena.pattern)

    def _make_padding(self) -> DevicePadding:
        return DevicePadding(self._device_arena)

    def _plan_sets(self, slots: int) -> list[int]:
        return [self._plan.sets] + [1] * (slots - 1)

    def _choose_slots(self, calls: int) -> list[int]:
        """The first ones, because what was captured in a graph always has the same addresses."""
        return list(range(min(max(1, calls), len(self._slots))))

    def _mirror_of(self, chosen: InputSet) -> tuple[Mirror, Mirror]:
        """(all inputs, those that no call may write) beside the arena's in the slot of the set."""
        known = self._mirrors.get(id(chosen))
        if known is None:
            assert isinstance(chosen.memory, DeviceMemory)
            arena, memory, allowed = self._device_arena, chosen.memory, set(self._task.mutated_inputs)
            pairs = [(segment, self._private_of[name]) for name, segment in self._slots[chosen.slot].inputs.items()]
            kept = [pair for pair in pairs if pair[0].name not in allowed]
            known = self._mirrors[id(chosen)] = (Mirror(arena, memory, pairs), Mirror(arena, memory, kept))
        return known

    def _write_inputs(self, chosen: InputSet, changes: _Changes) -> None:
        slot = self._slots[chosen.slot]
        if slot.holds is chosen and changes.ranges is not None:
            super()._write_inputs(chosen, changes)
            return
        self._mirror_of(chosen)[0].write()
        slot.holds = None

    # -- afterwards -----------------------------------------------------------------------------------------------

    def flags(self) -> list[torch.Tensor]:
        """Booleans on the device that tell whether padding, or an input or draw that no prepared call may write, has changed."""
        inputs = (flag for chosen in self.series for flag in self._mirror_of(chosen)[1].flags())
        given = (pair for chosen in self.series for pair in self._given_draws(chosen))
        move, view = self._task.device.move, self._arena.view
        return [self.padding.flag(), *inputs, *(differ_in_bits(view(segment), move(draw)) for segment, draw in given)]

    def unchanged(self) -> None:
        """Notes that `flags` were read and none was set."""
        # The further slots are looked at after a series only, so they are written anew for each.
        if self.series and not self._task.mutated_inputs:
            self._slots[0].holds = self.series[0]

    def changed_inputs(self) -> list[str]:
        names = [segment.name for chosen in self.series for segment, _ in self._mirror_of(chosen)[1].differing()]
        names += self._changed_draws()
        if not names:
            self.unchanged()
        return list(dict.fromkeys(names))

    # -- graphs ---------------------------------------------------------------------------------------------------

    def time_replay(self, reference: TimedReference, weight_set: int, reply: PreparedCall) -> PreparedCall:
        """The reply to a single prepared call with the time of a replay, where the reference can be a graph."""
        chosen = self.current
        known = reply.reference_ns == 0
        if known or len(self.series) > 1 or not isinstance(reference, GpuTimedReference) or chosen is None or chosen.expected is None:
            return reply
        key = (id(chosen), weight_set)
        if key not in self._graphs:
            graph = reference.capture(chosen.inputs, chosen.expected.forward_seed, chosen.expected.draws, chosen.expected.outputs)
            if graph is None:
                return reply
            self._graphs[key] = graph
        return replace(reply, reference_ns=reference.replay(self._graphs[key], chosen.expected.draws))

    def no_graph(self, reference: TimedReference) -> str:
        return reference.no_graph if isinstance(reference, GpuTimedReference) else super().no_graph(reference)
