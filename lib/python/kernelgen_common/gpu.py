"""A GPU through libkgen_runner_support.so; see apps/runner/gpu/gpu.h. Open it after a fork, never before."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.utils.dlpack

from .platform import Platform, dlpack_device, platform_of

OUT_OF_MEMORY = 2
_ERROR_BYTES = 512


class GpuError(Exception):
    """A failure reported by the driver. `number` is the driver's error number; 0 if the failure is not the driver's."""

    def __init__(self, message: str, number: int = 0):
        super().__init__(message)
        self.number = number

    @property
    def out_of_memory(self) -> bool:
        return self.number == OUT_OF_MEMORY


class _Facts(ctypes.Structure):
    """struct kgen_gpu_facts."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("index", ctypes.c_int32),
        ("vendor", ctypes.c_char * 16),
        ("name", ctypes.c_char * 128),
        ("uuid", ctypes.c_char * 48),
        ("architecture", ctypes.c_char * 16),
    ]


class _Call(ctypes.Structure):
    """struct kgen_gpu_call."""

    _fields_ = [("device_ns", ctypes.c_int64), ("host_ns", ctypes.c_int64), ("off_stream_ns", ctypes.c_int64)]


class _Clocks(ctypes.Structure):
    """struct kgen_gpu_clocks."""

    _fields_ = [
        ("multiprocessor_mhz", ctypes.c_int32),
        ("memory_mhz", ctypes.c_int32),
        ("temperature_celsius", ctypes.c_int32),
        ("throttled", ctypes.c_int32),
    ]


class Facts(NamedTuple):
    """Facts about the device of a process."""

    vendor: str
    name: str
    uuid: str
    architecture: str


class Call(NamedTuple):
    """One timed call, in nanoseconds; see struct kgen_gpu_call."""

    device_ns: int
    host_ns: int
    off_stream_ns: int


class TimedCall(NamedTuple):
    """The functions that begin and end a measured call. Both return a status for Gpu.check()."""

    begin: Callable[[], int]
    #: Replaces begin() for a graph.
    begin_replay: Callable[[], int]
    end: Callable[[], int]
    #: The object with device_ns, host_ns and off_stream_ns after end().
    times: Any


class Clocks(NamedTuple):
    """Clocks at one moment; see struct kgen_gpu_clocks."""

    multiprocessor_mhz: int
    memory_mhz: int
    temperature_celsius: int
    throttled: bool


