"""Random numbers that forward() draws.

A draw is the result of a random factory (torch.randn, x.normal_(), ...) that forward() calls itself. Draws are recorded,
handed to native candidates as named inputs "draws[0]", "draws[1]", ..., and replayed for the float64 reference. Anything
else that consumes the generator (dropout with p > 0, sampling inside a library function) makes a call stochastic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.overrides import TorchFunctionMode

_FACTORIES = frozenset(
    "rand randn randint randperm normal bernoulli multinomial poisson rand_like randn_like randint_like "
    "normal_ uniform_ bernoulli_ exponential_ random_ cauchy_ log_normal_ geometric_".split()
)
_IGNORED = frozenset("size dim view reshape transpose permute contiguous unsqueeze squeeze expand flatten to chunk split".split())


def draw_name(index: int) -> str:
    """The path name of a draw."""
    return f"draws[{index}]"


@dataclass
class CallTrace:
    """Observations of one forward()."""

    draws: list[torch.Tensor] = field(default_factory=list)
    #: True if something other than a recorded draw consumed the generator.
    stochastic: bool = False
    #: Names of the outermost torch functions that compute something, in order; capped.
    functions: list[str] = field(default_factory=list)
    #: Names of all outermost torch functions.
    names: set[str] = field(default_factory=set)


def _computes(name: str, args: tuple) -> bool:
    """True if a torch function counts as an operation. Accessors, views and counters such as num_batches_tracked do not."""
    if name in _IGNORED or name.startswith("__"):
        return False
    counter = args and isinstance(args[0], torch.Tensor) and args[0].dim() == 0 and not args[0].is_floating_point()
    return not counter


def _generator_states() -> list[torch.Tensor]:
    """The states of torch's own generators: the CPU's, and the device's where one is in use."""
    states = [torch.default_generator.get_state()]
    if torch.cuda.is_initialized():
        states += [generator.get_state() for generator in torch.cuda.default_generators]
    return states


class _Tracer(TorchFunctionMode):
    """Records draws; watches the generators' states between them."""

    def __init__(self) -> None:
        super().__init__()
        self.trace = CallTrace()
        self._states = _generator_states()

    def start(self) -> None:
        """Records the generators' states; call it after seeding."""
        self._states = _generator_states()

    def _check_generators(self) -> None:
        states = _generator_states()
        if not all(torch.equal(now, before) for now, before in zip(states, self._states)):
            self.trace.stochastic = True
        self._states = states

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        self.trace.names.add(name)
        if name not in _FACTORIES:
            if _computes(name, args) and len(self.trace.functions) < 4096:
                self.trace.functions.append(name)
            return func(*args, **(kwargs or {}))
        self._check_generators()
        result = func(*args, **(kwargs or {}))
        self._states = _generator_states()
        if isinstance(result, torch.Tensor):
            self.trace.draws.append(result.detach().clone())
        return result

    def finish(self) -> CallTrace:
        self._check_generators()
        return self.trace


class _Replayer(TorchFunctionMode):
    """Returns recorded draws in place of new ones."""

    def __init__(self, draws: list[torch.Tensor], copied: bool):
        super().__init__()
        self._draws = draws
        self._copied = copied
        self._next = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name not in _FACTORIES:
            return func(*args, **(kwargs or {}))
        if self._next >= len(self._draws):
            raise RuntimeError("forward() draws more random numbers than before")
        draw = self._draws[self._next]
        self._next += 1
        if name.endswith("_") and args and isinstance(args[0], torch.Tensor):
            return args[0].copy_(draw)
        return draw.clone() if self._copied else draw


def tracing() -> _Tracer:
    """A context manager; its finish() gives the CallTrace."""
    return _Tracer()


def replaying(draws: list[torch.Tensor], copied: bool = True) -> _Replayer:
    """A context manager under which random factories return `draws` in order: copies, or the tensors themselves, which forward() may
    then change."""
    return _Replayer(draws, copied)
