"""The exchange arena: the layout of all tensors of a task in the memory that judge and runner share.

What changes from call to call (inputs, draws, outputs) has several places, the slots, so that one command can be a series of calls on
different inputs. Everything else is there once.

Each tensor has a page-aligned segment of its own and lies at its end, so that one step past it meets the guard page that
runners map behind it. The rest of the segment is padding with a secret pattern. The contents of the arena may change while they
are read, so outputs are copied before they are checked.

Memory of a device has no guard pages: there every tensor lies page-aligned between two pages of padding or more, and the
report, which a device cannot write, has an arena of its own in the host's memory. See device_memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from kernelgen_common import dtypes

from .values import TensorSpec

PAGE = 4096
ALIGNMENT = 64
REPORT_BYTES = 1 << 20
REPORT_NAME = "report"
MAX_BYTES = 1 << 46
SLOT_ROLES = ("input", "draw", "output")

_libc = ctypes.CDLL(None, use_errno=True)
_memcmp = _libc.memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_memcmp.restype = ctypes.c_int
_PLAIN = re.compile(rb"[^A-Za-z0-9_.\[\]-]")


class ExchangeError(Exception):
    """The arena cannot be laid out or mapped."""


@dataclass(frozen=True)
class Segment:
    """One tensor in the arena. `offset` counts from the segment's start; all numbers are bytes."""

    role: str
    spec: TensorSpec
    segment_offset: int
    segment_bytes: int
    offset: int
    nbytes: int

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def begin(self) -> int:
        """Where the tensor begins in the arena."""
        return self.segment_offset + self.offset


@dataclass(frozen=True)
class Layout:
    """All segments in the order of the job, those of the first slot, and the bytes of the whole arena."""

    segments: tuple[Segment, ...]
    total_bytes: int
    slots: int = 1
    #: From a slot to the next one.
    slot_bytes: int = 0

    def of(self, *roles: str, slot: int = 0) -> list[Segment]:
        """The segments of some roles; of inputs, draws and outputs those in a slot."""
        return [self.in_slot(segment, slot) for segment in self.segments if segment.role in roles]

    def in_slot(self, segment: Segment, slot: int) -> Segment:
        """The place in a slot of a segment of the first one; others are everywhere the same."""
        if slot == 0 or segment.role not in SLOT_ROLES:
            return segment
        return replace(segment, segment_offset=segment.segment_offset + slot * self.slot_bytes)

    @property
    def first_slot(self) -> int:
        """Where the first slot begins."""
        return min((segment.segment_offset for segment in self.of(*SLOT_ROLES)), default=0)

    def all_segments(self) -> list[Segment]:
        """The segments of all slots."""
        once = list(self.segments)
        return once + [segment for slot in range(1, self.slots) for segment in self.of(*SLOT_ROLES, slot=slot)]

    def bytes_of(self, *roles: str) -> int:
        return sum(segment.nbytes for segment in self.of(*roles))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def make_layout(
    tensors: Iterable[tuple[str, TensorSpec]], with_report: bool = True, guard: int = 0, slots: Callable[[int], int] = lambda _: 1
) -> Layout:
    """Places tensors one after the other, those of slots last. `guard`, a multiple of PAGE: bytes of padding on either side of each.
    `slots` chooses the number of slots by the bytes of one.

    Raises ExchangeError when they do not fit an address space.
    """
    listed = list(tensors)
    if with_report:
        listed.append(("report", TensorSpec(REPORT_NAME, "uint8", (REPORT_BYTES,), (1,))))
    segments: dict[int, Segment] = {}
    position = 0
    first_slot = -1
    for index in sorted(range(len(listed)), key=lambda index: listed[index][0] in SLOT_ROLES):
        role, spec = listed[index]
        if role in SLOT_ROLES and first_slot < 0:
            first_slot = position
        nbytes = spec.extent_bytes
        segment_bytes = 2 * guard + max(PAGE, _round_up(_round_up(nbytes, ALIGNMENT), PAGE))
        offset = guard or segment_bytes - _round_up(nbytes, ALIGNMENT)
        if role == "report":
            segment_bytes, offset = REPORT_BYTES, 0
        segments[index] = Segment(role, spec, position, segment_bytes, offset, nbytes)
        position += segment_bytes
        if position > MAX_BYTES:
            raise ExchangeError(f"the task's tensors need more than {MAX_BYTES} bytes")
    slot_bytes = position - first_slot if first_slot >= 0 else 0
    count = slots(slot_bytes) if slot_bytes else 1
    whole = max(position, PAGE) + (count - 1) * slot_bytes
    return Layout(tuple(segments[index] for index in range(len(listed))), whole, count, slot_bytes)


