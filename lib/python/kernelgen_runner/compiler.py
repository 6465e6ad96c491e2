"""A compiler of torch's extensions that reads a tenth of torch's headers first.

    python -I -S compiler.py [--identity=TEXT] [--remedy=TEXT] [--flag=ARGUMENT] COMPILER ARGUMENT...

torch/extension.h costs nvcc and hipcc most of a minute, however little of it a kernel uses. So a source that includes it (or types.h, which
load_inline puts in front, or a like one) is compiled with the headers of include/ in front, which have what kernels use.
Of the 800 methods that a tensor has, only those that the source names are defined at first, which halves the rest.
Where something is missing, the next attempt has all methods, and the last one uses the original headers. Only one attempt is
reported. If the source itself is wrong, the first attempt reports it. A source that had mistakes has the same ones when it is
compiled again, as in a runner after the build ahead: the message lies beside the object. Anything else goes to the
compiler unchanged. Where there is no compiler, the message says so, and ends with the remedy. The identity only makes a command
differ from that of another version of the compiler. The flag is put before the arguments for a source.

Started by ninja for each source, as a script: it imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
_DEVICE_SOURCES = (".cu", ".hip")
_SOURCES = (*_DEVICE_SOURCES, ".cpp", ".cc", ".cxx")
_HEAVY = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:torch/(?:extension|types|all|torch)|ATen/ATen)\.h[>"]', re.MULTILINE)
#: Parts of torch that the headers in include/ leave out, and two that would not be the same: torch::tensor() chooses
#: another type than at::tensor(), and only torch's own factories know requires_grad.
_UNSUPPORTED = re.compile(
    r"\btorch::(?:nn|jit|autograd|optim|data|serialize|class_|dispatch|tensor)\b|\bTORCH_LIBRARY|\bat::native\b|\brequires_grad\b"
)
_PYTHON = re.compile(r"\bPYBIND11_|\bpybind11\b|\bpy::|\bwrap_pybind_function\b")
_CALL = re.compile(r"\b(?:torch|at)::(\w+)")
_USING = re.compile(r"\busing namespace (?:torch|at)\b")
_ANY_CALL = re.compile(r"\b(\w+)\s*\(")
#: The names in messages about what is not declared, as nvcc, g++ and clang++ put them.
_UNDECLARED = (
    re.compile(r'error: identifier "(?:\w+::)*(\w+)" is undefined'),
    re.compile(r'error: (?:namespace|class|enum) ".*" has no member(?: template)? "(\w+)"'),
    re.compile(r"error: '(?:\w+::)*(\w+)' (?:was not declared|is not a member|has not been declared|does not name a type)"),
    re.compile(r"error: no member named '(\w+)' in"),
    re.compile(r"error: use of undeclared identifier '(\w+)'"),
)
_BUILT_IN = r'"((?:const|volatile|unsigned|signed|void|bool|char|short|int|long|float|double|[ *&])+)(?: \(aka [^"]*\))?"'
#: Errors that no header can cause: two types of the language itself, or a kernel that is too large.
_OWN = re.compile(
    rf"error: (?:argument of type {_BUILT_IN} is incompatible with parameter of type {_BUILT_IN}"
    rf"|a value of type {_BUILT_IN} cannot be (?:used to initialize|assigned to) an entity of type {_BUILT_IN})"
    r"|^(?:ptxas|nvlink) (?:error|fatal)|error: local memory \(\d+\) exceeds limit",
    re.MULTILINE,
)
_MOST_NAMES = 6
#: Seconds for which a mistake is known: for one evaluation, and not for good.
_KNOWN_SECONDS = 3600
#: What comes after the name of a file in an error at one of its lines. A fatal one can be the lack of a file, which may be there later.
_AT_LINE = r"(?:\(\d+\)|(?::\d+){1,2}): error: "
#: Words of failures that another try may not have.
_PASSING = re.compile(r"internal (?:compiler )?error|out of memory|annot allocate|No space left|Killed|died due to signal", re.IGNORECASE)
#: Variables that add headers or flags.
_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
#: A header that may lie beside the source.
_OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_BODY = os.path.join("ATen", "core", "TensorBody.h")
#: The definition of a tensor's method there, behind a comment that names its operator.
_METHOD = re.compile(
    r"// aten::(?P<operator>\w+)[^\n]*\ninline [^\n]*?Tensor::(?:__dispatch_)?(?P<name>\w+)\([^\n]*\{\n(?:[^}\n][^\n]*\n)*?\}\n"
)
_ALL_METHODS = "#include <ATen/MethodOperators.h>"
#: Headers of light_torch.h that use methods themselves.
_USERS = ("ATen/TensorOperators.h", "ATen/ScalarOps.h")
_INDEXING = re.compile(r"\bindexing\b|\bSlice\b|\bindex(?:_put_?)?\s*\(")
_WORD = re.compile(r"\w+")
#: Streams that only the legacy stream waits for, and threads, each of which has a default stream of its own.
_OWN_STREAMS = re.compile(
    r"\bcudaStreamCreate\s*\(|\bstd::(?:jthread|thread|async)\b|\bpthread_create\b|#[ \t]*pragma[ \t]+omp\b|\bat::parallel_for\b"
)
#: A method of at::Tensor, as compilers name it: the length of its name, the name, and its parameters.
_METHOD_SYMBOL = re.compile(r"\b_ZNK?2at6Tensor(\d+)(\w+)")


def has_streams_of_its_own(text: str) -> bool:
    """True if launches of a source may have to be on the legacy stream, so that they are in order with others."""
    return bool(_OWN_STREAMS.search(text))


def source_of(arguments: list[str]) -> str | None:
    """The one source that is compiled to an object; None for any other use of a compiler."""
    sources = [argument for argument in arguments if argument.endswith(_SOURCES) and not argument.startswith("-")]
    return sources[0] if "-c" in arguments and len(sources) == 1 else None


def light_arguments(text: str, is_device: bool, directories: list[str]) -> list[str] | None:
    """The arguments to put before the others for this source; None if they would not help.

    directories: where headers lie, torch's among them.
    """
    if not _HEAVY.search(text) or _UNSUPPORTED.search(text):
        return None
    front = [f"-I{INCLUDE}", "-DAT_PER_OPERATOR_HEADERS"]
    # g++ reads pybind11 in a second, so extension.h includes it there.
    if not is_device or _PYTHON.search(text):
        front.append("-DKERNELGEN_LIGHT_PYTHON")
    for name in called_operators(text, directories):
        front += ["-include", f"ATen/ops/{name}.h"]
    return front


def called_operators(text: str, directories: list[str]) -> list[str]:
    """The operators that a source may call as functions, torch::softmax(x, 1): each has a header of its own."""
    pattern = _ANY_CALL if _USING.search(text) else _CALL
    folders = [os.path.join(path, "ATen", "ops") for path in directories]
    names = sorted({match[1] for match in pattern.finditer(text)})
    return [name for name in names if any(os.path.exists(os.path.join(folder, name + ".h")) for folder in folders)]


def trimmed_body(body: str, words: set[str], has_header: Callable[[str], bool]) -> str:
    """torch's TensorBody.h with the methods that the words name, and the headers of these."""
    headers = set()

    def kept(method: re.Match[str]) -> str:
        if method["name"] not in words:
            return ""
        # Operators that write in place, add_(), are declared beside the others.
        own = f"ATen/ops/{method['operator']}_ops.h"
        headers.add(own if has_header(own) else f"ATen/ops/{method['operator'][:-1]}_ops.h")
        return method[0]

    body = _METHOD.sub(kept, body)
    return body.replace(_ALL_METHODS, "\n".join(f"#include <{header}>" for header in sorted(headers)))


