"""The weight sets of a task: references built under secret seeds, and their tensors in the arena.

Sets 1 and 2 stay; of the others, the latest does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelgen_common.weight_transforms import TRANSFORMS

from .exchange import Layout, Memory, Placed, Segment, make_layout, same_bytes
from .call_preparer import secret_seed
from .stability import is_stable
from .task import Reference, Task
from .timing import CacheFlusher, TimedReference
from .values import assign

ROLES = ("parameter", "buffer", "attribute")
#: The sets that are kept, and matched with a ModelNew.
SETS = (1, 2)
#: Draws of weights that are tried where the reference must be stable under them.
_DRAWS, _INPUTS = 8, 2
#: kernelgen_runner.runner has the same number.
MAX_WEIGHT_SETS = 16


def _initial(index: int) -> int:
    """The weight transform of a set, where every set is drawn from the initial distribution."""
    return 0


@dataclass
class WeightSet:
    """A reference, and the seed for the construction of its ModelNew."""

    seed: int
    #: Number of the weight transform; see kernelgen_common.weight_transforms.
    transform: int
    reference: Reference
    timed: TimedReference


class Weights:
    """Builds weight sets when first asked for, and keeps the arena's copy of the current one."""

    def __init__(
        self,
        task: Task,
        layout: Layout,
        arena: Placed,
        flusher: CacheFlusher,
        transform_of: Callable[[int], int] = _initial,
    ):
        """`transform_of` gives the weight transform of a set."""
        self._task = task
        self._transform_of = transform_of
        self._arena = arena
        self._flusher = flusher
        self._segments = layout.of(*ROLES)
        self._sets: dict[int, WeightSet] = {}
        self._copy = self._make_copy()
        self._pairs = list(zip(self._segments, self._copy.layout.segments))
        # Tensors that forward() changes may differ after a call, and are restored before the next.
        self._restored = [pair for pair in self._pairs if pair[0].name in set(task.mutated_state)]
        self._kept = [pair for pair in self._pairs if pair[0].name not in set(task.mutated_state)]
        self.current = 0

    def _make_copy(self) -> Placed:
        private = make_layout([(segment.role, segment.spec) for segment in self._segments], with_report=False)
        return Memory.private(private, "kernelgen-weights")

    def _time(self, reference: Reference) -> TimedReference:
        return TimedReference(reference, self._flusher)

    def _write(self, pairs: list[tuple[Segment, Segment]]) -> None:
        """Copies tensors, given by their places in both memories, into the arena."""
        for segment, private in pairs:
            self._arena.copy_in(segment, self._copy.raw(private))

    def get(self, index: int) -> WeightSet:
        """A weight set, counted from 1. Raises TaskError when the reference cannot be built."""
        if not 1 <= index <= MAX_WEIGHT_SETS:
            raise ValueError(f"there is no weight set {index}")
        if index not in self._sets:
            if index not in SETS:
                self._sets = {kept: chosen for kept, chosen in self._sets.items() if kept in SETS}
            seed, transform, reference = self._draw(self._transform_of(index))
            self._sets[index] = WeightSet(seed, transform, reference, self._time(reference))
        return self._sets[index]

    def _draw(self, transform: int) -> tuple[int, int, Reference]:
        """(seed, transform, reference) of a new set. A draw under which the reference is chaotic gives way to another one, and in the end to
        the initial distribution."""
        for _ in range(_DRAWS if TRANSFORMS[transform].needs_stability else 0):
            seed = secret_seed()
            reference = self._task.build(seed, transform)
            if all(is_stable(reference, self._task.make_inputs(secret_seed()), secret_seed()) for _ in range(_INPUTS)):
                return seed, transform, reference
        seed, transform = secret_seed(), 0 if TRANSFORMS[transform].needs_stability else transform
        return seed, transform, self._task.build(seed, transform)

    def rebuilt(self, index: int) -> TimedReference:
        """The reference of a weight set once more, with tensors of its own."""
        chosen = self.get(index)
        return self._time(self._task.build(chosen.seed, chosen.transform))

    def built(self, index: int) -> bool:
        return index in self._sets

    def needs_stability(self, index: int) -> bool:
        """True if a call under a set may be chaotic."""
        return TRANSFORMS[self.get(index).transform].needs_stability

    def use(self, index: int) -> WeightSet:
        """Makes a set the current one and writes it into the arena."""
        chosen = self.get(index)
        chosen.reference.restore()
        tensors = {entry.name: entry.tensor.detach() for entry in chosen.reference.state}
        for segment, private in self._pairs:
            assign(self._copy.view(private), tensors[segment.name])
        self.current = index
        self._write(self._pairs)
        return chosen

    def restore(self) -> None:
        """Puts back the buffers that a call may have changed."""
        self._write(self._restored)

    def overwritten(self) -> list[str]:
        """Restores weights in the arena that were changed, and returns their names."""
        if not self.current:
            return []
        names = []
        for segment, private in self._kept:
            if not same_bytes(self._arena.pointer(segment), self._copy.pointer(private), segment.nbytes):
                names.append(segment.name)
                self._arena.copy_in(segment, self._copy.raw(private))
        return names