def contiguous_spec(spec: TensorSpec) -> TensorSpec:
    """The same tensor without gaps, last dimension fastest: how outputs are exchanged."""
    strides: list[int] = []
    step = 1
    for size in reversed(spec.shape):
        strides.append(step)
        step *= max(size, 1)
    return TensorSpec(spec.name, spec.dtype, spec.shape, tuple(reversed(strides)))


class Placed:
    """Tensors at the places of a layout, in memory that a uint8 tensor spans."""

    def __init__(self, layout: Layout, whole: torch.Tensor):
        self.layout = layout
        self._all = whole
        self.address: int = whole.data_ptr()

    def raw(self, segment: Segment) -> torch.Tensor:
        """The bytes of a tensor, gaps between strided elements included."""
        return self._all[segment.begin : segment.begin + segment.nbytes]

    def view(self, segment: Segment) -> torch.Tensor:
        """The tensor itself, with the strides of its spec."""
        spec = segment.spec
        flat = self.raw(segment).view(dtypes.parse(spec.dtype))
        return torch.as_strided(flat, spec.shape, spec.strides, flat.storage_offset())

    def pointer(self, segment: Segment) -> int:
        return self.address + segment.begin

    def copy_in(self, segment: Segment, source: torch.Tensor) -> None:
        """Copies raw bytes of equal length."""
        self.raw(segment).copy_(source)

    def paddings(self, segments: Iterable[Segment]) -> list[tuple[Segment, int, int]]:
        """(segment, offset in the memory, length) of every range in these segments that belongs to no tensor."""
        found = []
        for segment in segments:
            end = segment.offset + segment.nbytes
            base = segment.segment_offset
            if segment.offset:
                found.append((segment, base, segment.offset))
            if end < segment.segment_bytes:
                found.append((segment, base + end, segment.segment_bytes - end))
        return found


class Memory(Placed):
    """A mapped arena. Views stay valid as long as the object lives."""

    def __init__(self, descriptor: int, layout: Layout):
        """Maps the descriptor (which the caller may close). Raises OSError, ExchangeError."""
        if os.fstat(descriptor).st_size < layout.total_bytes:
            raise ExchangeError("the memory file is smaller than the layout")
        self._map = mmap.mmap(descriptor, layout.total_bytes, mmap.MAP_SHARED)
        super().__init__(layout, torch.frombuffer(self._map, dtype=torch.uint8))

    @classmethod
    def private(cls, layout: Layout, name: str) -> Memory:
        """Private memory of the same kind as the arena: equal page sizes make equal times."""
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, layout.total_bytes)
            return cls(descriptor, layout)
        finally:
            os.close(descriptor)

    def bytes_of(self, segment: Segment) -> memoryview:
        """The bytes of a tensor, for code that does not know torch."""
        return memoryview(self._map)[segment.begin : segment.begin + segment.nbytes]


def same_bytes(left: int, right: int, count: int) -> bool:
    """Whether two ranges of memory hold the same bytes."""
    return count == 0 or _memcmp(left, right, count) == 0


class Padding:
    """Fills the arena's padding with a secret, and checks whether it is intact."""

    def __init__(self, memory: Memory):
        self._memory = memory
        first = memory.layout.first_slot
        #: By slot; at -1 what is there once.
        self._places: dict[int, list[tuple[Segment, int, int]]] = {}
        for segment, start, length in memory.paddings(memory.layout.all_segments()):
            in_slot = segment.role in SLOT_ROLES
            slot = (segment.segment_offset - first) // memory.layout.slot_bytes if in_slot else -1
            self._places.setdefault(slot, []).append((segment, memory.address + start, length))
        longest = max((length for places in self._places.values() for _, _, length in places), default=0)
        self._secret = torch.frombuffer(bytearray(os.urandom(max(longest, 1))), dtype=torch.uint8)
        self._address = self._secret.data_ptr()

    def fill(self) -> None:
        for places in self._places.values():
            for _, address, length in places:
                ctypes.memmove(address, self._address, length)

    def broken(self, slots: Sequence[int] = (0,)) -> list[str]:
        """Names of the tensors with overwritten padding, in some slots and where there is one of each."""
        places = [place for slot in (-1, *slots) for place in self._places.get(slot, ())]
        names = [s.name for s, address, length in places if not same_bytes(address, self._address, length)]
        return list(dict.fromkeys(names))


