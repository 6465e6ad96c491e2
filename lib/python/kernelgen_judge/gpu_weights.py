"""Weights in memory of a device: written and compared range by range, because a network has hundreds of them."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .device import GpuDevice
from .device_memory import GUARD, DeviceMemory, Mirror
from .exchange import Layout, Segment, make_layout
from .gpu_timing import GpuTimedReference
from .task import Reference, Task
from .timing import CacheFlusher, TimedReference
from .weights import Weights


class GpuWeights(Weights):
    """Weights for an arena in memory of a device."""

    def __init__(self, task: Task, layout: Layout, arena: DeviceMemory, transform_of: Callable[[int], int]):
        self._device_arena = arena
        super().__init__(task, layout, arena, CacheFlusher(None), transform_of)
        assert isinstance(self._copy, DeviceMemory)
        self._mirrors = {
            id(pairs): Mirror(arena, self._copy, pairs) for pairs in (self._pairs, self._restored, self._kept)
        }

    def _make_copy(self) -> DeviceMemory:
        specs = [(segment.role, segment.spec) for segment in self._segments]
        return DeviceMemory.private(make_layout(specs, False, GUARD), self._task.device, self._device_arena.pattern)

    def _time(self, reference: Reference) -> TimedReference:
        assert isinstance(self._task.device, GpuDevice)
        return GpuTimedReference(reference, self._task.device)

    def _write(self, pairs: list[tuple[Segment, Segment]]) -> None:
        self._mirrors[id(pairs)].write()

    def flags(self) -> list[torch.Tensor]:
        """Booleans on the device that tell whether a weight that no call may write has changed."""
        return self._mirrors[id(self._kept)].flags() if self.current else []

    def overwritten(self) -> list[str]:
        if not self.current:
            return []
        differing = self._mirrors[id(self._kept)].differing()
        for segment, private in differing:
            self._arena.copy_in(segment, self._copy.raw(private))
        return [segment.name for segment, _ in differing]
