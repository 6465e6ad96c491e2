"""One runner: waits as a standby, loads one candidate, and calls it as it is told to."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelgen_common import dtypes, values
from kernelgen_common.limits import limit_memory

from . import protocol
from .candidate import Candidate, StateExport, failure, prepare_export, read_source, seed_everything, write_export
from .outputs import Place, make_addresses, make_describer, make_settler, make_writer
from .protocol import Channel, Command, Failure, Reply
from .support import Support

MAX_JOB = 64 << 20
#: Fresh memory is filled with 0x7F bytes: far from any answer in every float format.
POISON_BYTE = 0x80
_CASTS = {"fp16": torch.float16, "bf16": torch.bfloat16}


def apply_precision(name: str) -> None:
    """The flags of a precision class, as the judge sets them."""
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    torch.backends.cudnn.allow_tf32 = name != "strict"


class Runner:
    """State of one runner. Commands are handled in the order they come."""

    def __init__(self, channel: Channel, support: Support):
        self._channel = channel
        self._support = support
        self._job: dict[str, Any] = {}
        self._places: list[Place] = []
        self._candidate: Candidate | None = None
        self._models: dict[int, torch.nn.Module] = {}
        self._exports: dict[int, StateExport] = {}
        self._restored: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self._arguments: list[Any] = []
        #: What the last call returned: the worker reads it where it is until the next command comes.
        self._held: list[Any] = []
        self._run: Callable[[Command], Reply] | None = None
        #: Weight sets that have been called. Candidates may compile in the first call of each, and not later.
        self._called: set[int] = set()
        self._last_cpu = time.process_time_ns()
        self._handlers = {
            protocol.OP_LOAD: self._load,
            protocol.OP_CONSTRUCT: self._construct,
            protocol.OP_EXPORT_STATE: self._export_state,
            protocol.OP_DESTROY: self._destroy,
            protocol.OP_RUN: self._call,
            protocol.OP_ECHO: lambda command: Reply(),
        }

    def serve(self, isolation: int) -> int:
        """Says hello, then answers until the worker closes the socket."""
        probe = ctypes.c_uint64(protocol.PROBE_WORD)
        hello = Reply(arguments=(protocol.ABI_VERSION, isolation, os.getpid(), ctypes.addressof(probe)))
        self._channel.send(protocol.OP_HELLO, 0, hello)
        receive, send, handlers, cpu = self._channel.receive, self._channel.send, self._handlers, time.process_time_ns
        forget = self._held.clear
        while True:
            command = receive()
            if command is None:
                return 0
            forget()
            self._side_work = cpu() - self._last_cpu
            handler = handlers.get(command.op)
            try:
                if handler is None:
                    raise Failure(protocol.PROTOCOL, f"operation {command.op} is not for a Python runner")
                reply = handler(command)
            except Failure as error:
                reply = error.reply
            except BaseException as error:  # noqa: BLE001 - one bad call must not end the runner's answers
                path = self._candidate.path if self._candidate is not None else ""
                reply = failure(error, protocol.EXCEPTION, path).reply
            finally:
                command.close()
            send(command.op, command.sequence, reply)
            self._last_cpu = cpu()

    # -- loading --------------------------------------------------------------------------------------------------

    def _load(self, command: Command) -> Reply:
        if self._candidate is not None or len(command.descriptors) != 3:
            raise Failure(protocol.PROTOCOL, "LOAD comes once, with three descriptors")
        if command.arguments[0] != protocol.CODE_PYTHON:
            raise Failure(protocol.PROTOCOL, "a Python runner loads Python sources")
        job, arena, code = command.descriptors
        self._read_job(job, arena)
        source = read_source(code)
        self._run = self._prepare_run()
        command.close()
        if command.arguments[1]:
            limit_memory(command.arguments[1])
        self._support.install_crash_reporter(self._channel.descriptor)
        started = time.monotonic_ns()
        self._candidate = Candidate(source)
        return Reply(start_ns=started, end_ns=time.monotonic_ns())

    def _read_job(self, job: int, arena: int) -> None:
        size = os.fstat(job).st_size
        if size > MAX_JOB:
            raise Failure(protocol.PROTOCOL, "the job is too long")
        self._job = json.loads(os.pread(job, size, 0).rstrip(b"\0"))
        torch.set_num_threads(max(1, int(self._job["threads"])))
        apply_precision(self._job["precision"])
        tensors = self._job["tensors"]
        addresses = self._support.map_segments(arena, [(t["segment_offset"], t["segment_bytes"]) for t in tensors])
        for tensor, address in zip(tensors, addresses):
            place = Place(
                tensor["role"],
                tensor["name"],
                tensor["dtype"],
                tuple(tensor["shape"]),
                tuple(tensor["strides"]),
                address + tensor["offset"],
                tensor["nbytes"],
            )
            self._places.append(place)
            self._support.name_memory(place.address, place.nbytes, f"{place.role} '{place.name}'")
        inputs = {place.name: place.view() for place in self._places if place.role == "input"}
        self._arguments = values.decode(self._job["inputs"], inputs)

    def _init_arguments(self) -> list[Any]:
        tensors = {}
        for entry in self._job.get("init_tensors", []):
            data = bytearray.fromhex(entry["hex"])
            dtype = dtypes.parse(entry["dtype"])
            flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
            tensors[entry["name"]] = flat.reshape(entry["shape"])
        return list(values.decode(self._job["init"], tensors))

    # -- the model ------------------------------------------------------------------------------------------------

    def _set_of(self, command: Command) -> int:
        if self._candidate is None or command.arguments[0] not in (1, 2):
            raise Failure(protocol.PROTOCOL, "there is no such weight set, or nothing is loaded")
        return command.arguments[0]

    def _construct(self, command: Command) -> Reply:
        index = self._set_of(command)
        assert self._candidate is not None
        started = time.monotonic_ns()
        cast = _CASTS.get(self._job["precision"])
        model = self._candidate.construct(self._init_arguments(), command.arguments[1], cast)
        ended = time.monotonic_ns()
        self._models[index] = model
        wanted = set(self._job.get("mutated_buffers", []))
        buffers = [buffer for name, buffer in model.named_buffers() if name in wanted]
        self._restored[index] = [(buffer, buffer.detach().clone()) for buffer in buffers]
        export = self._exports[index] = prepare_export(model, self._candidate.declared())
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
        return Reply()

    # -- a call ---------------------------------------------------------------------------------------------------

    def _call(self, command: Command) -> Reply:
        index = self._set_of(command)
        if index not in self._models or self._run is None:
            raise Failure(protocol.PROTOCOL, "RUN comes after CONSTRUCT")
        if index in self._called:
            return self._run(command)
        self._exports.clear()
        reply = self._run(command)
        self._called.add(index)
        if self._called >= set(self._models):
            self._support.seal_processes()
        return reply

    def _prepare_run(self) -> Callable[[Command], Reply]:
        """A function that makes one call, with everything it needs bound before the candidate is imported."""
        support, places, arguments, models = self._support, self._places, self._arguments, self._models
        outputs = [place for place in places if place.role == "output"]
        report = next((place for place in places if place.role == "report"), None)
        describe, write, settle = make_describer(outputs, report), make_writer(outputs), make_settler()
        addresses, hold, pack = make_addresses(), self._held.extend, struct.pack
        now, seed, inference = time.monotonic_ns, seed_everything, torch.inference_mode
        # The reference's threads have just worked when it is called, and these were stopped: waking a sleeping core
        # takes 100 us and more, which is no property of the kernel.
        wake, something = torch._C.TensorBase.neg_, torch.ones(1 << 17)

        def run(command: Command) -> Reply:
            index, forward_seed, flags = command.arguments[:3]
            model = models[index]
            self._restore_buffers(index)
            seed(forward_seed)
            if flags & protocol.RUN_POISON:
                support.poison_allocations(POISON_BYTE)
            try:
                with inference():
                    wake(something)
                    started = now()
                    value = model(*arguments)
                    settled = settle(value)
                    ended = now()
            finally:
                support.poison_allocations(0)
            tensors, data = describe(value, settled), b""
            hold((value, settled, tensors))
            if not flags & protocol.RUN_IN_PLACE:
                write(tensors)
            elif tensors:
                data = pack(f"<{len(tensors)}Q", *addresses(tensors))
            told = (self._side_work, 0, len(data) // 8, 0)
            return Reply(start_ns=started, end_ns=ended, arguments=told, data=data)

        return run

    def _restore_buffers(self, index: int) -> None:
        """Puts back what the reference's forward() changes as well, such as BatchNorm's running statistics."""
        with torch.no_grad():
            for buffer, value in self._restored.get(index, []):
                buffer.copy_(value)


def main(control: int, status: int, support: Support, hidden: Sequence[str], log: str | None) -> int:
    """Goes into the sandbox and serves. Returns in the sandboxed process only."""
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if log else os.open(os.devnull, os.O_RDWR)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(nowhere)
    os.close(target)
    isolation = support.enter_sandbox(status, [control], hidden)
    if isolation & 2:
        os.environ["HOME"] = os.environ["TMPDIR"] = "/tmp"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection = socket.socket(fileno=control)
    return Runner(Channel(connection), support).serve(isolation)
