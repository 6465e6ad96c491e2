"""One runner: waits on standby, loads one candidate, and calls it on request."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from kernelgen_common import dtypes, values
from kernelgen_common.limits import limit_memory
from kernelgen_common.weight_transforms import TRANSFORMS

from . import protocol
from .builds import Builds
from .calls import Run, Work, make_device_run, make_host_run
from .candidate import Candidate, StateExport, failure, prepare_export, read_source, write_export
from .device import Device
from .examine import make_device_examine, make_host_examine
from .outputs import CPU, MappedTensor
from .protocol import Channel, Command, Failure, Reply
from .support import Support

MAX_JOB = 64 << 20
_copy_each, _detach, _clone = torch._foreach_copy_, torch._C.TensorBase.detach, torch._C.TensorBase.clone
#: Weight sets of a task; kernelgen_judge.weights has the same number.
MAX_WEIGHT_SETS = 16
CASTS = {"fp16": torch.float16, "bf16": torch.bfloat16}


def apply_precision(name: str) -> None:
    """The flags of a precision class, as the judge sets them."""
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    torch.backends.cudnn.allow_tf32 = name != "strict"


def read_job(descriptor: int) -> dict[str, Any]:
    """Reads the job of a candidate. Raises Failure."""
    size = os.fstat(descriptor).st_size
    if size > MAX_JOB:
        raise Failure(protocol.PROTOCOL, "the job is too long")
    job: dict[str, Any] = json.loads(os.pread(descriptor, size, 0).rstrip(b"\0"))
    return job


def init_arguments(job: Mapping[str, Any]) -> list[Any]:
    """The constructor arguments of ModelNew."""
    tensors = {}
    for entry in job.get("init_tensors", []):
        data = bytearray.fromhex(entry["hex"])
        dtype = dtypes.parse(entry["dtype"])
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        tensors[entry["name"]] = flat.reshape(entry["shape"])
    return list(values.decode(job["init"], tensors))


def _plain(name: str, buffer: torch.Tensor) -> torch.Tensor:
    """The memory of a buffer as a tensor that runs no code of the candidate's when it is written. Raises Failure."""
    with torch._C.DisableTorchFunctionSubclass():
        found = _detach(buffer)
    if type(found) is not torch.Tensor:
        raise Failure(protocol.STRUCTURE, f"buffer {name} is a {type(found).__qualname__}, not a plain torch.Tensor")
    return found


