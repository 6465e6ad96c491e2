"""A compiler of torch's extensions that reads a tenth of torch's headers first.

    python -I -S compiler.py COMPILER ARGUMENT...

torch/extension.h costs nvcc most of a minute, whatever a kernel needs of it. So a source that includes it (or types.h, which
load_inline puts in front, or a like one) is compiled with the headers of include/ in front, which have what kernels use.
Where something is missing there, it is compiled as it would have been without us, and only that attempt is heard of; where
the source itself is wrong, the first attempt says so. Anything else goes to the compiler unchanged.

Started by ninja for each source, as a script: it imports nothing of the package.
"""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
from collections.abc import Callable

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
_SOURCES = (".cu", ".cpp", ".cc", ".cxx")
_HEAVY = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:torch/(?:extension|types|all|torch)|ATen/ATen)\.h[>"]', re.MULTILINE)
#: Parts of torch that the headers in include/ leave out, and two that would not be the same: torch::tensor() chooses
#: another type than at::tensor(), and only torch's own factories know requires_grad.
_BEYOND = re.compile(
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
#: Messages that no header can have a part in: two types of the language itself, or a kernel that is too large.
_OWN = re.compile(
    rf"error: (?:argument of type {_BUILT_IN} is incompatible with parameter of type {_BUILT_IN}"
    rf"|a value of type {_BUILT_IN} cannot be (?:used to initialize|assigned to) an entity of type {_BUILT_IN})"
    r"|^(?:ptxas|nvlink) (?:error|fatal)",
    re.MULTILINE,
)
_MOST_NAMES = 6


def source_of(arguments: list[str]) -> str | None:
    """The one source that is compiled to an object; None for any other use of a compiler."""
    sources = [argument for argument in arguments if argument.endswith(_SOURCES) and not argument.startswith("-")]
    return sources[0] if "-c" in arguments and len(sources) == 1 else None


def light_arguments(text: str, is_cuda: bool, directories: list[str]) -> list[str] | None:
    """What to put in front of the arguments for this source; None where it would be no use.

    directories: where headers lie, torch's among them.
    """
    if not _HEAVY.search(text) or _BEYOND.search(text):
        return None
    front = [f"-I{INCLUDE}", "-DAT_PER_OPERATOR_HEADERS"]
    # g++ reads pybind11 in a second, so extension.h has it there as it always does.
    if not is_cuda or _PYTHON.search(text):
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


def undeclared(output: str) -> list[str]:
    """The names that a compiler did not know, each once."""
    found = [match[1] for pattern in _UNDECLARED for match in pattern.finditer(output)]
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def is_final(output: str, is_known: Callable[[str], bool]) -> bool:
    """Whether an error is the source's own, so that it stays with whatever headers: a name that is in none of them, say."""
    plain = output.replace("\u2018", "'").replace("\u2019", "'")
    return bool(_OWN.search(plain)) or any(not is_known(name) for name in undeclared(plain))


def include_directories(arguments: list[str]) -> list[str]:
    """Where headers may come from: the arguments' directories, and the compiler's own as far as they have fixed places."""
    found = [argument[2:] for argument in arguments if argument.startswith("-I")]
    found += [path for flag, path in zip(arguments, arguments[1:]) if flag in ("-isystem", "-I")]
    found += ["/usr/include/c++", *glob.glob("/usr/include/*.h")]
    return [path for path in dict.fromkeys(found) if path and os.path.exists(path)]


def is_in_headers(name: str, directories: list[str]) -> bool:
    """Whether a word is in any header; perhaps, where there is no grep to tell."""
    try:
        done = subprocess.run(["grep", "-rqwFs", "--", name, *directories], capture_output=True, check=False)
    except OSError:
        return True
    return done.returncode != 1


def main(command: list[str]) -> int:
    """Compiles, or becomes the compiler."""
    compiler, arguments = command[0], command[1:]
    source = source_of(arguments)
    directories = include_directories(arguments)
    front: list[str] | None = None
    if source is not None:
        try:
            with open(source, encoding="utf-8", errors="replace") as file:
                front = light_arguments(file.read(), source.endswith(".cu"), directories)
        except OSError:
            pass
    if front is not None:
        done = subprocess.run([compiler, *front, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        output = done.stdout.decode("utf-8", "replace")
        if done.returncode == 0 or (done.returncode > 0 and is_final(output, lambda name: is_in_headers(name, directories))):
            sys.stdout.write(output)
            return done.returncode
    os.execvp(compiler, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
