"""Input sets: the inputs that are written to the arena before a call, and the expected answers to them."""

from __future__ import annotations

import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from kernelgen_common import dtypes
from kernelgen_common.limits import available_memory

from .canary import Canary, CanaryPlan, plan_for
from .device_memory import GUARD, PaddingPattern, private_memory
from .exchange import Layout, Memory, Padding, Placed, Segment, as_signed, make_layout, poison_word, same_bytes
from .task import CallInputs, Task
from .timing import TimedReference, memory_range
from .values import Flat, assign, same_bits, unflatten

POOL_SETS = 3
POOL_BYTES = 2 << 30
CHEAP_DRAW_SECONDS = 2e-4
MIN_FRESH_SHARE = 0.25
#: One of so many canary calls in a row gets all new inputs at least.
MOST_KNOWN = 5
#: Single calls in a pair of slots before they move on by one.
_CALLS_PER_PAIR = 4


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
    """The reply to the worker about a prepared call, or a series of them."""

    seed: int
    forward_seed: int
    #: Of all calls together.
    reference_ns: int
    #: The slot of the first call; the others follow, and after the last slot the first.
    slot: int = 0
    #: True if all inputs are new.
    fresh: bool = True
    #: True if the expected answer has not been computed yet; see `CallPreparer.call_reference`.
    reference_pending: bool = False


class InputSet:
    """One set of inputs in private memory of the judge, with the layout of the arena's inputs."""

    def __init__(self, task: Task, layout: Layout, pattern: PaddingPattern | None = None, slot: int = 0):
        """`pattern` is the one of an arena on a device, `slot` the place in the arena."""
        self._task = task
        self.slot = slot
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


