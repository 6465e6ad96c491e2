"""Trivial answers, which need no computation: zeros, constants, the mean, an input handed back, the answer to other inputs.

Each must fail on at least one admitted distribution; a task on which one of them passes everywhere cannot tell right from
wrong and is labelled. Constants come from another seed of the task's own distribution: a kernel that ignores its inputs
does not know which distribution it is given.
"""

from __future__ import annotations

from typing import Callable, Iterator

import torch

from .arithmetic import finite_mean, one_thread
from .compare import Expected
from .task import CallInputs
from .values import Flat

Answer = dict[str, torch.Tensor]


def _each(outputs: Flat, make: Callable[[torch.Tensor], torch.Tensor | None]) -> Answer | None:
    """An answer made output by output; None if one of them cannot be made."""
    answer: Answer = {}
    for name, tensor in outputs.tensors.items():
        made = make(tensor)
        if made is None:
            return None
        answer[name] = made
    return answer


def _fill(tensor: torch.Tensor, value: float) -> torch.Tensor:
    if tensor.dtype == torch.bool:
        return torch.full_like(tensor, bool(value))
    return torch.full_like(tensor, value if tensor.is_floating_point() or tensor.is_complex() else round(value))


def means_of(outputs: Flat) -> dict[str, float]:
    """The mean of every output; 0 for complex ones."""
    return {name: 0.0 if tensor.is_complex() else finite_mean(tensor) for name, tensor in outputs.tensors.items()}


def _row_mean(tensor: torch.Tensor) -> torch.Tensor | None:
    if not tensor.is_floating_point() or tensor.dim() == 0 or tensor.shape[-1] < 2:
        return None
    mean = tensor.mean(dim=-1, keepdim=True, dtype=torch.float64 if tensor.dtype == torch.float64 else torch.float32)
    return mean.to(tensor.dtype).expand_as(tensor)


def _echo(source: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor | None:
    """An input in the place of an output: as it is, broadcast, reshaped, or its beginning; None if it has too few elements."""
    if source.dtype != tensor.dtype:
        if source.is_complex() or tensor.is_complex():
            return None
        source = source.to(tensor.dtype)
    if source.shape == tensor.shape:
        return source
    try:
        return source.expand(tensor.shape)
    except RuntimeError:
        pass
    if source.numel() < tensor.numel() or tensor.numel() == 0:
        return None
    return source.reshape(-1)[: tensor.numel()].view(tensor.shape)


def answers(inputs: CallInputs, expected: Flat, other: Flat, means: dict[str, float]) -> Iterator[tuple[str, Callable[[], Answer | None]]]:
    """(name, maker) of every trivial answer. `other`: outputs of the own distribution under another seed; `means`: theirs."""
    yield "zeros", lambda: _each(expected, torch.zeros_like)
    yield "ones", lambda: _each(expected, torch.ones_like)
    yield "mean", lambda: {name: _fill(tensor, means[name]) for name, tensor in expected.tensors.items()}
    yield "row mean", lambda: _each(expected, _row_mean)
    for name, tensor in inputs.tensors.items():
        yield f"echo of {name}", lambda source=tensor: _each(expected, lambda output: _echo(source, output))
    yield "answer to other inputs", lambda: dict(other.tensors)


class TrivialCheck:
    """Finds trivial answers that are right on all distributions."""

    def __init__(self, other: Flat) -> None:
        """`other`: outputs of the own distribution under another seed."""
        self._other = other
        with one_thread():
            self._means = means_of(other)
        #: name -> the distribution on which it failed first, "" while it passed everywhere.
        self.failed_on: dict[str, str] = {}
        #: name -> outputs for which it was right everywhere.
        self._right: dict[str, set[str]] = {}

    def add(self, distribution: str, inputs: CallInputs, expected: Expected, outputs: Flat) -> None:
        """Tries every answer that is still right for some output."""
        for name, make in answers(inputs, outputs, self._other, self._means):
            if self._right.get(name) == set():
                continue
            with one_thread():
                answer = make()
            if answer is None:
                continue
            comparison = expected.compare(answer)
            right = {error.output for error in comparison.outputs if not error.wrong}
            self._right[name] = self._right.get(name, right) & right
            self.failed_on[name] = self.failed_on.get(name, "") or ("" if comparison.correct else distribution)

    def partly(self) -> list[str]:
        """"zeros for output[1]": single outputs of several for which an answer was right everywhere."""
        wrong = [name for name, where in self.failed_on.items() if where]
        return [f"{name} for {output}" for name in wrong for output in sorted(self._right[name])]

    def passing(self) -> list[str]:
        """Answers that were right on every distribution."""
        return [name for name, where in self.failed_on.items() if where == ""]

    def to_json(self) -> dict[str, str]:
        """{"zeros": "fails on own", "mean": "passes"}."""
        return {name: f"fails on {where}" if where else "passes" for name, where in self.failed_on.items()}
