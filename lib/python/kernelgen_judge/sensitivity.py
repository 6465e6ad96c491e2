"""Measures the number of input bytes that a reference needs, which any correct kernel must read.

All inputs, parameters and buffers are laid end to end and cut into equal strata; in each, one short block at a random place
is changed, the reference is called, and its outputs are compared bit by bit. The share of blocks that matter estimates the share
of bytes, however they are distributed: the last step of a sequence, a diagonal, every second column. The error of the sample is
subtracted, because a kernel must never be called too fast by mistake.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import Iterator

import torch

from .errors import TaskError, is_out_of_memory
from .task import CallInputs, Reference
from .values import same_bits

#: Limits on the number of samples; fewer say too little.
LEAST_SAMPLES, MOST_SAMPLES = 16, 96
#: Bytes that memory reads at a time.
BLOCK_BYTES = 32
#: Number of other places that are tried for a block before integers count as all equal.
_TRIES = 4


@dataclass(frozen=True)
class _Part:
    """One tensor that a call reads, as a flat view that can be written."""

    flat: torch.Tensor

    @property
    def nbytes(self) -> int:
        return self.flat.numel() * self.flat.element_size()

    @property
    def block(self) -> int:
        """Elements of a block."""
        return max(1, min(self.flat.numel(), BLOCK_BYTES // self.flat.element_size()))


def _parts(reference: Reference, inputs: CallInputs) -> list[_Part]:
    """Largest first. Tensors with holes or repeated elements are left out: they count as not needed."""
    tensors = [*inputs.tensors.values(), *(entry.tensor.detach() for entry in reference.state)]
    usable = [tensor for tensor in tensors if tensor.numel() and tensor.is_contiguous() and not tensor.is_complex()]
    return sorted((_Part(tensor.view(-1)) for tensor in usable), key=lambda part: -part.nbytes)


def _places(parts: list[_Part], samples: int, rng: random.Random) -> Iterator[tuple[_Part, int]]:
    """(part, first element of a block), one for each stratum of all bytes."""
    total = sum(part.nbytes for part in parts)
    edges, end = [], 0
    for part in parts:
        end += part.nbytes
        edges.append(end)
    index = 0
    for stratum in range(samples):
        position = int((stratum + rng.random()) * total / samples)
        while position >= edges[index]:
            index += 1
        part = parts[index]
        within = (position - (edges[index] - part.nbytes)) // part.flat.element_size()
        yield part, min(within - within % part.block, part.flat.numel() - part.block)


def _change(part: _Part, start: int, rng: random.Random) -> bool:
    """Changes a block in place; False if there is nothing to change it into.

    Only values that the tensor holds elsewhere are put in: others could be outside of what the task accepts, and on a
    device that may be the end of the process.
    """
    block = part.flat[start : start + part.block]
    if block.is_floating_point():
        # Its extremes: neither a maximum, a minimum nor a ReLU hides them all, and in a sum they do not cancel out.
        before = block.clone()
        block.fill_(part.flat.max())
        block[:1] = part.flat.min()
        return not same_bits(block, before)
    for _ in range(_TRIES):
        other = rng.randrange(part.flat.numel() - part.block + 1)
        source = part.flat[other : other + part.block].clone()
        if not same_bits(source, block):
            block.copy_(source)
            return True
    return False


def sensitive_bytes(
    reference: Reference, inputs: CallInputs, forward_seed: int, seconds: float, rng: random.Random
) -> int | None:
    """Bytes that the outputs depend on, rather too few than too many; None where `seconds` allow too few samples.

    The reference must be deterministic. Inputs and state are as before afterwards.
    """
    parts = _parts(reference, inputs)
    if not parts:
        return 0
    started = time.monotonic()
    try:
        wanted = reference.run(inputs, forward_seed).outputs
    except TaskError:
        # The reference has run before, so memory is short.
        return None
    took = time.monotonic() - started
    samples = min(MOST_SAMPLES, int(seconds / max(took, 1e-9)) - 1)
    if samples < LEAST_SAMPLES:
        return None
    hits = tried = 0
    for part, start in _places(parts, samples, rng):
        if time.monotonic() - started > 2 * seconds:
            return None
        hits += _matters(reference, inputs, forward_seed, part, start, wanted.tensors, rng)
        tried += 1
    share = hits / tried
    margin = math.sqrt(share * (1.0 - share) / tried)
    return int(max(0.0, share - margin) * sum(part.nbytes for part in parts))


def _matters(
    reference: Reference,
    inputs: CallInputs,
    forward_seed: int,
    part: _Part,
    start: int,
    wanted: dict[str, torch.Tensor],
    rng: random.Random,
) -> bool:
    """True if a changed block changes any output."""
    block = part.flat[start : start + part.block]
    with torch.no_grad():
        # What forward() writes is put back before it is changed, not after.
        reference.restore()
        before = block.clone()
        try:
            if not _change(part, start, rng):
                return False
            outputs = reference.run(inputs, forward_seed, restore=False).outputs.tensors
        except TaskError as error:
            # An exception shows that the bytes are used, unless memory ran out.
            return not is_out_of_memory(error)
        finally:
            block.copy_(before)
            reference.restore()
    if outputs.keys() != wanted.keys():
        return True
    return any(not same_bits(outputs[name], tensor) for name, tensor in wanted.items())
