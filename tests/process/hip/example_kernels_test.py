"""hipcc takes the example kernels for hip without a warning, and they spill no registers. 77: no hipcc here."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
# What hipcc says about an architecture that it does not know, or for which it has no device library.
UNKNOWN = re.compile(r"cannot find ROCm device library for|invalid target ID|[Uu]nsupported CUDA gpu architecture"
                     r"|invalid (offload|HIP) arch")


def compile_for(source, architecture):
    """The exit code and the messages, with what each kernel needs. Kernels only: the CPU's tests link the rest."""
    with tempfile.TemporaryDirectory() as directory:
        # An architecture by name: hipcc would ask for a device otherwise.
        command = ["hipcc", "-O3", "-std=c++17", "--offload-arch=" + architecture, "--cuda-device-only", "-c", "-Wall",
                   "-Wextra", "-Rpass-analysis=kernel-resource-usage", "-I",
                   str(ARGUMENTS.source / "include/kernelgen/abi"), "-x", "hip", str(source), "-o", directory + "/kernel.o"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr


class ExampleKernels(unittest.TestCase):
    def test_each_architecture(self):
        sources = sorted((ARGUMENTS.source / "examples/kernels").glob("*.hip"))
        self.assertGreaterEqual(len(sources), 6)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            asked = [(source.name, architecture, pool.submit(compile_for, source, architecture))
                     for architecture in ARGUMENTS.architectures for source in sources]
        known = set()
        for name, architecture, done in asked:
            code, messages = done.result()
            if code != 0 and UNKNOWN.search(messages):
                continue
            known.add(architecture)
            with self.subTest(name, architecture=architecture):
                self.assertEqual(code, 0, messages)
                self.assertNotIn("warning:", messages)
                scratch = re.findall(r"ScratchSize \[bytes/lane\]: (\d+)", messages)
                self.assertTrue(scratch, messages)
                self.assertEqual(set(scratch), {"0"}, messages)
        print("architectures:", ", ".join(sorted(known)))
        self.assertTrue(known, "this hipcc knows none of the architectures")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--architectures", type=lambda text: text.split(","), required=True, metavar="NAME,...")
    ARGUMENTS, rest = parser.parse_known_args()
    if shutil.which("hipcc") is None:
        print("skipped: there is no hipcc on the PATH")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
