"""The device of a task's tensors: the CPU, or a GPU. Differences between the two, except for timing and comparison, are here.

On a GPU there are two kinds of memory: torch's, which stays in this process, and the exchange arena, which is allocated
through gpu.h and handed to runners. Tensors of torch are never shared with runners.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from kernelgen_common.gpu import Clocks, Gpu, GpuError, use_only
from kernelgen_common.platform import Platform, platform_of

from . import precision as precision_class
from .errors import OUT_OF_MEMORY, TaskError, gib, is_out_of_memory
from .module_state import state_tensors
from .device_probe import PROBE_BYTES, DeviceProbe
from .values import move_with_strides

#: Device memory of a process before its first allocation: its context, and torch's kernels.
PROCESS_BYTES = 3 << 29
#: Number of own processes on the device besides the judge and its probe: a standby runner.
_OTHER_PROCESSES = 1
#: Foreign memory is reported if it is more than one part in this many of the device's memory.
_REPORT_DIVISOR = 16
_MAX_MOVES = 8
#: Interval for reading clocks: a query of the management library takes longer than many calls, and temperature changes slowly.
_CLOCKS_SECONDS = 0.01
#: Multiprocessors below this share of their fastest clock count as slowed down by earlier work.
_FULL_SPEED = 0.99
#: Time for which a power cap affects later calls: on an H200, a call of 24 ms took 24.4 ms right after another one, 23.0 ms after
#: 10 ms, 22.7 ms after 50 ms and after 200 ms. So the device rests for so many times what it may have worked, and no longer than that.
_RECOVERY_MULTIPLE, _RECOVERY_SECONDS = 2.0, 0.05


class Device:
    """The CPU, on which nothing has to be moved or waited for."""

    torch = torch.device("cpu")
    gpu: Gpu | None = None
    #: Names the kind of device in cached findings; "" is the CPU.
    label = ""
    #: True if float64 is not much slower than float32.
    has_fast_float64 = True
    #: Judges that may use it at the same time.
    parts = 1

    @property
    def is_gpu(self) -> bool:
        return self.gpu is not None

    def drawing(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which torch's factories make their tensors on the device."""
        return contextlib.nullcontext()

    def move(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor on the device, with equal strides."""
        return tensor

    def move_module(self, module: nn.Module) -> nn.Module:
        """The module with everything it holds on the device."""
        return module

    def synchronize(self) -> None:
        """Waits until all work is done. Raises its failures."""

    def apply_flags(self, precision: str) -> None:
        """Sets the flags of a precision class."""
        precision_class.apply_flags(precision)

    def tf32_products(self, precision: str) -> bool | None:
        """What runs in TF32 on this device: see precision.tf32_products. A CPU has none."""
        return None

    @contextlib.contextmanager
    def watching_memory(self) -> Iterator[list[int]]:
        """A context that appends the peak of bytes allocated inside it to the list; nothing on the CPU."""
        yield []

    def release_cache(self) -> None:
        """Releases torch's cached memory."""

    def is_crowded(self) -> bool:
        """True if foreign processes hold much of the device's memory."""
        return False

    def memory_advice(self) -> str:
        """Advice for the case that memory ran out."""
        return "take smaller inputs"

    def use(self) -> dict[str, int]:
        """Memory of the device that foreign processes hold, and the number of probes that they delayed; empty on the CPU."""
        return {}

    def clocks(self) -> Clocks | None:
        """Its current clocks; None if they are unknown, as on a CPU."""
        return None

    def recover(self) -> None:
        """Pauses if earlier work slows the device down."""

    def ran_out_of_memory(self) -> bool:
        """True if its memory ever ran out in this process, whatever became of the error."""
        return False


CPU = Device()


class GpuDevice(Device):
    """A GPU in use by this process."""

    def __init__(self, gpu: Gpu):
        self.gpu: Gpu = gpu
        self.torch = gpu.torch_device
        self.label = f"{gpu.facts.vendor} {gpu.facts.name} {gpu.facts.architecture}"
        self._on_cuda = self.torch.type == "cuda"
        self._clocks: tuple[float, Clocks | None] = (float("-inf"), None)
        self._fastest_mhz = 0
        #: True if it was ever seen to run slower than that.
        self._slows_down = False
        #: The end of the last rest.
        self._rested = float("-inf")
        self._graph_place: tuple[Any, Any] | None = None
        self._probe: DeviceProbe | None = None
        #: Bytes of the arena, which is not allocated by torch.
        self.shared_bytes = 0
        #: Bytes that are left for a candidate once there is an arena.
        self.runner_bytes = 0
        #: The most bytes that this judge may use; None: all that is free.
        self._part_bytes: int | None = None
        self.has_fast_float64 = not self._on_cuda or gpu.facts.architecture in gpu.platform.full_rate_float64

    def drawing(self) -> contextlib.AbstractContextManager[Any]:
        return self.torch

    def move(self, tensor: torch.Tensor) -> torch.Tensor:
        return move_with_strides(tensor, self.torch)

    def move_module(self, module: nn.Module) -> nn.Module:
        """Raises TaskError for a tensor that cannot be moved (one in a tuple)."""
        module = module.to(self.torch)
        elsewhere: list[Any] = []
        for _ in range(_MAX_MOVES):
            elsewhere = [entry for entry in state_tensors(module)[0] if entry.tensor.device != self.torch]
            if not elsewhere:
                return module
            for entry in elsewhere:
                entry.put(self.move(entry.tensor.detach()))
        raise TaskError(f"{elsewhere[0].name}: a tensor that cannot be moved to the device", "unsupported")

    def synchronize(self) -> None:
        self.gpu.synchronize()

    def apply_flags(self, precision: str) -> None:
        precision_class.apply_device_flags(precision)

    def tf32_products(self, precision: str) -> bool | None:
        has_tf32 = self.gpu.platform.has_tf32(self.gpu.facts.architecture)
        return precision_class.tf32_products(precision) if has_tf32 else None

    def stream(self) -> int:
        """The stream that torch queues on now; 0 is the legacy default stream."""
        return int(torch.cuda.current_stream().cuda_stream) if self._on_cuda else 0

    def start_probe(self, program: str) -> None:
        """Starts the probing process, without waiting for it; probe() does nothing before this."""
        self._probe = DeviceProbe(program, self.gpu.facts.uuid)

    def probe(self) -> None:
        """Lets another process use the device, which also happens before a call of the candidate; see device_probe."""
        if self._probe is not None:
            self.gpu.synchronize()
            self.recover()
            self._probe.run()

    # -- memory ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def watching_memory(self) -> Iterator[list[int]]:
        found: list[int] = []
        if not self._on_cuda:
            yield found
            return
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield found
        found.append(torch.cuda.max_memory_allocated() - before)

    def release_cache(self) -> None:
        if self._on_cuda:
            torch.cuda.empty_cache()

    def take_part(self, part_bytes: int, parts: int) -> None:
        """Takes one of so many parts, of so many bytes, and leaves the others to judges that work at the same time."""
        self.parts, self._part_bytes = parts, part_bytes
        if self._on_cuda:
            self._part_bytes -= PROCESS_BYTES
        self.limit_torch(self._part_bytes)

    def total_bytes(self) -> int:
        return self.gpu.memory()[1]

    def free_bytes(self) -> int:
        """Free bytes; torch's cache does not count as free."""
        free = self.gpu.memory()[0]
        if self._part_bytes is None:
            return free
        taken = torch.cuda.memory_reserved() if self._on_cuda else 0
        return min(free, max(0, self._part_bytes - taken))

    def ran_out_of_memory(self) -> bool:
        return self._on_cuda and torch.cuda.memory_stats().get("num_ooms", 0) > 0

    def foreign_bytes(self) -> int:
        """Bytes that are neither free nor needed by this judge and its processes: a lower bound of what foreign processes hold."""
        free, total = self.gpu.memory()
        own = self.shared_bytes
        if self._on_cuda:
            own += torch.cuda.memory_reserved() + (1 + _OTHER_PROCESSES) * PROCESS_BYTES + PROBE_BYTES
        return max(0, total - free - own)

    def is_crowded(self) -> bool:
        return self.foreign_bytes() > self.total_bytes() // _REPORT_DIVISOR

    def memory_advice(self) -> str:
        others, total = self.foreign_bytes(), self.total_bytes()
        ways = f"choose another GPU, or {super().memory_advice()}"
        if not self.is_crowded():
            return ways
        return f"other processes hold {gib(others)} of its {gib(total)}: end them (`{self.gpu.platform.process_list}` lists them), {ways}"

    def use(self) -> dict[str, int]:
        probes, delayed = (self._probe.count, self._probe.delayed) if self._probe is not None else (0, 0)
        return {
            "total_bytes": self.total_bytes(),
            "foreign_bytes": self.foreign_bytes(),
            "runner_bytes": self.runner_bytes,
            "probes": probes,
            "delayed_probes": delayed,
        }

    def limit_torch(self, more: int) -> None:
        """Limits torch to `more` bytes beyond what it has, because the rest of the device is for runners."""
        if self._on_cuda:
            share = (torch.cuda.memory_reserved() + more) / self.total_bytes()
            torch.cuda.set_per_process_memory_fraction(min(1.0, max(0.0, share)))

    def clocks(self) -> Clocks | None:
        asked, clocks = self._clocks
        return clocks if time.monotonic() - asked <= _CLOCKS_SECONDS else self._read_clocks()

    def _read_clocks(self) -> Clocks | None:
        clocks = self.gpu.clocks()
        self._clocks = (time.monotonic(), clocks)
        if clocks is not None:
            self._fastest_mhz = max(self._fastest_mhz, clocks.multiprocessor_mhz)
            self._slows_down = self._slows_down or not self._at_full_speed(clocks)
        return clocks

    def _at_full_speed(self, clocks: Clocks) -> bool:
        return clocks.multiprocessor_mhz >= _FULL_SPEED * self._fastest_mhz

    def watch_speed(self) -> None:
        """Notes the clocks right after work that may have lowered them."""
        self._read_clocks()

    def recover(self) -> None:
        """Pauses if earlier work slows the device down. A call right after 24 ms of float32 products takes 7 % longer than one
        after a pause, so either the reference or the candidate would be at a disadvantage. The clock cannot be waited for: it is
        back long before
        the power that a call may draw is. The device must be idle."""
        if not self._slows_down:
            return
        time.sleep(min(_RECOVERY_SECONDS, _RECOVERY_MULTIPLE * (time.monotonic() - self._rested)))
        self._rested = time.monotonic()
        clocks = self._read_clocks()
        if clocks is not None and not self._at_full_speed(clocks):
            # The device is warm, or shares its power with others, so this is its fastest clock now.
            self._fastest_mhz, self._slows_down = clocks.multiprocessor_mhz, False

    def graph_place(self) -> tuple[Any, Any]:
        """The stream on which graphs are recorded, and the pool of memory that they allocate from. All share both, since
        none is replayed while another one's result matters."""
        if self._graph_place is None:
            self._graph_place = (torch.cuda.Stream(), torch.cuda.MemPool())
        return self._graph_place


def open_device(request: Mapping[str, Any]) -> Device:
    """The device that a load request names; None or nothing is the CPU. Before any other use of a GPU in this process.

    Raises TaskError with the code missing_tool or missing_device.
    """
    wanted = request.get("device")
    if wanted is None:
        return CPU
    library = request.get("support_library")
    if not library:
        raise TaskError("a device needs libkgen_runner_support.so", "missing_tool")
    vendor, uuid = str(wanted.get("vendor") or ""), str(wanted.get("uuid") or "")
    try:
        platform = platform_of(vendor)
    except ValueError as error:
        raise TaskError(str(error), "missing_device") from None
    if not platform.torch_version():
        raise TaskError(
            f"torch {torch.__version__} has no {platform.toolkit}; install a torch that fits the driver, or set KGEN_PYTHON "
            "to a Python that has one",
            "missing_tool",
        )
    use_only(str(wanted.get("variable") or ""), uuid)
    try:
        gpu = Gpu(str(library), uuid)
        gpu.choose_sharing(str(wanted.get("memory_sharing") or ""))
    except (OSError, AttributeError) as error:
        raise TaskError(f"{library} cannot be used: {error}", "missing_tool") from None
    except GpuError as error:
        raise _unusable(f"GPU {uuid}: {error}", platform) from None
    if gpu.facts.vendor != vendor:
        raise TaskError(f"GPU {uuid} is of vendor {gpu.facts.vendor}, not {vendor}", "missing_device")
    device = GpuDevice(gpu)
    if device.torch.type == "cuda":
        try:
            torch.cuda.init()
            torch.zeros(1, device=device.torch)
        except (RuntimeError, AssertionError) as error:
            why = f"torch {torch.__version__} cannot use GPU {uuid}: {error}"
            raise _unusable(f"{why}; install a torch that fits the driver", platform) from None
    if int(wanted.get("parts") or 1) > 1:
        device.take_part(int(wanted["part_bytes"]), int(wanted["parts"]))
    return device


def _unusable(why: str, platform: Platform) -> TaskError:
    """The error for a device that is there and does not start. Without memory to start, it cannot say what holds the memory."""
    if not is_out_of_memory(RuntimeError(why)):
        return TaskError(why, "missing_device")
    ways = f"end the processes that hold its memory (`{platform.process_list}` lists them), or choose another GPU"
    return TaskError(f"{why}; {ways}", OUT_OF_MEMORY)
