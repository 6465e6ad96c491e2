"""Whether a reference under some weights says what is right: tiny changes of inputs and weights must not change its outputs.

A recurrence with large weights and a long memory may be chaotic: where it is, the rounding of one step decides the last one, and an
honest kernel is as far from the truth as a wrong one. Few draws of weights are, and few elements show it on few inputs. So each draw is
tried, and a call before an answer to it is refused.

Extremes of inputs may be chaotic in few elements, in few calls. There the reference itself tells: what it answers when inputs and weights
differ in their last bit is judged as the refused answer was.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import torch

from .compare import Comparison, Expected
from .guarded import guarding
from .task import CallInputs, Reference
from .values import Flat

#: The largest relative size of the changes: larger than what float32 loses in a step, so that what would show once in many calls shows here.
_UNIT = torch.finfo(torch.float32).eps
_CHANGE = 16 * _UNIT
_TRIES = 2
#: Answers nearby, how many of them must be wrong, and how many times as many elements an answer may have wrong.
_NEARBY_TRIES, _NEARBY_REFUSED, _NEARBY_MARGIN = 8, 2, 4


def is_stable(
    reference: Reference, inputs: CallInputs, forward_seed: int, tries: int = _TRIES, draws: list[torch.Tensor] | None = None
) -> bool:
    """True if outputs stay within the tolerance when inputs and weights change by up to 16 units of float32's rounding. Integers and outputs of
    less precision do not count. Without `draws`, they are those of the seed. Raises TaskError where the task's own code does."""
    call = reference.run(inputs, forward_seed, replay=draws or None)
    expected = Expected(_precise(call.outputs))
    nearby = answers_nearby(reference, inputs, forward_seed, draws or call.draws, _CHANGE)
    return all(expected.compare(_precise(outputs).tensors).correct for outputs in itertools.islice(nearby, tries))


def answers_nearby(
    reference: Reference, inputs: CallInputs, forward_seed: int, draws: list[torch.Tensor], change: float = _UNIT
) -> Iterator[Flat]:
    """The reference's own outputs, again and again, each time with inputs and weights that differ by up to `change`, relatively; by one
    unit of float32's rounding, if nothing else is said. Raises TaskError where the task's own code does."""
    rng = random.Random(forward_seed)
    while True:
        changed = inputs.replace({name: _changed(tensor, rng, change) for name, tensor in inputs.tensors.items()})
        with _changed_weights(reference, rng, change), guarding(reference.task.device):
            outputs = reference.run(changed, forward_seed, replay=draws or None).outputs
        yield outputs


def is_wrong_like(nearby: Iterator[Flat], expected: Expected, comparison: Comparison) -> bool:
    """True if an answer that `expected` refused is no worse than the reference's own `nearby`: these are refused as well, more than once,
    and the answer has not many more wrong elements. A recurrence meets such an extreme by chance, in one call of some hundreds."""
    wrong = [output for output in comparison.outputs if output.wrong]
    if not all(output.wrong_elements for output in wrong):
        # Integers, or an error of the whole output.
        return False
    most: dict[str, int] = {}
    refused = 0
    for outputs in itertools.islice(nearby, _NEARBY_TRIES):
        own = expected.compare(outputs.tensors)
        refused += own.detail == "mismatch"
        for output in own.outputs:
            most[output.output] = max(most.get(output.output, 0), output.wrong_elements)
    return refused >= _NEARBY_REFUSED and all(
        output.wrong_elements <= _NEARBY_MARGIN * most[output.output] for output in wrong
    )


def _precise(outputs: Flat) -> Flat:
    """The outputs of float32 and more."""
    wide = (torch.float32, torch.float64, torch.complex64, torch.complex128)
    return replace(outputs, tensors={name: tensor for name, tensor in outputs.tensors.items() if tensor.dtype in wide})


def _changed(tensor: torch.Tensor, rng: random.Random, change: float) -> torch.Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    generator = torch.Generator(tensor.device).manual_seed(rng.getrandbits(63))
    lots = torch.rand(tensor.shape, generator=generator, device=tensor.device)
    # Towards zero, so that probabilities stay below one.
    return (tensor * (1 - change * lots)).to(tensor.dtype)


@contextlib.contextmanager
def _changed_weights(reference: Reference, rng: random.Random, change: float) -> Iterator[None]:
    held = [
        (entry.tensor.detach(), entry.tensor.detach().clone())
        for entry in reference.state
        # Elements that share memory cannot be written one by one.
        if entry.tensor.is_floating_point() and 0 not in entry.tensor.stride()
    ]
    try:
        for tensor, value in held:
            tensor.copy_(_changed(value, rng, change))
        yield
    finally:
        for tensor, value in held:
            tensor.copy_(value)
