"""Tries, step by step, what a runner needs of a GPU inside the sandbox; one line a step: ok or failed, time, why.

    python3 tests/gpu/sandbox_probe.py [--support LIB] [--uuid GPU-...] [--extension]

Needs libkgen_runner_support.so of a build, torch and, for their steps, triton and nvcc. A step that fails ends nothing.
"""

from __future__ import annotations

import argparse
import array
import ctypes
import glob
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib" / "python"))

from kernelgen_runner.support import Support  # noqa: E402

BYTES = 8 << 20
PATTERN = 0x5A
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_SYS_SOCKET = 41


def gpu_devices(vendor: str) -> list[str]:
    """The nodes of all GPUs; a worker hands over those of one."""
    return sorted(glob.glob("/dev/nvidia*")) if vendor == "nvidia" else []


def step(name: str, body: Callable[[], Any]) -> Any:
    """Runs body, prints how it went, and returns what it returned; None for a failure."""
    began = time.monotonic()
    try:
        answer = body()
        outcome, detail = "ok", "" if answer is None else str(answer)
    except BaseException as error:  # noqa: BLE001 - a probe goes on
        answer, outcome = None, "FAILED"
        number = f" (errno {error.errno})" if isinstance(error, OSError) else ""
        detail = f"{type(error).__name__}: {error}{number}"
        if not isinstance(error, OSError):
            detail += " | " + traceback.format_exc(limit=-1).strip().splitlines()[-2].strip()
    text = detail.replace("\n", " / ")
    print(f"  {name:<46} {outcome:<7}{(time.monotonic() - began) * 1e3:9.1f} ms  {text[:600]}", flush=True)
    return answer


class Gpu:
    """The functions of gpu.h that the probe calls."""

    def __init__(self, library: str, uuid: str):
        self.library = ctypes.CDLL(library)
        self.library.kgen_gpu_open.restype = ctypes.c_void_p
        self.library.kgen_gpu_error.restype = ctypes.c_char_p
        text = ctypes.create_string_buffer(512)
        self.handle = ctypes.c_void_p(self.library.kgen_gpu_open(uuid.encode(), text, ctypes.c_size_t(512)))
        if not self.handle:
            raise RuntimeError(text.value.decode())

    def checked(self, function: str, *arguments: Any) -> None:
        """Raises RuntimeError with the driver's words."""
        if getattr(self.library, function)(self.handle, *arguments) != 0:
            raise RuntimeError(self.library.kgen_gpu_error(self.handle).decode())

    def read(self, address: int, count: int) -> bytes:
        """Device memory as bytes."""
        memory = ctypes.create_string_buffer(count)
        place = ctypes.c_void_p(ctypes.addressof(memory))
        self.checked("kgen_gpu_copy", place, ctypes.c_void_p(address), ctypes.c_uint64(count), None)
        self.checked("kgen_gpu_synchronize")
        return memory.raw


class _IpcHandle(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char * 64)]


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def owner(connection: socket.socket, library: str, uuid: str) -> None:
    """The part of the judge, outside of the sandbox: makes memory, sends its descriptor, and says what it holds at the end."""
    gpu = Gpu(library, uuid)
    address, descriptor = ctypes.c_void_p(), ctypes.c_int(-1)
    gpu.checked("kgen_gpu_allocate_shared", ctypes.c_uint64(BYTES), ctypes.byref(address), ctypes.byref(descriptor))
    gpu.checked("kgen_gpu_fill", address, PATTERN, ctypes.c_uint64(BYTES), None)
    gpu.checked("kgen_gpu_synchronize")
    plain, handle = ctypes.c_void_p(), _IpcHandle()
    gpu.checked("kgen_gpu_allocate", ctypes.c_uint64(BYTES), ctypes.byref(plain))
    refused = _driver().cuIpcGetMemHandle(ctypes.byref(handle), plain) if hasattr(_driver(), "cuIpcGetMemHandle") else -1
    head = struct.pack("<i64s", refused, bytes(memoryview(handle)))
    connection.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor.value]))])
    connection.recv(1)
    connection.send(gpu.read(int(address.value or 0), 1))
    connection.recv(1)


