"""Caps on what a process may use, and how it uses memory."""

from __future__ import annotations

import ctypes
import os
import resource

#: Parameters of mallopt, and the largest values that glibc takes.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MOST_TRIMMED, _MOST_ALLOCATED = (1 << 31) - 1, 32 << 20


def _mapped_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def available_memory() -> int:
    """Bytes that this process may still map and that the machine has free."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return free if soft == resource.RLIM_INFINITY else max(0, min(free, soft - _mapped_bytes()))


def limit_memory(count: int) -> None:
    """Caps the address space at what is mapped now and `count` bytes more. Raises ValueError above the hard limit."""
    mapped = _mapped_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = mapped + count if hard == resource.RLIM_INFINITY else min(mapped + count, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def keep_freed_memory() -> None:
    """Lets malloc keep what is freed, as in a process that has worked for a while. Otherwise the page faults of new memory are part of
    a call, and how many there are depends on what each side happened to free before."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _MOST_TRIMMED)
        mallopt(_MMAP_THRESHOLD, _MOST_ALLOCATED)
