#!/usr/bin/env python3
"""The CUDA candidates of tests/gpu, of the corpus and of bench/gpu compile, but for those that must not.

Usage: cuda_sources_test.py NVCC
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "gpu"))

import mixed  # noqa: E402

NVCC = sys.argv.pop() if len(sys.argv) > 1 else "nvcc"
BROKEN = {"syntax.cu", "relu-undeclared"}


def sources():
    for folder in ("tests/gpu/candidates", "bench/gpu/candidates", "tests/attacks", "tests/honest"):
        for path in sorted((ROOT / folder).glob("*.cu")):
            yield path.name, path.read_text(encoding="utf-8")
    for candidate in mixed.candidates():
        if candidate.target == "cuda":
            yield candidate.name, candidate.source


def compile_one(source):
    """nvcc's complaints, warnings included; empty when there are none. Device and host code are both parsed."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "kernel.cu"
        file.write_text(source, encoding="utf-8")
        command = [NVCC, "-ptx", "-arch=sm_90", "-std=c++17", f"-I{ROOT / 'include/kernelgen/abi'}", "-o", os.devnull]
        done = subprocess.run([*command, str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300, check=False)
        return done.stdout


class Sources(unittest.TestCase):
    def test_all(self):
        names, texts = zip(*sources())
        self.assertGreater(len(names), 50)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, said in zip(names, pool.map(compile_one, texts)):
                with self.subTest(name):
                    if name in BROKEN:
                        self.assertIn("error: identifier", said)
                    else:
                        self.assertEqual(said, "")


if __name__ == "__main__":
    unittest.main()