def start_owner(library: str, uuid: str) -> tuple[socket.socket, int]:
    """Forks the owner; its socket and process id."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            owner(theirs, library, uuid)
        except BaseException as error:  # noqa: BLE001
            print(f"  (the owner of the memory: {error})", flush=True)
        os._exit(0)
    theirs.close()
    return ours, child


# -- the steps --------------------------------------------------------------------------------------------------------


def probe_files() -> None:
    """What the driver's user space reads."""
    for path in gpu_devices("nvidia"):
        if os.path.isdir(path):
            step(f"list {path}", lambda path=path: " ".join(os.listdir(path)))
        else:
            step(f"open {path}", lambda path=path: os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC)))
    for path in ("/proc/driver/nvidia/params", "/proc/driver/nvidia/version", "/proc/devices", "/proc/self/maps"):
        step(f"read {path}", lambda path=path: f"{len(Path(path).read_bytes())} bytes")
    step("list /sys/bus/pci/devices", lambda: f"{len(os.listdir('/sys/bus/pci/devices'))} entries")
    step("list /sys/devices/system/node", lambda: f"{len(os.listdir('/sys/devices/system/node'))} entries")
    step("limit of open files", lambda: resource.getrlimit(resource.RLIMIT_NOFILE))
    step("limit of locked memory", lambda: resource.getrlimit(resource.RLIMIT_MEMLOCK))
    step("memfd_create", lambda: os.close(os.memfd_create("probe")))
    step("socket (refused is right)", lambda: socket.socket(socket.AF_UNIX).close())


def probe_memory(gpu: Gpu, connection: socket.socket) -> int:
    """Memory of another process, both ways; its address here."""
    data, control, _, _ = connection.recvmsg(128, socket.CMSG_SPACE(4))
    refused, handle = struct.unpack("<i64s", data)
    numbers = array.array("i")
    numbers.frombytes(control[0][2])
    address = ctypes.c_void_p()

    def bring() -> None:
        gpu.checked("kgen_gpu_import_shared", numbers[0], ctypes.c_uint64(BYTES), ctypes.byref(address))

    def compare() -> None:
        if gpu.read(int(address.value or 0), BYTES) != bytes([PATTERN]) * BYTES:
            raise RuntimeError("other contents")

    def answer() -> None:
        gpu.checked("kgen_gpu_fill", address, 0x3C, ctypes.c_uint64(BYTES), None)
        gpu.checked("kgen_gpu_synchronize")
        connection.send(b"?")
        if connection.recv(1) != b"\x3c":
            raise RuntimeError("the owner does not see what was written here")

    def legacy() -> str:
        if refused != 0:
            return f"not exported: CUresult {refused}"
        place = ctypes.c_void_p()
        status = _driver().cuIpcOpenMemHandle_v2(ctypes.byref(place), _IpcHandle(handle), ctypes.c_uint(1))
        return f"CUresult {status} (0 is success)"

    step("import shared memory by descriptor", bring)
    step("its contents are the owner's", compare)
    step("what is written here, the owner sees", answer)
    step("legacy IPC handle (for the record)", legacy)
    return int(address.value or 0)


class _Memory:
    """Device memory as torch takes it over."""

    def __init__(self, address: int, count: int):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3, "strides": None
        }  # fmt: skip


