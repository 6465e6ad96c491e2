#!/usr/bin/env python3
"""Makes the package for Debian, reads it with Debian's tools, and uses it from an empty folder, without installing it.

Exit code 77: this is no Debian.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

# What every part of the installed tree has to show for itself, below usr/.
EXPECTED = ["bin/kgen", "include/kernelgen/kernelgen.hpp", "libexec/kernelgen/kgen-runner", "libexec/kernelgen/kgen-sandbox",
            "share/kernelgen/python/kernelgen_judge/__main__.py", "share/kernelgen/prompts/seed.mustache",
            "share/kernelgen/abi/kernelgen/abi.h", "share/doc/kernelgen/docs/cli.md", "share/doc/kernelgen/copyright",
            "share/doc/kernelgen/changelog.Debian.gz", "share/man/man1/kgen.1.gz", "share/bash-completion/completions/kgen"]
LIBRARIES = ["libkernelgen.so", "cmake/kernelgen/kernelgenConfig.cmake", "pkgconfig/kernelgen.pc"]
# Empty but for what every login has: nothing may lead to the build.
ENVIRONMENT = {"HOME": "/tmp", "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
DEPENDENCY = re.compile(r"(?P<name>[a-z0-9][a-z0-9.+-]*)(?:\s*\((?P<relation>[<=>]+)\s*(?P<version>[^)]+)\))?\Z")


def run(command, **options):
    started = time.monotonic()
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    print(f"[{time.monotonic() - started:5.1f} s] {' '.join(str(part) for part in command)}", flush=True)
    if result.returncode != 0:
        print(result.stdout)
        sys.exit(f"failed with {result.returncode}")
    return result.stdout


def check(condition, complaint):
    if not condition:
        sys.exit(complaint)


def fields_of(package):
    """The control fields of a package: {"Package": "kernelgen", ...}."""
    fields, name = {}, ""
    for line in run(["dpkg-deb", "--field", package]).splitlines():
        if line.startswith(" "):
            fields[name] += "\n" + line
        else:
            name, _, value = line.partition(": ")
            fields[name] = value
    return fields


def versions_of(name):
    """The version of a package that is installed, or those that can be."""
    installed = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Version}", name], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout.split()
    if len(installed) == 2 and installed[0] == "ii":
        return installed[1:]
    known = subprocess.run(["apt-cache", "madison", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [line.split("|")[1].strip() for line in known.splitlines() if "|" in line]


def is_satisfied(alternative):
    found = DEPENDENCY.match(alternative.strip())
    check(found, f"not a dependency: {alternative!r}")
    if not found["relation"]:
        return bool(versions_of(found["name"]))
    return any(subprocess.run(["dpkg", "--compare-versions", version, found["relation"], found["version"]]).returncode == 0
               for version in versions_of(found["name"]))


def unsatisfied(dependencies):
    """The dependencies that no package of this system satisfies."""
    return [one.strip() for one in dependencies.split(",") if not any(map(is_satisfied, one.split("|")))]


class DebTest:
    def __init__(self, arguments):
        self.arguments = arguments
        self.scratch = arguments.scratch

    def make(self):
        run([self.arguments.cpack, "--config", self.arguments.build / "CPackConfig.cmake", "-G", "DEB", "-B", self.scratch])
        packages = list(self.scratch.glob("*.deb"))
        check(len(packages) == 1, f"cpack made {packages}")
        return packages[0]

    def check_fields(self, package):
        fields = fields_of(package)
        listing = (self.arguments.source / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(kernelgen VERSION ([\d.]+)", listing)[1]
        architecture = run(["dpkg", "--print-architecture"]).strip()
        check(package.name == f"kernelgen_{version}-1_{architecture}.deb", f"the file is called {package.name}")
        for name, value in {"Package": "kernelgen", "Version": f"{version}-1", "Architecture": architecture, "Section": "devel"}.items():
            check(fields.get(name) == value, f"{name} is {fields.get(name)}, not {value}")
        for library in ("libc6", "libstdc++6", "libcurl4", "libssl3", "libsqlite3-0", "zlib1g"):
            check(re.search(rf"\b{re.escape(library)}(t64)?\b", fields["Depends"]), f"{library} is missing in {fields['Depends']}")
        check("python3 (>= 3.10)" in fields["Recommends"], f"it recommends {fields['Recommends']}")
        for name in ("Depends", "Recommends", "Suggests"):
            check(not unsatisfied(fields[name]), f"{name}: this system has no {unsatisfied(fields[name])}")
        check(unsatisfied("libc6 (>= 99), no-such-package-as-this | libc6") == ["libc6 (>= 99)"], "unsatisfied() sees nothing")

    def check_files(self, package):
        entries = [line.split(None, 5) for line in run(["dpkg-deb", "--contents", package]).splitlines()]
        check(all(owner == "root/root" for _, owner, *_ in entries), "a file belongs to another user than root")
        names = {entry[5].partition(" -> ")[0].removeprefix("./").rstrip("/") for entry in entries}
        missing = [name for name in EXPECTED if f"usr/{name}" not in names]
        missing += [name for name in LIBRARIES if not any(re.fullmatch(rf"usr/lib/([\w-]+/)?{re.escape(name)}", one) for one in names)]
        check(not missing, f"not packed: {missing}")
        strays = [name for name in names if name and name != "usr" and not name.startswith("usr/")]
        check(not strays, f"packed outside of /usr: {strays}")

    def check_runs(self, package):
        """The package works where it is unpacked, as the installed one does."""
        root = self.scratch / "root"
        run(["dpkg-deb", "--extract", package, root])
        kgen = root / "usr/bin/kgen"
        said = run(["ldd", kgen], env=ENVIRONMENT)
        check("not found" not in said and str(root) in said, f"kgen takes another libkernelgen: {said}")
        check(run([kgen, "--version"], env=ENVIRONMENT, cwd="/").startswith("kgen "), "no version")
        check("doctor" in run([kgen, "doctor", "--help"], env=ENVIRONMENT, cwd="/"), "kgen doctor has no help")
        for path in (root / "usr").rglob("*"):
            if path.is_file() and str(self.arguments.build).encode() in path.read_bytes():
                sys.exit(f"{path} names the build directory")
        build = self.scratch / "consumer"
        run([self.arguments.cmake, "-G", "Ninja", "-S", self.arguments.source / "tests/package/consumer", "-B", build,
             f"-DCMAKE_PREFIX_PATH={root / 'usr'}", f"-DCMAKE_CXX_COMPILER={self.arguments.cxx}"])
        run([self.arguments.cmake, "--build", build])
        worker = run([build / "consumer"], env=ENVIRONMENT).removeprefix("worker ").strip()
        check(pathlib.Path(worker).resolve() == kgen.resolve(), f"the consumer found {worker}")

    def check_lintian(self, package):
        if not shutil.which("lintian"):
            print("lintian is missing, so the rules of Debian were not checked; tools/setup.sh --dev installs it")
            return
        print(run(["lintian", "--no-cfg", "--allow-root", "--fail-on", "error", package]))

    def run_all(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        package = self.make()
        self.check_fields(package)
        self.check_files(package)
        self.check_runs(package)
        self.check_lintian(package)
        shutil.rmtree(self.scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cpack", default="cpack")
    parser.add_argument("--cxx", default="c++")
    arguments = parser.parse_args()
    missing = [tool for tool in ("dpkg", "dpkg-deb", "dpkg-shlibdeps", "file", "gzip") if not shutil.which(tool)]
    if missing:
        print(f"skipped: {', '.join(missing)} missing; on Debian, tools/setup.sh --dev installs them")
        sys.exit(77)
    DebTest(arguments).run_all()


if __name__ == "__main__":
    main()