_POINTER, _U64, _TEXT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p
_ADDRESS_OUT, _INT_OUT = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "kgen_gpu_count": (ctypes.c_int, [_TEXT, ctypes.c_size_t]),
    "kgen_gpu_read_facts": (ctypes.c_int, [ctypes.c_int, ctypes.POINTER(_Facts), _TEXT, ctypes.c_size_t]),
    "kgen_gpu_open": (_POINTER, [_TEXT, _TEXT, ctypes.c_size_t]),
    "kgen_gpu_close": (None, [_POINTER]),
    "kgen_gpu_error": (_TEXT, [_POINTER]),
    "kgen_gpu_choose_sharing": (ctypes.c_int, [_POINTER, ctypes.c_char_p]),
    "kgen_gpu_allocate_shared": (ctypes.c_int, [_POINTER, _U64, _ADDRESS_OUT, _INT_OUT]),
    "kgen_gpu_import_shared": (ctypes.c_int, [_POINTER, ctypes.c_int, _U64, _ADDRESS_OUT]),
    "kgen_gpu_free_shared": (ctypes.c_int, [_POINTER, _POINTER]),
    "kgen_gpu_memory": (ctypes.c_int, [_POINTER, ctypes.POINTER(_U64), ctypes.POINTER(_U64)]),
    "kgen_gpu_copy": (ctypes.c_int, [_POINTER, _POINTER, _POINTER, _U64, _POINTER]),
    "kgen_gpu_fill": (ctypes.c_int, [_POINTER, _POINTER, ctypes.c_int, _U64, _POINTER]),
    "kgen_gpu_synchronize": (ctypes.c_int, [_POINTER]),
    "kgen_gpu_stream": (_POINTER, [_POINTER]),
    "kgen_gpu_begin_call": (ctypes.c_int, [_POINTER, _POINTER]),
    "kgen_gpu_begin_replay": (ctypes.c_int, [_POINTER, _POINTER]),
    "kgen_gpu_end_call": (ctypes.c_int, [_POINTER, _POINTER, ctypes.POINTER(_Call)]),
    "kgen_gpu_begin_capture": (ctypes.c_int, [_POINTER, _POINTER]),
    "kgen_gpu_end_capture": (ctypes.c_int, [_POINTER, _POINTER, _ADDRESS_OUT]),
    "kgen_gpu_mark_start": (ctypes.c_int, [_POINTER, _POINTER]),
    "kgen_gpu_mark_end": (ctypes.c_int, [_POINTER, _POINTER]),
    "kgen_gpu_replay": (ctypes.c_int, [_POINTER, _POINTER, _POINTER]),
    "kgen_gpu_free_graph": (None, [_POINTER, _POINTER]),
    "kgen_gpu_begin_activities": (ctypes.c_int, [_TEXT, ctypes.c_size_t]),
    "kgen_gpu_end_activities": (_U64, [_TEXT, ctypes.c_size_t]),
    "kgen_gpu_read_clocks": (ctypes.c_int, [_POINTER, ctypes.POINTER(_Clocks)]),
}


def _load(path: str) -> ctypes.CDLL:
    """Loads the library and declares its functions. Raises OSError, or AttributeError for a library without GPU support."""
    library = ctypes.CDLL(path)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def use_only(variable: str, uuid: str) -> None:
    """Hides every other GPU from this process, by the driver's variable for that; "": it has none. Call it before the first use
    of the driver, which reads the setting once."""
    if variable:
        os.environ[variable] = uuid


