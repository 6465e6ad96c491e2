#!/usr/bin/env python3
"""Every kernel that the documentation or the examples show is right, as `kgen eval` judges it.

Kernels are the files of examples/kernels and the fenced blocks of the documentation that are whole kernels. A block must
stand below `<!-- from: examples/kernels/NAME -->`, which says what task it is for. Where there is no GPU, kernels for
one are left out: process.cuda.nvcc compiles them wherever there is an nvcc.

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
#: A whole kernel has these, and an excerpt has not.
WHOLE = (re.compile(r"KGEN_EXPORT_ABI_VERSION.*\bkgen_run\b", re.S), re.compile(r"^class ModelNew\b", re.M))
SUFFIXES = {"c": ".c", "cpp": ".cpp", "cuda": ".cu", "cu": ".cu", "python": ".py", "py": ".py"}


def example_kernels():
    """(name, source, suffix, task) of the example kernels; a task has the name of its kernels."""
    for path in sorted((ARGUMENTS.source / "examples/kernels").iterdir()):
        yield path.name, path.read_text(), path.suffix, path.stem


def documented_kernels():
    """The same for whole kernels in the documentation; the task is None where a block does not say whose it is."""
    for page in [ARGUMENTS.source / "README.md", *sorted((ARGUMENTS.source / "docs").rglob("*.md"))]:
        for _, origin, language, body in FENCE.findall(page.read_text()):
            if language in SUFFIXES and any(pattern.search(body) for pattern in WHOLE):
                task = pathlib.Path(origin).stem if origin.startswith("examples/kernels/") else None
                yield f"{page.name}: {origin or body[:40]!r}", body, SUFFIXES[language], task


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

    def judge(self, source, suffix, task):
        kernel = self.path / ("kernel" + suffix)
        kernel.write_text(source)
        result = self.path / "result.json"
        result.unlink(missing_ok=True)
        # Timing takes longer than everything else, and fails where other tests run.
        done = subprocess.run([str(ARGUMENTS.kgen), "eval", "--correctness-only", "--code", str(kernel), "--problem",
                               str(ARGUMENTS.source / "examples/tasks" / (task + ".py")), "--spool",
                               str(self.path / "spool"), "--output", str(result)],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        record = json.loads(result.read_text())
        self.assertEqual(record["language"], {".c": "c", ".cpp": "cpp", ".cu": "cuda", ".py": "python"}[suffix])

    def check(self, kernels, least):
        judged = 0
        for name, source, suffix, task in kernels:
            with self.subTest(name):
                self.assertIsNotNone(task, "a whole kernel without a comment that says which example it is from")
                judged += 1
                if suffix != ".cu" or self.gpu:
                    self.judge(source, suffix, task)
        self.assertGreaterEqual(judged, least)

    def test_examples(self):
        self.check(example_kernels(), 22)

    def test_documentation(self):
        self.check(documented_kernels(), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    ARGUMENTS.source = ARGUMENTS.source.resolve()
    ARGUMENTS.kgen = ARGUMENTS.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