class _Slot:
    """One place in the arena for the inputs, draws and outputs of a call."""

    def __init__(self, arena: Placed, layout: Layout, index: int):
        self.inputs = {segment.name: segment for segment in layout.of("input", slot=index)}
        self.draws = layout.of("draw", slot=index)
        self.outputs = layout.of("output", slot=index)
        #: The last secret word of each output, and its bytes.
        self.poison_words: list[tuple[int, int]] = [(0, 1)] * len(self.outputs)
        #: The input sets for this place, the least recently drawn first.
        self.sets: list[InputSet] = []
        #: The one that the place is known to hold.
        self.holds: InputSet | None = None
        #: Distribution and seed of what was drawn for it last, to recognize a stale result.
        self.drawn: deque[tuple[str, int]] = deque(maxlen=3)
        exchanged = [*self.inputs.values(), *self.draws, *self.outputs]
        self.ranges = [(arena.pointer(segment), segment.nbytes) for segment in exchanged]
        self._poison_views = [arena.raw(s).view(dtypes.bits_dtype(poison_word(s.spec.dtype)[1])) for s in self.outputs]

    def poison(self) -> None:
        """Fills every output with a new secret word."""
        for index, (segment, view) in enumerate(zip(self.outputs, self._poison_views)):
            word, size = poison_word(segment.spec.dtype)
            self.poison_words[index] = (word, size)
            view.fill_(as_signed(word, size))


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
        self._pattern = pattern
        guard = 0 if pattern is None else GUARD
        self._private_layout = make_layout([("input", segment.spec) for segment in inputs], False, guard)
        self._private_of = {segment.name: segment for segment in self._private_layout.segments}
        self._slots = [_Slot(arena, layout, index) for index in range(layout.slots)]
        #: Input sets at most, by slot.
        self._most_sets = self._plan_sets(layout.slots)
        self._plans: dict[str, CanaryPlan] = {}
        self._host: Placed = arena if host is None else host
        self._report = self._host.layout.of("report")
        self.padding = self._make_padding()
        self.padding.fill()
        #: The input sets of the prepared calls, in their order.
        self.series: list[InputSet] = []
        #: The one of them that is looked at.
        self.current: InputSet | None = None
        #: The answer to the call before the current one, to recognize a stale result.
        self.previous: Flat | None = None
        #: True while the arena holds what forward() draws.
        self._gives_draws = True
        self._draw_seconds = 0.0
        #: Canary calls since the last one with all new inputs.
        self._known_calls = 0
        self._first_slot, self._single_calls = self._rng.randrange(layout.slots), 0

    def _make_padding(self) -> Any:
        assert isinstance(self._arena, Memory)
        return Padding(self._arena)

    def _plan_sets(self, slots: int) -> list[int]:
        bytes_per_set = max(1, self._private_layout.total_bytes)
        together = min(POOL_SETS, min(POOL_BYTES, available_memory() // 4) // bytes_per_set)
        return [max(1, together // slots)] * slots

    # -- choosing -------------------------------------------------------------------------------------------------

    def prepare_call(
        self,
        reference: TimedReference,
        weight_set: int,
        distribution: str,
        seed: int | None,
        repeat: bool,
        canary: bool,
        order: str = "before",
        calls: int = 1,
        gives_draws: bool = True,
    ) -> PreparedCall:
        """Fills the arena for one call, or for a series of as many as there are slots for. Raises TaskError for what the task's own
        code does.

        `order`: the reference is called "before" the candidate, "after" it, or "never", where nothing will be checked.
        `gives_draws`: the candidate gets what forward() draws. Others shall not find it in the arena.
        """
        previous = self.current.expected if self.current is not None else None
        forward_seed = secret_seed()
        if repeat and self.series:
            changed = [(chosen, _Changes()) for chosen in self.series]
            forward_seed = previous.forward_seed if previous is not None else forward_seed
        else:
            anew = not canary or self._known_calls >= MOST_KNOWN - 1 or self._rng.random() < self._fresh_share()
            self._known_calls = 0 if anew else self._known_calls + 1
            slots = self._choose_slots(calls if self._task.has_independent_calls else 1)
            changed = [self._choose(slot, distribution, seed, anew) for slot in slots]
        # As in the candidate's process, where outputs are freed before the next call: new ones then lie where those were.
        for one in self.series:
            one.expected = one.expected if repeat else None
        self.series = [chosen for chosen, _ in changed]
        known = all(self._known(chosen, weight_set, forward_seed) for chosen in self.series)
        reference_pending = order != "before" and not known
        nanoseconds = 0
        if not known:
            for chosen in self.series:
                chosen.expected = None
            if self._task.randomness == "traced" and order != "never":
                self._record_draws(reference, weight_set, forward_seed)
            if not reference_pending:
                nanoseconds = self._call(reference, weight_set, forward_seed)
        self.current, self._gives_draws = self.series[0], gives_draws
        if previous is not None and previous is not self.current.expected:
            self.previous = previous.outputs
        for chosen, changes in changed:
            self._write_inputs(chosen, changes)
            self._write_draws(chosen)
            self._slots[chosen.slot].poison()
        for segment in self._report:
            self._host.raw(segment)[:4] = 0
        fresh = all(changes.ranges is None for _, changes in changed)
        return PreparedCall(self.current.seed, forward_seed, nanoseconds, self.current.slot, fresh, reference_pending)

    def call_reference(self, reference: TimedReference, weight_set: int, reply: PreparedCall) -> PreparedCall:
        """Makes the pending calls of the reference; the reply with their time."""
        nanoseconds = self._call(reference, weight_set, reply.forward_seed)
        return replace(reply, reference_ns=nanoseconds, reference_pending=False)

    @staticmethod
    def _known(chosen: InputSet, weight_set: int, forward_seed: int) -> bool:
        expected = chosen.expected
        return expected is not None and (expected.weight_set, expected.forward_seed) == (weight_set, forward_seed)

    def _choose_slots(self, calls: int) -> list[int]:
        """Slots in a row from a secret one on. Single calls are in one of two slots for a while, so that a candidate soon sees other
        contents at the same addresses, and then in others, so that it sees other addresses."""
        count = len(self._slots)
        if calls > 1:
            first = self._rng.randrange(count)
        else:
            first = (self._first_slot + self._single_calls // _CALLS_PER_PAIR + self._rng.randrange(2)) % count
            self._single_calls += 1
        return [(first + index) % count for index in range(min(max(1, calls), count))]

    def _choose(self, slot: int, distribution: str, seed: int | None, anew: bool) -> tuple[InputSet, _Changes]:
        """A set with all new inputs, or one that was used before with secret lines changed; and what that changed."""
        usable = [one for one in self._slots[slot].sets if one.distribution == distribution]
        if anew or not usable:
            return self._new_set(slot, distribution, secret_seed() if seed is None else seed), _Changes(None)
        chosen = usable[self._rng.randrange(len(usable))]
        ranges = []
        for name, canary in chosen.canaries.items():
            segment = self._private_of[name]
            size = dtypes.size_of(segment.spec.dtype)
            touched = canary.revert() + canary.apply()
            ranges += [(segment, start * size, count * size) for start, count in touched]
        chosen.expected = None
        return chosen, _Changes(ranges)

    def _set_to_fill(self, slot: int) -> InputSet:
        """A set to overwrite: a new one while the memory lasts, then the least recently used one."""
        sets = self._slots[slot].sets
        if len(sets) < self._most_sets[slot]:
            sets.append(InputSet(self._task, self._private_layout, self._pattern, slot))
        else:
            sets.append(sets.pop(0))
        return sets[-1]

    def _new_set(self, slot: int, distribution: str, seed: int) -> InputSet:
        started = time.perf_counter()
        drawn = self._draw(distribution, seed)
        self._task.device.synchronize()
        self._draw_seconds = time.perf_counter() - started
        chosen = self._set_to_fill(slot)
        if self._slots[slot].holds is chosen:
            self._slots[slot].holds = None
        chosen.fill(drawn, distribution, seed)
        self._slots[slot].drawn.append((distribution, seed))
        if not chosen.canaries:
            for name, tensor in chosen.tensors.items():
                if name not in self._plans:
                    self._plans[name] = plan_for(drawn.tensors[name])
                plan = self._plans[name]
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

    def earlier_inputs(self) -> Iterator[CallInputs]:
        """What was drawn for the place of the current call, drawn again; nothing where all calls have one place. What the current
        inputs were drawn as comes too, because secret lines may have been changed since."""
        if self.current is not None and len(self._slots) > 1:
            for distribution, seed in self._slots[self.current.slot].drawn:
                yield self._draw(distribution, seed)

    # -- the expected answer --------------------------------------------------------------------------------------

    def _call(self, reference: TimedReference, weight_set: int, forward_seed: int) -> int:
        """Calls the reference on all prepared inputs: for its time, and for its answers where draws did not need them before. Nanoseconds
        of all together."""
        ranges = [one for chosen in self.series for one in chosen.ranges]
        values, nanoseconds = reference.call_series([chosen.arguments() for chosen in self.series], forward_seed, ranges)
        for chosen, value in zip(self.series, values):
            if chosen.expected is None:
                outputs = reference.outputs(value, chosen.storages)
                chosen.expected = Expected(weight_set, forward_seed, outputs, [], 0)
            chosen.expected.nanoseconds = nanoseconds // len(values)
        return nanoseconds

    def _record_draws(self, reference: TimedReference, weight_set: int, forward_seed: int) -> None:
        """Takes the expected answers from calls in which draws are recorded, which makes them longer, so that they are no times."""
        for index, chosen in enumerate(self.series):
            result = reference.reference.run(chosen.inputs, None if index else forward_seed)
            chosen.expected = Expected(weight_set, forward_seed, result.outputs, result.draws, 0)

    # -- the arena ------------------------------------------------------------------------------------------------

    @property
    def slots(self) -> list[int]:
        """Those of the prepared calls."""
        return [chosen.slot for chosen in self.series]

    def exchanged(self) -> list[tuple[int, int]]:
        """(address, bytes) of the memory that the prepared calls read and write in the arena."""
        return [one for slot in self.slots for one in self._slots[slot].ranges]

    @property
    def poison_words(self) -> list[tuple[int, int]]:
        """(word, bytes) in the outputs of the call that is looked at."""
        return self._slots[self.current.slot if self.current is not None else 0].poison_words

    def outputs(self) -> list[Segment]:
        """The outputs of the call that is looked at."""
        return self._slots[self.current.slot if self.current is not None else 0].outputs

    def _write_inputs(self, chosen: InputSet, changes: _Changes) -> None:
        slot = self._slots[chosen.slot]
        if slot.holds is chosen and changes.ranges is not None:
            for segment, start, count in changes.ranges:
                source = chosen.memory.raw(segment)[start : start + count]
                self._arena.raw(slot.inputs[segment.name])[start : start + count] = source
        else:
            for name, segment in slot.inputs.items():
                self._arena.copy_in(segment, chosen.memory.raw(self._private_of[name]))
        # The contents are known again once a check has found them unchanged.
        slot.holds = None

    def _given_draws(self, chosen: InputSet) -> list[tuple[Segment, torch.Tensor]]:
        """The places of draws that the candidate gets, and what they hold before the call."""
        if not self._gives_draws or chosen.expected is None:
            return []
        return list(zip(self._slots[chosen.slot].draws, chosen.expected.draws))

    def _write_draws(self, chosen: InputSet) -> None:
        for segment, draw in self._given_draws(chosen):
            assign(self._arena.view(segment), draw)

    def _changed_draws(self) -> list[str]:
        """Names of given draws in the arena that were changed."""
        pairs = [pair for chosen in self.series for pair in self._given_draws(chosen)]
        return [segment.name for segment, draw in pairs if not same_bits(self._arena.view(segment), self._task.device.move(draw))]

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
        allowed = set(self._task.mutated_inputs)
        names = {}
        for chosen in self.series:
            slot = self._slots[chosen.slot]
            changed = [
                name
                for name, segment in slot.inputs.items()
                if not same_bytes(self._arena.pointer(segment), chosen.memory.pointer(self._private_of[name]), segment.nbytes)
            ]
            if not changed:
                slot.holds = chosen
            names.update(dict.fromkeys(changed))
        return [name for name in dict.fromkeys([*names, *self._changed_draws()]) if name not in allowed]
