"""A GPU that only compiles: its properties are known, tensors have shapes and no contents, and kernels are not launched.

Up to the first number that it asks for, forward() decides which kernels the first call compiles, and with which arguments.
Tensors are on torch's "meta" device and claim to be on the GPU.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kernelgen_common.platform import cuda_number, platform_of

_META = torch.device("meta")
_GPU = torch.device("cuda", 0)
Compiled = Callable[[Any, Any], None]
Failed = Callable[[Any, BaseException], None]


def _without_gpu(value: Any) -> Any:
    """An argument in which "meta" replaces the GPU."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return _META
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return _META
    return value


class _Answers(TorchFunctionMode):
    """A mode under which tensors on "meta" claim to be on the GPU."""

    _OF_TENSORS: Mapping[Any, Callable[[torch.Tensor], Any]] = {
        torch.Tensor.device.__get__: lambda tensor: _GPU,  # type: ignore[attr-defined]
        torch.Tensor.is_cuda.__get__: lambda tensor: True,  # type: ignore[attr-defined]
        torch.Tensor.is_meta.__get__: lambda tensor: False,  # type: ignore[attr-defined]
        torch.Tensor.get_device: lambda tensor: 0,
        torch.Tensor.data_ptr: lambda tensor: 0,
    }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cuda:
            return args[0].to(_META)
        answer = self._OF_TENSORS.get(func)
        if answer is not None and args and isinstance(args[0], torch.Tensor):
            with torch._C.DisableTorchFunction():
                is_ours = args[0].is_meta
            if is_ours:
                return answer(args[0])
        kwargs = {name: _without_gpu(value) for name, value in (kwargs or {}).items()}
        return func(*map(_without_gpu, args), **kwargs)


def _properties(facts: Mapping[str, Any]) -> SimpleNamespace:
    """The properties as torch.cuda.get_device_properties() returns them."""
    major, minor = _capability(facts)
    return SimpleNamespace(
        name=facts["name"],
        major=major,
        minor=minor,
        total_memory=facts["memory_bytes"],
        multi_processor_count=facts["multiprocessors"],
        warp_size=facts["warp_threads"],
        gcnArchName=facts["architecture"],
        max_threads_per_multi_processor=facts["threads_per_multiprocessor"],
        regs_per_multiprocessor=facts["registers_per_multiprocessor"],
        shared_memory_per_block=facts["shared_bytes_per_block"],
        shared_memory_per_block_optin=facts["shared_bytes_per_block_optin"],
        shared_memory_per_multiprocessor=facts["shared_bytes_per_multiprocessor"],
        L2_cache_size=facts["l2_bytes"],
    )


def _capability(facts: Mapping[str, Any]) -> tuple[int, int]:
    """The pair that torch has for "sm_90", (9, 0), and for "gfx942", (9, 4)."""
    name = str(facts["architecture"])
    major, _, minor = cuda_number(name).partition(".")
    if minor:
        return int(major), int(minor)
    gfx = re.fullmatch(r"gfx(\d+)([0-9a-f])[0-9a-f]", name)
    return (int(gfx[1]), int(gfx[2], 16)) if gfx else (0, 0)


def _patch_torch(facts: Mapping[str, Any]) -> None:
    """Replaces the functions of torch.cuda that candidates call. This process has no other use of them."""
    properties, capability = _properties(facts), _capability(facts)
    stream = SimpleNamespace(cuda_stream=0, device=_GPU, synchronize=lambda: None, wait_stream=lambda other: None)
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda device=None: None,
        "is_current_stream_capturing": lambda: False,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: capability,
        "get_device_properties": lambda device=None: properties,
        "current_stream": lambda device=None: stream,
        "default_stream": lambda device=None: stream,
        "device": lambda device=None: contextlib.nullcontext(),
        "stream": lambda stream=None: contextlib.nullcontext(),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)


def _launcher(facts: Mapping[str, Any]) -> Compiled:
    """What compiles the C function that launches a kernel: older versions of Triton need one, and keep it before loading fails here."""
    platform = platform_of(str(facts["vendor"]))
    launcher = getattr(importlib.import_module(f"triton.backends.{platform.triton_backend}.driver"), platform.triton_launcher)

    def compile_launcher(kernel: Any, compiled: Any) -> None:
        with contextlib.suppress(Exception):
            launcher(compiled.src, compiled.metadata)

    return compile_launcher


def _patch_triton(facts: Mapping[str, Any], compiled: Compiled, failed: Failed | None) -> None:
    """Makes Triton compile kernels for the device, and all configurations where an autotuner would measure them."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import autotuner, jit
    from triton.runtime.driver import driver

    platform = platform_of(str(facts["vendor"]))
    number = cuda_number(str(facts["architecture"]))
    architecture = int(number.replace(".", "")) if number else facts["architecture"]
    target = GPUTarget(platform.triton_target, architecture, facts["warp_threads"])
    driver.set_active(
        SimpleNamespace(
            get_current_device=lambda: 0,
            set_current_device=lambda device: None,
            get_current_stream=lambda device=0: 0,
            get_current_target=lambda: target,
            get_active_torch_device=lambda: _GPU,
            get_device_interface=lambda: torch.cuda,
        )
    )
    run = jit.JITFunction.run

    class Described(jit.MockTensor):  # type: ignore[misc]
        """What a kernel is specialized by: type, alignment, and whether 32 bits hold every offset."""

        def __init__(self, tensor: torch.Tensor):
            super().__init__(tensor.dtype)
            # Allocations are aligned.
            self.data_ptr = lambda: tensor.storage_offset() * tensor.element_size()
            self.ptr_range = lambda: tensor.untyped_storage().nbytes()

    def described(value: Any) -> Any:
        return Described(value) if isinstance(value, torch.Tensor) else value

    def compile_only(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        kwargs = {name: described(value) for name, value in kwargs.items()}
        try:
            built = run(kernel, *map(described, args), grid=grid, warmup=True, **kwargs)
        except Exception as error:
            if failed is None:
                raise
            # The candidate goes on, so that its other kernels are compiled as well.
            failed(kernel, error)
            return None
        compiled(kernel, built)
        return built

    def compile_one(tuner: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        tuner.fn.run(*args, **{**meta, **config.all_kwargs()})
        return [1.0, 1.0, 1.0]

    jit.JITFunction.run = compile_only
    autotuner.Autotuner._bench = compile_one


@contextlib.contextmanager
def compile_only_gpu(
    facts: Mapping[str, Any], compiled: Compiled | None = None, failed: Failed | None = None
) -> Iterator[None]:
    """A context in which candidates see a GPU with these facts (GpuFacts as JSON). The changes to torch.cuda last beyond it.

    compiled: gets each kernel of Triton, and what was compiled. failed: gets each kernel that was refused, and the error, which the
    candidate sees otherwise.
    """
    _patch_torch(facts)
    with contextlib.suppress(ImportError, AttributeError):
        _patch_triton(facts, compiled or _launcher(facts), failed)
    with _Answers():
        yield


def without_contents(shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor of the compile-only GPU."""
    return torch.empty_strided(shape, strides, dtype=dtype, device=_META)


def moved(model: torch.nn.Module) -> torch.nn.Module:
    """A module that was built on the processor, moved to the compile-only GPU."""
    return model.to(_META)
