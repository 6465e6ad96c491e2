"""Input sets: the inputs that are written to the arena before a call, and the expected answers to them."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelgen_common import dtypes
from kernelgen_common.limits import available_memory

from .canary import Canary, CanaryPlan, plan_for
from .device_memory import GUARD, PaddingPattern, private_memory
from .exchange import Layout, Memory, Padding, Placed, Segment, as_signed, make_layout, poison_word, same_bytes
from .task import CallInputs, Task
from .timing import TimedReference, memory_range
from .values import Flat, TensorSpec, assign, unflatten

POOL_SETS = 3
POOL_BYTES = 2 << 30
CHEAP_DRAW_SECONDS = 2e-4
MIN_FRESH_SHARE = 0.25


def secret_seed() -> int:
    """A seed from the operating system; 63 bits, so that every language reads it."""
    return int.from_bytes(os.urandom(8), "little") >> 1


@dataclass
class Expected:
    """The reference's answer to an input set under one weight set and forward seed."""

    weight_set: int
    forward_seed: int
    outputs: Flat
    draws: list[torch.Tensor]
    nanoseconds: int
    #: Prepared data for comparisons; see check.
    prepared: Any = None
    #: The rms of the smallest row by output, if it was needed; see gpu_quick.
    least_rms: dict[str, torch.Tensor] = field(default_factory=dict)


@dataclass
class PreparedCall:
    """The reply to the worker about a prepared call."""

    seed: int
    forward_seed: int
    reference_ns: int
    #: True if all inputs are new.
    fresh: bool = True
    #: True if the expected answer has not been computed yet; see `CallPreparer.call_reference`.
    reference_pending: bool = False


class InputSet:
    """One set of inputs in private memory of the judge, with the layout of the arena's inputs."""

    def __init__(self, task: Task, layout: Layout, pattern: PaddingPattern | None = None):
        """`pattern` is the one of an arena on a device."""
        self._task = task
        self.memory = private_memory(task.device, layout, "kernelgen-inputs", pattern)
        self.tensors = {segment.name: self.memory.view(segment) for segment in layout.segments}
        self.inputs = CallInputs(task.input_structure, self.tensors)
        self.ranges = [memory_range(tensor) for tensor in self.tensors.values()]
        self.storages = {tensor.untyped_storage().data_ptr() for tensor in self.tensors.values()}
        self.distribution = ""
        self.seed = 0
        self.canaries: dict[str, Canary] = {}
        self.expected: Expected | None = None
        self._arguments = unflatten(task.input_structure, self.tensors)
        self._written = set(task.mutated_inputs)

    def fill(self, drawn: CallInputs, distribution: str, seed: int) -> None:
        """Takes over new contents; the expected answer is forgotten."""
        for name, tensor in drawn.tensors.items():
            assign(self.tensors[name], tensor)
        self.distribution, self.seed, self.expected = distribution, seed, None
        for canary in self.canaries.values():
            canary.forget()

    def arguments(self) -> list[object]:
        """The arguments of a call; inputs that the reference writes are copies."""
        if not self._written:
            return list(self._arguments)
        return self.inputs.clone(self._written).arguments()


@dataclass
class _Changes:
    """Byte ranges of inputs that differ from what the arena holds; None means everything."""

    ranges: list[tuple[Segment, int, int]] | None = field(default_factory=list)