def _grouped(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> list[tuple[list[torch.Tensor], list[torch.Tensor]]]:
    """(tensors, copies) of equal dtype and device, which one call copies: a network of a hundred norms has 300 buffers, and
    one by one they would take milliseconds on a device."""
    groups: dict[tuple[torch.dtype, torch.device], tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
    for tensor, copy in pairs:
        tensors, copies = groups.setdefault((tensor.dtype, tensor.device), ([], []))
        tensors.append(tensor)
        copies.append(copy)
    return list(groups.values())


class Runner:
    """State of one runner. Commands are handled in the order they come."""

    def __init__(
        self,
        channel: Channel,
        support: Support,
        device: Device | None = None,
        builds: Builds | None = None,
        seals_itself: bool = True,
    ):
        """seals_itself: nothing outside ends the start of processes when they are not allowed any more."""
        self._channel = channel
        self._support = support
        self._device = device
        self._builds = builds
        self._seal = support.seal_processes if seals_itself else lambda: None
        self._job: dict[str, Any] = {}
        self._mapped: list[MappedTensor] = []
        self._candidate: Candidate | None = None
        self._models: dict[int, Callable[..., Any]] = {}
        self._exports: dict[int, StateExport] = {}
        self._restored: dict[int, list[tuple[list[torch.Tensor], list[torch.Tensor]]]] = {}
        #: The arguments of a call, by slot.
        self._arguments: list[list[Any]] = []
        self._held: list[Any] = []
        self._run: Run | None = None
        self._examine: Run | None = None
        self._work: Work | None = None
        #: Weight sets that have been called. Candidates may compile in the first call of each, and not later.
        self._called: set[int] = set()
        #: How long the function that is called in a rehearsal works.
        self._rehearsed_ns = 0
        self._last_cpu = time.process_time_ns()
        self._modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
        self._handlers = {
            protocol.OP_JOB: self._open_job,
            protocol.OP_LOAD: self._load,
            protocol.OP_CONSTRUCT: self._construct,
            protocol.OP_EXPORT_STATE: self._export_state,
            protocol.OP_DESTROY: self._destroy,
            protocol.OP_RUN: self._call,
            protocol.OP_EXAMINE: self._examine_call,
            protocol.OP_ECHO: self._echo,
        }

    def serve(self, isolation: int) -> int:
        """Says hello, then answers until the worker closes the socket."""
        self._channel.say_hello(isolation)
        receive, send, handlers, cpu = self._channel.receive, self._channel.send, self._handlers, time.process_time_ns
        forward = self._support.forward_error_output
        forget, explain = self._held.clear, self._device.explain if self._device else lambda reply: reply
        while True:
            command = receive()
            if command is None:
                return 0
            # Freeing them may run code of the candidate's, and a call's inputs are there by now.
            if command.op != protocol.OP_RUN:
                forget()
            self._side_work = cpu() - self._last_cpu
            forward()
            handler = handlers.get(command.op)
            try:
                if handler is None:
                    raise Failure(protocol.PROTOCOL, f"operation {command.op} is not for a Python runner")
                reply = handler(command)
            except Failure as error:
                reply = explain(error.reply)
            except BaseException as error:  # noqa: BLE001 - one bad call must not end the runner's answers
                path = self._candidate.path if self._candidate is not None else ""
                reply = explain(failure(error, protocol.EXCEPTION, path).reply)
            finally:
                command.close()
            send(command.op, command.sequence, reply)
            self._last_cpu = cpu()

    def _echo(self, command: Command) -> Reply:
        """Answers; the outputs of the last call have been freed by then."""
        return Reply()

    # -- loading --------------------------------------------------------------------------------------------------

    def _open_job(self, command: Command) -> Reply:
        wanted = 2 if self._device is None else 3
        if self._job or len(command.descriptors) != wanted:
            raise Failure(protocol.PROTOCOL, f"JOB comes once, with {wanted} descriptors")
        job, arena, *device_arena = command.descriptors
        self._read_job(job)
        self._map_tensors(arena, *device_arena)
        self._run = self._prepare_run()
        self._models[protocol.REHEARSAL] = self._nothing()
        return Reply()

    def _nothing(self) -> Callable[..., Any]:
        """What is called in a rehearsal: it returns outputs that are there already, and on the processor writes to them for a while."""
        outputs = tuple(place.view(self._where) for place in self._mapped if place.role == "output" and place.slot == 0)
        if self._device is not None and len(self._arguments) > 1:
            # As in a candidate, they are copied into the arena.
            outputs = tuple(output.clone() for output in outputs)
        value = outputs[0] if len(outputs) == 1 else outputs
        now = time.monotonic_ns

        def nothing(*arguments: Any) -> Any:
            if self._rehearsed_ns:
                end = now() + self._rehearsed_ns
                while now() < end:
                    for output in outputs:
                        output.zero_()
            return value

        return nothing

    def _load(self, command: Command) -> Reply:
        if self._candidate is not None or not self._job or len(command.descriptors) != 1:
            raise Failure(protocol.PROTOCOL, "LOAD comes once, after JOB, with one descriptor")
        if command.arguments[0] != protocol.CODE_PYTHON:
            raise Failure(protocol.PROTOCOL, "a Python runner loads Python sources")
        source = read_source(command.descriptors[0])
        del self._models[protocol.REHEARSAL]
        if self._work is not None:
            self._work.graphs.clear()
        command.close()
        # A driver reserves terabytes of addresses.
        if command.arguments[1] and self._device is None:
            limit_memory(command.arguments[1])
        self._support.install_crash_reporter(self._channel.descriptor)
        if self._builds is not None:
            self._builds.make_ready()
        if self._device is not None:
            self._device.choose_stream(source)
        started = time.monotonic_ns()
        self._candidate = Candidate(source)
        return Reply(start_ns=started, end_ns=time.monotonic_ns())

    def _read_job(self, descriptor: int) -> None:
        job = read_job(descriptor)
        ours = self._device.gpu.facts.uuid if self._device is not None else None
        wanted = (job.get("device") or {}).get("uuid")
        if wanted != ours:
            raise Failure(protocol.PROTOCOL, f"the job is for {wanted or 'the processor'}, not for {ours or 'it'}")
        self._job = job
        torch.set_num_threads(max(1, int(job["threads"])))
        apply_precision(job["precision"])

    def _map_tensors(self, arena: int, device_arena: int | None = None) -> None:
        tensors = self._tensors_of_slots()
        on_device = [self._device is not None and tensor["role"] != "report" for tensor in tensors]
        here = [(t["segment_offset"], t["segment_bytes"]) for t, away in zip(tensors, on_device) if not away]
        mapped = iter(self._support.map_segments(arena, here))
        base = 0
        if self._device is not None and device_arena is not None:
            base = self._device.import_arena(device_arena, self._job["device_arena_bytes"])
        for tensor, away in zip(tensors, on_device):
            segment = base + tensor["segment_offset"] if away else next(mapped)
            mapped_tensor = MappedTensor(
                tensor["role"],
                tensor["name"],
                tensor["dtype"],
                tuple(tensor["shape"]),
                tuple(tensor["strides"]),
                segment + tensor["offset"],
                tensor["nbytes"],
                tensor["slot"],
            )
            self._mapped.append(mapped_tensor)
            self._support.name_memory(
                mapped_tensor.address, mapped_tensor.nbytes, f"{mapped_tensor.role} '{mapped_tensor.name}'"
            )
        for slot in range(self._job["slots"]):
            inputs = {p.name: p.view(self._where) for p in self._mapped if p.role == "input" and p.slot == slot}
            self._arguments.append(values.decode(self._job["inputs"], inputs))

    def _tensors_of_slots(self) -> list[dict[str, Any]]:
        """The job's tensors, with the slot of each. Inputs and outputs are in every slot."""
        tensors, step = self._job["tensors"], self._job["slot_bytes"]
        found = [{**tensor, "slot": 0} for tensor in tensors]
        for slot in range(1, self._job["slots"]):
            for tensor in tensors:
                if tensor["role"] != "report":
                    found.append({**tensor, "slot": slot, "segment_offset": tensor["segment_offset"] + slot * step})
        return found

    @property
    def _where(self) -> torch.device:
        return self._device.torch if self._device is not None else CPU

    def _prepare_run(self) -> Run:
        work = self._work = Work(
            self._mapped, self._arguments, self._models, self._restore_buffers, lambda: self._side_work, held=self._held
        )
        if self._device is None:
            self._examine = make_host_examine(work)
            return make_host_run(work, self._support)
        self._examine = make_device_examine(work, self._device)
        return make_device_run(work, self._support, self._device)

    # -- the model ------------------------------------------------------------------------------------------------

    def _set_of(self, command: Command) -> int:
        if self._candidate is None or not 0 < command.arguments[0] <= MAX_WEIGHT_SETS:
            raise Failure(protocol.PROTOCOL, "there is no such weight set, or nothing is loaded")
        return command.arguments[0]

    def _construct(self, command: Command) -> Reply:
        index = self._set_of(command)
        assert self._candidate is not None
        started = time.monotonic_ns()
        cast = CASTS.get(self._job["precision"])
        seed, transform, everywhere = command.arguments[1:4]
        if transform >= len(TRANSFORMS):
            raise Failure(protocol.PROTOCOL, "there is no such weight transform")
        model = self._candidate.construct(init_arguments(self._job), seed, cast, transform, bool(everywhere))
        # The state is exported before the module is moved, as it was drawn on the processor.
        export = self._exports[index] = prepare_export(model, self._candidate.declared())
        if self._device is not None:
            model = self._candidate.move(model, self._device.torch)
            self._device.synchronize()
        ended = time.monotonic_ns()
        self._models[index] = model
        wanted = set(self._job.get("mutated_buffers", []))
        buffers = [_plain(name, buffer) for name, buffer in model.named_buffers() if name in wanted]
        self._restored[index] = _grouped([(buffer, _clone(buffer)) for buffer in buffers])
        return Reply(start_ns=started, end_ns=ended, arguments=(export.total, 0, 0, 0))

    def _export_state(self, command: Command) -> Reply:
        index = self._set_of(command)
        export = self._exports.get(index)
        if export is None or len(command.descriptors) != 1:
            raise Failure(protocol.PROTOCOL, "EXPORT_STATE comes after CONSTRUCT, with one descriptor")
        if export.total > command.arguments[1]:
            raise Failure(protocol.PROTOCOL, "the state does not fit")
        write_export(export, command.descriptors[0])
        return Reply(arguments=(export.total, 0, 0, 0))

    def _destroy(self, command: Command) -> Reply:
        index = self._set_of(command)
        for table in (self._models, self._exports, self._restored):
            table.pop(index, None)  # type: ignore[attr-defined]
        graphs = self._work.graphs if self._work is not None else {}
        for key in [key for key in graphs if key[0] == index]:
            del graphs[key]
        return Reply()

    # -- a call ---------------------------------------------------------------------------------------------------

    def _call(self, command: Command) -> Reply:
        index = command.arguments[0]
        if index not in self._models or self._run is None:
            raise Failure(protocol.PROTOCOL, "RUN comes after CONSTRUCT, and for set 0 between JOB and LOAD")
        if any(left() for left in self._modes):
            raise Failure(protocol.STRUCTURE, "a torch function mode was active before a call")
        if index == protocol.REHEARSAL:
            self._rehearsed_ns = command.arguments[1] if self._device is None else 0
            return self._run(command)
        if index in self._called:
            return self._run(command)
        self._exports.clear()
        reply = self._run(command)
        self._called.add(index)
        if self._called >= set(self._models):
            self._seal()
        return reply

    def _examine_call(self, command: Command) -> Reply:
        if self._set_of(command) not in self._called or self._examine is None:
            raise Failure(protocol.PROTOCOL, "EXAMINE comes after RUN")
        return self._examine(command)

    def _restore_buffers(self, index: int) -> None:
        """Restores state that the reference's forward() changes, too, such as BatchNorm's running statistics."""
        groups = self._restored.get(index)
        if groups:
            with torch.no_grad():
                for buffers, kept in groups:
                    _copy_each(buffers, kept)
