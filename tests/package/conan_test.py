#!/usr/bin/env python3
"""Conan builds the package from its recipe and uses it, with the system's packages as dependencies: no other recipe is needed.

KGEN_PYTHON names a Python that has Conan (requirements-dev.txt); else it is the one that runs this. Exit code 77: it has none.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

# What a consumer gets, below the folder of the package.
EXPECTED = ["bin/kgen", "lib/libkernelgen.so", "lib/cmake/kernelgen/kernelgenConfig.cmake", "include/kernelgen/kernelgen.hpp",
            "libexec/kernelgen/kgen-runner", "share/kernelgen/python/kernelgen_judge/__main__.py", "licenses/LICENSE",
            "licenses/LICENSE.jsdiff"]
PYTHON = os.environ.get("KGEN_PYTHON", sys.executable)


class ConanTest:
    def __init__(self, arguments):
        self.arguments = arguments
        self.recipe = arguments.source / "packaging/conan"
        self.profile = arguments.scratch / "profile"
        self.environment = {**os.environ, "CONAN_HOME": str(arguments.scratch / "home"), "CC": arguments.cc, "CXX": arguments.cxx,
                            # The compiler cache knows the files again, although each build has a folder of its own.
                            "CCACHE_BASEDIR": str(arguments.scratch), "CCACHE_NOHASHDIR": "1"}

    def conan(self, *arguments):
        started = time.monotonic()
        command = [PYTHON, "-c", "from conans.conan import run; run()", *map(str, arguments)]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
        print(f"[{time.monotonic() - started:5.1f} s] conan {' '.join(map(str, arguments))}", flush=True)
        if result.returncode != 0:
            print(result.stdout)
            sys.exit(f"failed with {result.returncode}")
        return result.stdout

    def write_profile(self):
        """The profile of the recipe's folder, and what makes this test quick and keeps it out of the source tree."""
        self.conan("profile", "detect", "--force")
        cached = {"CMAKE_UNITY_BUILD": "ON", "KERNELGEN_UNITY_GROUP_SIZE": "20", "CMAKE_C_FLAGS_RELEASE": "-O0", "CMAKE_CXX_FLAGS_RELEASE": "-O0"}
        variables: dict[str, object] = {name: {"value": value, "cache": True, "type": "STRING"} for name, value in cached.items()}
        if self.arguments.launcher:
            variables |= {f"CMAKE_{language}_COMPILER_LAUNCHER": self.arguments.launcher for language in ("C", "CXX")}
        lines = ["include(default)", f"include({self.recipe / 'debian-12.profile'})", "[conf]",
                 "tools.cmake.cmaketoolchain:generator=Ninja",
                 f"tools.cmake.cmaketoolchain:extra_variables={variables}",
                 f"tools.cmake.cmake_layout:test_folder={self.arguments.scratch / 'test_package'}"]
        self.profile.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run_all(self):
        shutil.rmtree(self.arguments.scratch, ignore_errors=True)
        self.arguments.scratch.mkdir(parents=True)
        self.write_profile()
        output = self.conan("create", self.recipe, "--no-remote", "--profile:all", self.profile)
        listing = (self.arguments.source / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(kernelgen VERSION ([\d.]+)", listing)[1]
        folders = list((self.arguments.scratch / "home/p").glob("b/kerne*/p"))
        if len(folders) != 1:
            sys.exit(f"no package of kernelgen/{version}: {folders}")
        missing = [name for name in EXPECTED if not (folders[0] / name).exists()]
        if missing:
            sys.exit(f"not packed: {missing}")
        # The consumer and kgen ran out of the package.
        for line in (rf"^worker {re.escape(str(folders[0]))}/bin/kgen$", rf"^kgen {re.escape(version)}"):
            if not re.search(line, output, re.M):
                print(output)
                sys.exit(f"the test package did not print {line!r}")
        shutil.rmtree(self.arguments.scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--launcher", default="", help="a compiler cache")
    arguments = parser.parse_args()
    if subprocess.run([PYTHON, "-c", "import conan"], stderr=subprocess.DEVNULL).returncode != 0:
        print(f"skipped: {PYTHON} has no conan: {PYTHON} -m pip install -r requirements-dev.txt")
        sys.exit(77)
    ConanTest(arguments).run_all()


if __name__ == "__main__":
    main()
