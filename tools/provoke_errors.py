#!/usr/bin/env python3
"""Provokes real error messages: runs the broken candidates of tests/data/errors/sources with the installed tools.

    provoke_errors.py [--only TOOL ...] [--check] [--split]

Each source names in its first lines which tools it breaks (`tools:`), and the class that its error was made for (`expect:`).
The messages are kept in tests/data/errors/messages/TOOL/NAME.txt, in the form that kernelgen's runners and compilers record;
tools.txt lists the tools' versions. With --check nothing is written: the exit code is 1 when a tool prints no message about a
source any more, or another one (beyond paths and addresses) although its version is the same.

The tool triton-interpreter needs TRITON_INTERPRET=1 in the environment, triton-3.2 that version on PYTHONPATH; the others want
neither. Triton compiles without a GPU: a fake driver reports an architecture and a limit of shared memory (`limit:`), and
launches nothing. Python's errors go through the code of the Python runner, so that they are cut and described as in a record.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "errors"
SEED = 20261121
#: The commands of lib/compile, without options that need a device or kernelgen's libraries.
COMPILERS = {
    "g++": ["g++", "-O3", "-march=native", "-fopenmp", "-std=c++20", "-fno-diagnostics-color", "-fmax-errors=50"],
    "clang++": ["clang++", "-O3", "-march=native", "-std=c++20", "-fno-color-diagnostics"],
    "gcc": ["gcc", "-O3", "-march=native", "-fopenmp", "-std=gnu17", "-fno-diagnostics-color", "-fmax-errors=50"],
    "clang": ["clang", "-O3", "-march=native", "-std=gnu17", "-fno-color-diagnostics"],
    "nvcc": ["nvcc", "-O3", "-std=c++17", "-lineinfo", "-gencode", "arch=compute_90a,code=sm_90a", "-Xptxas", "-v", "-nodlink"],
    "hipcc": ["hipcc", "--offload-arch=gfx90a", "-O3", "-std=c++17", "-fno-color-diagnostics"],
}
NATIVE = {
    "g++": ["-shared", "-fPIC", "-Wl,-z,defs"],
    "clang++": ["-shared", "-fPIC", "-Wl,-z,defs"],
    "gcc": ["-shared", "-fPIC", "-Wl,-z,defs"],
    "clang": ["-shared", "-fPIC", "-Wl,-z,defs"],
    "nvcc": ["-shared", "-Xcompiler", "-fPIC,-fdiagnostics-color=never,-fmax-errors=50", "-Xlinker", "-z,defs"],
    "hipcc": ["-shared", "-fPIC"],
}
SUFFIX = {"g++": ".cpp", "clang++": ".cpp", "gcc": ".c", "clang": ".c", "nvcc": ".cu", "hipcc": ".hip"}


def header(text: str, key: str, default: str = "") -> str:
    """The value of `# key: value` or `// key: value` in the first lines."""
    for line in text.splitlines()[:6]:
        match = re.match(rf"(?:#|//) {key}: (.*)", line)
        if match:
            return match[1].strip()
    return default


# -- Python -------------------------------------------------------------------------------------------------------------


def is_old_triton() -> bool:
    """Whether the imported Triton is that of the tool `triton-3.2`, which has other messages."""
    import triton

    return tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 4)


def use_fake_driver(backend: str, limit: int) -> None:
    """Makes Triton compile for a missing device, and its launches do nothing."""
    import torch
    import triton
    from triton.backends.compiler import GPUTarget

    target = GPUTarget("cuda", 90, 32) if backend == "cuda" else GPUTarget("hip", "gfx942", 64)

    class Utils:
        def get_device_properties(self, device):
            return {"max_shared_mem": limit, "multiprocessor_count": 132, "warpSize": target.warp_size}

        def load_binary(self, name, binary, shared, device):
            found = (1, 1, 32, 0, 1024)
            return found[:4] if is_old_triton() else found

        def unload_module(self, module):
            pass

    class Launcher:
        def __init__(self, source, metadata):
            pass

        def __call__(self, *arguments):
            pass

    class Driver:
        utils = Utils()
        launcher_cls = Launcher

        def get_current_target(self):
            return target

        def get_current_device(self):
            return 0

        def get_current_stream(self, device):
            return 0

        def get_active_torch_device(self):
            return torch.device("cpu")

        def get_device_interface(self):
            return torch.cpu

        def get_empty_cache_for_benchmark(self):
            return torch.empty(1)

        def clear_cache(self, cache):
            pass

        def get_benchmarker(self):
            return lambda call, quantiles=None, **more: (call(), [1.0, 1.0, 1.0])[1]

        def assemble_tensormap_to_arg(self, *arguments):
            return arguments

    triton.runtime.driver.set_active(Driver())


def run_candidate(path: pathlib.Path, tool: str) -> str:
    """The status and text of the Python runner's answer; "" when nothing failed. Called in a process of its own."""
    import torch
    from kernelgen_runner import protocol
    from kernelgen_runner.candidate import Candidate, failure

    text = path.read_text()
    if tool.startswith("triton") and tool != "triton-interpreter":
        hip = tool == "triton-hip"
        use_fake_driver("hip" if hip else "cuda", int(header(text, "limit", "65536" if hip else "232448")))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    step, made = "load", ""
    try:
        candidate = Candidate(text.encode())
        made, step = candidate.path, "construct"
        model = candidate.construct([], 7, None)
        step = "run"
        with torch.no_grad():
            model(torch.rand(64, 128))
    except protocol.Failure as error:
        return f"{step} {error.reply.status}\n{error.reply.text}"
    except BaseException as error:  # noqa: BLE001 - as the runner does
        return f"{step} {failure(error, protocol.EXCEPTION, made).reply.status}\n{failure(error, protocol.EXCEPTION, made).reply.text}"
    return ""