def read(path: str) -> str:
    """A source or header. Raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def read_if_there(path: str) -> str | None:
    """A file, or None if it cannot be read."""
    try:
        return read(path)
    except OSError:
        return None


def target_of(arguments: list[str]) -> str:
    """The file that a compiler writes; "" if no argument names it."""
    return next((value for flag, value in zip(arguments, arguments[1:]) if flag == "-o"), "")


def trimmed_arguments(text: str, source: str, directories: list[str]) -> tuple[list[str], set[str]] | None:
    """The arguments to put before the light ones for tensors with few methods, and a superset of the names of these methods; None
    if that is impossible.

    The header is written next to the source and stays with the build, because ninja checks it.
    """
    torch = next((path for path in directories if os.path.exists(os.path.join(path, _BODY))), None)
    if torch is None or shutil.which("nm") is None:
        return None
    indexed = bool(_INDEXING.search(text))
    users = [*_USERS, "ATen/TensorIndexing.h"] if indexed else _USERS
    folder = f"{source}.kernelgen"
    header = os.path.join(folder, _BODY)
    try:
        body = read(os.path.join(torch, _BODY))
        if _ALL_METHODS not in body:
            return None
        words = {word for part in (text, *(read(os.path.join(torch, name)) for name in users)) for word in _WORD.findall(part)}
        os.makedirs(os.path.dirname(header), exist_ok=True)
        with open(header, "w", encoding="utf-8") as file:
            file.write(trimmed_body(body, words, lambda name: os.path.exists(os.path.join(torch, name))))
        # ninja builds again what depends on something newer than the start of its compilation.
        written = os.stat(source)
        os.utime(header, ns=(written.st_atime_ns, written.st_mtime_ns))
    except OSError:
        return None
    return [f"-I{folder}", *([] if indexed else ["-DKERNELGEN_NO_INDEXING"])], words


def lacks_methods(arguments: list[str], defined: set[str]) -> bool:
    """True if the compiled object needs a tensor method besides these, which no library defines."""
    done = subprocess.run(["nm", "-u", target_of(arguments)], capture_output=True, text=True, errors="replace", check=False)
    needed = {match[2][: int(match[1])] for match in _METHOD_SYMBOL.finditer(done.stdout)}
    return done.returncode != 0 or not needed <= defined


def undeclared(output: str) -> list[str]:
    """The names that a compiler did not know, each once."""
    found = [match[1] for pattern in _UNDECLARED for match in pattern.finditer(output)]
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def is_final(output: str, is_known: Callable[[str], bool]) -> bool:
    """True if an error is of the source itself and stays with any headers, such as a name that is in none of them."""
    plain = output.replace("\u2018", "'").replace("\u2019", "'")
    return bool(_OWN.search(plain)) or any(not is_known(name) for name in undeclared(plain))


def include_directories(arguments: list[str]) -> list[str]:
    """Directories of headers: those of the arguments, and the compiler's own as far as they are fixed."""
    found = [argument[2:] for argument in arguments if argument.startswith("-I")]
    found += [path for flag, path in zip(arguments, arguments[1:]) if flag in ("-isystem", "-I")]
    found += ["/usr/include/c++", *glob.glob("/usr/include/*.h")]
    return [path for path in dict.fromkeys(found) if path and os.path.exists(path)]


