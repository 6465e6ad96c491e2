"""What tests of evaluations share: a folder for task and kernel, a run of `kgen eval`, and its record."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
# The task of the example that prompts show.
EXAMPLE_TASK = """import torch


class Model(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x * self.weight


def get_inputs():
    return [torch.randn(24, 256)]


def get_init_inputs():
    return [256]
"""


def blocks(name):
    """The code of a template of prompts."""
    text = (ARGUMENTS.source / "lib/prompt/templates" / (name + ".mustache")).read_text()
    return re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Evaluation(unittest.TestCase):
    """A test case with a task, a name for its kernels, and a device; an empty one is not named."""

    task = ""
    name = "kernel.hip"
    device = "cpu"

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)

    def eval(self, code, *more, task=None, name=None, device=None, as_json=True, environment=None):
        kernel = self.path / (name or self.name)
        device = self.device if device is None else device
        (self.path / "task.py").write_text(task or self.task)
        kernel.write_text(code)
        command = [ARGUMENTS.kgen, "eval", *(["--json"] if as_json else []), "--problem", self.path / "task.py", "--code",
                   kernel, "--cache-dir", ARGUMENTS.cache, *(["--device", device] if device else []), *more]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=500, check=False,
                              env=environment)

    def record(self, code, *more, **keywords):
        """The exit code and the record of an evaluation that ends with a verdict."""
        done = self.eval(code, *more, **keywords)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        return done.returncode, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--source", type=pathlib.Path)
    _, rest = parser.parse_known_args(namespace=ARGUMENTS)
    with tempfile.TemporaryDirectory() as cache:
        ARGUMENTS.cache = cache
        unittest.main(argv=[sys.argv[0], *rest])
