"""libkgen_runner_support.so through ctypes; see apps/runner/runner_support.h and sandbox.h."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Sequence

#: A GPU's driver opens nodes and timelines; compilers that a candidate starts write tens of megabytes.
_DEVICE_FILES = 4096
_DEVICE_SCRATCH = 2 << 30


class SandboxOptions(ctypes.Structure):
    """struct kgen_sandbox_options."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("max_files", ctypes.c_uint32),
        ("scratch_bytes", ctypes.c_uint64),
        ("hidden_paths", ctypes.POINTER(ctypes.c_char_p)),
        ("visible_paths", ctypes.POINTER(ctypes.c_char_p)),
        ("devices", ctypes.POINTER(ctypes.c_char_p)),
        ("keep_fds", ctypes.POINTER(ctypes.c_int)),
        ("keep_fd_count", ctypes.c_size_t),
        ("address_space_bytes", ctypes.c_uint64),
        ("only_paths", ctypes.POINTER(ctypes.c_char_p)),
        ("writable_directory", ctypes.c_char_p),
        ("sockets_at_first", ctypes.c_uint32),
        ("build_cache_directory", ctypes.c_char_p),
        ("watch_processes", ctypes.c_uint32),
    ]


class _Segment(ctypes.Structure):
    """struct kgen_segment."""

    _fields_ = [("offset", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("address", ctypes.c_void_p)]


def _string_list(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * (len(texts) + 1))(*[os.fsencode(text) for text in texts], None)


def python_paths() -> list[str]:
    """Directories that must stay readable for this interpreter to go on importing."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))]
    found += [path for path in sys.path if path]
    # Another user may be refused a package and not the folder around it.
    packages = (sys.modules.get(name) for name in ("numpy", "torch", "triton"))
    found += [folder for package in packages for folder in getattr(package, "__path__", ())]
    paths = (os.path.abspath(path) for path in found)
    return list(dict.fromkeys(path for path in paths if os.path.exists(path) and path not in ("/", "/tmp")))


def library_paths() -> list[str]:
    """Directories of libraries besides the system's: a driver is loaded in the sandbox."""
    return [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path.startswith("/")]


class Support:
    """The library; or without it, no sandbox and no guard pages."""

    def __init__(self, path: str | None):
        """Raises OSError for a path that is no library of ours."""
        self.path = path
        self._library = ctypes.CDLL(path) if path else None
        if self._library is None:
            return
        library = self._library
        library.kgen_sandbox_enter.argtypes = [
            ctypes.c_int, ctypes.POINTER(SandboxOptions), ctypes.POINTER(ctypes.c_uint32)
        ]  # fmt: skip
        library.kgen_map_exchange.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(_Segment)]
        library.kgen_map_exchange.restype = ctypes.c_void_p
        library.kgen_crash_reporter_add.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
        library.kgen_install_crash_reporter.argtypes = [ctypes.c_int, ctypes.c_void_p]
        library.kgen_forward_error_output.restype = None
        library.kgen_set_allocation_poison.argtypes = [ctypes.c_int]
        library.kgen_set_allocation_poison.restype = None

    def enter_sandbox(
        self,
        status: int,
        keep: Sequence[int],
        hidden: Sequence[str],
        devices: Sequence[str] | None = None,
        visible: Sequence[str] = (),
        kept: str | None = None,
        watched: bool = False,
    ) -> int:
        """Enters the sandbox and returns the isolation bits; the calling process itself ends. Raises OSError.

        devices: the nodes of a GPU, in a runner for one. visible: directories that stay readable besides Python's.
        kept: a directory that is writable inside, as /tmp/builds. watched: the supervisor is asked before a process starts, so
        that the worker can end that.
        """
        if self._library is None:
            return 0
        options = SandboxOptions(struct_size=ctypes.sizeof(SandboxOptions))
        if devices is not None:
            options.devices = ctypes.cast(_string_list(devices), ctypes.POINTER(ctypes.c_char_p))
            options.max_files, options.scratch_bytes = _DEVICE_FILES, _DEVICE_SCRATCH
            # The driver does not start without one; see driver_started().
            options.sockets_at_first = 1
        options.hidden_paths = ctypes.cast(_string_list(hidden), ctypes.POINTER(ctypes.c_char_p))
        options.visible_paths = ctypes.cast(_string_list([*python_paths(), *visible]), ctypes.POINTER(ctypes.c_char_p))
        options.watch_processes = int(watched)
        options.build_cache_directory = os.fsencode(kept) if kept is not None else None
        numbers = (ctypes.c_int * len(keep))(*keep)
        options.keep_fds = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int))
        options.keep_fd_count = len(keep)
        bits = ctypes.c_uint32(0)
        result = self._library.kgen_sandbox_enter(status, ctypes.byref(options), ctypes.byref(bits))
        if result != 0:
            raise OSError(-result, "the sandbox cannot be entered")
        return bits.value

    def driver_started(self) -> None:
        """Forbids what only a driver's start needs, such as sockets. Call it after enter_sandbox(), when the driver has started."""
        if self._library is not None:
            self._library.kgen_sandbox_driver_started()

    def seal_processes(self) -> None:
        """Makes starting a process fatal for this one. Runners that are watched from outside do not need it."""
        if self._library is not None:
            self._library.kgen_sandbox_seal_processes()

    def install_crash_reporter(self, control: int) -> None:
        """Fatal signals are reported over the control socket."""
        if self._library is not None:
            self._library.kgen_install_crash_reporter(control, None)

    def keep_error_output(self) -> None:
        """Crash reports tell faults of a device that its runtime writes to standard error from now on. Needs a private /tmp."""
        if self._library is not None:
            self._library.kgen_keep_error_output()

    def forward_error_output(self) -> None:
        """Forgets what was written to standard error so far, except for the log."""
        if self._library is not None:
            self._library.kgen_forward_error_output()

    def name_memory(self, address: int, count: int, name: str) -> None:
        """Crash reports name this memory."""
        if self._library is not None:
            self._library.kgen_crash_reporter_add(address, count, name.encode("utf-8", "replace"))

    def poison_allocations(self, byte: int) -> None:
        """Fills new allocations with garbage; 0 stops that."""
        if self._library is not None:
            self._library.kgen_set_allocation_poison(byte)

    def map_segments(self, descriptor: int, places: Sequence[tuple[int, int]]) -> list[int]:
        """Maps (offset, bytes) ranges of the arena with guard pages between them, and returns their addresses. Raises OSError."""
        if self._library is None:
            return _map_plainly(descriptor, places)
        segments = (_Segment * len(places))(*[_Segment(offset, count, None) for offset, count in places])
        if not self._library.kgen_map_exchange(descriptor, len(places), segments):
            raise OSError("the exchange memory cannot be mapped")
        return [int(segment.address) for segment in segments]


_plain_maps: list[mmap.mmap] = []


def _map_plainly(descriptor: int, places: Sequence[tuple[int, int]]) -> list[int]:
    """Without guard pages."""
    end = max((offset + count for offset, count in places), default=mmap.PAGESIZE)
    memory = mmap.mmap(descriptor, end, mmap.MAP_SHARED)
    _plain_maps.append(memory)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return [base + offset for offset, _ in places]
