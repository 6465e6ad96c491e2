"""Caps on what a process may use."""

from __future__ import annotations

import os
import resource


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
