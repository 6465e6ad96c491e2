"""Builds of candidates: their directories, and the compilers that they find.

Triton and torch keep what they have compiled in directories that environment variables name. Here these lie below one
directory of the worker's, which holds nothing but what this very candidate built in earlier evaluations: the worker moves it in
before LOAD and out after the runner has ended.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from kernelgen_common.platform import Platform, of_torch

#: KGEN_SANDBOX_BUILD_CACHE.
BUILD_CACHE = "/tmp/builds"
#: A directory below the worker's, so that it can be replaced while that one is mounted.
CONTENTS = "kept"
_CACHES = {"TRITON_CACHE_DIR": "triton", "TORCH_EXTENSIONS_DIR": "torch", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
_COMPILER = Path(__file__).with_name("compiler.py")


def place(kept: str | None, private: bool) -> str:
    """The directory for builds, as the runner sees it: the worker's, or a temporary one."""
    if kept is None:
        return tempfile.mkdtemp(prefix="builds-")
    return BUILD_CACHE if private else kept


def toolchains() -> list[str]:
    """Directories that compilers need and that the sandbox would hide: their own, and all of PATH."""
    platform = of_torch()
    home = platform.toolkit_home()
    found = [home, os.path.realpath(home)] if home else []
    found += [os.environ.get(name, "") for name in platform.folder_variables] + os.environ.get("PATH", "").split(":")
    found = [path for path in found if path.startswith("/")]
    for name in (os.environ.get("CXX", "c++"), os.environ.get("CC", "cc"), platform.compiler, "ninja"):
        program = shutil.which(name)
        folder = os.path.dirname(os.path.realpath(program)) if program else ""
        # A home directory as a prefix would show everything in it.
        if os.path.basename(folder) == "bin" and os.path.dirname(folder) != os.environ.get("HOME"):
            found.append(os.path.dirname(folder))
    return [path for path in dict.fromkeys(found) if path != "/"]


def name_toolkit(platform: Platform) -> str | None:
    """Tells torch where the toolkit lies, before it looks for it itself, and returns that.

    Where there is none, a torch that is built for it gets the usual place, so that its builds reach our compiler, which says
    what is missing. torch's own message names CUDA on every GPU.
    """
    home = platform.toolkit_home()
    if home is None and platform.torch_version():
        home = platform.usual_home
    if home is not None:
        os.environ[platform.home_variables[0]] = home
    return home


class Builds:
    """The directory of one runner's builds."""

    def __init__(self, directory: str, architecture: Mapping[str, str] = MappingProxyType({}), triton_files: Mapping[str, bytes] = MappingProxyType({})):
        """Sets the environment of candidates' builds, before anything reads it.

        architecture: what tells torch's extensions the architecture. triton_files: files that Triton would build first, by path.
        """
        self._contents = Path(directory) / CONTENTS
        self._triton_files = triton_files
        for variable, name in _CACHES.items():
            os.environ[variable] = str(self._contents / name)
        os.environ["MAX_JOBS"] = str(len(os.sched_getaffinity(0)))
        os.environ.update(architecture)
        # Python's own scripts: ninja is often installed beside the interpreter.
        folders = [os.environ.get("PATH", ""), os.path.dirname(sys.executable)]
        platform = of_torch()
        home = name_toolkit(platform)
        if home:
            folders.append(os.path.join(home, "bin"))
        os.environ["PATH"] = ":".join(folder for folder in folders if folder)
        _wrap_compilers(platform, home, Path(directory) / "compiler")

    def make_ready(self) -> None:
        """Creates directories, and removes locks of runners that were killed in a build. Call it before the candidate is
        loaded."""
        for name in _CACHES.values():
            (self._contents / name).mkdir(parents=True, exist_ok=True)
        for name, content in self._triton_files.items():
            path = self._contents / _CACHES["TRITON_CACHE_DIR"] / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        for lock in (self._contents / _CACHES["TORCH_EXTENSIONS_DIR"]).glob("*/lock"):
            lock.unlink(missing_ok=True)


def _identity_of(program: str) -> str:
    """What changes with another version of a program: ninja builds again what another command has built."""
    try:
        status = os.stat(program)
    except OSError:
        return "missing"
    return f"{status.st_size}-{status.st_mtime_ns}"


def _wrap_compilers(platform: Platform, home: str | None, folder: Path) -> None:
    """Makes torch call its compilers through compiler.py, which avoids most of torch's headers."""
    ours = [sys.executable, "-I", "-S", str(_COMPILER)]
    device_flag, host_flag = platform.default_stream_flags
    # A compiler cache would not help, because its directory ends with the runner.
    os.environ["TORCH_NO_COMPILER_WRAPPER"] = "1"
    # torch takes this variable for hipcc as well.
    if home and "PYTORCH_NVCC" not in os.environ:
        program = os.path.join(home, "bin", platform.compiler)
        about = [f"--identity={_identity_of(program)}", f"--remedy={platform.compiler_remedy}", f"--flag={device_flag}"]
        os.environ["PYTORCH_NVCC"] = shlex.join([*ours, *about, program])
    # torch asks for one word here, and looks whether it names a compiler that it knows. For ninja, a compiler at another
    # place is another compiler: where builds are kept, it always has this one.
    script = folder / "g++"
    real = shutil.which(os.environ.get("CXX", "c++"))
    if real:
        folder.mkdir(exist_ok=True)
        about = [f"--identity={_identity_of(real)}", f"--flag={host_flag}"]
        script.write_text(f'#!/bin/sh\nexec {shlex.join([*ours, *about, real])} "$@"\n')
        script.chmod(0o755)
        os.environ["CXX"] = str(script)
