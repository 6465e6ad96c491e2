#!/usr/bin/env python3
"""kgen profile on the CPU: the task's own module, a torch candidate, a native one. Needs torch (KGEN_PYTHON)."""

import argparse
import json
import pathlib
import struct
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


class ProfileAtAWorker(unittest.TestCase):
    """A worker takes a profile in its sandbox, asked through a spool directory or a stream."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.worker = [str(KGEN), "worker", "--cache-dir", str(self.path / "cache")]

    def message(self, source):
        return json.dumps({"type": "profile", "id": 3, "counters": False, "request": {
            "task": {"name": "relu", "text": (SOURCE / "examples/tasks/relu.py").read_text()},
            "candidate": {"target": "cpp", "source": source}, "options": {"threads": 1}}}).encode()

    def profile_by_spool(self, source):
        spool = self.path / "spool"
        spool.mkdir()
        (spool / "profile-1.request.json").write_bytes(self.message(source))
        done = subprocess.run([*self.worker, "--spool", str(spool), "--once"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((spool / "profile-1.result.json").read_text())

    def check_profiled(self, answer):
        self.assertEqual((answer["type"], answer["id"]), ("profiled", 3), answer)
        self.assertIsNone(answer["profile"]["unavailable"])
        self.assertEqual([kernel["function"] for kernel in answer["profile"]["kernels"]], ["kgen_run"])

    def test_through_a_spool(self):
        self.check_profiled(self.profile_by_spool((SOURCE / "examples/kernels/relu.cpp").read_text()))

    def test_a_kernel_that_does_not_compile(self):
        answer = self.profile_by_spool("#include <kernelgen/abi.h>\nint x = undeclared;\n")
        self.assertEqual(answer["type"], "profiled", answer)
        self.assertIn("it does not compile: compile:undeclared_identifier", answer["profile"]["unavailable"]["reason"])

    def test_through_a_stream(self):
        body = self.message((SOURCE / "examples/kernels/relu.cpp").read_text())
        with subprocess.Popen(self.worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as worker:
            worker.stdin.write(b"KGF1" + struct.pack("<I", len(body)) + body)
            worker.stdin.flush()
            answers = []
            while len(answers) < 2:
                header = worker.stdout.read(8)
                answers.append(json.loads(worker.stdout.read(struct.unpack("<I", header[4:])[0])))
            worker.stdin.close()
            worker.wait(60)
        self.assertEqual(answers[0]["type"], "hello")
        self.check_profiled(answers[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN, SOURCE = options.kgen.resolve(), options.source.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
