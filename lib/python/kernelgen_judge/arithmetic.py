"""The judge's own passes over tensors, in cache-sized chunks on one thread.

Chunks are too small to be worth waking other threads for, and on a busy machine waiting for them takes many times longer
than the work. Calls of the reference keep the number of threads that they were given.
"""

from __future__ import annotations

import contextlib
import math
from typing import Iterator

import torch

CHUNK = 1 << 18
#: On a device each pass costs a launch, and reading a number costs a wait. So chunks are large, but small enough for a float64
#: copy.
DEVICE_CHUNK = 1 << 25


def chunk_of(tensor: torch.Tensor) -> int:
    """Elements that one pass over this tensor takes at a time."""
    return CHUNK if tensor.device.type == "cpu" else DEVICE_CHUNK


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """A context in which tensor operations run on the calling thread only."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def all_finite(tensor: torch.Tensor) -> bool:
    """True if there is neither NaN nor infinity. Integers are always finite."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    values = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    for part in values.reshape(-1).split(chunk_of(tensor)):
        # A finite sum proves that all are finite; an infinite one may be an overflow of finite numbers.
        if not math.isfinite(float(part.sum(dtype=torch.float64))) and not bool(part.isfinite().all()):
            return False
    return True


def finite_mean(tensor: torch.Tensor) -> float:
    """The mean of the finite elements of a real tensor, in float64; 0 for none."""
    total, count = 0.0, 0
    for part in tensor.reshape(-1).split(chunk_of(tensor)):
        partial, size = float(part.sum(dtype=torch.float64)), part.numel()
        if not math.isfinite(partial):
            part = part[part.isfinite()]
            partial, size = float(part.sum(dtype=torch.float64)), part.numel()
        total, count = total + partial, count + size
    return total / count if count else 0.0


def rms(tensor: torch.Tensor) -> float:
    """Root mean square of the finite elements of a real tensor, in float64; 0 for none."""
    total, count = 0.0, 0
    for part in tensor.reshape(-1).split(chunk_of(tensor)):
        square = part.double().square()
        partial, size = float(square.sum()), part.numel()
        if not math.isfinite(partial):
            square = part[part.isfinite()].double().square()
            partial, size = float(square.sum()), square.numel()
        total, count = total + partial, count + size
    return math.sqrt(total / count) if count else 0.0
