"""Evaluates the code that prompts show: right examples are right, and wrong ones are wrong.

CUDA and HIP are compiled by other tests (process.cuda.nvcc, process.hip.prompt_examples); what their recurrences
compute is tested in process_tests, by running their blocks as threads.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
TEMPLATES = "lib/prompt/templates"

# A module that uses the recurrences for Triton.
TRITON_RIGHT = """

class ModelNew(torch.nn.Module):
    def __init__(self, units, steps):
        super().__init__()
        self.weight = torch.nn.Parameter(0.2 * torch.randn(units, units))
        self.steps = steps

    def forward(self, state):
        state = state.clone()
        rows, units = state.shape
        recur[(triton.cdiv(rows, 16),)](self.weight, state, rows, self.steps, ROWS=16, UNITS=units)
        return state
"""
TRITON_WRONG = """

class ModelNew(torch.nn.Module):
    def __init__(self, units, steps):
        super().__init__()
        self.weight = torch.nn.Parameter(0.2 * torch.randn(units, units))
        self.steps = steps

    def forward(self, state):
        state = state.clone()
        units = state.shape[1]
        for row in state:
            recur_wrong[(units // 16,)](self.weight, row, self.steps, UNITS=units, BLOCK=16)
        return state
"""
TRITON_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"

CPP_HEAD = """#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {
"""
CPP_TAIL = """
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "state");
  const float* state = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "weight")->data);
  float* output = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const int64_t units = kgen_dim(input, 1);
  const int64_t steps = kgen_integer(&args->init_scalars, "steps", 0);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row) {
    CALL
  }
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
"""
CPP_RIGHT = """std::vector<float> first(state + row * units, state + (row + 1) * units), second(units);
    float* buffers[2] = {first.data(), second.data()};
    const float* last = recur(weight, buffers, units, steps, args->threads);
    std::copy(last, last + units, output + row * units);"""
CPP_WRONG = """std::copy(state + row * units, state + (row + 1) * units, output + row * units);
    recur_wrong(weight, output + row * units, units, steps, args->threads);"""

C_HEAD = """#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

static
"""
C_TAIL = """
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  (void)args, (void)result;
  return 0;
}

KGEN_API int kgen_run(void* nothing, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "state");
  const float* state = (const float*)input->data;
  const float* weight = (const float*)kgen_find(&args->parameters, "weight")->data;
  float* output = (float*)kgen_find(&args->outputs, "output")->data;
  const int64_t units = kgen_dim(input, 1);
  const int64_t steps = kgen_integer(&args->init_scalars, "steps", 0);
  const size_t bytes = (size_t)units * sizeof(float);
  float* buffers[2] = {(float*)malloc(bytes), (float*)malloc(bytes)};
  (void)nothing;
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row) {
    memcpy(buffers[0], state + row * units, bytes);
    CALL
  }
  free(buffers[0]);
  free(buffers[1]);
  return 0;
}

KGEN_API void kgen_destroy(void* nothing) { (void)nothing; }
"""
C_RIGHT = "memcpy(output + row * units, recur(weight, buffers, units, steps, args->threads), bytes);"
C_WRONG = """recur_wrong(weight, buffers[0], units, steps, args->threads);
    memcpy(output + row * units, buffers[0], bytes);"""


def blocks(name):
    """The code blocks of a template."""
    text = (ARGUMENTS.source / TEMPLATES / (name + ".mustache")).read_text()
    return re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block_with(name, part):
    found = [block for block in blocks(name) if part in block]
    assert len(found) == 1, (name, part, len(found))
    return found[0]


class Judged(unittest.TestCase):
    """Judges code for a task of tests/data/prompt_examples."""

    @classmethod
    def setUpClass(cls):
        """Starts one worker for all evaluations, which imports torch once."""
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.path = pathlib.Path(directory.name)
        worker = subprocess.Popen([str(ARGUMENTS.kgen), "worker", "--create", "--spool", str(cls.path / "spool"),
                                   "--cache-dir", str(cls.path / "cache")], stderr=subprocess.DEVNULL)

        def end():
            worker.terminate()
            worker.wait(60)

        cls.addClassCleanup(end)

    def judge(self, code, suffix, task, target, *more):
        kernel = self.path / ("kernel" + suffix)
        kernel.write_text(code)
        result = self.path / "result.json"
        result.unlink(missing_ok=True)
        # Timing would take longest, and would fail while other tests run.
        command = [str(ARGUMENTS.kgen), "eval", "--correctness-only", "--code", str(kernel), "--problem",
                   str(ARGUMENTS.source / "tests/data/prompt_examples" / (task + ".py")), "--target", target,
                   "--device", "cpu", "--threads", "1", "--output", str(result), "--spool", str(self.path / "spool"), *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertTrue(result.exists(), done.stderr)
        outcome = json.loads(result.read_text())["outcome"]
        return outcome["kind"], outcome.get("message", "") + done.stderr

    def assert_right(self, *what):
        kind, message = self.judge(*what)
        self.assertEqual(kind, "correct", message)

    def assert_wrong(self, *what):
        kind, message = self.judge(*what)
        self.assertIn(kind, ("accuracy", "race"), message)


class PromptExamples(Judged):
    def test_the_forms(self):
        self.assert_right(blocks("examples/cpp")[0], ".cpp", "scale", "cpp")
        self.assert_right(blocks("examples/c")[0], ".c", "scale", "cpp")
        self.assert_right(blocks("examples/triton")[0], ".py", "scale", "triton")
        self.assert_right(blocks("examples/torch")[0], ".py", "linear_scaled", "torch")

    def test_the_recurrence_of_triton(self):
        name = "partials/recurrence_example"
        self.assert_right(TRITON_HEAD + block_with(name, "def recur(") + TRITON_RIGHT, ".py", "recurrence", "triton")
        self.assert_wrong(TRITON_HEAD + block_with(name, "def recur_wrong(") + TRITON_WRONG, ".py", "recurrence",
                          "triton")

    def test_the_recurrence_of_cpp(self):
        name = "partials/recurrence_example"
        for part, call, judged in (("float* recur(", CPP_RIGHT, self.assert_right),
                                   ("void recur_wrong(const float* weights, float* state, int64_t", CPP_WRONG,
                                    self.assert_wrong)):
            code = CPP_HEAD + block_with(name, part) + CPP_TAIL.replace("CALL", call)
            judged(code, ".cpp", "recurrence", "cpp")

    def test_the_recurrence_of_c(self):
        name = "partials/recurrence_example_c"
        for part, call, judged in (("float* recur(", C_RIGHT, self.assert_right),
                                   ("void recur_wrong(", C_WRONG, self.assert_wrong)):
            judged(C_HEAD + block_with(name, part) + C_TAIL.replace("CALL", call), ".c", "recurrence", "cpp")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    ARGUMENTS.source = ARGUMENTS.source.resolve()
    ARGUMENTS.kgen = ARGUMENTS.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
