"""hipcc takes the code that prompts for hip and hipkittens show, and the builtins that they name. 77: no hipcc here."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()

# Matrix instructions on true float32, and shuffles without a mask, as targets/hip says.
BUILTINS = """
typedef float v16 __attribute__((ext_vector_type(16)));
typedef float v4 __attribute__((ext_vector_type(4)));
__global__ void __launch_bounds__(256) k(float* x) {
  v16 a = {};
  v4 b = {};
  a = __builtin_amdgcn_mfma_f32_32x32x2f32(x[0], x[1], a, 0, 0, 0);
  b = __builtin_amdgcn_mfma_f32_16x16x4f32(x[0], x[1], b, 0, 0, 0);
  x[threadIdx.x % warpSize] = a[0] + b[1] + __shfl_xor(x[2], 1) + __expf(x[3]);
}
"""


def blocks(name):
    text = (ARGUMENTS.source / "lib/prompt/templates" / (name + ".mustache")).read_text()
    return re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Hip(unittest.TestCase):
    def compile(self, code, standard="c++17"):
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "kernel.hip"
            source.write_text(code)
            # An architecture by name: hipcc would ask for a device otherwise.
            command = ["hipcc", "-O3", "-std=" + standard, "--offload-arch=gfx90a", "-shared", "-fPIC", "-I",
                       str(ARGUMENTS.source / "include/kernelgen/abi"), str(source), "-o", directory + "/kernel.so"]
            return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def assert_compiles(self, code, standard="c++17"):
        done = self.compile(code, standard)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_form(self):
        self.assert_compiles(blocks("examples/hip")[0])
        self.assert_compiles(blocks("examples/hipkittens")[0], "c++20")

    def test_the_recurrences(self):
        shown = blocks("partials/recurrence_example")
        code = "#include <hip/hip_runtime.h>\n#include <hip/hip_cooperative_groups.h>\n"
        for part in ("__global__ void recur_wrong", "__hip_atomic_load("):
            found = [block for block in shown if part in block]
            self.assertEqual(len(found), 1, part)
            code += found[0]
        self.assert_compiles(code)

    def test_the_builtins(self):
        self.assert_compiles("#include <hip/hip_runtime.h>\n" + BUILTINS)

    def test_what_is_wrong_is_refused(self):
        done = self.compile("#include <hip/hip_runtime.h>\n__global__ void k(float* x) { y = 1; }")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    if shutil.which("hipcc") is None:
        print("skipped: there is no hipcc on the PATH")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