class CallPreparer:
    """Chooses input sets, computes expected answers, and fills the arena. One thread."""

    cheap_draw_seconds = CHEAP_DRAW_SECONDS

    def __init__(
        self,
        task: Task,
        layout: Layout,
        arena: Placed,
        draw: Callable[[str, int], CallInputs],
        host: Memory | None = None,
        pattern: PaddingPattern | None = None,
    ):
        """`draw` gives the inputs of a distribution under a seed.

        `host` is the arena with the report where that is another one than the tensors'; `pattern` as InputSet has it.
        """
        self._task = task
        self._arena = arena
        self._draw = draw
        self._rng = random.Random(os.urandom(32))
        inputs = layout.of("input")
        self._input_segments = inputs
        self._pattern = pattern
        guard = 0 if pattern is None else GUARD
        self._private_layout = make_layout([("input", segment.spec) for segment in inputs], False, guard)
        self._private_of = {segment.name: segment for segment in self._private_layout.segments}
        self._limit = self._pool_limit()
        self._sets: list[InputSet] = []
        self._plans: dict[str, CanaryPlan] = {}
        self._outputs = layout.of("output")
        self._draw_segments = layout.of("draw")
        self._host: Placed = arena if host is None else host
        self._report = self._host.layout.of("report")
        self._poison_views = [self._poisonable(segment) for segment in self._outputs]
        self.poison_words: list[tuple[int, int]] = [(0, 1)] * len(self._outputs)
        self.padding = self._make_padding()
        self.padding.fill()
        self.current: InputSet | None = None
        #: The answer to the call before the current one, to recognize a stale result.
        self.previous: Flat | None = None
        #: The input set that the arena is known to hold.
        self.arena_holds: InputSet | None = None
        self._draw_seconds = 0.0

    def _make_padding(self) -> Any:
        assert isinstance(self._arena, Memory)
        return Padding(self._arena)

    def _pool_limit(self) -> int:
        bytes_per_set = max(1, self._private_layout.total_bytes)
        return max(1, min(POOL_SETS, min(POOL_BYTES, available_memory() // 4) // bytes_per_set))

    def _poisonable(self, segment: Segment) -> torch.Tensor:
        _, size = poison_word(segment.spec.dtype)
        return self._arena.raw(segment).view(dtypes.bits_dtype(size))

    # -- choosing -------------------------------------------------------------------------------------------------

    def prepare_call(
        self,
        reference: TimedReference,
        weight_set: int,
        distribution: str,
        seed: int | None,
        repeat: bool,
        canary: bool,
        later: bool = False,
    ) -> PreparedCall:
        """Fills the arena for one call. Raises TaskError for what the task's own code does.

        `later`: the reference is called after the candidate, if nothing of its answer is needed before.
        """
        previous = self.current.expected if self.current is not None else None
        changes = _Changes()
        if repeat and self.current is not None:
            chosen = self.current
            forward_seed = previous.forward_seed if previous is not None else secret_seed()
        elif canary:
            chosen, changes = self._with_canary(distribution)
            forward_seed = secret_seed()
        else:
            chosen = self._new_set(distribution, secret_seed() if seed is None else seed)
            changes = _Changes(None)
            forward_seed = secret_seed()
        known = self._known(chosen, weight_set, forward_seed)
        reference_pending = later and not known and self._task.randomness != "traced"
        if reference_pending:
            chosen.expected = None
        elif not known:
            chosen.expected = self._expect(chosen, reference, weight_set, forward_seed)
        if previous is not None and previous is not chosen.expected:
            self.previous = previous.outputs
        self._write_inputs(chosen, changes)
        self._write_draws(chosen)
        self.poison()
        self.current = chosen
        nanoseconds = 0 if known or chosen.expected is None else chosen.expected.nanoseconds
        return PreparedCall(chosen.seed, forward_seed, nanoseconds, changes.ranges is None, reference_pending)

    def call_reference(self, reference: TimedReference, weight_set: int, reply: PreparedCall) -> PreparedCall:
        """Computes the pending answer of the reference for the prepared call; the reply with its time."""
        assert self.current is not None
        expected = self._expect(self.current, reference, weight_set, reply.forward_seed)
        self.current.expected = expected
        return PreparedCall(reply.seed, reply.forward_seed, expected.nanoseconds, reply.fresh)

    @staticmethod
    def _known(chosen: InputSet, weight_set: int, forward_seed: int) -> bool:
        expected = chosen.expected
        return expected is not None and (expected.weight_set, expected.forward_seed) == (weight_set, forward_seed)

    def _slot(self) -> InputSet:
        """A set to overwrite: a new one while the memory lasts, then the least recently used one."""
        if len(self._sets) < self._limit:
            self._sets.append(InputSet(self._task, self._private_layout, self._pattern))
            return self._sets[-1]
        oldest = self._sets.pop(0)
        self._sets.append(oldest)
        return oldest

    def _new_set(self, distribution: str, seed: int) -> InputSet:
        started = time.perf_counter()
        drawn = self._draw(distribution, seed)
        self._task.device.synchronize()
        self._draw_seconds = time.perf_counter() - started
        chosen = self._slot()
        if self.arena_holds is chosen:
            self.arena_holds = None
        chosen.fill(drawn, distribution, seed)
        if not chosen.canaries:
            for name, tensor in chosen.tensors.items():
                plan = self._plans.setdefault(name, plan_for(drawn.tensors[name]))
                if plan.kind != "none":
                    chosen.canaries[name] = Canary(tensor, plan, self._rng)
        return chosen

    def _fresh_share(self) -> float:
        """The share of canary calls that get all new inputs: all if drawing is cheap or nothing can be replaced, else enough to
        see whether a candidate is faster on known inputs."""
        expected = self.current.expected if self.current is not None else None
        if self.current is None or not self.current.canaries or self._draw_seconds <= self.cheap_draw_seconds:
            return 1.0
        call_seconds = expected.nanoseconds / 1e9 if expected is not None else 0.0
        return min(1.0, max(MIN_FRESH_SHARE, call_seconds / self._draw_seconds))

    def _with_canary(self, distribution: str) -> tuple[InputSet, _Changes]:
        usable = [candidate for candidate in self._sets if candidate.distribution == distribution]
        if not usable or self._rng.random() < self._fresh_share():
            return self._new_set(distribution, secret_seed()), _Changes(None)
        chosen = usable[self._rng.randrange(len(usable))]
        ranges = []
        for name, canary in chosen.canaries.items():
            segment = self._private_of[name]
            size = dtypes.size_of(segment.spec.dtype)
            touched = canary.revert() + canary.apply()
            ranges += [(segment, start * size, count * size) for start, count in touched]
        chosen.expected = None
        return chosen, _Changes(ranges)

    # -- the expected answer --------------------------------------------------------------------------------------

    def _expect(self, chosen: InputSet, reference: TimedReference, weight_set: int, forward_seed: int) -> Expected:
        if self._task.randomness == "traced":
            result = reference.reference.run(chosen.inputs, forward_seed)
            nanoseconds = int(result.seconds * 1e9)
            return Expected(weight_set, forward_seed, result.outputs, result.draws, nanoseconds)
        value, nanoseconds = reference.call(chosen.arguments(), forward_seed, chosen.ranges)
        outputs = reference.outputs(value, chosen.storages)
        return Expected(weight_set, forward_seed, outputs, [], nanoseconds)

    # -- the arena ------------------------------------------------------------------------------------------------

    def _write_inputs(self, chosen: InputSet, changes: _Changes) -> None:
        if self.arena_holds is chosen and changes.ranges is not None:
            for segment, start, count in changes.ranges:
                source = chosen.memory.raw(segment)[start : start + count]
                target = self._arena.raw(self._arena_segment(segment.name))
                target[start : start + count] = source
        else:
            for segment in self._input_segments:
                self._arena.copy_in(segment, chosen.memory.raw(self._private_of[segment.name]))
        # The contents are known again once a check has found them unchanged.
        self.arena_holds = None

    def _arena_segment(self, name: str) -> Segment:
        return next(segment for segment in self._input_segments if segment.name == name)

    def _write_draws(self, chosen: InputSet) -> None:
        if chosen.expected is not None and self._draw_segments:
            for segment, draw in zip(self._draw_segments, chosen.expected.draws):
                assign(self._arena.view(segment), draw)

    def poison(self) -> None:
        """Fills every output with a new secret word and empties the report."""
        for index, (segment, view) in enumerate(zip(self._outputs, self._poison_views)):
            word, size = poison_word(segment.spec.dtype)
            self.poison_words[index] = (word, size)
            view.fill_(as_signed(word, size))
        for segment in self._report:
            self._host.raw(segment)[:4] = 0

    # -- graphs: on a GPU only ------------------------------------------------------------------------------------

    def time_replay(self, reference: TimedReference, weight_set: int, reply: PreparedCall) -> PreparedCall:
        """The reply to a prepared call with the time of a replay, where the reference can be a graph."""
        return reply

    def no_graph(self, reference: TimedReference) -> str:
        """Why the reference cannot be a graph; "" if it can."""
        return "no graphs on this device"

    # -- afterwards -----------------------------------------------------------------------------------------------

    def changed_inputs(self) -> list[str]:
        """Names of inputs in the arena that were changed; those that the reference writes may differ."""
        if self.current is None:
            return []
        allowed = set(self._task.mutated_inputs)
        names = []
        for segment in self._input_segments:
            private = self._private_of[segment.name]
            left, right = self._arena.pointer(segment), self.current.memory.pointer(private)
            if not same_bytes(left, right, segment.nbytes):
                names.append(segment.name)
        if not names:
            self.arena_holds = self.current
        return [name for name in names if name not in allowed]
