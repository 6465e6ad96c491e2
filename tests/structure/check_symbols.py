#!/usr/bin/env python3
"""A shared libkernelgen exports what its public headers declare, and nothing else: no helper of ours, no template of Boost,
fmt or the standard library. Its SONAME and its functions are those of tests/data/golden/exported_functions.txt.

With KERNELGEN_ACCEPT_GOLDEN=1 that file is rewritten instead of compared; docs/embedding.md says when it may change.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

#: A function that a public header declares at the level of the namespace, perhaps over several lines.
DECLARATION = re.compile(r"^(?=\S)(?:\[\[nodiscard\]\] )?[\w:<>,&* ]+?[ &*](\w+)\((?:[^{};]|\{\})*\);", re.M)
NAMES = re.compile(r"^(?:(?:typeinfo|vtable|typeinfo name) for )?kernelgen::v0::")
#: A line of nm: the name, the letter of its kind, perhaps address and size.
SYMBOL = re.compile(r"^(.*) (\w)(?: [0-9a-f]+){0,2}$")
#: An exported function, with the names around it.
FUNCTION = re.compile(r"^kernelgen::v0::((?:\w+::)*~?\w+)\(")
SONAME = re.compile(r"\(SONAME\).*\[(.*)\]")
VERSION = re.compile(r"^project\(kernelgen VERSION (\d+\.\d+)\.", re.M)
GOLDEN = "tests/data/golden/exported_functions.txt"
TEXT = re.compile(r"std::basic_string(_view)?<char, std::char_traits<char>(?:, std::allocator<char>)?>")
#: An argument that templates of the standard library have by default.
DEFAULT = re.compile(r", std::(?:allocator|less|default_delete)<")


def declared_functions(text):
    """The names of the functions that a header declares and does not define."""
    code = re.sub(r"//.*", "", text)
    return {match.group(1) for match in DECLARATION.finditer(code) if "inline " not in match.group(0)}


def findings(symbols, headers):
    """symbols: demangled, as nm shows them; headers: (name, text)."""
    for symbol in symbols:
        if not NAMES.match(symbol):
            yield f"exported by mistake: {symbol[:120]}"
    exported = {match.group(1) for symbol in symbols if (match := re.search(r"kernelgen::v0::(\w+)(?:\[abi:cxx11\])?\(", symbol))}
    for name, text in headers:
        for function in sorted(declared_functions(text) - exported):
            yield f"{name}: {function}() is not exported"


def spelled_as_in_headers(symbol):
    """A demangled name without what standard libraries and demanglers spell differently."""
    symbol = symbol.replace("[abi:cxx11]", "").replace("::__cxx11::", "::").replace(" >", ">")
    symbol = TEXT.sub(lambda match: f"std::string{match.group(1) or ''}", symbol)
    while found := DEFAULT.search(symbol):
        end, depth = found.end(), 1
        while depth:
            depth += {"<": 1, ">": -1}.get(symbol[end], 0)
            end += 1
        symbol = symbol[:found.start()] + symbol[end:]
    return symbol


def promised_functions(symbols, headers):
    """The functions that programs link against, sorted. symbols: (name, kind of nm).

    Instances of templates and inline functions, type information and virtual tables are left out: whether the library has
    them, and as which kind of symbol, is a choice of the compiler and of its options, sanitizers among them, and programs
    have their own. So are names that no public header has, which clang exports and g++ hides.
    """
    known = set(re.findall(r"~?\w+", " ".join(re.sub(r"//.*", "", text) for _, text in headers)))
    functions = set()
    for name, kind in symbols:
        match = FUNCTION.match(name.replace("[abi:cxx11]", "")) if kind == "T" else None
        if match and known.issuperset(match.group(1).split("::")):
            functions.add(spelled_as_in_headers(name))
    return sorted(functions)


def differences(expected, found):
    """How the list of an earlier library differs from that of this one, and what follows from it."""
    lines = [line for line in difflib.unified_diff(expected, found, n=0, lineterm="") if not line.startswith(("---", "+++", "@@"))]
    yield from lines
    if any(line.startswith("-") for line in lines) and expected[0] == found[0]:
        yield f"programs that were linked to {found[0]} need what is gone: see the promise in docs/embedding.md"
    if lines:
        yield f"KERNELGEN_ACCEPT_GOLDEN=1 accepts the new list in {GOLDEN}"


def check_golden(root, soname, functions):
    """Compares the golden list with that of the library, or rewrites it."""
    path = root / GOLDEN
    found = [soname, *functions]
    if os.environ.get("KERNELGEN_ACCEPT_GOLDEN") == "1":
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
    version = VERSION.search((root / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    if soname != f"libkernelgen.so.{version}":
        yield f"the SONAME is {soname}, not libkernelgen.so.{version}"
    yield from differences(path.read_text(encoding="utf-8").splitlines(), found)


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    listing = run("nm", "--dynamic", "--defined-only", "--demangle", "--format=posix", arguments.library)
    symbols = [SYMBOL.match(line).groups() for line in listing.splitlines()]
    soname = SONAME.search(run("readelf", "--dynamic", "--wide", arguments.library))
    base = arguments.root / "include" / "kernelgen"
    headers = [(str(path.relative_to(arguments.root)), path.read_text(encoding="utf-8")) for path in sorted(base.rglob("*.hpp"))]
    found = list(findings([name for name, _ in symbols], headers))
    found += check_golden(arguments.root, soname.group(1) if soname else "none", promised_functions(symbols, headers))
    print("\n".join(found))
    print(f"check_symbols.py: {len(symbols)} symbols, {len(found)} findings")
    return 1 if found or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
