"""The two weight sets of a task: references built under secret seeds, and their tensors in the arena."""

from __future__ import annotations

from dataclasses import dataclass

from .exchange import Layout, Memory, Placed, Segment, make_layout, same_bytes
from .call_preparer import secret_seed
from .task import Reference, Task
from .timing import CacheFlusher, TimedReference
from .values import assign

ROLES = ("parameter", "buffer", "attribute")
SETS = (1, 2)


@dataclass
class WeightSet:
    """A reference, and the seed for the construction of its ModelNew."""

    seed: int
    reference: Reference
    timed: TimedReference


class Weights:
    """Builds weight sets when first asked for, and keeps the arena's copy of the current one."""

    def __init__(self, task: Task, layout: Layout, arena: Placed, flusher: CacheFlusher):
        self._task = task
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
        """The weight set 1 or 2. Raises TaskError when the reference cannot be built."""
        if index not in SETS:
            raise ValueError(f"there is no weight set {index}")
        if index not in self._sets:
            seed = secret_seed()
            reference = self._task.build(seed)
            self._sets[index] = WeightSet(seed, reference, self._time(reference))
        return self._sets[index]

    def rebuilt(self, index: int) -> TimedReference:
        """The reference of a weight set once more, with tensors of its own."""
        return self._time(self._task.build(self.get(index).seed))

    def built(self, index: int) -> bool:
        return index in self._sets

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
