"""The parts of a session on a GPU: the arena in memory of the device, and the objects that work on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelgen_common.gpu import GpuError, tensor_at

from .device import GpuDevice
from .device_memory import DeviceMemory, PaddingPattern
from .errors import OUT_OF_MEMORY, TaskError, gib
from .exchange import Layout, Memory
from .gpu_check import GpuChecker
from .gpu_call_preparer import GpuCallPreparer, plan_memory
from .gpu_weights import GpuWeights
from .call_preparer import CallPreparer
from .task import CallInputs, Task
from .weights import Weights


class GpuArena:
    """The exchange arena of one session. `descriptor` is what maps it in another process; the taker closes it."""

    def __init__(self, task: Task, device: GpuDevice, layout: Layout, program: str):
        """`program` is the path of kgen-gpu.

        Raises TaskError where the device has not enough memory for the arena, the judge and a runner.
        """
        self._task = task
        self._layout = layout
        # Whatever torch keeps for later counts as taken.
        device.release_cache()
        free = device.free_bytes()
        try:
            address, self.descriptor = device.gpu.allocate_shared(layout.total_bytes)
        except GpuError as error:
            if not error.out_of_memory:
                raise
            text = f"needs {gib(layout.total_bytes)} of device memory for what is exchanged alone, {gib(free)} are free"
            raise TaskError(text, OUT_OF_MEMORY) from None
        device.shared_bytes = layout.total_bytes
        self.memory = DeviceMemory(layout, tensor_at(address, layout.total_bytes, device.torch), PaddingPattern(device))
        self._plan = plan_memory(device, task, layout)
        device.runner_bytes = self._plan.left
        # A runner never waits for memory that the judge keeps: it has a share of its own.
        device.start_probe(program)
        device.limit_torch(self._plan.judge)
        #: Bytes of device memory that this judge keeps while it is idle.
        self.kept_bytes = layout.total_bytes + self._plan.kept

    def weights(self, transform_of: Callable[[int], int]) -> GpuWeights:
        return GpuWeights(self._task, self._layout, self.memory, transform_of)

    def preparer(self, draw: Callable[[str, int], CallInputs], host: Memory) -> GpuCallPreparer:
        return GpuCallPreparer(self._task, self._layout, self.memory, draw, host, self._plan)

    def checker(self, preparer: CallPreparer, weights: Weights, request: Mapping[str, Any], host: Memory) -> GpuChecker:
        return GpuChecker(self._task, self._layout, self.memory, preparer, weights, request, host)
