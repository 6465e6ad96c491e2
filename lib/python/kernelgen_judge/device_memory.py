"""Tensors in memory of a device: the exchange arena, and private copies of the judge with the same layout.

A launch costs microseconds and waiting for a number costs tens of them, whatever the size. So work goes range by range instead of
tensor by tensor, and comparisons return flags that stay on the device until the judge reads all of them. All memories of a
session have the same secret pattern in their padding: neighbouring tensors can be copied
and compared as one range.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import torch

from .device import Device, GpuDevice
from .errors import OUT_OF_MEMORY, TaskError, gib, is_out_of_memory
from .exchange import PAGE, SLOT_ROLES, Layout, Memory, Placed, Segment

GUARD = PAGE
_WORD_BYTES = 8
#: 64-bit words compared at a time: the intermediate result takes a byte for each.
_COMPARE_WORDS = 1 << 26


class PaddingPattern:
    """The contents of the padding in one session: the same bytes from the start of every range."""

    def __init__(self, device: Device):
        # No range is longer: a guard on either side of a tensor that ends anywhere in a page.
        self.bytes = torch.frombuffer(bytearray(os.urandom(GUARD + PAGE)), dtype=torch.uint8).to(device.torch)


def differs(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """A boolean on the device that tells whether two uint8 tensors differ. It is not waited for."""
    count = left.numel()
    whole = count - count % _WORD_BYTES
    if whole == 0 or (left.data_ptr() | right.data_ptr()) % _WORD_BYTES:
        return (left != right).any()
    parts = zip(
        left[:whole].view(torch.int64).split(_COMPARE_WORDS), right[:whole].view(torch.int64).split(_COMPARE_WORDS)
    )
    flags = [(a != b).any() for a, b in parts]
    if whole != count:
        flags.append((left[whole:] != right[whole:]).any())
    return flags[0] if len(flags) == 1 else torch.stack(flags).any()


def read_flags(flags: Sequence[torch.Tensor]) -> list[bool]:
    """The flags, read with one wait."""
    return torch.stack(list(flags)).tolist() if flags else []


class DeviceMemory(Placed):
    """Memory of a device with a secret pattern between its tensors."""

    def __init__(self, layout: Layout, whole: torch.Tensor, pattern: PaddingPattern):
        """`whole` spans the memory, and keeps it alive if torch owns it."""
        super().__init__(layout, whole[: layout.total_bytes])
        self.pattern = pattern
        first, slots = layout.first_slot, layout.slots
        #: The memory of the slots, one in each row.
        self.slots = self._all[first : first + slots * layout.slot_bytes].view(slots, layout.slot_bytes)
        #: All of it in a single row, for what is there once.
        self.whole = self._all.view(1, -1)
        self.fill_padding()

    @classmethod
    def private(cls, layout: Layout, device: Device, pattern: PaddingPattern) -> DeviceMemory:
        """Private memory. Raises TaskError where there is not enough."""
        try:
            return cls(layout, torch.empty(layout.total_bytes, dtype=torch.uint8, device=device.torch), pattern)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            free = device.free_bytes() if isinstance(device, GpuDevice) else 0
            needed = f"another {gib(layout.total_bytes)} of device memory"
            raise TaskError(f"needs {needed}, {gib(free)} are free", OUT_OF_MEMORY) from None

    def fill_padding(self) -> None:
        for rows, places in self.padding_by_rows():
            for _, start, length in places:
                rows[:, start : start + length] = self.pattern.bytes[:length]

    def padding_by_rows(self) -> list[tuple[torch.Tensor, list[tuple[Segment, int, int]]]]:
        """The rows in which padding has the same places, with (segment, offset in a row, length) of each place."""
        first = self.layout.first_slot
        places = [(segment, start - first, length) for segment, start, length in self.paddings(self.layout.of(*SLOT_ROLES))]
        once = self.paddings(segment for segment in self.layout.segments if segment.role not in SLOT_ROLES)
        return [(rows, found) for rows, found in ((self.whole, once), (self.slots, places)) if found]

    def byte_range(self, segments: Sequence[Segment]) -> torch.Tensor:
        """The bytes from the first segment's start to the last one's end; they must be neighbours."""
        first, last = segments[0], segments[-1]
        return self._all[first.segment_offset : last.segment_offset + last.segment_bytes]


def runs(pairs: Iterable[tuple[Segment, Segment]]) -> list[list[tuple[Segment, Segment]]]:
    """Pairs of a tensor's places in two memories, grouped so that each group is one range in both."""
    found: list[list[tuple[Segment, Segment]]] = []
    for left, right in pairs:
        if found:
            a, b = found[-1][-1]
            follows = a.segment_offset + a.segment_bytes == left.segment_offset
            if follows and b.segment_offset + b.segment_bytes == right.segment_offset:
                found[-1].append((left, right))
                continue
        found.append([(left, right)])
    return found


