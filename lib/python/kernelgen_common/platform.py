"""What the vendor of a GPU decides about Python's packages: torch's build, Triton's backend, how compilers are told the architecture.

What it decides otherwise (device nodes, environment variables), the worker hands over; see kernelgen/platform/platform.hpp.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass

#: The variables that make a process see one GPU, or none.
CHOOSING_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")

#: DLDeviceType of DLPack.
_DL_CPU, _DL_CUDA, _DL_ROCM = 1, 2, 10


def _torch_version_of(toolkit: str) -> str | None:
    import torch

    found: str | None = getattr(torch.version, toolkit, None)
    return found


@dataclass(frozen=True)
class Platform:
    """One vendor's GPUs."""

    vendor: str
    #: What torch has to be built for: "CUDA".
    toolkit: str
    #: The version of it that torch is built for; None: it is not.
    torch_version: Callable[[], str | None]
    #: The type of torch's devices. The memory of the tests' fake device is the processor's.
    torch_device: str = "cuda"
    dlpack_device: int = _DL_CUDA
    #: The name of the runtime's library, and its functions that take the last error and describe an error.
    runtime_library: str = r"libcudart\.so"
    runtime_errors: tuple[str, str] = ("cudaGetLastError", "cudaGetErrorString")
    #: The variable that tells torch's extensions the architecture.
    architecture_variable: str = "TORCH_CUDA_ARCH_LIST"
    #: "sm_90" as that variable has it; "" for anything else.
    architecture_of: Callable[[str], str] = lambda architecture: ""
    #: The compiler of torch's extensions, in the folder bin of its toolkit; the variables that name the toolkit, first the one
    #: that torch reads; a Python package that is one; its usual place; and how to get it.
    compiler: str = "nvcc"
    home_variables: tuple[str, ...] = ("CUDA_HOME", "CUDA_PATH")
    home_package: str = ""
    usual_home: str = "/usr/local/cuda"
    compiler_remedy: str = "install the CUDA toolkit (Debian and Ubuntu: apt install nvidia-cuda-toolkit) or set CUDA_HOME"
    #: Flags with which launches that name no stream are on the calling thread's own one, for the toolkit's compiler and for C++'s; and the
    #: handle of that stream. Unlike the legacy stream, a graph can capture it. "" and 0: there is none.
    default_stream_flags: tuple[str, str] = ("", "")
    thread_stream: int = 0
    #: Variables that name other folders which the compiler reads.
    folder_variables: tuple[str, ...] = ()
    #: Triton's backend, its name for targets, and the class of its helper for the driver.
    triton_backend: str = "nvidia"
    triton_target: str = "cuda"
    triton_utilities: str = "CudaUtils"
    triton_launcher: str = "CudaLauncher"
    #: The program that lists the processes on a device.
    process_list: str = "nvidia-smi"
    #: Whether products of float32 can run in TF32.
    has_tf32: Callable[[str], bool] = lambda architecture: False
    #: Architectures that compute float64 at half or more of float32's rate.
    full_rate_float64: frozenset[str] = frozenset()

    @property
    def is_hardware(self) -> bool:
        return self.torch_device != "cpu"

    def toolkit_home(self) -> str | None:
        """The folder of the toolkit with the compiler; None: there is none here."""
        for name in self.home_variables:
            if os.environ.get(name):
                return os.environ[name]
        package = importlib.util.find_spec(self.home_package) if self.home_package else None
        if package is not None and package.origin is not None:
            return os.path.dirname(os.path.realpath(package.origin))
        found = shutil.which(self.compiler)
        if found:
            home = os.path.dirname(os.path.dirname(os.path.realpath(found)))
            # Earlier versions of ROCm have links to hip/bin/hipcc.
            return os.path.dirname(home) if os.path.basename(home) == "hip" else home
        return self.usual_home if os.access(os.path.join(self.usual_home, "bin", self.compiler), os.X_OK) else None


def cuda_number(architecture: str) -> str:
    """"9.0" of "sm_90"; "" for anything else."""
    number = re.fullmatch(r"sm_(\d+)(\d)", architecture)
    return f"{number[1]}.{number[2]}" if number else ""


def gfx_name(architecture: str) -> str:
    """The name itself, "gfx90a"; "" for anything else."""
    return architecture if re.fullmatch(r"gfx[0-9a-f]{3,5}", architecture) else ""


#: The first architecture of NVIDIA with TF32.
_FIRST_TF32 = (8, 0)


def _has_tf32(architecture: str) -> bool:
    number = cuda_number(architecture)
    return bool(number) and tuple(map(int, number.split("."))) >= _FIRST_TF32


_NVIDIA = Platform(
    "nvidia",
    "CUDA",
    lambda: _torch_version_of("cuda"),
    architecture_of=cuda_number,
    default_stream_flags=("--default-stream=per-thread", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"),
    thread_stream=2,
    has_tf32=_has_tf32,
    full_rate_float64=frozenset({"sm_60", "sm_70", "sm_80", "sm_90", "sm_100"}),
)
_AMD = Platform(
    "amd",
    "ROCm",
    lambda: _torch_version_of("hip"),
    dlpack_device=_DL_ROCM,
    runtime_library=r"libamdhip64\.so",
    runtime_errors=("hipGetLastError", "hipGetErrorString"),
    architecture_variable="PYTORCH_ROCM_ARCH",
    architecture_of=gfx_name,
    compiler="hipcc",
    home_variables=("ROCM_HOME", "ROCM_PATH", "HIP_PATH"),
    home_package="_rocm_sdk_core",
    usual_home="/opt/rocm",
    compiler_remedy="install ROCm's HIP and rocThrust (Debian and Ubuntu: apt install hipcc librocthrust-dev) or set ROCM_PATH",
    folder_variables=("ROCM_PATH", "HIP_PATH", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH"),
    process_list="rocm-smi",
    triton_backend="amd",
    triton_target="hip",
    triton_utilities="HIPUtils",
    triton_launcher="HIPLauncher",
    full_rate_float64=frozenset({"gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"}),
)
_FAKE = Platform(
    "fake",
    "CUDA",
    lambda: "none",
    torch_device="cpu",
    dlpack_device=_DL_CPU,
    architecture_of=cuda_number,
    has_tf32=lambda architecture: True,
)

PLATFORMS = {platform.vendor: platform for platform in (_NVIDIA, _AMD, _FAKE)}


def platform_of(vendor: str) -> Platform:
    """Raises ValueError for a vendor that is not known."""
    found = PLATFORMS.get(vendor)
    if found is None:
        raise ValueError(f"no GPUs of vendor {vendor!r} are known; there are {', '.join(sorted(PLATFORMS))}")
    return found


def of_torch() -> Platform:
    """The platform that torch is built for, where its devices are "cuda"; NVIDIA's where it is built for none."""
    return _AMD if _AMD.torch_version() else _NVIDIA


def dlpack_device(kind: str) -> int:
    """DLPack's number of torch's devices of this type, "cuda" or "cpu"."""
    return _DL_CPU if kind == "cpu" else of_torch().dlpack_device
