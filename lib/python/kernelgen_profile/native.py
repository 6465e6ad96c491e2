"""A native candidate in this process: the structs of kernelgen/abi.h over torch's tensors, through ctypes.

The runner does this in C++. This is a simple second implementation, because a profiler needs a single process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from kernelgen_common import dtypes
from kernelgen_judge.values import ScalarSpec

ABI_VERSION = 1
_DTYPES = {
    "float64": 1, "float32": 2, "float16": 3, "bfloat16": 4, "int64": 5, "int32": 6, "int16": 7, "int8": 8, "uint8": 9,
    "bool": 10, "complex64": 11, "complex128": 12,
}  # fmt: skip
_DEVICES = {"cpu": 0, "cuda": 1}
_NONE, _BOOL, _INT, _FLOAT, _STRING = range(5)
_ERROR_BYTES = 2048
_ALIGNMENT = 64


class NativeError(Exception):
    """The candidate cannot be loaded, or said that it failed."""


class Tensor(ctypes.Structure):
    """struct kgen_tensor."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("nbytes", ctypes.c_uint64),
        ("element_count", ctypes.c_uint64),
    ]


class TensorList(ctypes.Structure):
    """struct kgen_tensor_list."""

    _fields_ = [("count", ctypes.c_uint64), ("items", ctypes.POINTER(ctypes.POINTER(Tensor)))]


class Scalar(ctypes.Structure):
    """struct kgen_scalar."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("kind", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("as_int", ctypes.c_int64),
        ("as_float", ctypes.c_double),
        ("as_text", ctypes.c_char_p),
    ]


class ScalarList(ctypes.Structure):
    """struct kgen_scalar_list."""

    _fields_ = [("count", ctypes.c_uint64), ("items", ctypes.POINTER(ctypes.POINTER(Scalar)))]


class ErrorText(ctypes.Structure):
    """struct kgen_error."""

    _fields_ = [("text", ctypes.c_void_p), ("capacity", ctypes.c_uint64)]


_LISTS = [(name, TensorList) for name in ("inputs", "parameters", "buffers", "attributes", "draws", "outputs")]
_PLACE = [
    ("scalars", ScalarList),
    ("init_scalars", ScalarList),
    ("threads", ctypes.c_int32),
    ("device", ctypes.c_int32),
    ("device_index", ctypes.c_int32),
    ("reserved", ctypes.c_int32),
    ("stream", ctypes.c_void_p),
]
_START = [("struct_size", ctypes.c_uint32), ("abi_version", ctypes.c_uint32)]


class PrepareArgs(ctypes.Structure):
    """struct kgen_prepare_args."""

    _fields_ = [*_START, *_LISTS, *_PLACE, ("error", ErrorText)]


class PrepareResult(ctypes.Structure):
    """struct kgen_prepare_result."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("state", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64),
    ]


class RunArgs(ctypes.Structure):
    """struct kgen_run_args."""

    _fields_ = [*_START, *_LISTS, *_PLACE, ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_uint64),
                ("error", ErrorText), ("report", ctypes.c_void_p)]  # fmt: skip


def _scalar_of(spec: ScalarSpec) -> Scalar:
    made = Scalar(ctypes.sizeof(Scalar), _NONE, spec.name.encode(), 0, 0.0, spec.value.encode())
    if spec.type == "bool":
        made.kind, made.as_int = _BOOL, int(spec.value == "True")
        made.as_float = float(made.as_int)
    elif spec.type == "int":
        # Converted as in C; a value that does not fit is passed only as text.
        value = int(spec.value)
        made.kind, made.as_float = _INT, float(value)
        made.as_int = value if -(1 << 63) <= value < 1 << 63 else 0
    elif spec.type == "float":
        made.kind, made.as_float = _FLOAT, float(spec.value)
    elif spec.type == "str":
        made.kind = _STRING
    else:
        made.as_text = b"None"
    return made