def provoke_python(path: pathlib.Path, tool: str) -> str:
    """run_candidate in a child of this process, which has imported everything."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        # A cache of its own, so that earlier builds have no effect.
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="triton-")
        os.environ["TORCH_EXTENSIONS_DIR"] = os.environ["TRITON_CACHE_DIR"]
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
        import signal

        signal.alarm(120)
        try:
            os.write(writing, run_candidate(path, tool).encode("utf-8", "replace")[:60000])
        finally:
            shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"died of signal {os.WTERMSIG(status)}\n"
    return text


# -- compilers ----------------------------------------------------------------------------------------------------------


def provoke_compiler(path: pathlib.Path, tool: str) -> str:
    """The log of a compiler that fails; "" when it succeeds."""
    with tempfile.TemporaryDirectory() as folder:
        name = "candidate" + SUFFIX[tool]
        shutil.copy(path, os.path.join(folder, name))
        flags = header(path.read_text(), "flags").split()
        command = [*COMPILERS[tool], *flags, *NATIVE[tool], "-I", str(ROOT / "include" / "kernelgen" / "abi"), name, "-o", "candidate.so"]
        plain = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, errors="replace", timeout=300, check=False)
    # kernelgen's logs are standard error, then standard output; hipcc's search for devices is no part of them.
    log = "\n".join(line for line in (done.stderr + done.stdout).splitlines() if "rocm_agent_enumerator" not in line)
    return "" if done.returncode == 0 else log + "\n"


# -- texts of the runtimes ----------------------------------------------------------------------------------------------


def runtime_text(library: str, function: str, number: int) -> str:
    """The text for an error by the runtime's own library, which needs no device for that."""
    call = getattr(ctypes.CDLL(library), function)
    call.restype = ctypes.c_char_p
    return call(number).decode()


