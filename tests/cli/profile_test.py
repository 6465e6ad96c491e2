#!/usr/bin/env python3
"""kgen profile on the CPU: the task's own module, a torch candidate, a native one. Needs torch (KGEN_PYTHON)."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest


class Profile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def profile(self, *arguments):
        command = [KGEN, "profile", "--problem", SOURCE / "examples/tasks/matmul_gelu.py", "--timeline", "--device", "cpu",
                   "--cache-dir", self.path / "cache", *arguments]
        return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=300, check=False)

    def kernels(self, *arguments):
        done = self.profile("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(done.stdout)
        self.assertGreater(profile["call_ns"], 0)
        return {kernel["function"]: kernel for kernel in profile["kernels"]}

    def test_the_reference_is_torchs_own(self):
        kernels = self.kernels()
        self.assertEqual(kernels["aten::linear"]["origin"], "framework")
        self.assertIn("aten::gelu", kernels)
        shown = self.profile().stdout
        self.assertIn("no kernel of its own ran", shown)
        self.assertNotIn("device time", shown)

    def test_a_native_candidate_is_compiled_and_called(self):
        self.assertEqual(list(self.kernels("--code", SOURCE / "examples/kernels/matmul_gelu.cpp")), ["kgen_run"])

    def test_a_native_candidate_that_does_not_compile(self):
        code = self.path / "kernel.cpp"
        code.write_text("#include <kernelgen/abi.h>\nint x = undeclared;\n")
        done = self.profile("--code", code)
        self.assertEqual(done.returncode, 64)
        self.assertIn("it does not compile: compile:undeclared_identifier", done.stderr)

    def test_a_candidate_that_raises(self):
        code = self.path / "candidate.py"
        code.write_text("import torch\nclass ModelNew(torch.nn.Module):\n    def __init__(self, a, b):\n"
                        "        super().__init__()\n    def forward(self, x):\n        return x.nothing()\n")
        done = self.profile("--code", code)
        self.assertEqual(done.returncode, 2)
        self.assertIn("AttributeError", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN, SOURCE = options.kgen.resolve(), options.source.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
