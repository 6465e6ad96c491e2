#!/usr/bin/env python3
"""Packs kgen with the libraries it needs, for Linux machines where nothing can be installed.

    NAME/bin/kgen
    NAME/lib/             libkernelgen and every shared library it needs
    NAME/libexec, share   the runners, Python, prompts, the kernel ABI, devices; licences, manual, examples

Not packed: glibc, which has to fit the machine, and libstdc++ with libgcc_s: a native candidate is compiled with the
machine's own, and a process can load only one of them. So the packed files must work with an old glibc and an old
libstdc++; otherwise this program fails.

`cmake --build build --target bundle` calls it.
"""

import argparse
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

# Libraries that every machine has; any other one that an object needs is packed.
OF_THE_MACHINE = re.compile(r"^(linux-vdso|ld-linux[\w-]*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so\b")
# Versions of symbols that the oldest machines have: glibc 2.34 and the libstdc++ of GCC 11 came out together.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (11, 0, 0)}
VERSION = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)+)\b")
LIBEXEC = ["kgen-runner", "kgen-sandbox", "kgen-gpu", "libkgen_runner_support.so", "libkgen_openmp_order.so"]


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def is_object(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries_of(path):
    """Yields (name, path) of every needed shared library, also indirect ones, that not every machine has."""
    for line in output_of("ldd", path).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if OF_THE_MACHINE.match(pathlib.PurePath(name).name) or not arrow:
            continue
        place = rest.split(" (")[0].strip()
        if not place.startswith("/"):
            sys.exit(f"make_bundle: {path} needs {name}, which is not here")
        yield name, pathlib.Path(place)


def needed_versions(path):
    """Versions that an object needs of the machine's libraries: {"GLIBC": (2, 34), ...}, the newest of each."""
    newest = {}
    # Only the versions that it needs; libraries also define versions of their own.
    needs = output_of("readelf", "--wide", "--version-info", path).partition("Version needs section")[2]
    for family, text in VERSION.findall(needs):
        version = tuple(int(number) for number in text.split("."))
        newest[family] = max(newest.get(family, ()), version)
    return newest


def complaints(path, shown):
    """Reasons why an object cannot be packed."""
    for family, version in needed_versions(path).items():
        if version > NEWEST[family]:
            yield f"{shown} needs {family}_{'.'.join(map(str, version))}"
    for kind, value in re.findall(r"\((RPATH|RUNPATH)\)\s+Library \S+: \[(.*)\]", output_of("readelf", "--wide", "-d", path)):
        if any(not entry.startswith("$ORIGIN") for entry in value.split(":")):
            yield f"{shown} has the {kind} {value}"


def copy_licence(library, into):
    """Copies the copyright file of the library's package, if the system has one."""
    if not shutil.which("dpkg-query"):
        return
    for place in {str(library), str(library.resolve())} | {str(library.resolve()).removeprefix("/usr")}:
        found = subprocess.run(["dpkg-query", "-S", place], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            package = found.stdout.split(":")[0]
            text = pathlib.Path("/usr/share/doc") / package / "copyright"
            if text.is_file():
                into.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(text, into / package)
            return


def collect(arguments, root):
    """Copies all files to their places below `root`."""
    def ignore(directory, names):
        return [name for name in names if name in ("CMakeLists.txt", "__pycache__")]

    build = arguments.build
    for directory in ("bin", "lib", "libexec/kernelgen", "share/doc/kernelgen"):
        (root / directory).mkdir(parents=True)
    shutil.copy2(arguments.parts / "bin/kgen_portable", root / "bin/kgen")
    for name in LIBEXEC:
        shutil.copy2(build / "libexec/kernelgen" / name, root / "libexec/kernelgen" / name)
    for name in ("python", "prompts", "abi", "hip_cpu", "hip_cuda", "devices", "report", "selftest"):
        shutil.copytree(build / "share/kernelgen" / name, root / "share/kernelgen" / name, ignore=ignore)
    for name in ("man", "bash-completion", "zsh", "fish"):
        shutil.copytree(build / "share" / name, root / "share" / name)
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "ARCHITECTURE.md"):
        shutil.copyfile(arguments.source / name, root / "share/doc/kernelgen" / name)
    for name in ("docs", "examples"):
        shutil.copytree(arguments.source / name, root / "share/doc/kernelgen" / name,
                        ignore=shutil.ignore_patterns("__pycache__"))

    objects = [root / "bin/kgen"] + [root / "libexec/kernelgen" / name for name in LIBEXEC]
    starts = [arguments.parts / "bin/kgen_portable"] + [build / "libexec/kernelgen" / name for name in LIBEXEC]
    for start in starts:
        for name, place in libraries_of(start):
            copy = root / "lib" / name
            if not copy.exists():
                shutil.copyfile(place.resolve(), copy)
                copy.chmod(0o644)
                copy_licence(place, root / "share/doc/kernelgen/libraries")
                objects.append(copy)
    return objects


def pack(root, output):
    """The same bytes for the same content: no times, no owners, sorted."""
    def plain(entry):
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        return entry

    unfinished = output.with_suffix(".unfinished")
    with open(unfinished, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w") as archive:
            for path in sorted(root.rglob("*")):
                archive.add(path, path.relative_to(root.parent), recursive=False, filter=plain)
    unfinished.rename(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=pathlib.Path, required=True, help="kgen and libkernelgen, linked for this")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--strip", default="strip")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.build) as scratch:
        root = pathlib.Path(scratch) / arguments.output.name.removesuffix(".tar.gz")
        objects = collect(arguments, root)
        output_of(arguments.strip, "--strip-unneeded", *objects)
        wrong = [one for path in objects for one in complaints(path, path.relative_to(root))]
        if wrong:
            sys.exit("make_bundle: this build cannot travel:\n  " + "\n  ".join(wrong) +
                     "\nBuild it on an older system: Debian 12, or one with its versions of glibc and the libraries.")
        pack(root, arguments.output)
    size = arguments.output.stat().st_size / 1e6
    print(f"{arguments.output}: {size:.1f} MB, {len(objects)} programs and libraries; for glibc 2.34 or newer")


if __name__ == "__main__":
    main()