def is_in_headers(name: str, directories: list[str]) -> bool:
    """True if a word is in any header, or if there is no grep to check."""
    try:
        done = subprocess.run(["grep", "-rqwFs", "--", name, *directories], capture_output=True, check=False)
    except OSError:
        return True
    return done.returncode != 1


def attempts(arguments: list[str], source: str, text: str, directories: list[str]) -> Iterator[tuple[list[str], set[str] | None]]:
    """The extra arguments of each attempt, with the words if only their methods are defined. The last one has none."""
    light = light_arguments(text, source.endswith(_DEVICE_SOURCES), directories)
    if light is not None:
        # nm sees nothing in objects for link-time optimization.
        sees = not any(argument.startswith("-flto") for argument in arguments)
        trimmed = trimmed_arguments(text, source, directories) if sees else None
        if trimmed is not None:
            yield [*trimmed[0], *light], trimmed[1]
        yield light, None
    yield [], None


def without_system_headers(arguments: list[str]) -> list[str]:
    """The arguments less `-isystem /usr/include`, which torch adds where ROCm is the system's, and which hides the headers of
    the C library from those of C++."""
    found: list[str] = []
    for argument in arguments:
        if found[-1:] == ["-isystem"] and os.path.normpath(argument) == "/usr/include":
            found.pop()
        else:
            found.append(argument)
    return found


