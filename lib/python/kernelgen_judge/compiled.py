"""The reference as torch.compile builds it: whether it still gives the reference's answers, and calls to be timed.

Only for a judge that ends with the answer. What torch.compile leaves behind in a process (settings, threads, memory, whatever
the task's code does while it is traced) must not reach the reference that candidates are compared with.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import torch

from .check import Checker
from .compare import Expected
from .device import GpuDevice
from .errors import describe_exception, one_line
from .module_state import state_tensors
from .stage import Stager
from .task import Task
from .timing import TimedReference
from .values import Flat
from .weights import Weights

#: What is asked for, and the mode of torch.compile.
MODES: dict[str, str | None] = {"compile": None, "compile-max-autotune": "max-autotune"}
#: Before any timing: new inputs, the same once more, new ones. A graph that is recorded on a later call is right then, too.
_CHECKED_CALLS = (False, True, False)
_CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
_MAX_REASON = 400


class NoBaseline(Exception):
    """Why there is no time, in one line."""


class _OverBudget(BaseException):
    """The time is over. Not an Exception: compilers turn those into errors of their own, or go on without what failed."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """NoBaseline once the time is over; what holds the interpreter longer is the worker's to end."""
    rang = False

    def ring(*_: Any) -> None:
        nonlocal rang
        rang = True
        raise _OverBudget

    before = signal.signal(signal.SIGALRM, ring)
    # Again every second: one might be lost in code that catches everything.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except BaseException:
        if not rang:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    # Whatever became of it on its way.
    if rang:
        raise NoBaseline(f"compiling and checking it took more than the {seconds:g} s allowed")


def obstacle(task: Task) -> str:
    """Why a compiled reference of this task could not be held against the eager one; "" where it can."""
    if task.randomness != "none":
        # Compiled code draws in another order, or from another generator.
        return "forward() draws random numbers, which compiled code draws otherwise"
    if task.mutated_inputs:
        return f"forward() writes to its input {task.mutated_inputs[0]}"
    return ""


def _prepare_process(cache_dir: str) -> None:
    """Before anything of the compiler's is imported: where it keeps things, and that it starts no processes which stay."""
    for variable, name in _CACHES.items():
        path = os.path.join(cache_dir, name)
        os.makedirs(path, exist_ok=True)
        os.environ[variable] = path
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # The C++ compiler ends with this process, however that one ends.
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)


class CompiledReference:
    """A weight set's reference, built once more and compiled."""

    def __init__(self, task: Task, weights: Weights, stager: Stager, checker: Checker):
        self._task = task
        self._stager = stager
        self._checker = checker
        self._weight_set = weights.current
        self._eager = weights.get(weights.current).timed
        self.timed: TimedReference = weights.rebuilt(weights.current)
        self._plain = self.timed.reference.module
        #: What the eager one's last call left of the state that calls change.
        self._left = Flat({"list": []})

    def build(self, mode: str | None, cache_dir: str, seconds: float) -> None:
        """Compiles it, and compares its first calls with the eager reference's. Raises NoBaseline."""
        reason = obstacle(self._task)
        if reason:
            raise NoBaseline(reason)
        if isinstance(self._task.device, GpuDevice):
            # No runner is alive, and what autotuning tries needs memory.
            self._task.device.limit_torch(self._task.device.free_bytes())
        # The first answer comes from a process in which nothing was compiled.
        self._stage(repeat=False)
        with _within(seconds), self._failing():
            _prepare_process(cache_dir)
            import torch._inductor.config

            # The task's own code may have imported it before.
            torch._inductor.config.compile_threads = 1
            self.timed.reference.module = torch.compile(self._plain, mode=mode)
            for number, repeat in enumerate(_CHECKED_CALLS):
                if number:
                    self._stage(repeat)
                self._compare()
        # The compiler brought a million objects along: a collector that looks through them takes 30 ms of a timed call.
        gc.collect()
        gc.freeze()

    def check(self) -> None:
        """Compares one more call: those that were timed must not have been others. Raises NoBaseline."""
        self._stage(repeat=False)
        with self._failing():
            self._compare()

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except NoBaseline:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a compiler raises is the answer
            why = describe_exception(error, self._task.filename)
            raise NoBaseline(one_line(f"torch.compile failed: {why}", _MAX_REASON)) from None

    def _stage(self, repeat: bool) -> None:
        self._stager.stage(self._eager, self._weight_set, "own", None, repeat, False)
        if not repeat:
            # This comes first: every other call of the reference, in float64 as well, puts the state back before it.
            self._left = _state_of(self._eager.reference.module, set(self._task.mutated_state))

    def _compare(self) -> None:
        chosen = self._stager.current
        assert chosen is not None and chosen.expected is not None
        value, _ = self.timed.call(chosen.arguments(), chosen.expected.forward_seed, chosen.ranges)
        outputs = self.timed.outputs(value, chosen.storages)
        # A graph's outputs are overwritten by its next call.
        outputs.tensors = {name: tensor.clone() for name, tensor in outputs.tensors.items()}
        self._task.device.synchronize()
        changed = self._stager.changed_inputs()
        if changed:
            message = f"input {changed[0]} was overwritten"
        else:
            message = self._checker.compare_outputs(outputs).message or self._other_state()
        if message:
            raise NoBaseline(one_line(f"the compiled reference gives other answers: {message}", _MAX_REASON))

    def _other_state(self) -> str:
        """What forward() left in the module (running statistics), held against what the eager one left."""
        return Expected(self._left).compare(_state_of(self._plain, set(self._left.tensors)).tensors).message


def _state_of(module: torch.nn.Module, names: set[str]) -> Flat:
    """Copies of these tensors of a module."""
    entries = state_tensors(module)[0] if names else []
    return Flat({"list": []}, {entry.name: entry.tensor.detach().clone() for entry in entries if entry.name in names})

