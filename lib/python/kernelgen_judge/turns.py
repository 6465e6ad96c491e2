"""Another process that uses the device right before a timed call of the reference.

A candidate's call comes right after the judge's work, that is, after the device changed from one process to another, and
that is where its kernels' blocks are placed anew. A reference that is timed amid work of its own process finds its blocks
elsewhere: cuDNN's persistent kernels of 8 blocks took 9 % longer there. So both are timed after such a change.
"""

from __future__ import annotations

import os
import subprocess

from kernelgen_common.gpu import GpuError

#: Its context, and what flushes a cache.
TURNS_BYTES = 1 << 30


class Turns:
    """A `kgen-gpu turns` of this judge's; it ends with the judge."""

    def __init__(self, program: str, uuid: str):
        """Waits for nothing. Raises GpuError where there is no such program."""
        try:
            self._process = subprocess.Popen(
                [program, "turns", uuid], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
        except OSError as error:
            raise GpuError(f"{program}: {error.strerror}") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._ask, self._told = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._ready = False

    def take(self) -> None:
        """Lets the other process work, and waits for it. The device must be idle. Raises GpuError."""
        if not self._ready:
            self._expect(b"r")
            self._ready = True
        try:
            os.write(self._ask, b"t")
        except OSError:
            pass  # Its answer tells.
        self._expect(b"t")

    def _expect(self, answer: bytes) -> None:
        if os.read(self._told, 1) != answer:
            raise GpuError(f"kgen-gpu turns ended with status {self._process.wait()}")
