"""Calls of the reference on a GPU: timed between events of gpu.h, as runners time candidates, and as graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from kernelgen_common.gpu import GpuError
from kernelgen_common.seeding import seed_everything

from .compare import Expected
from .device import GpuDevice
from .errors import TaskError, describe_exception, one_line
from .randomness import replaying
from .source import quiet, task_errors
from .task import CallInputs, Reference
from .timing import CacheFlusher, TimedReference
from .values import Flat, assign, flatten_output, writable_base

WARM_UP_CALLS = 3
#: Operations in a series, and repetitions, for launch_times().
_LAUNCHES, _LAUNCH_REPEATS = 64, 10
_SHORT_NS = 2_000_000


def launch_times(device: GpuDevice) -> tuple[int, int]:
    """What a call, and a replay, take at least beyond their share of a series that is replayed as one graph, in nanoseconds: the
    shortest times of an operation that does next to nothing. Nothing where there can be no graph."""
    gpu, stream = device.gpu, device.stream()
    if device.torch.type != "cuda":
        return 0, 0
    word = torch.zeros(1, dtype=torch.int32, device=device.torch)
    side, _ = device.graph_place()

    def fill(stream: int, times: int = 1) -> None:
        for _ in range(times):
            gpu.fill(word.data_ptr(), 0, word.nbytes, stream)

    def record(times: int) -> int:
        gpu.begin_capture(side.cuda_stream)
        fill(side.cuda_stream, times)
        return gpu.end_capture(side.cuda_stream)

    def shortest(begin: Callable[[int], None], work: Callable[[], None]) -> int:
        found = []
        for _ in range(_LAUNCH_REPEATS):
            begin(stream)
            work()
            found.append(gpu.end_call(stream).device_ns)
        return min(found)

    device.synchronize()
    one, several = record(1), record(_LAUNCHES)
    in_series = shortest(gpu.begin_call, lambda: gpu.replay(several, stream)) // _LAUNCHES
    call = shortest(gpu.begin_call, lambda: fill(stream))
    replay = shortest(gpu.begin_replay, lambda: gpu.replay(one, stream))
    gpu.free_graph(one)
    gpu.free_graph(several)
    return max(call - in_series, 0), max(replay - in_series, 0)


class NotCapturable(Exception):
    """The reference cannot be a graph; the message is the reason in one line."""


class ReferenceGraph:
    """One recorded call of a reference on given tensors; replayed, it reads what they hold by then."""

    def __init__(self, gpu_graph: int, arguments: list[Any], draws: list[torch.Tensor], copies: list[tuple[torch.Tensor, torch.Tensor]]):
        """`arguments` are kept alive; `draws` stand for the random numbers that forward() draws; `copies` are (copy, original) of the
        inputs that forward() writes."""
        self.handle = gpu_graph
        self._arguments = arguments
        self._draws = draws
        self._copies = copies

    def refresh(self, draws: Sequence[torch.Tensor]) -> None:
        """Puts in place what a replay reads. `draws` are those of the call."""
        for copy, original in [*self._copies, *zip(self._draws, draws)]:
            assign(copy, original)


class GpuTimedReference(TimedReference):
    """A reference on a GPU."""

    def __init__(self, reference: Reference, device: GpuDevice):
        super().__init__(reference, CacheFlusher(None))
        self._device = device
        self._gpu = device.gpu
        self._task = reference.task
        self._warm = False
        self._last_ns = 0
        #: True if a second call on the same inputs gives the same, once the state is restored.
        self._repeatable = self._task.has_independent_calls and self._task.randomness == "none"
        #: What stands for random numbers in all graphs of this reference.
        self._draws: list[torch.Tensor] = []
        #: The reason why there are no graphs; "" if there can be graphs.
        self.no_graph = self._obstacle()

    def _obstacle(self) -> str:
        if self._device.torch.type != "cuda":
            return "no graphs on this device"
        if not hasattr(torch.cuda, "MemPool") or not hasattr(torch.cuda, "use_mem_pool"):
            return f"torch {torch.__version__} has no pools of memory for graphs"
        if self._task.randomness == "stochastic":
            return "forward() draws random numbers that cannot be recorded"
        return ""

    @contextlib.contextmanager
    def _doing(self) -> Iterator[None]:
        """A context without gradients, in which failures of the task are TaskErrors."""
        task = self._task
        failing = task_errors(f"{task.source.name}: forward() failed", task.filename)
        with quiet(task.sink), failing, torch.no_grad():
            yield

    def call_series(
        self, series: Sequence[Sequence[Any]], forward_seed: int, ranges: Sequence[tuple[int, int]]
    ) -> tuple[list[Any], int]:
        """Calls one right after the other, and their time between two events on torch's stream. `ranges` mean nothing here."""
        if self._restores:
            self.reference.restore()
        self._device.apply_flags(self._task.precision)
        module, gpu, stream = self.reference.module, self._gpu, self._device.stream()
        with self._doing():
            seed_everything(forward_seed)
            if self._repeatable and self._last_ns < _SHORT_NS:
                # Other work since the last call has evicted the code of this call from the processor's caches, while a user's
                # calls follow each other. If launches take longer than kernels, this can take half of the call.
                module(*series[0])
                if self._restores:
                    self.reference.restore()
            self._device.probe()
            gpu.begin_call(stream)
            values = [module(*arguments) for arguments in series]
            device_ns = gpu.end_call(stream).device_ns
        self._last_ns = device_ns // len(series)
        self._note_length()
        return values, device_ns

    def _note_length(self) -> None:
        """Watches the clocks, but not for short calls: they draw too little power, and reading clocks takes as long."""
        if self._last_ns >= _SHORT_NS:
            self._device.watch_speed()

    def outputs(self, value: Any, argument_storages: set[int]) -> Flat:
        """The outputs on the device, in memory that no later call writes."""
        flat = super().outputs(value, argument_storages)
        for name, tensor in flat.tensors.items():
            flat.tensors[name] = self._device.move(tensor)
        return flat

    # -- graphs ---------------------------------------------------------------------------------------------------

    def capture(self, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor], expected: Flat) -> ReferenceGraph | None:
        """Records a call on these very tensors; None if that cannot be, with the reason in `no_graph`.

        `expected` is what a call gives that draws `draws`: a graph that gives anything else is none.
        """
        if self.no_graph:
            return None
        try:
            return self._capture(inputs, forward_seed, draws, expected)
        except NotCapturable as error:
            self.no_graph = str(error)
        except TaskError as error:
            # A call has worked before, so the second stream or its memory has failed.
            self.no_graph = error.message
        return None

    def _capture(self, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor], expected: Flat) -> ReferenceGraph:
        written = set(self._task.mutated_inputs)
        given = inputs.clone(written)
        arguments = given.arguments()
        copies = [(given.tensors[name], inputs.tensors[name]) for name in written]
        self._device.apply_flags(self._task.precision)
        seed_everything(forward_seed)
        if not self._warm:
            self._warm_up(arguments, draws)
            self._warm = True
        self.reference.restore()
        handle, value = self._record(arguments)
        graph = ReferenceGraph(handle, arguments, self._draws, copies)
        try:
            self._verify(graph, given, draws, value, expected)
        except BaseException:
            self._gpu.free_graph(handle)
            raise
        return graph

    def _warm_up(self, arguments: list[Any], draws: list[torch.Tensor]) -> None:
        """Makes a few calls on the recording stream, because libraries create workspaces for each stream."""
        side, pool = self._device.graph_place()
        self._device.synchronize()
        # What they allocate comes from the graphs' pool, and stays there for the graphs.
        with self._doing(), torch.cuda.stream(side), torch.cuda.use_mem_pool(pool):
            self._draws = [draw.clone() for draw in draws]
            for _ in range(WARM_UP_CALLS):
                self._call_with_draws(arguments)
        self._device.synchronize()

    def _call_with_draws(self, arguments: list[Any]) -> Any:
        """A call in which random factories give what stands for random numbers."""
        with replaying(self._draws, copied=False) if self._draws else contextlib.nullcontext():
            return self.reference.module(*arguments)

    def _record(self, arguments: list[Any]) -> tuple[int, Any]:
        """Captures through gpu.h, because torch.cuda.graph leaves torch's allocator unusable if it fails."""
        self._device.synchronize()
        failure: Exception | None = None
        side, pool = self._device.graph_place()
        value, handle, stream = None, 0, side.cuda_stream
        with torch.cuda.stream(side), torch.cuda.use_mem_pool(pool):
            self._gpu.begin_capture(stream)
            try:
                with quiet(self._task.sink), torch.no_grad():
                    value = self._call_with_draws(arguments)
            except Exception as error:  # noqa: BLE001 - whatever the task does, the capture must end
                failure = error
            try:
                handle = self._gpu.end_capture(stream)
            except GpuError as error:
                failure = failure or error
        if failure is None:
            return handle, value
        self._gpu.free_graph(handle)
        self._device.synchronize()
        why = describe_exception(failure, self._task.filename)
        raise NotCapturable(one_line(f"forward() cannot be captured: {why}", 240))

    def _verify(self, graph: ReferenceGraph, given: CallInputs, draws: list[torch.Tensor], value: Any, expected: Flat) -> None:
        """Checks a replay: work that the capture misses (other streams, the CPU) would be missing in every replay, and look
        fast."""
        taken = {tensor.untyped_storage().data_ptr() for tensor in given.tensors.values()} | self._state_storages
        with torch.no_grad():
            flat = flatten_output(value)
            for tensor in flat.tensors.values():
                if tensor.device == self._device.torch and tensor.untyped_storage().data_ptr() not in taken:
                    writable_base(tensor).fill_(True if tensor.dtype == torch.bool else 77)
        self._launch(graph, draws)
        self._device.synchronize()
        moved = {name: self._device.move(tensor) for name, tensor in flat.tensors.items()}
        comparison = Expected(expected).compare(moved, flat.structure)
        if not comparison.correct:
            raise NotCapturable(one_line(f"a replay gives something else than a call: {comparison.message}", 240))

    def _launch(self, graph: ReferenceGraph, draws: list[torch.Tensor]) -> None:
        self.reference.restore()
        graph.refresh(draws)
        self._gpu.replay(graph.handle, self._device.stream())

    def replay(self, graph: ReferenceGraph, draws: list[torch.Tensor]) -> int:
        """Nanoseconds of a replay with the draws of a call."""
        self.reference.restore()
        graph.refresh(draws)
        stream = self._device.stream()
        self._device.probe()
        self._gpu.begin_replay(stream)
        self._gpu.replay(graph.handle, stream)
        device_ns = self._gpu.end_call(stream).device_ns
        self._note_length()
        return device_ns
