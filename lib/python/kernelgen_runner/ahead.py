"""Builds ahead: compiles what a candidate will need for its first call, in a sandbox that has no device.

A runner holds its device alone, and a candidate may compile for minutes (an extension of torch's, an autotuner's
configurations). What is compiled here is kept for that runner. Nothing else comes of it: what fails here, or cannot be
foreseen without the contents of tensors, the candidate does again in its runner, where it is heard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernelgen_common import dtypes, values

from . import protocol
from .builds import Builds
from .candidate import Candidate, failure, read_source
from .pretended import moved, pretended_gpu, without_contents
from .protocol import Channel, Failure, Reply
from .runner import CASTS, apply_precision, init_arguments, read_job

_SEED = 1


class Builder:
    """One candidate's builder."""

    def __init__(self, channel: Channel, builds: Builds, facts: Mapping[str, Any]):
        """`facts` are the device's, GpuFacts as JSON."""
        self._channel = channel
        self._builds = builds
        self._facts = facts

    def serve(self, isolation: int) -> int:
        """Says hello, and builds once."""
        self._channel.say_hello(isolation)
        command = self._channel.receive()
        if command is None:
            return 0
        try:
            if command.op != protocol.OP_BUILD or len(command.descriptors) != 2:
                raise Failure(protocol.PROTOCOL, "a builder is asked for BUILD, with 2 descriptors")
            self._build(*command.descriptors)
            reply = Reply()
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises
            reply = failure(error, protocol.EXCEPTION, "").reply
        self._channel.send(command.op, command.sequence, reply)
        return 0

    def _build(self, job_descriptor: int, code: int) -> None:
        job = read_job(job_descriptor)
        source = read_source(code)
        torch.set_num_threads(max(1, int(job["threads"])))
        apply_precision(job["precision"])
        self._builds.make_ready()
        with pretended_gpu(self._facts), torch.inference_mode():
            _constructed(Candidate(source), job)(*_inputs(job))


def _constructed(candidate: Candidate, job: Mapping[str, Any]) -> torch.nn.Module:
    """ModelNew without contents; where its constructor needs some, they are drawn first, as a runner does."""
    cast = CASTS.get(job["precision"])
    try:
        with torch.device("meta"):
            return candidate.construct(init_arguments(job), _SEED, cast)
    except Failure:
        return moved(candidate.construct(init_arguments(job), _SEED, cast))


def _inputs(job: Mapping[str, Any]) -> list[Any]:
    """The arguments of forward(), without contents."""
    tensors = {
        tensor["name"]: without_contents(
            tuple(tensor["shape"]), tuple(tensor["strides"]), dtypes.parse(tensor["dtype"])
        )
        for tensor in job["tensors"]
        if tensor["role"] == "input"
    }
    return list(values.decode(job["inputs"], tensors))
