"""The reference as torch.compile builds it: checks its answers, and times its calls.

Only for a judge that ends afterwards. What torch.compile leaves behind in a process (settings, threads, memory, whatever
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
from .call_preparer import CallPreparer
from .task import Task
from .timing import TimedReference
from .values import Flat
from .weights import Weights

#: Kind of baseline -> mode of torch.compile.
MODES: dict[str, str | None] = {"compile": None, "compile-max-autotune": "max-autotune"}
#: Whether inputs are repeated in each of the checked calls before timing. Several calls, because a graph may be recorded on a
#: later one.
_CHECKED_CALLS = (False, True, False)
_CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
_MAX_REASON = 400


class NoBaseline(Exception):
    """There is no time for this baseline; the message is the reason in one line."""


class _OverBudget(BaseException):
    """The time is over. It is no Exception, because compilers catch those and report other errors or go on."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """A context that raises NoBaseline once the time is over. The worker ends a judge that is stuck outside Python."""
    expired = False

    def ring(*_: Any) -> None:
        nonlocal expired
        expired = True
        raise _OverBudget

    before = signal.signal(signal.SIGALRM, ring)
    # The signal repeats every second, because one might be lost in code that catches everything.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except BaseException:
        if not expired:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    # The exception may have been turned into another one.
    if expired:
        raise NoBaseline(f"compiling and checking it took more than the {seconds:g} s allowed")


def obstacle(task: Task) -> str:
    """The reason why a compiled reference of this task cannot be compared with the eager one; "" if it can."""
    if task.randomness != "none":
        # Compiled code draws in another order, or from another generator.
        return "forward() draws random numbers, which compiled code draws otherwise"
    if task.mutated_inputs:
        return f"forward() writes to its input {task.mutated_inputs[0]}"
    return ""


def _prepare_process(cache_dir: str) -> None:
    """Sets the compiler's directories and forbids lasting processes. Call it before the compiler is imported."""
    for variable, name in _CACHES.items():
        path = os.path.join(cache_dir, name)
        os.makedirs(path, exist_ok=True)
        os.environ[variable] = path
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # In a process group, C++ compilers can be killed together with this process.
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)


class CompiledReference:
    """A weight set's reference, built once more and compiled."""

    def __init__(self, task: Task, weights: Weights, preparer: CallPreparer, checker: Checker):
        self._task = task
        self._preparer = preparer
        self._checker = checker
        self._weight_set = weights.current
        self._eager = weights.get(weights.current).timed
        self.timed: TimedReference = weights.rebuilt(weights.current)
        self._plain = self.timed.reference.module
        #: State of the module after the last call of the eager reference.
        self._left = Flat({"list": []})

    def build(self, mode: str | None, cache_dir: str, seconds: float) -> None:
        """Compiles it, and compares its first calls with the eager reference's. Raises NoBaseline."""
        reason = obstacle(self._task)
        if reason:
            raise NoBaseline(reason)
        if isinstance(self._task.device, GpuDevice):
            # No runner is alive, and what autotuning tries needs memory.
            self._task.device.limit_torch(self._task.device.free_bytes())
        # The first answer is computed before anything is compiled.
        self._prepare_call(repeat=False)
        with _within(seconds), self._failing():
            _prepare_process(cache_dir)
            import torch._inductor.config

            # The task's own code may have imported it before.
            torch._inductor.config.compile_threads = 1
            self.timed.reference.module = torch.compile(self._plain, mode=mode)
            for number, repeat in enumerate(_CHECKED_CALLS):
                if number:
                    self._prepare_call(repeat)
                self._compare()
        # The compiler creates a million objects; scanning them in the garbage collector would add 30 ms to a timed call.
        gc.collect()
        gc.freeze()

    def check(self) -> None:
        """Compares one more call after the timed ones. Raises NoBaseline."""
        self._prepare_call(repeat=False)
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

    def _prepare_call(self, repeat: bool) -> None:
        self._preparer.prepare_call(self._eager, self._weight_set, "own", None, repeat, False)
        if not repeat:
            # This comes first, because every other call of the reference, in float64 as well, restores the state.
            self._left = _state_of(self._eager.reference.module, set(self._task.mutated_state))

    def _compare(self) -> None:
        chosen = self._preparer.current
        assert chosen is not None and chosen.expected is not None
        value, _ = self.timed.call(chosen.arguments(), chosen.expected.forward_seed, chosen.ranges)
        outputs = self.timed.outputs(value, chosen.storages)
        # A graph's outputs are overwritten by its next call.
        outputs.tensors = {name: tensor.clone() for name, tensor in outputs.tensors.items()}
        self._task.device.synchronize()
        changed = self._preparer.changed_inputs()
        if changed:
            message = f"input {changed[0]} was overwritten"
        else:
            message = self._checker.compare_outputs(outputs).message or self._other_state()
        if message:
            raise NoBaseline(one_line(f"the compiled reference gives other answers: {message}", _MAX_REASON))

    def _other_state(self) -> str:
        """Compares the state that forward() left in the module (running statistics) with that of the eager reference."""
        return Expected(self._left).compare(_state_of(self._plain, set(self._left.tensors)).tensors).message


def _state_of(module: torch.nn.Module, names: set[str]) -> Flat:
    """Copies of these tensors of a module."""
    entries = state_tensors(module)[0] if names else []
    return Flat({"list": []}, {entry.name: entry.tensor.detach().clone() for entry in entries if entry.name in names})

