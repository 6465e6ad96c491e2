#!/usr/bin/env python3
"""Checks with `kgen eval` that every kernel in the documentation and the examples is right.

Kernels are the files of examples/kernels and examples/tutorial, and the fenced blocks of the documentation that are whole
kernels. A block must stand below `<!-- from: examples/... -->`, which says what task it is for. One kernel of the tutorial
is wrong on purpose, and has to be refused. Where there is no GPU, CUDA kernels are left out: process.cuda.nvcc compiles
them wherever there is an nvcc. The CPU executes HIP kernels, with small tasks.

One worker serves all evaluations through a spool directory, so that torch is imported once.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
FENCE = re.compile(r"(<!--\s*from:\s*(\S+)\s*-->\s*)?^```[ \t]*(\w+)[^\n]*\n(.*?)^```[ \t]*$", re.M | re.S)
#: Patterns of a whole kernel, which an excerpt lacks.
WHOLE = (re.compile(r"KGEN_EXPORT_ABI_VERSION.*\bkgen_run\b", re.S), re.compile(r"^class ModelNew\b", re.M))
LANGUAGES = {"c", "cpp", "cuda", "cu", "python", "py"}
TUTORIAL_TASK = "examples/tutorial/gated_norm.py"
#: The mistake that the tutorial shows.
REFUSED = {"examples/tutorial/first_try.cpp": "accuracy"}
#: Constants of tasks that are large for the sake of their times; whole, their admission takes most of a verdict. cli.tutorial judges its kernels whole.
SIZES = {"batchnorm": ["batch=4"], "gated_norm": ["tokens=256"], "layernorm": ["batch=8", "sequence=16"],
         "relu": ["rows=64"], "softmax": ["batch=6"]}
#: Triton's interpreter takes minutes for more.
OF_TRITON = {"examples/tutorial/with_triton.py": ["tokens=16"]}
#: HIP kernels: the lanes of a wavefront, and constants of the task. Sizes end within a tile, a chunk and a pack of four
#: neighbours; each kernel that exchanges values between lanes is executed with both sizes of wavefronts.
HIP_CASES = {
    "relu": [(64, "rows=3 columns=1031")],
    "softmax": [(64, "batch=2 dim=8204"), (32, "batch=2 dim=5001")],
    "layernorm": [(64, "batch=1 sequence=2 features=4132"), (32, "batch=1 sequence=3 features=1031")],
    "batchnorm": [(64, "batch=3 channels=2 height=30 width=34"), (32, "batch=2 channels=3 height=17 width=19")],
    "matmul_gelu": [(64, "batch=37 in_features=76 out_features=50"), (64, "batch=5 in_features=35 out_features=33")],
    "gru_hidden": [(64, "sequence=5 batch=9 input_size=10 hidden_size=13 num_layers=2"),
                   (32, "sequence=4 batch=3 input_size=17 hidden_size=20 num_layers=2")],
}


def task_of(origin):
    """The task of an example kernel, both as paths in the repository; None for anything else."""
    path = pathlib.PurePath(origin)
    if path.parent == pathlib.PurePath("examples/kernels"):
        return f"examples/tasks/{path.stem}.py"
    return TUTORIAL_TASK if path.parent == pathlib.PurePath("examples/tutorial") else None


def shrunk(sizes):
    """The options that replace constants of a task."""
    return [word for size in sizes for word in ("--shrink", size)]


def example_kernels():
    """(name, source, origin) of the example kernels."""
    for folder in "kernels", "tutorial":
        for path in sorted((ARGUMENTS.source / "examples" / folder).iterdir()):
            origin = f"examples/{folder}/{path.name}"
            if path.is_file() and path.suffix != ".jsonl" and origin != TUTORIAL_TASK:
                yield origin, path.read_text(), origin


def documented_kernels():
    """The same for whole kernels in the documentation; the origin is empty if a block does not name one."""
    for page in [ARGUMENTS.source / "README.md", *sorted((ARGUMENTS.source / "docs").rglob("*.md"))]:
        for _, origin, language, body in FENCE.findall(page.read_text()):
            if language in LANGUAGES and any(pattern.search(body) for pattern in WHOLE):
                yield f"{page.name}: {origin or body[:40]!r}", body, origin


def has_gpu():
    told = subprocess.run([str(ARGUMENTS.kgen), "devices", "--json"], capture_output=True, text=True, check=False)
    return told.returncode == 0 and bool(json.loads(told.stdout).get("gpus"))


class ShownKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.path = pathlib.Path(cls.directory.name)
        cls.gpu = has_gpu()
        worker = subprocess.Popen([str(ARGUMENTS.kgen), "worker", "--create", "--spool", str(cls.path / "spool"),
                                   "--jobs", "1", "--cache-dir", str(cls.path / "cache")], stderr=subprocess.DEVNULL)

        def end():
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)

        cls.addClassCleanup(end)

    def judge(self, source, origin, options=(), right=0):
        """Evaluates a kernel. `right` is the exit code of a correct one."""
        suffix = pathlib.PurePath(origin).suffix
        kernel = self.path / ("kernel" + suffix)
        kernel.write_text(source)
        result = self.path / "result.json"
        result.unlink(missing_ok=True)
        # Timing would take longest, and would fail while other tests run.
        done = subprocess.run([str(ARGUMENTS.kgen), "eval", "--correctness-only", "--code", str(kernel), "--problem",
                               str(ARGUMENTS.source / task_of(origin)), "--spool", str(self.path / "spool"), "--output",
                               str(result), *options],
                              capture_output=True, text=True, timeout=300, check=False)
        expected = REFUSED.get(origin, "correct")
        self.assertEqual(done.returncode, right if expected == "correct" else 2, f"{done.stdout}\n{done.stderr}")
        record = json.loads(result.read_text())
        self.assertEqual(record["outcome"]["kind"], expected)
        self.assertEqual(record["language"], {".c": "c", ".cpp": "cpp", ".cu": "cuda", ".hip": "hip", ".py": "python"}[suffix])

    def judge_hip(self, source, origin):
        for lanes, sizes in HIP_CASES[pathlib.PurePath(origin).stem]:
            with self.subTest(origin, lanes=lanes):
                # Without a time of an AMD GPU, a correct kernel ends with 1.
                self.judge(source, origin, ["--device", "cpu", "--wave-size", str(lanes), *shrunk(sizes.split())], right=1)

    def check(self, kernels, least):
        judged = 0
        for name, source, origin in kernels:
            with self.subTest(name):
                self.assertIsNotNone(task_of(origin), "a whole kernel without a comment that says which example it is from")
                judged += 1
                if origin.endswith(".hip"):
                    self.judge_hip(source, origin)
                elif not origin.endswith(".cu") or self.gpu:
                    sizes = SIZES.get(pathlib.PurePath(task_of(origin)).stem, [])
                    self.judge(source, origin, shrunk(OF_TRITON.get(origin, sizes)))
        self.assertGreaterEqual(judged, least)

    def test_examples(self):
        self.check(example_kernels(), 32)

    def test_documentation(self):
        self.check(documented_kernels(), 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    ARGUMENTS.source = ARGUMENTS.source.resolve()
    ARGUMENTS.kgen = ARGUMENTS.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