def probe_torch(gpu: Gpu, address: int, fake: bool) -> None:
    """The context, a kernel, a library, a graph, the clock."""
    import torch

    if fake:
        return
    step("torch.cuda.init", torch.cuda.init)
    step("first allocation and kernel", lambda: float((torch.zeros(8, device="cuda") + 1).sum()))

    def take_over() -> str:
        tensor = torch.as_tensor(_Memory(address, BYTES // 4), device="cuda")
        tensor.fill_(2.0)
        if gpu.read(address, 4) != struct.pack("<f", 2.0) or tensor.data_ptr() != address:
            raise RuntimeError("torch made a copy")
        return "no copy"

    step("a tensor over the shared memory", take_over)

    class Call(ctypes.Structure):
        _fields_ = [("device_ns", ctypes.c_int64), ("host_ns", ctypes.c_int64), ("off_stream_ns", ctypes.c_int64)]

    def timed() -> str:
        x, call, times = torch.ones(1 << 20, device="cuda"), Call(), []
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for _ in range(20):
            gpu.checked("kgen_gpu_begin_call", stream)
            torch.relu(x)
            gpu.checked("kgen_gpu_end_call", stream, ctypes.byref(call))
            times.append((call.device_ns, call.host_ns, call.off_stream_ns))
        return "median device, host, off-stream ns: " + str(tuple(sorted(column)[10] for column in zip(*times)))

    step("20 timed calls", timed)
    step("cuBLAS", lambda: float((torch.ones(256, 256, device="cuda") @ torch.ones(256, 256, device="cuda"))[0, 0]))
    image = torch.ones(1, 3, 16, 16)
    step("cuDNN", lambda: tuple(torch.nn.functional.conv2d(image.cuda(), torch.ones(4, 3, 3, 3).cuda()).shape))

    def graph() -> float:
        x, made = torch.ones(1024, device="cuda"), torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.relu(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(made, capture_error_mode="thread_local"):
            y = torch.relu(x)
        x.fill_(3.0)
        made.replay()
        return float(y[0])

    step("a captured graph, replayed", graph)
    step("out of memory is an exception", lambda: _out_of_memory(torch))


def _out_of_memory(torch: Any) -> str:
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        return str(error)[:80]
    raise RuntimeError("32 TiB were there")


TRITON = """
import torch, triton, triton.language as tl
@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)
def call():
    x = torch.randn(1 << 16, device="cuda"); y = torch.empty_like(x)
    relu[(x.numel() // 1024,)](x, y, x.numel(), BLOCK=1024)
    assert torch.equal(y, torch.relu(x))
"""
EXTENSION = """
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  relu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""


def probe_triton() -> None:
    """A kernel compiled from nothing, in a file of its own: triton reads sources."""
    import importlib.util

    path = os.path.join(tempfile.mkdtemp(), "probe_kernel.py")
    Path(path).write_text(TRITON)
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    spec = importlib.util.spec_from_file_location("probe_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    step("a Triton kernel, first call", module.call)
    step("a Triton kernel, second call", module.call)


def probe_extension() -> None:
    """torch's own load_inline; most of a minute."""
    import torch
    from torch.utils import cpp_extension

    os.environ["TORCH_EXTENSIONS_DIR"] = tempfile.mkdtemp()
    os.environ["TORCH_CUDA_ARCH_LIST"] = "{}.{}".format(*torch.cuda.get_device_capability())

    def build() -> Any:
        return cpp_extension.load_inline(
            "probe", ["torch::Tensor forward(torch::Tensor x);"], [EXTENSION], functions=["forward"]
        )

    module = step("load_inline, fresh", build)
    if module is not None:
        x = torch.randn(1000, device="cuda")
        step("its kernel", lambda: "right" if torch.equal(module.forward(x), torch.relu(x)) else "WRONG")


def probe_tools() -> None:
    """Programs that builds start."""
    for command in (["/sbin/ldconfig", "-p"], ["cc", "--version"], ["c++", "--version"], ["ninja", "--version"]):
        step(f"run {command[0]}", lambda command=command: _first_line(command))
    step("run nvcc", lambda: _first_line([find_nvcc(), "--version"]))


def find_nvcc() -> str:
    """nvcc, from PATH or where it is installed as a rule."""
    for path in (*os.environ.get("PATH", "").split(":"), "/usr/local/cuda/bin"):
        if os.access(os.path.join(path, "nvcc"), os.X_OK):
            return os.path.join(path, "nvcc")
    raise FileNotFoundError("nvcc")


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return f"status {done.returncode}: " + (done.stdout + done.stderr).strip().split("\n")[0]


def run_all(options: argparse.Namespace, support: Support, connection: socket.socket, directory: int) -> None:
    """Every step, in this process."""
    probe_files()
    step("write through a directory's descriptor", lambda: _write_below(directory))
    gpu = step("kgen_gpu_open", lambda: Gpu(options.support, options.uuid))
    step("refuse what only a start needs", support.driver_started)
    address = 0
    if gpu is not None:
        address = probe_memory(gpu, connection)
    probe_tools()
    probe_torch(gpu, address, options.fake)
    if not options.fake:
        probe_triton()
        if options.extension:
            probe_extension()


def _write_below(directory: int) -> str:
    path = f"/proc/{os.getpid()}/fd/{directory}/made"
    os.makedirs(path)
    subprocess.run(["touch", f"{path}/by-a-child"], check=True)
    return " ".join(os.listdir(path))


# -- the variants -----------------------------------------------------------------------------------------------------


def refuse_sockets() -> None:
    """A filter that answers EPERM to socket() and allows the rest."""
    code = struct.pack("<HBBI", 0x20, 0, 0, 0) + struct.pack("<HBBI", 0x15, 0, 1, _SYS_SOCKET)
    code += struct.pack("<HBBI", 0x06, 0, 0, 0x00050001) + struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
    memory = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(memory)))
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if library.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def in_child(title: str, body: Callable[[], None]) -> None:
    """Runs body in a process of its own and says how it ended, should it end badly."""
    print(title, flush=True)
    child = os.fork()
    if child == 0:
        try:
            body()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        print(f"  ended with wait status {status}", flush=True)


def sandboxed(options: argparse.Namespace, connection: socket.socket, directory: int) -> None:
    """All steps in the sandbox of the runners."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        support = Support(options.support)
        vendor = "fake" if options.fake else "nvidia"
        began = time.monotonic()
        isolation = support.enter_sandbox(writer, [connection.fileno(), directory], [], gpu_devices(vendor))
        print(f"  isolation bits {isolation} after {(time.monotonic() - began) * 1e3:.1f} ms; all mechanisms: 191", flush=True)
        if isolation & 2:
            os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
        run_all(options, support, connection, directory)
        sys.stdout.flush()
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    while record := os.read(reader, 16):
        _, what, value = struct.unpack("<Iiq", record)
        if what == 1 and value != 0:
            number = value & 127
            print(f"  the sandboxed process ended with wait status {value} {signal.Signals(number).name if number else ''}")


def main() -> int:
    """Plain, with sockets refused, and in the sandbox."""
    parser = argparse.ArgumentParser(description="What a runner needs of a GPU inside the sandbox.")
    parser.add_argument("--support", help="path of libkgen_runner_support.so")
    parser.add_argument("--uuid", default="", help="the GPU; default: the first")
    parser.add_argument("--extension", action="store_true", help="also build an extension as torch does (a minute)")
    options = parser.parse_args()
    if options.support is None:
        options.support = next(iter(glob.glob(str(ROOT / "build*/libexec/kernelgen/libkgen_runner_support.so"))), None)
    if options.support is None:
        parser.error("no libkgen_runner_support.so was found: --support")
    options.fake = "fake_cuda" in os.environ.get("LD_LIBRARY_PATH", "")
    began = time.monotonic()
    import torch

    print(f"torch {torch.__version__}, imported in {time.monotonic() - began:.1f} s; Python {sys.version.split()[0]}", flush=True)
    step("import triton", lambda: __import__("triton").__version__)
    in_child("without any isolation", lambda: bool(step("kgen_gpu_open", lambda: Gpu(options.support, options.uuid))) and None)
    in_child(
        "with sockets refused only",
        lambda: (refuse_sockets(), step("kgen_gpu_open", lambda: Gpu(options.support, options.uuid))) and None,
    )
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        directory = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
        connection, child = start_owner(options.support, options.uuid)
        print("in the sandbox", flush=True)
        sandboxed(options, connection, directory)
        connection.close()
        os.waitpid(child, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
