"""One task in a judge: the operations of the protocol, without sockets."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from typing import Any

import torch

from kernelgen_common.limits import limit_memory
from kernelgen_common.weight_transforms import number_of

from .admission import Admission, AdmissionBudget, admit
from .check import Checker, oracle_budget, requested_tolerance
from .compiled import MODES, CompiledReference, NoBaseline
from .device import Device, GpuDevice, open_device
from .device_memory import GUARD
from .errors import OUT_OF_MEMORY, TaskError
from .exchange import Layout, Memory, contiguous_spec, make_layout, native_job, python_job
from .gpu_call_preparer import has_room_for_slots
from .gpu_session import GpuArena
from .gpu_timing import launch_times
from .call_preparer import CallPreparer, secret_seed
from .oracle import bytes_of_wider_call
from .state_match import StateMatcher
from .task import CallInputs, Task, TaskSource, load_task
from .timing import CacheFlusher, TimedReference, bind_to_processors, sample, use_threads
from .weights import Weights

_MODES = ("full", "sample")
#: When the reference is called: see CallPreparer.prepare_call.
_ORDERS = ("before", "after", "never")
#: With a candidate, the judge sleeps while the candidate and the worker run, and wakes up to colder caches: calls of 25 us took a
#: third longer than back to back.
_CANDIDATE_TURN_SECONDS = 3e-4
#: Slots of a task, their bytes and tensors together. A runner tells the addresses of up to 502 outputs in one reply.
MAX_SLOTS, SLOTS_BYTES, MAX_SLOT_TENSORS = 256, 128 << 20, 500
#: The same on a GPU, where a series is replayed as one graph. Larger calls are longer, so that fewer of them are as good, but their slots
#: take more memory: at most one part in so many of the device's, or the least number of slots where one takes no more than that.
GPU_SLOTS, GPU_SLOTS_BYTES, LARGE_SLOTS, LARGE_SLOTS_PART, LEAST_GPU_SLOTS = 128, 512 << 20, 24, 16, 3


class RequestError(Exception):
    """The request is not possible in this state. `code` is a name of kernelgen::ErrorCode."""

    def __init__(self, message: str, code: str = "protocol"):
        super().__init__(message)
        self.code = code


def _mapped(path: str, writable: bool) -> int:
    return os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)


def _optional_seed(value: Any) -> int | None:
    return None if value is None else int(value) & 0x7FFFFFFFFFFFFFFF


class Session:
    """The state of one judge: filled from load to attach, then used by prepare_call and check."""

    def __init__(self) -> None:
        self._device: Device | None = None
        self._task: Task | None = None
        self._request: dict[str, Any] = {}
        self._layout: Layout | None = None
        #: The layout of the arena that the worker makes, if `_layout` is that of a device's memory.
        self._host_layout: Layout | None = None
        self._descriptors: list[int] = []
        self._weights: Weights | None = None
        self._preparer: CallPreparer | None = None
        self._checker: Checker | None = None
        self._matcher: StateMatcher | None = None
        self._flusher = CacheFlusher(None)
        #: Calls the reference for the prepared call and returns its nanoseconds, if that call is still pending.
        self._pending_reference: Callable[[], int] | None = None
        #: False for a prepared call without an answer of the reference.
        self._is_checkable = True
        self._admission: Admission | None = None
        self._compiled: CompiledReference | None = None

    def operations(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {
            "load": self.load,
            "admit": self.admit,
            "layout": self.layout,
            "attach": self.attach,
            "weights": self.weights,
            "state": self.state,
            "prepare_call": self.prepare_call,
            "check": self.check,
            "output_digest": self.output_digest,
            "device_use": self.device_use,
            "time_reference": self.time_reference,
            "compile": self.compile,
            "time_compiled": self.time_compiled,
        }

    # -- the task -------------------------------------------------------------------------------------------------

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Imports the task, builds the reference once and calls it once."""
        if self._task is not None:
            raise RequestError("this judge has a task already")
        source = request["task"]
        if self._device is None:
            self._device = open_device(request)
        if request.get("memory_bytes") and not self._device.is_gpu:
            # The limit is set here, so that a task which needs too much gives an error and not a dead process. A GPU's driver
            # reserves more addresses than any machine has memory.
            limit_memory(int(request["memory_bytes"]))
        if request.get("processors"):
            bind_to_processors(int(request["processors"]))
        use_threads(int(request.get("threads") or 1))
        seed = request.get("seed")
        self._task = load_task(
            TaskSource(
                str(source["name"]),
                str(source["text"]),
                str(source.get("path") or ""),
                str(source.get("level") or "unknown"),
            ),
            precision=str(request.get("precision") or "strict"),
            shrink=[(str(name), int(value)) for name, value in request.get("shrink") or []],
            seed=int(str(seed), 16) & 0x7FFFFFFFFFFFFFFF if seed else secret_seed(),
            device=self._device,
        )
        self._request = request
        self._flusher = CacheFlusher(request.get("support_library"))
        return {"description": self._description()}

    def _description(self) -> dict[str, Any]:
        """The task's description, except that outputs are exchanged without gaps."""
        task = self._loaded()
        outputs = [contiguous_spec(spec).to_json() for spec in task.outputs]
        return {**task.describe(), "outputs": outputs}

    def _loaded(self) -> Task:
        if self._task is None:
            raise RequestError("no task is loaded")
        return self._task

    def admit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Admits the task, or uses a cached admission."""
        task, cached = self._loaded(), request.get("cached")
        if isinstance(cached, str):
            cached = json.loads(cached)
        budget = AdmissionBudget(float64=oracle_budget(self._request, task.device)).times(task.device.parts)
        is_known = cached is not None and Admission.from_json(cached, task) is not None
        if not is_known and task.device.parts > 1 and bytes_of_wider_call(task) > budget.float64.bytes:
            raise TaskError("needs more than a part of the device's memory", OUT_OF_MEMORY)
        self._admission = admit(task, budget, cached)
        task.device.release_cache()
        answer = self._admission.to_json()
        asked = requested_tolerance(task, self._request)
        tolerance = answer["tolerance"]
        if asked is not None:
            tolerance = {**asked.to_json(), "max_rms_error_multiple": tolerance["max_rms_error_multiple"]}
        kept = is_known or _serves_others(self._admission, task.device)
        return {"admission": answer, "kept": kept, "tolerance": tolerance}

    # -- the arena ------------------------------------------------------------------------------------------------

    def layout(self, request: dict[str, Any]) -> dict[str, Any]:
        """The layout of the arena, and the jobs for runners."""
        task, threads = self._loaded(), int(self._request.get("threads") or 1)
        device = task.device.gpu.facts if task.device.gpu is not None else None
        guard = 0 if device is None else GUARD
        layout = make_layout(self._tensors(task), device is None, guard, self._slots_for)
        if isinstance(task.device, GpuDevice):
            most = layout.slots
            while layout.slots > 1 and not has_room_for_slots(task.device, task, layout):
                most = most // 2 if most // 2 >= LEAST_GPU_SLOTS else 1
                layout = make_layout(self._tensors(task), False, guard, lambda slot_bytes, most=most: most)
        self._layout = layout
        self._host_layout = None if device is None else make_layout([])
        scalars = [("input", s.name, s.type, s.value) for s in task.input_scalars]
        scalars += [("init", s.name, s.type, s.value) for s in task.init_scalars]
        job = python_job(
            layout,
            threads,
            self._host_layout,
            device=None if device is None else {"vendor": device.vendor, "uuid": device.uuid},
            inputs=task.input_structure,
            init=task.init.structure,
            init_tensors=_small_tensors(task),
            outputs=task.output_structure,
            precision=task.precision,
            mutated_buffers=task.mutated_buffers,
            mode=task.mode,
            interpreter=bool(request.get("interpreter")),
        )
        return {
            "bytes": (self._host_layout or layout).total_bytes,
            "device_bytes": 0 if device is None else layout.total_bytes,
            "input_bytes": layout.bytes_of("input", "draw"),
            "output_bytes": layout.bytes_of("output"),
            "slots": layout.slots,
            "slot_bytes": layout.slot_bytes,
            # The worker can read outputs itself, except in memory of a device.
            "outputs": [[s.begin, s.nbytes] for s in layout.of("output")] if device is None else [],
            "native_job": native_job(layout, threads, scalars, None if device is None else (device.vendor, device.uuid)),
            "python_job": job,
        }

    def _slots_for(self, slot_bytes: int) -> int:
        """The number of slots: more than one where calls may follow each other, as many as make a series that the worker's clock can
        measure."""
        task = self._loaded()
        if not task.has_independent_calls:
            return 1
        if task.device.is_gpu:
            fitting = min(GPU_SLOTS, GPU_SLOTS_BYTES // slot_bytes)
            if isinstance(task.device, GpuDevice) and fitting < LARGE_SLOTS:
                in_part = task.device.total_bytes() // LARGE_SLOTS_PART // slot_bytes
                fitting = max(fitting, min(LARGE_SLOTS, in_part), LEAST_GPU_SLOTS if in_part else 0)
            return fitting if fitting >= LEAST_GPU_SLOTS else 1
        tensors = len(task.inputs) + len(task.draws) + len(task.outputs)
        return max(1, min(MAX_SLOTS, SLOTS_BYTES // slot_bytes, MAX_SLOT_TENSORS // tensors))

    @staticmethod
    def _tensors(task: Task) -> list[tuple[str, Any]]:
        lists = {
            "input": task.inputs,
            "parameter": task.parameters,
            "buffer": task.buffers,
            "attribute": task.attributes,
            "draw": task.draws,
            "output": [contiguous_spec(spec) for spec in task.outputs],
        }
        return [(role, spec) for role, specs in lists.items() for spec in specs]

    def attach(self, request: dict[str, Any]) -> dict[str, Any]:
        """Maps the arena that the worker made; on a device also makes the one with the tensors, to be handed to runners."""
        task = self._loaded()
        if self._layout is None:
            raise RequestError("attach comes after layout")
        descriptor = _mapped(request["path"], writable=True)
        try:
            arena = Memory(descriptor, self._host_layout or self._layout)
        finally:
            os.close(descriptor)
        if isinstance(task.device, GpuDevice):
            return self._attach_device(task, task.device, arena)
        self._weights = Weights(task, self._layout, arena, self._flusher, self._transform_of)
        self._preparer = CallPreparer(task, self._layout, arena, self._draw)
        self._checker = Checker(task, self._layout, arena, self._preparer, self._weights, self._request)
        self._matcher = StateMatcher(self._weights)
        return {}

    def _attach_device(self, task: Task, device: GpuDevice, host: Memory) -> dict[str, Any]:
        assert self._layout is not None
        # The two lie side by side, installed or not.
        program = os.path.join(os.path.dirname(str(self._request["support_library"])), "kgen-gpu")
        made = GpuArena(task, device, self._layout, program)
        self._descriptors.append(made.descriptor)
        self._weights = made.weights(self._transform_of)
        self._preparer = made.preparer(self._draw, host)
        self._checker = made.checker(self._preparer, self._weights, self._request, host)
        self._matcher = StateMatcher(self._weights)
        call_ns, replay_ns = launch_times(device)
        times = {"call_launch_ns": call_ns, "replay_launch_ns": replay_ns}
        return {"device_fd": True, "device_bytes": made.kept_bytes, **times}

    def take_descriptors(self) -> list[int]:
        """The descriptors for the reply to the last request; the caller closes them."""
        taken, self._descriptors = self._descriptors, []
        return taken

    def _draw(self, distribution: str, seed: int) -> CallInputs:
        if distribution == "own":
            return self._loaded().make_inputs(seed)
        if self._admission is None or distribution not in [*self._admission.distributions, self._admission.probe]:
            raise RequestError(f"distribution {distribution!r:.40} is not admitted", "invalid_argument")
        return self._admission.make_inputs(self._loaded(), distribution, seed)

    def weights(self, request: dict[str, Any]) -> dict[str, Any]:
        """Makes a weight set the current one. The reply is what a ModelNew is constructed under."""
        if self._weights is None:
            raise RequestError("weights comes after attach")
        chosen = self._weights.use(int(request["set"]))
        return {"seed": str(chosen.seed), "transform": chosen.transform}

    def _transform_of(self, index: int) -> int:
        """The number of the weight transform of a set."""
        planned = [] if self._admission is None else self._admission.weight_sets
        return number_of(planned[index - 1]) if index <= len(planned) else 0

    def state(self, request: dict[str, Any]) -> dict[str, Any]:
        """Reads what a ModelNew exported for a weight set; the answer comes with the second set."""
        if self._matcher is None:
            raise RequestError("state comes after attach")
        descriptor = _mapped(request["path"], writable=False)
        try:
            self._matcher.read(int(request["set"]), descriptor, int(request["bytes"]))
        finally:
            os.close(descriptor)
        return self._matcher.reply()

    # -- calls ----------------------------------------------------------------------------------------------------

    def _ready(self) -> tuple[Weights, CallPreparer, Checker]:
        if self._weights is None or self._preparer is None or self._checker is None:
            raise RequestError("nothing is attached")
        if not self._weights.current:
            self._weights.use(1)
        return self._weights, self._preparer, self._checker

    def prepare_call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Fills the arena for one call, or for a series of "calls"."""
        weights, preparer, _ = self._ready()
        order = request.get("reference") or "before"
        if order not in _ORDERS:
            raise RequestError(f"unknown order of the reference: {order!r:.40}")
        weights.restore()
        timed = weights.get(weights.current).timed
        reply = preparer.prepare_call(
            timed,
            weights.current,
            str(request.get("distribution") or "own"),
            _optional_seed(request.get("seed")),
            bool(request.get("repeat")),
            bool(request.get("canary")),
            order,
            int(request.get("calls") or 1),
            bool(request.get("draws", True)),
        )
        as_graph, weight_set = bool(request.get("graph")), weights.current
        if as_graph and not reply.reference_pending:
            reply = preparer.time_replay(timed, weight_set, reply)

        def call_reference() -> int:
            called = preparer.call_reference(timed, weight_set, reply)
            return (preparer.time_replay(timed, weight_set, called) if as_graph else called).reference_ns

        self._pending_reference = call_reference if reply.reference_pending else None
        self._is_checkable = order != "never"
        # The caches are flushed here, because extra work in the runner would show in the worker's clock.
        if not self._loaded().device.is_gpu:
            self._flusher.flush(preparer.exchanged())
        device = self._loaded().device
        # The runner's next call is on another stream of another process, so all work must be finished.
        device.synchronize()
        device.recover()
        seeds = {"seed": str(reply.seed), "forward_seed": str(reply.forward_seed)}
        calls = {"slot": reply.slot, "calls": len(preparer.series)}
        return {**seeds, **calls, "reference_ns": reply.reference_ns, "fresh": reply.fresh, **_speed_of(device)}

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compares the candidate's outputs. Calls the reference first if it is pending."""
        _, preparer, checker = self._ready()
        if preparer.current is None or not self._is_checkable:
            raise RequestError("check comes after prepare_call, where the reference is called")
        mode = request.get("mode") or "full"
        if mode not in _MODES:
            raise RequestError(f"unknown mode: {mode!r:.40}")
        if self._pending_reference is None:
            return checker.check(mode)
        pending, self._pending_reference = self._pending_reference, None
        timed = {"reference_ns": pending(), **_speed_of(self._loaded().device)}
        return {**checker.check(mode), **timed}

    def device_use(self, request: dict[str, Any]) -> dict[str, Any]:
        """The use of the device by foreign processes; nothing on the CPU."""
        return dict(self._loaded().device.use())

    def memory_advice(self) -> str:
        """Advice for a lack of memory; "" if there is none."""
        return self._device.memory_advice() if self._device is not None else ""

    def output_digest(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns a digest of the outputs in the arena, which shows whether two calls agree bit by bit."""
        _, _, checker = self._ready()
        return {"digest": checker.digest()}

    def time_reference(self, request: dict[str, Any]) -> dict[str, Any]:
        """Times the reference on inputs of its own, with nothing else running; with "graph", its replay as a graph."""
        weights, preparer, _ = self._ready()
        timed = weights.get(weights.current).timed
        if request.get("graph"):
            self._call_exclusively(timed, 0, True)
            reason = preparer.no_graph(timed)
            if reason:
                return {"samples_ns": [], "reason": reason}
        return self._sample_exclusively(timed, request)

    def compile(self, request: dict[str, Any]) -> dict[str, Any]:
        """Builds the reference as torch.compile does; the reason why that one cannot be timed, or "".

        Afterwards this judge supports only time_compiled.
        """
        kind = request["kind"]
        if kind not in MODES:
            raise RequestError(f"unknown kind of baseline: {kind!r:.40}", "invalid_argument")
        compiled = CompiledReference(self._loaded(), *self._ready())
        try:
            compiled.build(MODES[kind], str(request["cache_dir"]), float(request["seconds"]))
        except NoBaseline as error:
            return {"reason": str(error)}
        self._compiled = compiled
        return {"reason": ""}

    def time_compiled(self, request: dict[str, Any]) -> dict[str, Any]:
        """Times the compiled reference like `time_reference`."""
        if self._compiled is None:
            raise RequestError("time_compiled comes after compile")
        reply = self._sample_exclusively(self._compiled.timed, request)
        try:
            self._compiled.check()
        except NoBaseline as error:
            return {"samples_ns": [], "reason": str(error)}
        return reply

    def _call_exclusively(self, timed: TimedReference, turn: int, as_graph: bool, calls: int = 1) -> int:
        """The nanoseconds of a call in a series, prepared in the same way as calls with a candidate, so that the times are
        comparable."""
        weights, preparer, _ = self._ready()
        sleeps = not self._loaded().device.is_gpu
        weights.restore()
        if sleeps:
            time.sleep(_CANDIDATE_TURN_SECONDS)
        order = "after" if sleeps and turn % 2 == 0 else "before"
        reply = preparer.prepare_call(timed, weights.current, "own", None, False, True, order, calls, False)
        if reply.reference_pending:
            time.sleep(_CANDIDATE_TURN_SECONDS)
            reply = preparer.call_reference(timed, weights.current, reply)
        reply = preparer.time_replay(timed, weights.current, reply) if as_graph else reply
        return reply.reference_ns // len(preparer.series)

    def _sample_exclusively(self, timed: TimedReference, request: dict[str, Any]) -> dict[str, Any]:
        turns, as_graph, calls = itertools.count(), bool(request.get("graph")), int(request.get("calls") or 1)
        if self._loaded().device.is_gpu:
            # A device's own clock needs no series, and the next replay overwrites the answer of the last one.
            calls = 1
        samples = sample(
            lambda: self._call_exclusively(timed, next(turns), as_graph, calls),
            float(request.get("seconds") or 1.0),
            int(request.get("min_samples") or 1),
            int(request.get("max_samples") or 1000),
        )
        flushed = self._flusher.active or self._loaded().device.is_gpu
        return {"samples_ns": samples, "threads": torch.get_num_threads(), "flushed": flushed}


def _serves_others(admission: Admission, device: Device) -> bool:
    """True if no other judge of the task would find out more: what foreign processes or other judges left no memory or time for is
    checked where there is more."""
    lacked_memory = admission.lacked_memory() or device.ran_out_of_memory()
    if device.parts > 1:
        return not (lacked_memory or admission.lacked_time())
    return not (lacked_memory and device.is_crowded())


def _speed_of(device: Device) -> dict[str, Any]:
    """True if heat or power slows the device down now; and the clock of its multiprocessors, 0 if it is unknown."""
    clocks = device.clocks()
    if clocks is None:
        return {"throttled": False, "clock_mhz": 0}
    return {"throttled": clocks.throttled, "clock_mhz": clocks.multiprocessor_mhz}


def _small_tensors(task: Task) -> list[dict[str, Any]]:
    """Tensors among the constructor arguments, as hex text: they are rare and small."""
    found = []
    for name, tensor in task.init.tensors.items():
        data = tensor.contiguous().reshape(-1).view(torch.uint8)
        if data.numel() > 1 << 20:
            raise RequestError(f"constructor argument {name} is a tensor of more than 1 MiB", "unsupported")
        spec = task.init.specs()[list(task.init.tensors).index(name)]
        found.append({"name": name, "dtype": spec.dtype, "shape": list(spec.shape), "hex": bytes(data.tolist()).hex()})
    return found