class Native:
    """A shared object with the kernel ABI, prepared on some tensors and called as often as wanted."""

    def __init__(
        self,
        path: str,
        tensors: dict[str, dict[str, torch.Tensor]],
        scalars: Sequence[ScalarSpec],
        init_scalars: Sequence[ScalarSpec],
        device: torch.device,
        stream: int = 0,
    ):
        """`tensors`: for each list of the ABI its tensors by name. Raises NativeError."""
        self._kept: list[Any] = []
        self._error = ctypes.create_string_buffer(_ERROR_BYTES)
        try:
            self._library = ctypes.CDLL(path)
            version = self._library.kgen_abi_version
            self._prepare, self._run, self._destroy = (
                getattr(self._library, f"kgen_{name}") for name in ("prepare", "run", "destroy")
            )
        except (OSError, AttributeError) as error:
            raise NativeError(f"it cannot be loaded: {error}") from None
        self._destroy.argtypes, self._destroy.restype = [ctypes.c_void_p], None
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._prepare.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        version.restype = ctypes.c_uint32
        if version() != ABI_VERSION:
            raise NativeError(f"it was built for version {version()} of the kernel ABI")
        self._tensors, self._scalars, self._init_scalars = tensors, scalars, init_scalars
        self._device, self._stream = device, stream
        self._state, self._workspace = self._prepare_state()
        #: The tensors of a call by list and name, to give them other addresses.
        self._placed: dict[tuple[str, str], Tensor] = {}
        self._args = self._make_args(RunArgs, blank=())
        if self._workspace is not None:
            start = -self._workspace.data_ptr() % _ALIGNMENT
            self._args.workspace = self._workspace.data_ptr() + start
            self._args.workspace_bytes = self._workspace.numel() - _ALIGNMENT

    def run(self) -> None:
        """Queues one call, or makes it where there is no device. Raises NativeError."""
        self._error[0] = b"\0"
        if self._run(self._state, ctypes.byref(self._args)) != 0:
            raise NativeError(f"kgen_run failed: {self._error.value.decode('utf-8', 'replace')}")

    def place(self, role: str, tensors: dict[str, torch.Tensor]) -> None:
        """Lets the next calls use these tensors, of the same shapes and strides, for a list of the ABI."""
        for name, tensor in tensors.items():
            self._placed[role, name].data = tensor.data_ptr()

    def close(self) -> None:
        """Frees the candidate's state."""
        self._destroy(self._state)
        self._state = None

    def _prepare_state(self) -> tuple[int | None, torch.Tensor | None]:
        # Inputs, draws and outputs have shapes only.
        args = self._make_args(PrepareArgs, blank=("inputs", "draws", "outputs"))
        result = PrepareResult(ctypes.sizeof(PrepareResult), 0, None, 0)
        if self._prepare(ctypes.byref(args), ctypes.byref(result)) != 0:
            raise NativeError(f"kgen_prepare failed: {self._error.value.decode('utf-8', 'replace')}")
        if result.workspace_bytes == 0:
            return result.state, None
        try:
            workspace = torch.empty(result.workspace_bytes + _ALIGNMENT, dtype=torch.uint8, device=self._device)
        except RuntimeError as error:
            raise NativeError(f"its workspace of {result.workspace_bytes} bytes is too large: {error}") from None
        return result.state, workspace

    def _make_args(self, kind: type[Any], blank: Sequence[str]) -> Any:
        args = kind()
        args.struct_size, args.abi_version = ctypes.sizeof(kind), ABI_VERSION
        for name, _ in _LISTS:
            given = self._tensors.get(name, {})
            items = [self._tensor_of(key, tensor, name in blank) for key, tensor in given.items()]
            if kind is RunArgs:
                self._placed.update({(name, key): item for key, item in zip(given, items)})
            setattr(args, name, self._list_of(TensorList, Tensor, items))
        args.scalars = self._list_of(ScalarList, Scalar, [_scalar_of(spec) for spec in self._scalars])
        # An absent argument of the constructor is none of the ABI's.
        passed = [_scalar_of(spec) for spec in self._init_scalars if spec.type != "none"]
        args.init_scalars = self._list_of(ScalarList, Scalar, passed)
        args.threads = torch.get_num_threads()
        args.device = _DEVICES[self._device.type]
        args.stream = self._stream or None
        args.error = ErrorText(ctypes.addressof(self._error), _ERROR_BYTES)
        return args

    def _tensor_of(self, name: str, tensor: torch.Tensor, blank: bool) -> Tensor:
        item = tensor.element_size()
        reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) if tensor.numel() else -1
        shape = (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.shape)
        strides = (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.stride())
        self._kept += [shape, strides, tensor]
        return Tensor(
            ctypes.sizeof(Tensor),
            _DTYPES[dtypes.name_of(tensor.dtype)],
            _DEVICES[self._device.type],
            tensor.dim(),
            name.encode(),
            None if blank else tensor.data_ptr(),
            shape,
            strides,
            (reach + 1) * item,
            tensor.numel(),
        )

    def _list_of(self, kind: type[Any], item: type[Any], items: list[Any]) -> Any:
        pointers = (ctypes.POINTER(item) * max(len(items), 1))(*[ctypes.pointer(one) for one in items])
        self._kept += [items, pointers]
        return kind(len(items), pointers)
