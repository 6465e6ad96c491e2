"""What every Triton or load_inline candidate would do first, done once in the zygote. Touches no device.

Triton hashes its own library of half a gigabyte before it looks into its cache (0.3 s and more), and compiles a helper in C
for each new cache (0.3 s). The first is remembered by every process that is forked afterwards; the second is a file.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from kernelgen_common.platform import PLATFORMS, Platform, of_torch

from .builds import name_toolkit

_MOST_BYTES = 8 << 20
_SECONDS = 60.0


class Prewarmed:
    """The prepared files; empty until warm() has run."""

    def __init__(self, platform: Platform = PLATFORMS["nvidia"]) -> None:
        self.platform = platform
        #: Contents for a new TRITON_CACHE_DIR, by path in it.
        self.triton_files: dict[str, bytes] = {}

    def warm(self) -> None:
        """Prepares everything. Failures are ignored, because candidates repeat the steps and get their errors."""
        for prepare in (_import_extensions, _shape_tensors, _triton_key, _import_dialects):
            with contextlib.suppress(Exception):
                prepare()
        with contextlib.suppress(Exception):
            driver = importlib.import_module(f"triton.backends.{self.platform.triton_backend}.driver")
            if hasattr(driver, "library_dirs"):
                driver.library_dirs()
            self.triton_files = built_files(getattr(driver, self.platform.triton_utilities))


def _import_extensions() -> None:
    """load_inline's module. It reads CUDA_HOME or ROCM_HOME while it is imported, and wants to know whether there is a GPU.
    For AMD's it needs the translator of sources too."""
    asked, torch.cuda.is_available = torch.cuda.is_available, lambda: True
    try:
        name_toolkit(of_torch())
        if torch.version.hip:
            importlib.import_module("torch.utils.hipify.hipify_python")
        importlib.import_module("torch.utils.cpp_extension")
    finally:
        torch.cuda.is_available = asked


def _shape_tensors() -> None:
    """Uses tensors without contents, as builders do, because torch imports sympy at the first use."""
    torch.empty_like(torch.empty(2, 2, device="meta"))


def _import_dialects() -> None:
    """Triton imports these with the first kernel that is called."""
    importlib.import_module("triton.experimental.gluon")


def _triton_key() -> None:
    try:
        from triton.runtime.cache import triton_key
    except ImportError:
        from triton.compiler.compiler import triton_key  # type: ignore[no-redef]
    triton_key()


def built_files(build: Callable[[], object]) -> dict[str, bytes]:
    """The files that a function writes to TRITON_CACHE_DIR. It runs in a separate process, because it may load a driver."""
    directory = tempfile.mkdtemp(prefix="kernelgen-triton-")
    try:
        child = os.fork()
        if child == 0:
            _run_and_exit(build, directory)
        _wait(child)
        files = [path for path in sorted(Path(directory).rglob("*")) if path.is_file() and not path.is_symlink()]
        if sum(path.stat().st_size for path in files) > _MOST_BYTES:
            return {}
        return {str(path.relative_to(directory)): path.read_bytes() for path in files}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run_and_exit(build: Callable[[], object], directory: str) -> None:
    try:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        os.environ["TRITON_CACHE_DIR"] = directory
        build()
    finally:
        os._exit(0)


def _wait(child: int) -> None:
    """Waits for a child for up to a minute; then kills it and its processes."""
    deadline = time.monotonic() + _SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.01)
