"""The labels of the detector's corpus, checked by running the kernels that can run here.

A Triton file takes part when it defines drive(x), which runs its kernels on x [steps, rows, units] under the interpreter
and returns what they make; a C++ file when it reads its tensors from the arguments of kgen_run. What is observed:

  launches     per-step: their number grows with the steps; otherwise it does not
  dependence   of the last output on the first step, and of the first output on the last step
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch

try:
    import triton
    from triton.runtime import interpreter
except ImportError:
    print("there is no triton: skipped")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "data" / "detect"
ROWS, UNITS = 2, 16


def labels(suffix: str, mark: str) -> dict[str, str]:
    """Verdicts by file, of the files that can run."""
    found = {}
    for line in (CORPUS / "index.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, verdict, _ = (field.strip() for field in line.split("|"))
            if name.endswith(suffix) and mark in (CORPUS / name).read_text():
                found[name] = verdict
    return found


def frames(steps: int, bumped: int | None = None) -> torch.Tensor:
    x = torch.randn(steps, ROWS, UNITS, generator=torch.Generator().manual_seed(7))
    if bumped is not None:
        x[bumped] += 0.5
    return x


def objection(verdict: str, launches: tuple[int, int], late: bool, early: bool) -> str | None:
    """The reason why a verdict cannot be right. `launches` for few and for many steps; `late`: the last output depends on the
    first
    step; `early`: the first output depends on the last step."""
    few, many = launches
    if verdict == "per-step":
        return None if many > few and late else f"{few} launches became {many}, dependence {late}"
    if many != few:
        return f"{few} launches became {many}"
    if verdict == "persistent" and not late:
        return "the end does not depend on the beginning"
    if verdict == "not-recurrent" and late and not early:
        return "every output depends on earlier steps, and on no later ones"
    return None


@unittest.skipIf(tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2), "its interpreter takes no constexpr for the bounds of tl.arange")
class TritonTest(unittest.TestCase):
    @staticmethod
    def drive(name: str, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The outputs of the file for x, and the number of kernels that it launched."""
        count = 0
        call = interpreter.GridExecutor.__call__

        def counted(self, *arguments, **named):
            nonlocal count
            count += 1
            return call(self, *arguments, **named)

        interpreter.GridExecutor.__call__ = counted
        space = {"__name__": "candidate", "__file__": str(CORPUS / name)}
        try:
            # The interpreter reads the sources of kernels from their file.
            exec(compile((CORPUS / name).read_text(), str(CORPUS / name), "exec"), space)
            return space["drive"](x.clone()), count
        finally:
            interpreter.GridExecutor.__call__ = call

    def observe(self, name: str, steps: tuple[int, int] = (3, 5)) -> tuple[tuple[int, int], bool, bool]:
        few, many = steps
        _, launches_few = self.drive(name, frames(few))
        base, launches_many = self.drive(name, frames(many))
        first, _ = self.drive(name, frames(many, 0))
        last, _ = self.drive(name, frames(many, many - 1))
        late = not torch.equal(base[-1], first[-1])
        early = base.shape[0] == many and not torch.equal(base[0], last[0])
        return (launches_few, launches_many), late, early

    def test_labels(self) -> None:
        found = labels(".py", "\ndef drive(x):")
        self.assertGreaterEqual(len(found), 19)
        self.assertEqual(set(found.values()), {"persistent", "per-step", "not-recurrent"})
        for name, verdict in found.items():
            with self.subTest(name):
                self.assertIsNone(objection(verdict, *self.observe(name)))

    def test_a_wrong_label_is_noticed(self) -> None:
        for name, right in (
            ("triton_per_step_reduce.py", "per-step"),
            ("triton_scan_final_state.py", "persistent"),
            ("triton_layers_of_linear.py", "not-recurrent"),
            ("triton_state_through_global.py", "persistent"),
        ):
            seen = self.observe(name)
            for verdict in ("per-step", "persistent", "not-recurrent"):
                if name == "triton_scan_final_state.py" and verdict == "not-recurrent":
                    continue  # only the end is kept: no output tells whether it knows later steps
                with self.subTest(f"{name} as {verdict}"):
                    self.assertEqual(objection(verdict, *seen) is None, verdict == right)


HARNESS = """
#include CANDIDATE
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int argc, char** argv) {
  const int64_t shape[] = {std::atoi(argv[1]), ROWS, UNITS};
  const int64_t strides[] = {ROWS * UNITS, UNITS, 1};
  const size_t count = static_cast<size_t>(shape[0]) * ROWS * UNITS;
  std::vector<float> x(count), y(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>((i * 37 % 101) / 50.0 - 1.0);
  const int bumped = std::atoi(argv[2]);
  for (size_t i = 0; bumped >= 0 && i < ROWS * UNITS; ++i) x[static_cast<size_t>(bumped) * ROWS * UNITS + i] += 0.5f;
  kgen_tensor in{}, out{};
  in.shape = out.shape = shape;
  in.strides = out.strides = strides;
  in.rank = out.rank = 3;
  in.element_count = out.element_count = count;
  in.data = x.data();
  out.data = y.data();
  const kgen_tensor* inputs[] = {&in};
  const kgen_tensor* outputs[] = {&out};
  kgen_run_args args{};
  args.inputs = {1, inputs};
  args.outputs = {1, outputs};
  if (kgen_run(nullptr, &args) != 0 || argc != 3) return 1;
  std::fwrite(y.data(), sizeof(float), count, stdout);
}
"""


class CppTest(unittest.TestCase):
    def outputs(self, program: Path, steps: int, bumped: int) -> list[bytes]:
        done = subprocess.run([program, str(steps), str(bumped)], capture_output=True, check=True, timeout=300)
        size = ROWS * UNITS * 4
        self.assertEqual(len(done.stdout), steps * size)
        return [done.stdout[i : i + size] for i in range(0, len(done.stdout), size)]

    def test_labels(self) -> None:
        found = labels(".cpp", "args->inputs.items[0]")
        self.assertGreaterEqual(len(found), 8)
        compiler = shutil.which("g++") or shutil.which("c++")
        self.assertIsNotNone(compiler)
        for name, verdict in found.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                main, program = Path(directory) / "main.cpp", Path(directory) / "main"
                main.write_text(HARNESS)
                defines = [f'-DCANDIDATE="{CORPUS / name}"', f"-DROWS={ROWS}", f"-DUNITS={UNITS}"]
                include = f"-I{ROOT / 'include' / 'kernelgen' / 'abi'}"
                subprocess.run([compiler, "-std=c++17", *defines, include, main, "-o", program], check=True, timeout=300)
                base, first, last = (self.outputs(program, 5, bumped) for bumped in (-1, 0, 4))
                self.assertIsNone(objection(verdict, (1, 1), base[-1] != first[-1], base[0] != last[0]))


if __name__ == "__main__":
    unittest.main()
