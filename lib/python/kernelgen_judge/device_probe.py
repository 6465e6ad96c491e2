"""A second process that asks for a little work on the device right before each timed call of the reference.

The candidate is called right after the judge has worked, that is, after the device switched from one process to another, and
such a switch changes the placement of the blocks of the next kernels. Without it a reference would have another placement:
cuDNN's persistent kernels of 8 blocks took 9 % longer there. The probe causes the same switch before the reference.

While the probe runs, no other process of ours uses the device. A probe that has to wait therefore shows that a foreign process
works there: a device gives its processes slices of about 2 ms in turn, and a probe alone is answered within some tens of
microseconds.
"""

from __future__ import annotations

import os
import struct
import subprocess

from .errors import OUT_OF_MEMORY, TaskError, is_out_of_memory

#: Device memory of the probing process: its context, and the buffer that flushes the cache.
PROBE_BYTES = 1 << 30
#: A probe that takes longer than this waited for a foreign process.
DELAYED_NS = 500_000


class DeviceProbe:
    """A `kgen-gpu probe` process that belongs to this judge and ends with it."""

    def __init__(self, program: str, uuid: str):
        """Starts the process without waiting for it. Raises TaskError where the program does not exist."""
        try:
            self._process = subprocess.Popen(
                [program, "probe", uuid], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise TaskError(f"{program}: {error.strerror}", "missing_tool") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._ask, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._ready = False
        #: Number of probes so far, and of those that a foreign process delayed.
        self.count = self.delayed = 0

    def run(self) -> None:
        """Lets the other process work, and waits for it. The device must be idle. Raises TaskError."""
        if not self._ready:
            self._read(1)
            self._ready = True
        try:
            os.write(self._ask, b"t")
        except OSError:
            pass  # The answer, or its absence, says what happened.
        (waited,) = struct.unpack("=q", self._read(8))
        self.count += 1
        self.delayed += waited > DELAYED_NS

    def _read(self, count: int) -> bytes:
        """Reads a reply, which comes in one piece."""
        answer = os.read(self._answers, count)
        if len(answer) == count:
            return answer
        _, said = self._process.communicate()
        why = said.decode("utf-8", "replace").strip() or f"kgen-gpu probe ended with status {self._process.returncode}"
        code = OUT_OF_MEMORY if is_out_of_memory(RuntimeError(why)) else "missing_device"
        raise TaskError(f"a second process cannot use the device: {why}", code)
