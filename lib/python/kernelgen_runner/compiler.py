"""A compiler of torch's extensions that reads a tenth of torch's headers first.

    python -I -S compiler.py COMPILER ARGUMENT...

torch/extension.h costs nvcc most of a minute, whatever a kernel needs of it. So a source that includes it (or types.h, which
load_inline puts in front, or a like one) is compiled with the headers of include/ in front, which have what kernels use.
Where something is missing there, it is compiled as it would have been without us, and only that attempt is heard of; where
the source itself is wrong, the first attempt says so. Anything else goes to the compiler unchanged.

Started by ninja for each source, as a script: it imports nothing of the package.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
_SOURCES = (".cu", ".cpp", ".cc", ".cxx")
_HEAVY = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:torch/(?:extension|types|all|torch)|ATen/ATen)\.h[>"]', re.MULTILINE)
#: Parts of torch that the headers in include/ leave out on purpose.
_BEYOND = re.compile(r"\btorch::(?:nn|jit|autograd|optim|data|serialize|class_|dispatch)\b|\bTORCH_LIBRARY|\bat::native\b")
_PYTHON = re.compile(r"\bPYBIND11_|\bpybind11\b|\bpy::|\bwrap_pybind_function\b")
#: The names in messages about what is not declared, as nvcc, g++ and clang++ put them.
_UNDECLARED = (
    re.compile(r'error: identifier "(?:\w+::)*(\w+)" is undefined'),
    re.compile(r'error: (?:namespace|class|enum) ".*" has no member(?: template)? "(\w+)"'),
    re.compile(r"error: '(?:\w+::)*(\w+)' (?:was not declared|is not a member|has not been declared|does not name a type)"),
    re.compile(r"error: no member named '(\w+)' in"),
    re.compile(r"error: use of undeclared identifier '(\w+)'"),
    re.compile(r"error: '(?:\w+)' in namespace '\w+' does not name a (?:type|template type)"),
)
#: Messages that a header can have no part in.
_OWN = re.compile(
    r"error: (?:expected an? |expected '|this declaration has no|a value of type|no suitable|too (?:few|many) arguments"
    r"|invalid conversion|cannot convert|cannot overload|invalid redeclaration|redefinition of|expression must|return value type"
    r"|calling a __host__ function|missing|stray|unterminated|lvalue required|invalid operands)"
)
_ERROR = re.compile(r"^.*\berror: .*$", re.MULTILINE)


def source_of(arguments: list[str]) -> str | None:
    """The one source that is compiled to an object; None for any other use of a compiler."""
    sources = [argument for argument in arguments if argument.endswith(_SOURCES) and not argument.startswith("-")]
    return sources[0] if "-c" in arguments and len(sources) == 1 else None


def light_arguments(text: str, is_cuda: bool) -> list[str] | None:
    """What to put in front of the arguments for this source; None where it would be no use."""
    if not _HEAVY.search(text) or _BEYOND.search(text):
        return None
    # g++ reads pybind11 in a second, so extension.h has it there as it always does.
    return [f"-I{INCLUDE}", *(["-DKERNELGEN_LIGHT_PYTHON"] if not is_cuda or _PYTHON.search(text) else [])]


def undeclared(output: str) -> set[str]:
    """The names that a compiler did not know."""
    return {match[1] for pattern in _UNDECLARED if pattern.groups for match in pattern.finditer(output)}


def is_final(output: str, is_known: Callable[[str], bool]) -> bool:
    """Whether the errors are the source's own: every one is about its grammar or about a name that torch has nowhere."""
    errors = _ERROR.findall(output)
    if not errors:
        return False
    for line in errors:
        names = undeclared(line)
        if names:
            if any(is_known(name) for name in names):
                return False
        elif not _OWN.search(line):
            return False
    return True


def include_directories(arguments: list[str]) -> list[str]:
    """Where torch's headers lie, from the arguments."""
    found = []
    for at, argument in enumerate(arguments):
        path = argument[2:] if argument.startswith("-I") else ""
        if argument == "-isystem" and at + 1 < len(arguments):
            path = arguments[at + 1]
        if path and os.path.isdir(os.path.join(path, "ATen")):
            found.append(path)
    return found


def is_in_headers(name: str, directories: list[str]) -> bool:
    """Whether torch's headers contain a word; without grep or headers: perhaps."""
    if not directories:
        return True
    try:
        done = subprocess.run(["grep", "-rqwF", "--", name, *directories], capture_output=True, check=False)
    except OSError:
        return True
    return done.returncode != 1


def main(command: list[str]) -> int:
    """Compiles, or becomes the compiler."""
    compiler, arguments = command[0], command[1:]
    source = source_of(arguments)
    front: list[str] | None = None
    if source is not None:
        try:
            with open(source, encoding="utf-8", errors="replace") as file:
                front = light_arguments(file.read(), source.endswith(".cu"))
        except OSError:
            pass
    if front is not None:
        done = subprocess.run([compiler, *front, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        output = done.stdout.decode("utf-8", "replace")
        directories = include_directories(arguments)
        if done.returncode == 0 or (done.returncode > 0 and is_final(output, lambda name: is_in_headers(name, directories))):
            sys.stdout.write(output)
            return done.returncode
    os.execv(compiler, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
