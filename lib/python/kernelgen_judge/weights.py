"""The two weight sets of a task: references built under secret seeds, and their tensors in the arena."""

from __future__ import annotations

from dataclasses import dataclass

from .exchange import Layout, Memory, make_layout, same_bytes
from .stage import secret_seed
from .task import Reference, Task
from .timing import CacheFlusher, TimedReference
from .values import assign

ROLES = ("parameter", "buffer", "attribute")
SETS = (1, 2)


@dataclass
class WeightSet:
    """A reference and the seed that its ModelNew must be built under."""

    seed: int
    reference: Reference
    timed: TimedReference


class Weights:
    """Builds weight sets when first asked for, and keeps the arena's copy of the current one."""

    def __init__(self, task: Task, layout: Layout, arena: Memory, flusher: CacheFlusher):
        self._task = task
        self._arena = arena
        self._flusher = flusher
        self._segments = layout.of(*ROLES)
        self._sets: dict[int, WeightSet] = {}
        private = make_layout([(segment.role, segment.spec) for segment in self._segments], with_report=False)
        self._copy = Memory.private(private, "kernelgen-weights")
        self._pairs = list(zip(self._segments, private.segments))
        # What forward() changes may differ after a call, and is put back before the next.
        self._restored = [pair for pair in self._pairs if pair[0].name in set(task.mutated_state)]
        self._kept = [pair for pair in self._pairs if pair[0].name not in set(task.mutated_state)]
        self.current = 0

    def get(self, index: int) -> WeightSet:
        """The weight set 1 or 2. Raises TaskError when the reference cannot be built."""
        if index not in SETS:
            raise ValueError(f"there is no weight set {index}")
        if index not in self._sets:
            seed = secret_seed()
            reference = self._task.build(seed)
            self._sets[index] = WeightSet(seed, reference, TimedReference(reference, self._flusher))
        return self._sets[index]

    def built(self, index: int) -> bool:
        return index in self._sets

    def use(self, index: int) -> WeightSet:
        """Makes a set the current one and writes it into the arena."""
        chosen = self.get(index)
        chosen.reference.restore()
        tensors = {entry.name: entry.tensor.detach() for entry in chosen.reference.state}
        for (_, private), (segment, _) in zip(self._pairs, self._pairs):
            assign(self._copy.view(private), tensors[segment.name])
        self.current = index
        for segment, private in self._pairs:
            self._arena.copy_in(segment, self._copy.raw(private))
        return chosen

    def restore(self) -> None:
        """Puts back the buffers that a call may have changed."""
        for segment, private in self._restored:
            self._arena.copy_in(segment, self._copy.raw(private))

    def overwritten(self) -> list[str]:
        """Names of weights in the arena that are not what was written there; repairs them."""
        if not self.current:
            return []
        names = []
        for segment, private in self._kept:
            if not same_bytes(self._arena.pointer(segment), self._copy.pointer(private), segment.nbytes):
                names.append(segment.name)
                self._arena.copy_in(segment, self._copy.raw(private))
        return names
