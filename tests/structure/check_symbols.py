#!/usr/bin/env python3
"""A shared libkernelgen exports what its public headers declare, and nothing else: no helper of ours, no template of Boost,
fmt or the standard library."""

import argparse
import pathlib
import re
import subprocess
import sys

#: A function that a public header declares at the level of the namespace, perhaps over several lines.
DECLARATION = re.compile(r"^(?=\S)(?:\[\[nodiscard\]\] )?[\w:<>,&* ]+?[ &*](\w+)\((?:[^{};]|\{\})*\);", re.M)
NAMES = re.compile(r"^(?:(?:typeinfo|vtable|typeinfo name) for )?kernelgen::v0::")


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", "--demangle", "--format=posix", str(arguments.library)],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    symbols = [re.sub(r" \w [0-9a-f]*(?: [0-9a-f]*)?$", "", line) for line in listing.splitlines()]
    base = arguments.root / "include" / "kernelgen"
    headers = [(str(path.relative_to(arguments.root)), path.read_text(encoding="utf-8")) for path in sorted(base.rglob("*.hpp"))]
    found = list(findings(symbols, headers))
    print("\n".join(found))
    print(f"check_symbols.py: {len(symbols)} symbols, {len(found)} findings")
    return 1 if found or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