_FLOAT_POISON = {
    "float16": (0x7E00, 9),
    "bfloat16": (0x7FC0, 6),
    "float32": (0x7FC00000, 22),
    "float64": (0x7FF8000000000000, 51),
    "complex64": (0x7FC00000, 22),
    "complex128": (0x7FF8000000000000, 51),
}


def poison_word(dtype: str) -> tuple[int, int]:
    """A secret word that no kernel computes by chance, and its size in bytes: a NaN with a payload, or random bits."""
    secret = int.from_bytes(os.urandom(8), "little")
    if dtype in _FLOAT_POISON:
        base, payload_bits = _FLOAT_POISON[dtype]
        size = dtypes.size_of(dtype) // (2 if dtype.startswith("complex") else 1)
        return base | (secret & ((1 << payload_bits) - 1)), size
    if dtype == "bool":
        return 0x80 | (secret & 0x7F), 1
    size = dtypes.size_of(dtype)
    return secret & ((1 << (8 * size)) - 1), size


def as_signed(word: int, size: int) -> int:
    """The word as the two's complement number that torch's integer types want (uint8 stays)."""
    return word if size == 1 or word < 1 << (8 * size - 1) else word - (1 << (8 * size))


def encode_name(name: str) -> str:
    """A name as the native job spells it."""
    return _PLAIN.sub(lambda match: b"%%%02X" % match.group()[0], name.encode("utf-8", "surrogatepass")).decode("ascii")


def native_job(
    layout: Layout,
    threads: int,
    scalars: Sequence[tuple[str, str, str, str]],
    device: tuple[str, str] | None = None,
) -> str:
    """The job of a native runner; scalars are (input|init, name, type, value), type "none" for an absent input.

    `device` is (vendor, UUID) where the tensors lie in memory of a device.
    """
    lines = ["kgen-job 1", f"threads {threads}", f"arena {layout.total_bytes}", f"slots {layout.slots} {layout.slot_bytes}"]
    if device is not None:
        lines.append(f"device {device[0]} {device[1]} {layout.total_bytes}")
    for segment in layout.segments:
        if segment.role == "report":
            continue
        spec = segment.spec
        numbers = [len(spec.shape), *spec.shape, *spec.strides]
        numbers += [segment.segment_offset, segment.segment_bytes, segment.offset, segment.nbytes]
        lines.append(f"tensor {segment.role} {encode_name(spec.name)} {spec.dtype} {' '.join(map(str, numbers))}")
    for role, name, kind, value in scalars:
        if kind != "none":
            lines.append(f"scalar {role} {encode_name(name)} {kind} {encode_name(value)}")
        elif role == "input":
            lines.append(f"absent input {encode_name(name)}")
    return "\n".join(lines) + "\nend\n"


def python_job(layout: Layout, threads: int, host: Layout | None = None, **rest: Any) -> dict[str, Any]:
    """The job of a Python runner, which needs no weights: ModelNew makes its own.

    `host` is the layout of the host's arena where `layout` is that of a device's.
    """
    tensors = [
        {
            "role": segment.role,
            "name": segment.name,
            "dtype": segment.spec.dtype,
            "shape": list(segment.spec.shape),
            "strides": list(segment.spec.strides),
            "segment_offset": segment.segment_offset,
            "segment_bytes": segment.segment_bytes,
            "offset": segment.offset,
            "nbytes": segment.nbytes,
        }
        for segment in [*layout.of("input", "output", "report"), *(host.of("report") if host is not None else [])]
    ]
    arenas = {"arena_bytes": layout.total_bytes, "device_arena_bytes": 0}
    if host is not None:
        arenas = {"arena_bytes": host.total_bytes, "device_arena_bytes": layout.total_bytes}
    slots = {"slots": layout.slots, "slot_bytes": layout.slot_bytes}
    return {"version": 1, "threads": threads, **arenas, **slots, "tensors": tensors, **rest}
