"""Caps on what a process may use."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator


def _mapped_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _free_bytes() -> int:
    """What programs can still take: files that the kernel holds in memory make room for them."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def available_memory() -> int:
    """Bytes that this process may still map and that the machine has free."""
    free = _free_bytes()
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return free if soft == resource.RLIM_INFINITY else max(0, min(free, soft - _mapped_bytes()))


def limit_memory(count: int) -> None:
    """Caps the address space at what is mapped now and `count` bytes more. Raises ValueError above the hard limit."""
    mapped = _mapped_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = mapped + count if hard == resource.RLIM_INFINITY else min(mapped + count, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextlib.contextmanager
def spread_threads() -> Iterator[None]:
    """Meanwhile each thread of this process has a processor of its own, if there are as many. The worker does the same for a
    candidate in timed calls."""
    usable = os.sched_getaffinity(0)
    threads = sorted(int(name) for name in os.listdir("/proc/self/task"))
    spread = len(threads) <= len(usable)
    try:
        for thread, processor in zip(threads if spread else [], sorted(usable)):
            _bind(thread, {processor})
        yield
    finally:
        for thread in threads if spread else []:
            _bind(thread, usable)


def _bind(thread: int, processors: set[int]) -> None:
    # It may have ended meanwhile, and a policy of the machine may forbid it.
    with contextlib.suppress(OSError):
        os.sched_setaffinity(thread, processors)
