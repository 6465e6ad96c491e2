#!/usr/bin/env python3
"""Installs kernelgen into a scratch prefix, moves the prefix, and uses it as a stranger would: with find_package, with
pkg-config, with the examples as a project of their own, and by running the installed kgen.

The linkage that the main build has is installed from there; the other one is built beside it.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

EXPECTED = ["bin/kgen", "include/kernelgen/core/result.hpp", "libexec/kernelgen/kgen-runner", "libexec/kernelgen/kgen-sandbox",
            "libexec/kernelgen/kgen-gpu", "share/kernelgen/devices/gpus.json", "share/kernelgen/report/page.html",
            "libexec/kernelgen/libkgen_runner_support.so", "share/kernelgen/abi/kernelgen/abi.h", "share/kernelgen/hip_cpu/kgen_hip/scheduler.h",
            "share/kernelgen/python/kernelgen_judge/__main__.py", "share/kernelgen/python/kernelgen_runner/__main__.py",
            "share/kernelgen/selftest/attacks/h13_cached_by_pointer.py", "share/doc/kernelgen/LICENSE", "share/doc/kernelgen/README.md", "share/doc/kernelgen/docs/cli.md",
            "share/doc/kernelgen/examples/kernels/relu.cpp", "share/man/man1/kgen.1",
            "share/bash-completion/completions/kgen", "share/zsh/site-functions/_kgen",
            "share/fish/vendor_completions.d/kgen.fish"]


def run(command, **options):
    """Runs a command; on failure shows everything it said and ends the test."""
    started = time.monotonic()
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, **options)
    print(f"[{time.monotonic() - started:5.1f} s] {' '.join(str(part) for part in command)}", flush=True)
    if result.returncode != 0:
        print(result.stdout)
        sys.exit(f"failed with {result.returncode}")
    return result.stdout


class PackageTest:
    def __init__(self, arguments):
        self.arguments = arguments
        self.scratch = arguments.scratch
        self.prefix = self.scratch / "moved" / "kernelgen"
        self.static = arguments.linkage == "static"
        # A search path left over from the caller's shell must not be what makes it work.
        self.environment = {key: value for key, value in os.environ.items()
                            if key not in ("LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")}
        # What the main build compiled serves the other linkage too; only the build directory differs.
        self.environment["CCACHE_NOHASHDIR"] = "1"
        self.environment.setdefault("CCACHE_BASEDIR", str(arguments.source))

    def configure(self, source, build, *options):
        run([self.arguments.cmake, "-G", "Ninja", "-S", source, "-B", build, *self.arguments.option, *options],
            env=self.environment)

    def build(self, directory):
        run([self.arguments.cmake, "--build", directory], env=self.environment)

    def install(self):
        build = self.arguments.build
        if self.arguments.main_linkage != self.arguments.linkage:
            # A sibling of the main build, and kept: a compiler cache sees equal relative paths, a second run is quick.
            build = build.with_name(f"{build.name}-{self.arguments.linkage}")
            self.configure(self.arguments.source, build, f"-DBUILD_SHARED_LIBS={'OFF' if self.static else 'ON'}",
                           "-DKERNELGEN_BUILD_TESTS=OFF", "-DKERNELGEN_BUILD_EXAMPLES=OFF",
                           # Packagers have places of their own, where the library would not find its parts.
                           "-DCMAKE_INSTALL_LIBEXECDIR=bin", "-DCMAKE_INSTALL_DATADIR=data")
            self.build(build)
        first = self.scratch / "prefix"
        run([self.arguments.cmake, "--install", build, "--prefix", first], env=self.environment)
        self.prefix.parent.mkdir(parents=True)
        first.rename(self.prefix)  # an installation can be moved as a whole

    def check_layout(self):
        missing = [name for name in EXPECTED if not (self.prefix / name).exists()]
        if missing:
            sys.exit(f"not installed: {', '.join(missing)}")
        for path in self.prefix.rglob("*"):
            if path.is_symlink() and path.readlink().is_absolute():
                sys.exit(f"{path} links out of the prefix")
            if path.suffix in (".cmake", ".pc", ".hpp", ".h", ".py") and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                for place in (self.arguments.source, self.arguments.build, self.scratch):
                    if str(place) in text:
                        sys.exit(f"{path} names {place}")
        leftovers = [path for path in self.prefix.rglob("*") if path.name in ("CMakeLists.txt", "__pycache__")
                     and path.parent != self.prefix / "share/doc/kernelgen/examples"]
        if leftovers:
            sys.exit(f"installed by mistake: {leftovers}")

    def library_directory(self):
        return next(self.prefix.rglob("kernelgen.pc")).parents[1]

    def check_output(self, output):
        """The consumer found the parts of this installation, wherever it lies now."""
        worker = re.search(r"^worker (.*)$", output, re.M)
        if not worker or pathlib.Path(worker.group(1)).resolve() != (self.prefix / "bin/kgen").resolve():
            sys.exit(f"the consumer found the wrong installation: {output!r}")

    def cmake_consumer(self):
        build = self.scratch / "consumer"
        flags = ["-DCMAKE_CXX_FLAGS=-DKERNELGEN_STATIC"] if self.static else []
        self.configure(self.arguments.source / "tests/package/consumer", build,
                       f"-DCMAKE_PREFIX_PATH={self.prefix}", *flags)
        self.build(build)
        self.check_output(run([build / "consumer"], env=self.environment))

    def pkgconfig_consumer(self):
        if not shutil.which("pkg-config"):
            sys.exit("pkg-config is missing; tools/setup.sh installs it")
        environment = {**self.environment, "PKG_CONFIG_PATH": str(self.library_directory() / "pkgconfig")}
        flags = run(["pkg-config", "--cflags", "--libs", "kernelgen"], env=environment).split()
        program = self.scratch / "pkgconfig_consumer"
        defines = [f'-DKERNELGEN_PREFIX="{self.prefix}"'] + (["-DKERNELGEN_STATIC"] if self.static else [])
        run([self.arguments.cxx, "-std=c++20", *defines, self.arguments.source / "tests/package/consumer/main.cpp",
             "-o", program, *flags, f"-Wl,-rpath,{self.library_directory()}"], env=environment)
        self.check_output(run([program], env=self.environment))

    def installed_kgen(self):
        run([self.prefix / "bin/kgen", "--version"], env=self.environment, cwd="/")
        run([self.prefix / "bin/kgen", "eval", "--help"], env=self.environment, cwd="/")
        # What was generated is of the kgen that was installed.
        for arguments, file in ((["man"], "share/man/man1/kgen.1"),
                                (["completion", "bash"], "share/bash-completion/completions/kgen"),
                                (["completion", "zsh"], "share/zsh/site-functions/_kgen"),
                                (["completion", "fish"], "share/fish/vendor_completions.d/kgen.fish")):
            said = run([self.prefix / "bin/kgen", *arguments], env=self.environment, cwd="/")
            if said != (self.prefix / file).read_text():
                sys.exit(f"{file} is not what kgen {' '.join(arguments)} prints")

    def examples(self):
        build = self.scratch / "examples"
        self.configure(self.prefix / "share/doc/kernelgen/examples", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.build(build)

    def run_all(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.install()
        self.check_layout()
        self.cmake_consumer()
        self.pkgconfig_consumer()
        self.installed_kgen()
        if not self.static:
            self.examples()
        shutil.rmtree(self.scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--linkage", choices=["shared", "static"], required=True)
    parser.add_argument("--main-linkage", choices=["shared", "static"], required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--option", action="append", default=[], help="one of the main build's options, as CMake takes it")
    PackageTest(parser.parse_args()).run_all()


if __name__ == "__main__":
    main()
