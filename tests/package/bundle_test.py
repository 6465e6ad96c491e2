#!/usr/bin/env python3
"""Makes the bundle, unpacks it somewhere else, and runs it with an environment that leads to nothing of ours."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

MAX_BYTES = 25e6
EXPECTED = ["bin/kgen", "lib/libkernelgen.so.0.1", "libexec/kernelgen/kgen-runner", "libexec/kernelgen/kgen-sandbox",
            "libexec/kernelgen/kgen-gpu", "libexec/kernelgen/libkgen_runner_support.so",
            "share/kernelgen/abi/kernelgen/abi.h", "share/kernelgen/hip_cpu/hip/hip_runtime.h", "share/kernelgen/devices/gpus.json",
            "share/kernelgen/prompts/seed.mustache", "share/kernelgen/report/page.html", "share/kernelgen/selftest/attacks/h13_cached_by_pointer.py", "share/kernelgen/python/kernelgen_judge/__main__.py",
            "share/doc/kernelgen/LICENSE", "share/doc/kernelgen/docs/cli.md", "share/doc/kernelgen/examples/tasks/relu.py",
            "share/man/man1/kgen.1", "share/bash-completion/completions/kgen"]
# Empty but for what every login has.
ENVIRONMENT = {"HOME": "/tmp", "PATH": "/usr/bin:/bin"}


def run(command, expected=(0,), **options):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, **options)
    if result.returncode not in expected:
        print(result.stdout)
        sys.exit(f"{command} ended with {result.returncode}")
    return result.stdout


def check(condition, complaint):
    if not condition:
        sys.exit(complaint)


class BundleTest:
    def __init__(self, arguments):
        self.arguments = arguments
        self.scratch = arguments.scratch
        sys.path.insert(0, str(arguments.source / "tools"))
        import make_bundle
        self.maker = make_bundle

    def complaints(self, path):
        return list(self.maker.complaints(path, path.name))

    def what_cannot_travel_is_seen(self):
        """The checks themselves: an object with a path of this machine in it, and one that is too new."""
        source = self.scratch / "nothing.c"
        source.write_text("int nothing;\n")
        object_file = self.scratch / "nothing.so"
        run([self.arguments.cc, "-shared", "-o", object_file, source])
        check(self.complaints(object_file) == [], f"a plain object cannot travel: {self.complaints(object_file)}")
        run([self.arguments.cc, "-shared", "-Wl,-rpath,/somewhere:$ORIGIN", "-o", object_file, source])
        check(any("/somewhere" in one for one in self.complaints(object_file)), "a path to this machine is not seen")
        self.maker.NEWEST["GLIBC"] = (2, 2, 0)
        new = self.complaints(pathlib.Path(self.arguments.build) / "bundle-parts/bin/kgen_portable")
        check(any("needs GLIBC_2." in one for one in new), f"an object that is too new is not seen: {new}")

    def make(self):
        output = run([self.arguments.cmake, "--build", self.arguments.build, "--target", "bundle"])
        print(output.splitlines()[-1])
        found = sorted(self.arguments.build.glob("kernelgen-bundle-*.tar.gz"), key=lambda path: path.stat().st_mtime)
        check(found, "no bundle was made")
        check(found[-1].stat().st_size < MAX_BYTES, f"{found[-1]} has {found[-1].stat().st_size} bytes")
        return found[-1]

    def unpack(self, bundle):
        place = self.scratch / "some where else"
        place.mkdir()
        with tarfile.open(bundle) as archive:
            names = archive.getnames()
            check(all(name.startswith(bundle.name.removesuffix(".tar.gz")) for name in names), f"stray names: {names}")
            check(not any(entry.issym() or entry.islnk() for entry in archive), "a bundle has no links")
            archive.extractall(place)
        return next(place.iterdir())

    def check_layout(self, root):
        missing = [name for name in EXPECTED if not (root / name).exists()]
        check(not missing, f"not packed: {missing}")
        strays = [path for path in root.rglob("*") if path.name in ("CMakeLists.txt", "__pycache__")
                  and path.parent != root / "share/doc/kernelgen/examples"]
        strays += [root / name for name in ("include", "lib/cmake", "lib/pkgconfig") if (root / name).exists()]
        check(not strays, f"packed by mistake: {strays}")
        for path in root.rglob("*"):
            if path.is_file() and str(self.arguments.build).encode() in path.read_bytes():
                sys.exit(f"{path} names the build directory")

    def check_libraries(self, root):
        """Every library comes out of the bundle or belongs to the machine."""
        for program in [root / "bin/kgen", *(root / "libexec/kernelgen").iterdir()]:
            for name, place in self.maker.libraries_of(program):
                check(root in place.resolve().parents, f"{program.name} takes {name} from {place}")

    def check_runs(self, root):
        kgen = root / "bin/kgen"
        check(run([kgen, "--version"], env=ENVIRONMENT, cwd="/").startswith("kgen "), "no version")
        # 69: this Python may lack torch. The installation must be found all the same.
        findings = json.loads(run([kgen, "doctor", "--json"], (0, 69), env=ENVIRONMENT, cwd="/"))["findings"]
        installation = next(one for one in findings if one["name"] == "installation")
        check(installation["status"] == "ok" and installation["detail"] == str(root), f"doctor says {installation}")
        report = json.loads(run([kgen, "detect", "--json", self.arguments.source / "examples/kernels/gru.cpp"],
                                env=ENVIRONMENT, cwd="/"))
        check(isinstance(report, dict), "detect says nothing")

    def run_all(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        bundle = self.make()
        root = self.unpack(bundle)
        self.check_layout(root)
        self.check_libraries(root)
        self.check_runs(root)
        self.what_cannot_travel_is_seen()
        shutil.rmtree(self.scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cc", default="cc")
    BundleTest(parser.parse_args()).run_all()


if __name__ == "__main__":
    main()
