"""Whether a reference under some weights says what is right: tiny changes of inputs and weights must not change its outputs.

A recurrence with large weights and a long memory may be chaotic: where it is, the rounding of one step decides the last one, and an
honest kernel is as far from the truth as a wrong one. Few draws of weights are, and few elements show it on few inputs. So each draw is
tried, and a call before an answer to it is refused.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import replace

import torch

from .compare import Expected
from .guarded import guarding
from .task import CallInputs, Reference
from .values import Flat

#: The largest relative size of the changes: larger than what float32 loses in a step, so that what would show once in many calls shows here.
_CHANGE = 16 * torch.finfo(torch.float32).eps
_TRIES = 2


def is_stable(reference: Reference, inputs: CallInputs, forward_seed: int, tries: int = _TRIES) -> bool:
    """True if outputs stay within the tolerance when inputs and weights change by up to 16 units of float32's rounding. Integers and outputs of
    less precision do not count. Raises TaskError where the task's own code does."""
    call = reference.run(inputs, forward_seed)
    expected = Expected(_precise(call.outputs))
    rng = random.Random(forward_seed)
    for _ in range(tries):
        changed = inputs.replace({name: _changed(tensor, rng) for name, tensor in inputs.tensors.items()})
        with _changed_weights(reference, rng), guarding(reference.task.device):
            outputs = reference.run(changed, forward_seed, replay=call.draws or None).outputs
        if not expected.compare(_precise(outputs).tensors).correct:
            return False
    return True


def _precise(outputs: Flat) -> Flat:
    """The outputs of float32 and more."""
    wide = (torch.float32, torch.float64, torch.complex64, torch.complex128)
    return replace(outputs, tensors={name: tensor for name, tensor in outputs.tensors.items() if tensor.dtype in wide})


def _changed(tensor: torch.Tensor, rng: random.Random) -> torch.Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    generator = torch.Generator(tensor.device).manual_seed(rng.getrandbits(63))
    lots = torch.rand(tensor.shape, generator=generator, device=tensor.device)
    # Towards zero, so that probabilities stay below one.
    return (tensor * (1 - _CHANGE * lots)).to(tensor.dtype)


@contextlib.contextmanager
def _changed_weights(reference: Reference, rng: random.Random) -> Iterator[None]:
    held = [
        (entry.tensor.detach(), entry.tensor.detach().clone())
        for entry in reference.state
        # Elements that share memory cannot be written one by one.
        if entry.tensor.is_floating_point() and 0 not in entry.tensor.stride()
    ]
    try:
        for tensor, value in held:
            tensor.copy_(_changed(value, rng))
        yield
    finally:
        for tensor, value in held:
            tensor.copy_(value)
