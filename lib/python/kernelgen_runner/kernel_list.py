"""Lists the kernels that Triton compiled for a GPU: what they are called, and what the compiler says that they need.

Each is a line of JSON in a memory file. The worker reads it when this process has ended, and trusts nothing in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

_METADATA = ".amdgpu_metadata"
_OCCUPANCY = "; Occupancy:"
_MAX_NAME = 300
_MAX_TEXT = 2000
_MAX_CODE = 1 << 16


class KernelList:
    """A list in a memory file of `capacity` bytes. Kernels for which no room is left are missing."""

    def __init__(self, descriptor: int, capacity: int, facts: Mapping[str, Any]):
        self._descriptor = descriptor
        self._left = capacity
        self._at = 0
        self._limit = int(facts["shared_bytes_per_block_optin"] or facts["shared_bytes_per_block"])
        self._seen: set[str] = set()

    def add(self, kernel: Any, compiled: Any) -> None:
        """Adds what was compiled, once."""
        if compiled is None or compiled.hash in self._seen:
            return
        self._seen.add(compiled.hash)
        shared = int(compiled.metadata.shared)
        self._write(kernel=_name(compiled), dynamic_shared_bytes=shared, code=_excerpt(compiled.asm.get("amdgcn", "")))
        if shared > self._limit:
            from triton.runtime.errors import OutOfResources

            # Triton says so when it loads a kernel.
            self.add_failure(kernel, OutOfResources(shared, self._limit, "shared memory"))

    def add_failure(self, kernel: Any, error: BaseException) -> None:
        """Adds the error of a kernel that was refused."""
        name = str(getattr(kernel, "__name__", "a kernel"))[:_MAX_NAME]
        self._write(kernel=name, error=f"{type(error).__name__}: {error}"[:_MAX_TEXT])

    def _write(self, **members: Any) -> None:
        line = json.dumps(members).encode() + b"\n"
        if len(line) <= self._left:
            self._at += os.pwrite(self._descriptor, line, self._at)
            self._left -= len(line)


def _name(compiled: Any) -> str:
    """The kernel with what it is specialized by: "matmul[BLOCK=64, num_warps=4, num_stages=2]"."""
    source, metadata = compiled.src, compiled.metadata
    names = source.fn.arg_names
    parts = [f"{names[path[0]]}={value}" for path, value in source.constants.items() if len(path) == 1]
    parts += [f"num_warps={metadata.num_warps}", f"num_stages={metadata.num_stages}"]
    return f"{metadata.name}[{', '.join(parts)}]"[:_MAX_NAME]


def _excerpt(code: str) -> str:
    """The lines of an assembly listing that tell what the kernel needs."""
    occupancy = [line for line in code.splitlines() if line.startswith(_OCCUPANCY)]
    begin = code.find(_METADATA)
    return "\n".join([*occupancy, code[begin:] if begin >= 0 else ""])[:_MAX_CODE]