def refuse(compiler: str, remedy: str) -> int:
    """Says that there is no compiler, and what to do."""
    reason = "it is no program" if os.path.exists(compiler) else "not found"
    print(f"fatal error: cannot run {compiler}: {reason}{remedy and '; '}{remedy}", flush=True)
    return 127


class KnownMistakes:
    """The compiler's message about a source that has mistakes, for the same command and the same text."""

    def __init__(self, command: list[str], source: str, text: str):
        beside = os.path.dirname(source)
        has_headers = any(os.path.exists(os.path.join(beside, name)) for name in _OWN_HEADER.findall(text))
        # Folders of torch and of compilers come after -isystem.
        has_folders = any(argument.startswith("-I") for argument in command) or any(os.environ.get(name) for name in _FOLDERS)
        self._pattern = re.compile(rf"^{re.escape(source)}{_AT_LINE}", re.MULTILINE)
        #: Beside the object; None where the same command may tell something else later.
        self._path = None if has_headers or has_folders else f"{target_of(command) or source}.mistakes"
        self._key = hashlib.sha256(json.dumps([command, text]).encode()).hexdigest()

    def read(self) -> tuple[int, str] | None:
        """Exit status and message; None if there is none."""
        try:
            known = json.loads(read_if_there(self._path) or "{}") if self._path else {}
            is_known = known["key"] == self._key and time.time() - os.stat(self._path).st_mtime < _KNOWN_SECONDS
            return (int(known["status"]), str(known["output"])) if is_known else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, status: int, output: str) -> None:
        """Keeps a message if it is about mistakes at lines of the source."""
        is_mistake = status > 0 and not _PASSING.search(output) and self._pattern.search(output)
        if is_mistake and self._path:
            with contextlib.suppress(OSError), open(self._path, "w", encoding="utf-8") as file:
                json.dump({"key": self._key, "status": status, "output": output}, file)


def compile_source(compiler: str, arguments: list[str], source: str, text: str) -> tuple[int, str]:
    """Compiles one source to an object: exit status, and what the compiler said in the attempt that counts."""
    directories = include_directories(arguments)
    status, output = 1, ""
    for front, defined in attempts(arguments, source, text, directories):
        done = subprocess.run([compiler, *front, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        status, output = done.returncode, done.stdout.decode("utf-8", "replace")
        if status == 0 and defined is not None and lacks_methods(arguments, defined):
            continue
        if status == 0 or (status > 0 and is_final(output, lambda name: is_in_headers(name, directories))):
            break
    return status, output


def main(command: list[str]) -> int:
    """Compiles, or replaces this process by the compiler."""
    whole, told = list(command), {"--remedy": "", "--flag": ""}
    while command[:1] and command[0].startswith("--"):
        name, _, value = command.pop(0).partition("=")
        told[name] = value
    compiler, arguments = command[0], without_system_headers(command[1:])
    if shutil.which(compiler) is None:
        return refuse(compiler, told["--remedy"])
    source = source_of(arguments)
    text = read_if_there(source) if source is not None else None
    if source is None or text is None:
        os.execvp(compiler, [compiler, *arguments])
    if told["--flag"] and not has_streams_of_its_own(text):
        arguments = [told["--flag"], *arguments]
    mistakes = KnownMistakes(whole, source, text)
    known = mistakes.read()
    status, output = known or compile_source(compiler, arguments, source, text)
    if known is None:
        mistakes.keep(status, output)
    sys.stdout.write(output)
    # A shell's number for a signal.
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