class Mirror:
    """Tensors of the arena and their copy in memory of the judge's own."""

    def __init__(self, arena: DeviceMemory, copy: DeviceMemory, pairs: Iterable[tuple[Segment, Segment]]):
        """`pairs` are the places of each tensor in the arena and in the copy."""
        self._arena, self._copy = arena, copy
        self._runs = runs(pairs)
        self._ranges = [
            (arena.byte_range([left for left, _ in run]), copy.byte_range([right for _, right in run])) for run in self._runs
        ]

    def write(self) -> None:
        """Puts the copy into the arena."""
        for target, source in self._ranges:
            target.copy_(source)

    def flags(self) -> list[torch.Tensor]:
        """Flags that tell for each range whether the arena differs."""
        return [differs(left, right) for left, right in self._ranges]

    def differing(self) -> list[tuple[Segment, Segment]]:
        """The tensors that differ in the arena. Padding does not count."""
        found: list[tuple[Segment, Segment]] = []
        for run, flag in zip(self._runs, read_flags(self.flags())):
            if flag:
                each = [differs(self._arena.raw(left), self._copy.raw(right)) for left, right in run]
                found += [pair for pair, different in zip(run, read_flags(each)) if different]
        return found


class _PaddingRows:
    """The padding in rows of memory where it has the same places. It is read by whole words, which takes an eighth of the work."""

    def __init__(self, rows: torch.Tensor, places: list[tuple[Segment, int, int]], pattern: PaddingPattern):
        self.places = places
        self._words = rows.view(torch.int64)
        index, masks, wanted = [], [], []
        contents = pattern.bytes.cpu()
        for _, start, length in places:
            # A tensor may end within the first word; the padding ends with a page.
            before = start % _WORD_BYTES
            index.append(torch.arange((start - before) // _WORD_BYTES, (start + length) // _WORD_BYTES))
            nothing = torch.zeros(before, dtype=torch.uint8)
            masks.append(torch.cat([nothing, torch.full((length,), 255, dtype=torch.uint8)]).view(torch.int64))
            wanted.append(torch.cat([nothing, contents[:length]]).view(torch.int64))
        self._lengths = [words.numel() for words in index]
        self._index, self._mask, self._wanted = (torch.cat(parts).to(rows.device) for parts in (index, masks, wanted))

    def differing(self) -> torch.Tensor:
        """For each word in each row a number that is 0 if it is intact."""
        return self._words.index_select(1, self._index).bitwise_xor_(self._wanted).bitwise_and_(self._mask)

    def broken(self) -> list[str]:
        """Names of the tensors with overwritten padding, in any row."""
        parts = (self.differing() != 0).any(dim=0).cpu().split(self._lengths)
        return [segment.name for (segment, _, _), part in zip(self.places, parts) if bool(part.any())]


class DevicePadding:
    """Checks all padding of an arena at once."""

    def __init__(self, memory: DeviceMemory):
        self._memory = memory
        self._parts = [_PaddingRows(rows, places, memory.pattern) for rows, places in memory.padding_by_rows()]

    def fill(self) -> None:
        self._memory.fill_padding()

    def flag(self) -> torch.Tensor:
        """A flag that tells whether any padding was overwritten."""
        return torch.stack([part.differing().any() for part in self._parts]).any()

    def broken(self, slots: Sequence[int] = (0,)) -> list[str]:
        """Names of the tensors with overwritten padding, in any slot: a call may write to other slots than its own."""
        return list(dict.fromkeys(name for part in self._parts for name in part.broken()))


def private_memory(device: Device, layout: Layout, name: str, pattern: PaddingPattern | None) -> Memory | DeviceMemory:
    """Private memory of the judge, of the same kind as the arena: on a device if there is a pattern."""
    if pattern is None:
        return Memory.private(layout, name)
    return DeviceMemory.private(layout, device, pattern)