def provoke_runtime(path: pathlib.Path, tool: str) -> str:
    """A template of tests/data/errors/sources/runtime with the runtime's text in it: {error} of `number:`."""
    text = path.read_text()
    number = int(header(text, "number", "0"))
    if tool == "cuda-runtime":
        found = sorted(pathlib.Path("/usr/local").glob("cuda*/**/libcudart.so*"))
        error = runtime_text(str(found[0]), "cudaGetErrorString", number) if found else ""
    else:
        error = runtime_text(ctypes.util.find_library("amdhip64") or "libamdhip64.so", "hipGetErrorString", number)
    body = "\n".join(line for line in text.splitlines() if not re.match(r"# (expect|tools|number|source): ", line))
    return body.replace("{error}", error) + "\n" if error else ""


# -- kernelgen's own outcomes -----------------------------------------------------------------------------------------


def provoke_kgen(path: pathlib.Path) -> str:
    """The outcome of a candidate of tests/verdicts: its class, then its message; "" for a correct one."""
    text, verdicts = path.read_text(), ROOT / "tests" / "verdicts"
    task, code = verdicts / "tasks" / f"{header(text, 'task')}.py", verdicts / "candidates" / header(text, "candidate")
    kgen = os.environ.get("KGEN", str(ROOT / "build" / "bin" / "kgen"))
    command = [kgen, "eval", "--json", "--timeout", "8", "--problem", str(task), "--code", str(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    outcome = json.loads(done.stdout or "{}").get("outcome", {})
    if outcome.get("kind", "correct") == "correct":
        return ""
    return f"{outcome['kind']}{':' if outcome['detail'] else ''}{outcome['detail']}\n{outcome['message']}\n"


# -- all ------------------------------------------------------------------------------------------------------------------


def is_here(tool: str) -> bool:
    """Whether a tool is available on this machine."""
    if tool in COMPILERS:
        return shutil.which(tool) is not None
    if tool == "kgen":
        return os.access(os.environ.get("KGEN", ROOT / "build" / "bin" / "kgen"), os.X_OK)
    if tool == "hip-runtime":
        return bool(ctypes.util.find_library("amdhip64")) or shutil.which("hipcc") is not None
    if tool == "cuda-runtime":
        return bool(sorted(pathlib.Path("/usr/local").glob("cuda*/**/libcudart.so*")))
    try:
        import torch  # noqa: F401

        # Triton's functions in its own language decide between compiler and interpreter when they are imported.
        interpreted = os.environ.get("TRITON_INTERPRET") == "1"
        if not tool.startswith("triton"):
            return True
        return interpreted == (tool == "triton-interpreter") and is_old_triton() == (tool == "triton-3.2")
    except ImportError:
        return False


def version_of(tool: str) -> str:
    """The version of a tool, as a line."""
    if tool.endswith("-runtime") or tool == "kgen":
        return "-"
    if tool in COMPILERS:
        said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
        lines = [line for line in said.splitlines() if re.search(r"\d+\.\d+\.\d+", line)]
        return lines[0].strip() if lines else "?"
    import torch

    if tool == "torch":
        return f"torch {torch.__version__}, Python {sys.version_info[0]}.{sys.version_info[1]}"
    import triton

    return f"triton {triton.__version__}, torch {torch.__version__}, Python {sys.version_info[0]}.{sys.version_info[1]}"


def kept_versions() -> dict[str, str]:
    """tools.txt: a tool and its version a line."""
    path = DATA / "tools.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(": ", 1) for line in lines)


def keep_version(tool: str) -> None:
    """Keeps the version of a tool."""
    versions = {**kept_versions(), tool: version_of(tool)}
    (DATA / "tools.txt").write_text("".join(f"{name}: {version}\n" for name, version in sorted(versions.items())))


def provoke(path: pathlib.Path, tool: str) -> str:
    """The message of one source and one tool; "" where nothing failed."""
    if tool in COMPILERS:
        return provoke_compiler(path, tool)
    if tool == "kgen":
        return provoke_kgen(path)
    return provoke_runtime(path, tool) if tool.endswith("-runtime") else provoke_python(path, tool)


def without_paths(text: str) -> str:
    """Removes the paths of this machine from a message."""
    text = text.replace(str(ROOT) + "/", "").replace(sys.prefix, "/usr")
    text = re.sub(r"/usr/lib/python3[.\d]*/site-packages", "/usr/lib/python3/site-packages", text)
    return re.sub(r"/(?:tmp|work)/(?:[\w.-]+/)*(?=candidate|tmpxft|kernelgen_candidate|main\b|cc\w{6}\.)", "/tmp/", text)


def comparable(text: str) -> str:
    """Without what differs from run to run: addresses, temporary names."""
    text = re.sub(r"\bcc\w{6}\.(?=[os]\b)|tmpxft_[\w.-]+|0x[0-9a-f]{6,}|(?<=text\+)0x[0-9a-f]+|Compile time = [\d.]+", "*", text)
    return re.sub(r"candidate-[\w-]+", "candidate", text)


def sources() -> list[pathlib.Path]:
    return sorted(path for path in (DATA / "sources").rglob("*") if path.is_file())


def write_index() -> None:
    """Writes index.txt: half, source, class, and the tools with a kept message. The halves are drawn once, with a fixed seed."""
    names = sorted(str(path.relative_to(DATA / "sources")) for path in sources())
    index = DATA / "index.txt"
    halves: dict[str, str] = {}
    if index.exists():
        rows = [line.split() for line in index.read_text().splitlines() if line and not line.startswith("#")]
        halves = {row[1]: row[0] for row in rows}
    else:
        shuffled = list(names)
        random.Random(SEED).shuffle(shuffled)
        halves = {name: "visible" if i < len(shuffled) // 2 else "unseen" for i, name in enumerate(shuffled)}
    lines = [f"# half, source, class, tools. Halves: random.Random({SEED}).shuffle of the sorted sources, the first half is visible."]
    count = 0
    for name in names:
        text = (DATA / "sources" / name).read_text()
        kept = [tool for tool in header(text, "tools").split() if (DATA / "messages" / tool / (name.replace("/", "_") + ".txt")).exists()]
        count += len(kept)
        # Sources that were added after the draw were written with knowledge of the rules.
        lines.append(" ".join([halves.get(name, "added"), name, header(text, "expect"), *kept]))
    index.write_text("\n".join(lines) + "\n")
    print(f"{count} messages of {len(names)} sources")


def check(path: pathlib.Path, tool: str, kept: pathlib.Path, message: str) -> bool:
    """Whether a message equals the kept one, as far as possible."""
    if not message:
        print(f"{tool} has nothing to say about {path.name}")
        return False
    if version_of(tool) != kept_versions().get(tool) or comparable(message) == comparable(kept.read_text()):
        return True
    print(f"--- {tool} {path.name}\n{message}")
    return False


def main() -> int:
    """Provokes, keeps or compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="tools")
    parser.add_argument("--match", default="", help="part of the sources' names")
    parser.add_argument("--new", action="store_true", help="only messages that are not kept yet")
    parser.add_argument("--check", action="store_true", help="compare with what is kept")
    parser.add_argument("--every", type=int, default=1, help="only each N-th source")
    parser.add_argument("--split", action="store_true", help="write index.txt")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "lib" / "python"))
    here: dict[str, bool] = {}
    wrong = done = 0
    for path in sources()[:: arguments.every]:
        name = str(path.relative_to(DATA / "sources"))
        for tool in header(path.read_text(), "tools").split():
            kept = DATA / "messages" / tool / (name.replace("/", "_") + ".txt")
            asked = arguments.match in name and (arguments.only is None or tool in arguments.only)
            # A tool that never printed a message about a source is no part of the corpus.
            if not asked or (arguments.new and kept.exists()) or (arguments.check and not kept.exists()):
                continue
            if not here.setdefault(tool, is_here(tool)):
                continue
            message = without_paths(provoke(path, tool))
            done += 1
            if arguments.check:
                wrong += not check(path, tool, kept, message)
            elif message:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(message)
                keep_version(tool)
            else:
                print(f"{tool} has nothing to say about {name}")
    if arguments.split:
        write_index()
    print(f"{done} messages, {wrong} wrong; not here: {', '.join(sorted(tool for tool in here if not here[tool])) or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
