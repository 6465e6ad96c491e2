#!/usr/bin/env python3
"""Public headers include the standard library and kernelgen headers only, stand in lib/headers.cmake, and keep their
names in kernelgen::v0, where a shared library exports them. kernelgen.hpp includes all of them, and the index in
docs/embedding.md says what each is for."""

import re
import sys

import tree

CXX_STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits clocale
cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex
new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex span
sstream stack stdexcept stop_token streambuf string string_view system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version
""".split())
C_STANDARD = {"stddef.h", "stdint.h", "stdbool.h", "string.h", "math.h"}

UMBRELLA = "kernelgen.hpp"
#: A header in a table of docs/embedding.md: the first cell names one or several.
INDEX_ROW = re.compile(r"^\| *((?:`[a-z]+/\w+\.hpp`[, ]*)+)\|", re.M)
NAMESPACE = "inline namespace KERNELGEN_API v0 {"


def declares(text):
    """Whether there is anything but comments and lines of the preprocessor."""
    return any(line.strip() and not line.lstrip().startswith(("//", "#")) for line in text.splitlines())


def check_complete(root, headers):
    """What the umbrella and the index lack, and what they name that is not there."""
    umbrella = root / "include" / "kernelgen" / UMBRELLA
    index = root / "docs" / "embedding.md"
    included = {name.removeprefix("kernelgen/") for _, _, name in tree.includes(umbrella)} if umbrella.is_file() else set()
    rows = INDEX_ROW.findall(index.read_text(encoding="utf-8")) if index.is_file() else []
    explained = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    for name in sorted(headers):
        if name not in included:
            yield f"include/kernelgen/{UMBRELLA}: does not include {name}"
        if explained.count(name) != 1:
            yield f"docs/embedding.md: the index of headers names {name} {explained.count(name)} times"
    for name in sorted(set(explained) - headers):
        yield f"docs/embedding.md: there is no header {name}"


def check(root):
    findings = []
    headers = set()
    base = root / "include" / "kernelgen"
    listing = root / "lib" / "headers.cmake"
    listed = set(listing.read_text().split()) if listing.is_file() else set()
    listed = {entry.rstrip(")") for entry in listed}
    for path in sorted(base.rglob("*")):
        if path.suffix not in tree.CPP_SUFFIXES:
            continue
        shown = path.relative_to(root)
        is_abi = path.relative_to(base).parts[0] == "abi"
        allowed = C_STANDARD if is_abi else CXX_STANDARD
        for line, quote, name in tree.includes(path):
            if name.startswith("kernelgen/") and quote == "<" and not is_abi:
                if not (root / "include" / name).is_file():
                    findings.append(f"{shown}:{line}: <{name}> does not exist")
            elif quote != "<" or name not in allowed:
                findings.append(f"{shown}:{line}: includes {name}, which is neither standard nor kernelgen's")
        if is_abi:
            continue
        if path != base / UMBRELLA:
            headers.add(path.relative_to(base).as_posix())
        if path.relative_to(base).as_posix() not in listed:
            findings.append(f"{shown}: missing in lib/headers.cmake, so it would not be installed")
        text = path.read_text(encoding="utf-8")
        if "#pragma once" not in text:
            findings.append(f"{shown}: no #pragma once")
        if declares(text) and NAMESPACE not in text:
            findings.append(f"{shown}: declares outside `{NAMESPACE}`, so a shared library does not export it")
        if "using namespace" in text:
            findings.append(f"{shown}: 'using namespace' in a public header")
    return findings + list(check_complete(root, headers))


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