class Gpu:
    """One device in use by this process. One thread at a time.

    Streams are numbers, as torch.cuda.Stream.cuda_stream has them; 0 is the legacy default stream.
    """

    def __init__(self, library: str, uuid: str):
        """Opens the device of that UUID ("": the first). `library` is the path of libkgen_runner_support.so.

        Raises GpuError where there is no such device, OSError or AttributeError where the library is not one of ours.
        """
        self._library = _load(library)
        reason = ctypes.create_string_buffer(_ERROR_BYTES)
        self._gpu: int | None = self._library.kgen_gpu_open(os.fsencode(uuid), reason, _ERROR_BYTES)
        if not self._gpu:
            raise GpuError(reason.value.decode("utf-8", "replace") or "the device cannot be opened")
        self.facts = self._read_facts(uuid)
        self._call = _Call()
        # These functions are resolved once, because they run right before and after measured code.
        self._begin_call = self._library.kgen_gpu_begin_call
        self._end_call = self._library.kgen_gpu_end_call

    def _read_facts(self, uuid: str) -> Facts:
        reason = ctypes.create_string_buffer(_ERROR_BYTES)
        for index in range(self._library.kgen_gpu_count(reason, _ERROR_BYTES)):
            found = _Facts(struct_size=ctypes.sizeof(_Facts))
            if self._library.kgen_gpu_read_facts(index, ctypes.byref(found), reason, _ERROR_BYTES) != 0:
                continue
            texts = [value.decode("utf-8", "replace") for value in (found.vendor, found.name, found.uuid, found.architecture)]
            if uuid in ("", texts[2]):
                return Facts(*texts)
        raise GpuError(reason.value.decode("utf-8", "replace") or f"there is no GPU {uuid}")

    @property
    def torch_device(self) -> torch.device:
        """The torch device for tensors on this GPU."""
        kind = self.platform.torch_device
        return torch.device(kind) if kind == "cpu" else torch.device(kind, 0)

    @property
    def platform(self) -> Platform:
        return platform_of(self.facts.vendor)

    def close(self) -> None:
        if self._gpu:
            self._library.kgen_gpu_close(self._gpu)
            self._gpu = None

    def check(self, status: int) -> None:
        """Raises GpuError, with the driver's message, if a status of the library is an error."""
        if status != 0:
            text = self._library.kgen_gpu_error(self._gpu) or b""
            raise GpuError(text.decode("utf-8", "replace"), status)

    # -- memory ---------------------------------------------------------------------------------------------------

    def choose_sharing(self, way: str) -> None:
        """How allocate_shared() shares memory: "virtual_memory" or "ipc_handle"; "" is the first that the device has."""
        self.check(self._library.kgen_gpu_choose_sharing(self._gpu, way.encode()))

    def allocate_shared(self, count: int) -> tuple[int, int]:
        """(address, descriptor) of `count` bytes that another process can map. The caller closes the descriptor."""
        address, descriptor = ctypes.c_void_p(), ctypes.c_int(-1)
        self.check(self._library.kgen_gpu_allocate_shared(self._gpu, count, ctypes.byref(address), ctypes.byref(descriptor)))
        return int(address.value or 0), descriptor.value

    def import_shared(self, descriptor: int, count: int) -> int:
        """Maps another process's shared memory and returns its address. `count` is the size that was allocated."""
        address = ctypes.c_void_p()
        self.check(self._library.kgen_gpu_import_shared(self._gpu, descriptor, count, ctypes.byref(address)))
        return int(address.value or 0)

    def free_shared(self, address: int) -> None:
        """Unmaps shared memory of either kind."""
        self.check(self._library.kgen_gpu_free_shared(self._gpu, address))

    def memory(self) -> tuple[int, int]:
        """(free, total) bytes of the device."""
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        self.check(self._library.kgen_gpu_memory(self._gpu, ctypes.byref(free), ctypes.byref(total)))
        return free.value, total.value

    def copy(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """Queues a copy within the device."""
        self.check(self._library.kgen_gpu_copy(self._gpu, to, source, count, stream))

    def fill(self, address: int, byte: int, count: int, stream: int = 0) -> None:
        """Queues filling memory with a byte."""
        self.check(self._library.kgen_gpu_fill(self._gpu, address, byte, count, stream))

    # -- work -----------------------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Waits for all queued work of this process. Raises GpuError for its failures."""
        self.check(self._library.kgen_gpu_synchronize(self._gpu))

    def stream(self) -> int:
        """A stream that orders itself with the legacy default stream."""
        return int(self._library.kgen_gpu_stream(self._gpu) or 0)

    def begin_call(self, stream: int = 0) -> None:
        """Queues a flush of the L2 cache and the start of the clock."""
        status = self._begin_call(self._gpu, stream)
        if status:
            self.check(status)

    def begin_replay(self, stream: int = 0) -> None:
        """begin_call() for a graph, without the time of its launch."""
        self.check(self._library.kgen_gpu_begin_replay(self._gpu, stream))

    def end_call(self, stream: int = 0) -> Call:
        """Stops the clock, waits for the stream, then for the device."""
        status = self._end_call(self._gpu, stream, ctypes.byref(self._call))
        if status:
            self.check(status)
        return Call(self._call.device_ns, self._call.host_ns, self._call.off_stream_ns)

    def timed_call(self, stream: int = 0) -> TimedCall:
        """begin_call() and end_call() as bound functions, for a process with a candidate that may replace Python functions."""
        gpu, on, call = ctypes.c_void_p(self._gpu), ctypes.c_void_p(stream), _Call()
        begin = functools.partial(self._begin_call, gpu, on)
        begin_replay = functools.partial(self._library.kgen_gpu_begin_replay, gpu, on)
        return TimedCall(begin, begin_replay, functools.partial(self._end_call, gpu, on, ctypes.byref(call)), call)

    def activities(self, capacity: int) -> tuple[Callable[[], str], Callable[[], tuple[int, bytes]]]:
        """Functions that begin and end the collection of what runs on the device; see kgen_gpu_begin_activities.

        The first returns "" or the reason why nothing is collected, the second (nanoseconds, lines).
        """
        begin, end = self._library.kgen_gpu_begin_activities, self._library.kgen_gpu_end_activities
        reason, text = ctypes.create_string_buffer(_ERROR_BYTES), ctypes.create_string_buffer(capacity)

        def start() -> str:
            return reason.value.decode("utf-8", "replace") if begin(reason, _ERROR_BYTES) else ""

        return start, lambda: (int(end(text, capacity)), text.value)

    def clocks(self) -> Clocks | None:
        """The current clocks; None if the vendor's management library does not report them."""
        found = _Clocks()
        if self._library.kgen_gpu_read_clocks(self._gpu, ctypes.byref(found)) != 0:
            return None
        return Clocks(found.multiprocessor_mhz, found.memory_mhz, found.temperature_celsius, bool(found.throttled))

    # -- graphs ---------------------------------------------------------------------------------------------------

    def begin_capture(self, stream: int) -> None:
        """Begins a capture: work that is queued on the stream (not the default one) is recorded instead of run."""
        self.check(self._library.kgen_gpu_begin_capture(self._gpu, stream))

    def end_capture(self, stream: int) -> int:
        """Ends the capture and returns the recorded work as a graph. Raises if something could not be recorded."""
        graph = ctypes.c_void_p()
        self.check(self._library.kgen_gpu_end_capture(self._gpu, stream, ctypes.byref(graph)))
        return int(graph.value or 0)

    def marks(self) -> tuple[Callable[[int], int], Callable[[int], int]]:
        """Functions that mark start and end of a capture on a stream that other code makes; statuses for check()."""
        gpu = ctypes.c_void_p(self._gpu)
        mark_start, mark_end = self._library.kgen_gpu_mark_start, self._library.kgen_gpu_mark_end
        return functools.partial(mark_start, gpu), functools.partial(mark_end, gpu)

    def replay(self, graph: int, stream: int = 0) -> None:
        """Queues a graph."""
        self.check(self._library.kgen_gpu_replay(self._gpu, graph, stream))

    def free_graph(self, graph: int) -> None:
        self._library.kgen_gpu_free_graph(self._gpu, graph)


class _DlTensor(ctypes.Structure):
    """DLTensor of DLPack, which passes tensors between libraries."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DlManagedTensor(ctypes.Structure):
    """DLManagedTensor. Without a deleter it owns nothing."""

    _fields_ = [("tensor", _DlTensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_DL_UNSIGNED = 1
_DL_NAME = b"dltensor"
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
#: torch reads these as long as their tensors live, and does not report when that ends. Each has a few hundred bytes.
_handed_over: list[Any] = []


def tensor_at(address: int, count: int, device: torch.device | str) -> torch.Tensor:
    """The `count` bytes at an address as a uint8 tensor that owns nothing: the memory must outlive it.

    `device` is torch's, of type "cuda" or "cpu". Other types of element are views of it (`.view(dtype)`).
    """
    device = torch.device(device)
    if count == 0:
        return torch.empty(0, dtype=torch.uint8, device=device)
    # DLPack is used because __cuda_array_interface__ needs numpy, which torch does not require.
    shape = (ctypes.c_int64 * 1)(count)
    managed = _DlManagedTensor(
        _DlTensor(address, dlpack_device(device.type), device.index or 0, 1, _DL_UNSIGNED, 8, 1, shape, None, 0)
    )
    _handed_over.append((managed, shape))
    capsule = _new_capsule(ctypes.addressof(managed), _DL_NAME, None)
    return torch.utils.dlpack.from_dlpack(capsule)
