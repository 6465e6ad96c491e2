"""Builds ahead: compiles what a candidate will need for its first call, in a sandbox that has no device.

A runner occupies its device exclusively, and a candidate may compile for minutes (a torch extension, the configurations of an
autotuner). The builds made here are kept for that runner. Errors are ignored: the runner repeats everything that fails here or
depends on the contents of tensors, and reports it.

On a device the candidate sees a GPU that compiles and launches nothing (compile_only_gpu); on the processor it is simply
called once, on zeros. Builders run at low priority, so that they hardly disturb a measurement beside them.

A builder can also compile for a GPU that this machine does not have, to list what its kernels need there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import torch

from kernelgen_common import dtypes, values
from kernelgen_common.limits import limit_memory

from . import protocol
from .builds import Builds
from .candidate import Candidate, failure, read_source
from .compile_only_gpu import compile_only_gpu, moved, without_contents
from .kernel_list import KernelList
from .protocol import Channel, Failure, Reply
from .runner import CASTS, apply_precision, init_arguments, read_job

_SEED = 1
_NICENESS = 10
_MAX_FACTS = 1 << 16


class Builder:
    """One candidate's builder."""

    def __init__(self, channel: Channel, builds: Builds, facts: Mapping[str, Any]):
        """`facts` are the device's, GpuFacts as JSON; empty for the processor."""
        self._channel = channel
        self._builds = builds
        self._facts = facts

    def serve(self, isolation: int) -> int:
        """Says hello, and builds once."""
        self._channel.say_hello(isolation)
        command = self._channel.receive()
        if command is None:
            return 0
        asked = command.op, len(command.descriptors)
        try:
            if asked == (protocol.OP_BUILD, 2):
                self._build(*command.descriptors, command.arguments[0])
            elif asked == (protocol.OP_COMPILE_FOR, 4):
                self._compile_for(*command.descriptors, *command.arguments[:2])
            else:
                raise Failure(protocol.PROTOCOL, "a builder is asked for BUILD, with 2 descriptors, or COMPILE_FOR, with 4")
            reply = Reply()
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises
            reply = failure(error, protocol.EXCEPTION, "").reply
        self._channel.send(command.op, command.sequence, reply)
        return 0

    def _prepare(self, job_descriptor: int, code: int) -> tuple[dict[str, Any], bytes]:
        """The job and the candidate's source."""
        job = read_job(job_descriptor)
        source = read_source(code)
        os.nice(_NICENESS)
        torch.set_num_threads(max(1, int(job["threads"])))
        apply_precision(job["precision"])
        self._builds.make_ready()
        return job, source

    def _build(self, job_descriptor: int, code: int, memory: int) -> None:
        job, source = self._prepare(job_descriptor, code)
        if memory and not self._facts:
            limit_memory(memory)
        device = compile_only_gpu(self._facts) if self._facts else contextlib.nullcontext()
        with device, torch.no_grad():
            if self._facts:
                _call_without_contents(source, job)
            else:
                candidate = Candidate(source)
                model = candidate.construct(init_arguments(job), _SEED, CASTS.get(job["precision"]))
                model(*_inputs(job, _zeros))

    def _compile_for(self, job_descriptor: int, code: int, facts_descriptor: int, listed: int, memory: int, capacity: int) -> None:
        """Compiles what the first call launches for a GPU that is not here, and lists it. Nothing is launched."""
        job, source = self._prepare(job_descriptor, code)
        facts = json.loads(os.pread(facts_descriptor, _MAX_FACTS, 0))
        if memory:
            limit_memory(memory)
        kernels = KernelList(listed, capacity, facts)
        with compile_only_gpu(facts, kernels.add, kernels.add_failure), torch.no_grad():
            _call_without_contents(source, job)


def _call_without_contents(source: bytes, job: Mapping[str, Any]) -> None:
    """Calls the candidate once on the compile-only GPU."""
    _constructed(Candidate(source), job)(*_inputs(job, without_contents))


def _constructed(candidate: Candidate, job: Mapping[str, Any]) -> torch.nn.Module:
    """ModelNew with tensors without contents. If its constructor needs contents, they are drawn as in a runner."""
    cast = CASTS.get(job["precision"])
    try:
        with torch.device("meta"):
            return candidate.construct(init_arguments(job), _SEED, cast)
    except Failure:
        return moved(candidate.construct(init_arguments(job), _SEED, cast))


def _zeros(shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype).zero_()


def _inputs(job: Mapping[str, Any], make: Callable[[tuple[int, ...], tuple[int, ...], torch.dtype], torch.Tensor]) -> list[Any]:
    """The arguments of forward(); `make` makes their tensors."""
    tensors = {
        tensor["name"]: make(tuple(tensor["shape"]), tuple(tensor["strides"]), dtypes.parse(tensor["dtype"]))
        for tensor in job["tensors"]
        if tensor["role"] == "input"
    }
    return list(values.decode(job["inputs"], tensors))
