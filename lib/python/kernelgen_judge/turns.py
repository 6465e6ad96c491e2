"""Another process that uses the device right before a timed call of the reference.

A candidate's call comes right after the judge's work, that is, after the device changed from one process to another, and
that is where its kernels' blocks are placed anew. A reference that is timed amid work of its own process finds its blocks
elsewhere: cuDNN's persistent kernels of 8 blocks took 9 % longer there. So both are timed after such a change.

Nobody of ours uses the device when it takes its turn. Where it has to wait all the same, somebody else's work is there: a device
gives its processes slices of about 2 ms in turn, and asked for so little it answers within some tens of microseconds.
"""

from __future__ import annotations

import os
import struct
import subprocess

from .errors import OUT_OF_MEMORY, TaskError, is_out_of_memory

#: Its context, and what flushes a cache.
TURNS_BYTES = 1 << 30
#: A turn that waits longer for next to nothing waited for somebody else.
LATE_NS = 500_000


class Turns:
    """A `kgen-gpu turns` of this judge's; it ends with the judge."""

    def __init__(self, program: str, uuid: str):
        """Waits for nothing. Raises TaskError where there is no such program."""
        try:
            self._process = subprocess.Popen(
                [program, "turns", uuid], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise TaskError(f"{program}: {error.strerror}", "missing_tool") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._ask, self._told = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._ready = False
        #: How many there were, and how many had to wait for somebody else's work.
        self.taken = self.late = 0

    def take(self) -> None:
        """Lets the other process work, and waits for it. The device must be idle. Raises TaskError."""
        if not self._ready:
            self._read(1)
            self._ready = True
        try:
            os.write(self._ask, b"t")
        except OSError:
            pass  # Its answer tells.
        (waited,) = struct.unpack("=q", self._read(8))
        self.taken += 1
        self.late += waited > LATE_NS

    def _read(self, count: int) -> bytes:
        """An answer; it comes in one piece."""
        answer = os.read(self._told, count)
        if len(answer) == count:
            return answer
        _, said = self._process.communicate()
        why = said.decode("utf-8", "replace").strip() or f"kgen-gpu turns ended with status {self._process.returncode}"
        code = OUT_OF_MEMORY if is_out_of_memory(RuntimeError(why)) else "missing_device"
        raise TaskError(f"a second process cannot use the device: {why}", code)
