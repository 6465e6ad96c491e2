"""A newer clang takes the example kernels for hip for architectures that the system's hipcc does not know, without a warning, and
they spill no registers. The compiler is that of the package ziglang, `zig clang`, with the headers and the device libraries of the
system's hipcc. 77: one of them is not here."""

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
#: The device libraries know no newer architecture of each family; what they are asked is how wide a wavefront is.
FAMILIES = {"gfx9": ("64", "on", "90a"), "gfx1": ("32", "off", "1030")}
ARCHITECTURES = ("gfx942", "gfx950", "gfx1151", "gfx1200", "gfx1201")
#: Synchronizes grids by a unit that gfx12 lacks, in a library that is older than that architecture.
GRID_BARRIER = "grid_group"


def clang():
    """The program, or None."""
    found = importlib.util.find_spec("ziglang")
    return pathlib.Path(found.origin).parent / "zig" if found and found.origin else None


def clang_headers():
    """The folder of the headers that clang includes before each HIP source; the newest that is here, or None."""
    found = sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/clang/*/include/__clang_hip_runtime_wrapper.h"))
    return found[-1].parent if found else None


def compile_for(source, architecture, headers):
    """The exit code and the messages, with what each kernel needs."""
    wave, is_wide, version = FAMILIES[architecture[:4]]
    names = ["ocml", "oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_correctly_rounded_sqrt_on",
             f"oclc_wavefrontsize64_{is_wide}", f"oclc_isa_version_{version}", "oclc_abi_version_500"]
    if not architecture.startswith("gfx12"):
        names.append("ockl")
    libraries = [word for name in names for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(LIBRARIES / f"{name}.bc"))]
    with tempfile.TemporaryDirectory() as directory:
        command = [str(clang()), "clang", "--driver-mode=g++", "-resource-dir", str(clang().parent / "lib"), "-nogpuinc", "-nogpulib",
                   *libraries, "-isystem", f"{headers}/cuda_wrappers", "-idirafter", headers, "-include",
                   "__clang_hip_runtime_wrapper.h", "-D__HIP_PLATFORM_AMD__=1", f"-D__AMDGCN_WAVEFRONT_SIZE={wave}", "-O3",
                   "-std=c++17", f"--offload-arch={architecture}", "--cuda-device-only", "-S", "-Wall", "-Wextra",
                   "-Rpass-analysis=kernel-resource-usage", "-I", str(ARGUMENTS.source / "include/kernelgen/abi"), "-x", "hip",
                   str(source), "-o", f"{directory}/kernel.s"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assembly = pathlib.Path(f"{directory}/kernel.s")
        return done.returncode, done.stdout + done.stderr, assembly.read_text() if assembly.exists() else ""


class NewerArchitectures(unittest.TestCase):
    def test_example_kernels(self):
        sources = sorted((ARGUMENTS.source / "examples/kernels").glob("*.hip"))
        self.assertGreaterEqual(len(sources), 6)
        with tempfile.TemporaryDirectory() as headers, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            # Only these: clang's other headers are those of the newer one.
            for header in [*clang_headers().glob("__clang_hip*"), *clang_headers().glob("__clang_cuda*")]:
                shutil.copy(header, headers)
            shutil.copytree(clang_headers() / "cuda_wrappers", f"{headers}/cuda_wrappers")
            asked = [(source, architecture, pool.submit(compile_for, source, architecture, headers))
                     for architecture in ARCHITECTURES for source in sources]
            for source, architecture, answer in asked:
                code, messages, assembly = answer.result()
                with self.subTest(source.name, architecture=architecture):
                    self.assertEqual(code, 0, messages)
                    self.assertNotIn("warning:", messages)
                    self.assertIn(f"amdgcn-amd-amdhsa--{architecture}", assembly)
                    scratch = re.findall(r"ScratchSize \[bytes/lane\]: (\d+)", messages)
                    self.assertTrue(scratch, messages)
                    if not (architecture.startswith("gfx12") and GRID_BARRIER in source.read_text()):
                        self.assertEqual(set(scratch), {"0"}, messages)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    for name, found in (("package ziglang", clang()), ("HIP header", pathlib.Path("/usr/include/hip/hip_runtime.h").exists()),
                        ("header of clang for HIP", clang_headers()), ("device library", (LIBRARIES / "ockl.bc").exists())):
        if not found:
            print(f"skipped: there is no {name} here")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
