"""tools/public_kernels.py: what a recheck decides, on a CPU, and how results are counted."""

import contextlib
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("public_kernels", ROOT / "tools" / "public_kernels.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TOOL = load()
TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(64)
        self.state = torch.zeros(64)
    def forward(self, x):
        return self.norm(x) + self.state
def get_inputs():
    return [torch.randn(8, 64)]
def get_init_inputs():
    return []
"""


def recheck(change):
    kernel = TASK.replace("Model(", "ModelNew(").replace("self.norm(x)", change)
    with tempfile.TemporaryDirectory() as folder:
        described = pathlib.Path(folder) / "entry.json"
        described.write_text(json.dumps({"task": TASK, "kernel": kernel}))
        done = subprocess.run([sys.executable, "-c", TOOL.RECHECK, described], capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])["wrong_for"]


class Recheck(unittest.TestCase):
    def test_right(self):
        self.assertEqual(recheck("self.norm(x)"), [])

    def test_affine_parameters_that_are_not_read(self):
        self.assertEqual(recheck("torch.nn.functional.layer_norm(x, [64])"), ["weights"])

    def test_half_precision_and_another_shape(self):
        self.assertIn("own", recheck("self.norm(x).bfloat16().float()"))
        self.assertIn("plus 16", recheck("self.norm(x)[:4]"))


class Counts(unittest.TestCase):
    def test_table(self):
        right, wrong = {"wrong_for": []}, {"wrong_for": ["own"]}
        rows = [("correct", None), ("accuracy:mismatch", wrong), ("accuracy:mismatch", right), ("not_scored", right), ("timeout", None),
                ("accuracy:nan", {"failed": "timeout"})]  # fmt: skip
        results = [
            {"collection": "some", "outcome": outcome, "path": "a.py", "message": "m", **({"recheck": again} if again else {})}
            for outcome, again in rows
        ]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as text:
            path = pathlib.Path(folder) / "results.json"
            path.write_text(json.dumps(results))
            TOOL.table(types.SimpleNamespace(results=path))
        self.assertIn("| some | 6 | 1 | 1 | 1 | 1 | 2 |", text.getvalue())

    def test_targets(self):
        self.assertEqual(TOOL.target_of("import torch\nimport triton\n"), "triton")
        self.assertEqual(TOOL.target_of("# import triton\nimport torch\n"), "torch")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main()
