#!/usr/bin/env python3
"""Modules include only what stands to their left, so that each can be read, tested and changed without what uses it:

core, support < exec < platform < {task, detect, llm, device} < judge < {prompt, compile, profile} < bench < store < flow < report
     < apps

- Modules in braces do not include each other: each of them can be replaced alone.
- Public headers include public headers: what is private can change from one version to the next.
- support is private and stands on the public headers of core; the sources of core use it, too.
- One file includes Boost.Process, and one Boost.Beast: they know their traps, and no other file pays for their headers.
- flow knows other modules by their public headers, and exec not at all: it must run with any model and benchmarker.
"""

import pathlib
import sys

import tree

LAYERS = [["core", "support"], ["exec"], ["platform"], ["task", "detect", "llm", "device"], ["judge"],
          ["prompt", "compile", "profile"], ["bench"], ["store"], ["flow"], ["report"]]
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}
SPAWN, SERVER = "lib/exec/spawn.cpp", "lib/report/monitor_server.cpp"
FEW_FILES = {"boost/asio": [SPAWN, SERVER], "boost/process": [SPAWN], "boost/beast": [SERVER]}
# Not C++ modules: the C header of the kernel ABI, and the Python packages.
IGNORED = {"abi", "python"}
# Includes every public header, and belongs to no module. No other file includes it.
UMBRELLA = "kernelgen.hpp"


def target_module(path, name, lib):
    """The module an include leads to, or None when it leads out of the layers."""
    parts = pathlib.PurePosixPath(name).parts
    if parts and parts[0] == "kernelgen":
        return parts[1] if len(parts) > 2 else None
    if len(parts) > 1 and parts[0] in RANK:
        return parts[0]
    if ".." in parts and lib is not None:
        resolved = (path.parent / name).resolve()
        if lib in resolved.parents:
            return resolved.relative_to(lib).parts[0]
    return None


def check_file(path, shown, module, public, lib):
    for line, quote, name in tree.includes(path):
        target = target_module(path, name, lib)
        where = f"{shown}:{line}"
        if name == f"kernelgen/{UMBRELLA}":
            yield f"{where}: includes everything; the library includes what it uses"
        package = "/".join(name.split("/")[:2])
        if shown.as_posix() not in FEW_FILES.get(package, [shown.as_posix()]):
            yield f"{where}: {package} is for {' and '.join(FEW_FILES[package])}"
        if target is None or target in IGNORED:
            continue
        if target not in RANK:
            yield f"{where}: <{name}> is in no known module"
        elif public and (target == "support" or quote == '"'):
            yield f"{where}: a public header includes the private {name}"
        elif module == "flow" and target not in ("flow", "support") and (quote == '"' or target == "exec"):
            yield f"{where}: flow sees public interfaces and support only, not {name}"
        elif module == "support" and target == "core" and quote == '"':
            yield f"{where}: support sees the public headers of core only, not {name}"
        elif {module, target} == {"core", "support"}:
            continue
        elif target != module and RANK[target] == RANK[module]:
            yield f"{where}: {module} and {target} are neighbours and do not include each other"
        elif RANK[target] > RANK[module]:
            yield f"{where}: {module} includes {name}, but {target} stands above it"


def check(root):
    findings = []
    for base, public in ((root / "include" / "kernelgen", True), (root / "lib", False)):
        for path in sorted(base.rglob("*")):
            if path.suffix not in tree.CPP_SUFFIXES:
                continue
            parts = path.relative_to(base).parts
            module, shown = parts[0], path.relative_to(root)
            if module in IGNORED or (public and parts == (UMBRELLA,)):
                continue
            if len(parts) < 2 or module not in RANK:
                findings.append(f"{shown}: not in a module of the layers")
            elif public and module == "support":
                findings.append(f"{shown}: support is private and has no public headers")
            else:
                findings += check_file(path, shown, module, public, root / "lib")
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
