#!/usr/bin/env python3
"""Whole evaluations on the device of tests/support/fake_cuda.c: judge, builder, runner and worker as on a GPU.

Times of the fake device mean nothing. `fake_gpu_test.py ... Checked` runs beside other tests, and nothing in it is timed;
`Timed` has the machine for itself.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(64, 256)]
def get_init_inputs():
    return []
"""
#: Right only if the extension was built in a process without the device.
BUILT_AHEAD = """
import os, pathlib
import torch, torch.nn as nn
# from torch.utils.cpp_extension import load_inline
place = pathlib.Path(os.environ["TORCH_EXTENSIONS_DIR"]) / "built"
if not place.exists():
    place.write_text(repr(os.environ["CUDA_VISIBLE_DEVICES"]))
BUILT = place.read_text()
class ModelNew(nn.Module):
    def forward(self, x):
        assert BUILT == "''", BUILT
        return torch.relu(x)
"""
NATIVE = """
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) { return 0; }
KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const struct kgen_tensor* in = kgen_at(&args->inputs, 0);
  const float* x = (const float*)in->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  for (uint64_t i = 0; i < in->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
KGEN_API void kgen_destroy(void*) {}
"""


class FakeGpu(unittest.TestCase):
    #: Options of every evaluation.
    more = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "relu.py").write_text(TASK)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def evaluate(self, code, name, target, **driver):
        done = self.run_kgen(code, name, target, **driver)
        self.assertIn("{", done.stdout, done.stderr)
        return json.loads(done.stdout)

    def run_kgen(self, code, name, target, problem="relu.py", **driver):
        """`driver`: settings of the fake driver in the environment."""
        (self.root / name).write_text(code)
        command = [options.kgen, "eval", "--problem", problem, "--code", name, "--target", target, "--device", "0"]
        return subprocess.run(
            [*command, "--cache-dir", "cache", "--json", *self.more],
            cwd=self.root,
            env={**os.environ, "LD_LIBRARY_PATH": options.fake_cuda, **driver},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=600,
            check=False,
        )

    def assert_right(self, record, kinds):
        self.assertIn(record["outcome"]["kind"], kinds, record["outcome"])
        self.assertTrue(record["cases"])
        for case in record["cases"]:
            self.assertEqual(case["outcome"]["kind"], "correct", case)
        self.assertIn("fake device: a time is no result", record["labels"])


class Checked(FakeGpu):
    more = ("--correctness-only",)

    def test_what_an_extension_needs_is_built_before_the_device_is_held(self):
        self.assert_right(self.evaluate(BUILT_AHEAD, "ahead.py", "torch"), ("correct",))
        kept = list((self.root / "cache" / "builds" / "kept").glob("*/torch/built"))
        self.assertTrue(kept)
        self.assertEqual({built.read_text() for built in kept}, {"''"})
        self.assertEqual(list((self.root / "cache" / "builds" / "places").iterdir()), [])

    def test_an_import_that_fails_is_told_by_the_runner(self):
        record = self.evaluate(BUILT_AHEAD + "raise RuntimeError('not here')\n", "broken.py", "torch")
        self.assertEqual(record["outcome"]["kind"], "import")
        self.assertIn("not here", record["outcome"]["message"])

    def test_a_wrong_kernel(self):
        record = self.evaluate(NATIVE.replace("x[i] > 0 ? x[i] : 0", "x[i]"), "echo.cu", "cuda")
        self.assertEqual((record["outcome"]["kind"], record["outcome"]["detail"]), ("accuracy", "mismatch"))

    def test_a_fault_after_which_the_device_s_runtime_aborts(self):
        abort = """std::fprintf(stderr, "Memory access fault by GPU node-1 (Agent handle: 0x55d8390cfe70) on address %p. "
                                        "Reason: Page not present or supervisor privilege.\\n", (void*)(y + in->element_count));
  std::abort();"""
        code = "#include <cstdio>\n#include <cstdlib>\n" + NATIVE.replace("return 0;\n}\nKGEN_API void", abort + "}\nKGEN_API void")
        outcome = self.evaluate(code, "aborts.cu", "cuda")["outcome"]
        self.assertEqual((outcome["kind"], outcome["detail"]), ("device_fault", "illegal_address"), outcome)
        self.assertRegex(outcome["message"], r"^the device stopped it in a call: Memory access fault by GPU node-1 .* "
                                             r"The page is at address 0x[0-9a-f]+, 0 bytes past the end of output ")
        # How judge and runner share memory was tried, and is kept.
        kept, = (self.root / "cache" / "devices").glob("*.sharing.json")
        self.assertEqual(json.loads(kept.read_text())["sharing"], "virtual_memory")

    def test_whose_work_a_call_is(self):
        # The names are mangled, as CUPTI has them.
        ran = {"KGEN_FAKE_CUPTI": "9000 _ZN2at6native21some_reduction_kernelEPf;1000 _Z4minePf"}
        torch = BUILT_AHEAD.replace("assert BUILT", "BUILT")
        for code, name, target in ((NATIVE, "relu.cu", "cuda"), (torch, "relu_torch.py", "torch")):
            record = self.evaluate(code, name, target, **ran)
            self.assertEqual(record["outcome"]["kind"], "correct", record["outcome"])
            self.assertIn("library work: own 10 %, vendor 0 %, torch 90 %", record["labels"])
            names = [(one["name"], one["origin"], one["microseconds"]) for one in record["work"]["activities"]]
            self.assertEqual(names, [("at::native::some_reduction_kernel(float*)", "framework", 9), ("mine(float*)", "own", 1)])
        unseen = self.evaluate(NATIVE, "relu.cu", "cuda")
        self.assertEqual(unseen["outcome"]["kind"], "correct", unseen["outcome"])
        self.assertIn("work unknown: CUPTI does not start (error 15)", unseen["labels"])

    def test_a_task_that_does_not_fit_beside_others(self):
        (self.root / "large.py").write_text(TASK.replace("64, 256", "4096, 4096"))
        held = {"KGEN_FAKE_CUDA_HELD": str((4 << 30) - (100 << 20))}
        done = self.run_kgen(NATIVE, "relu.cu", "cuda", problem="large.py", **held)
        self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
        for words in ("GiB of device memory", "other processes hold 3.9", "of its 4 GiB", "nvidia-smi", "--device", "--shrink"):
            self.assertIn(words, done.stderr)

    def test_a_candidate_that_runs_out_of_memory_beside_others(self):
        refused = NATIVE.replace("return 0;\n}\nKGEN_API void", 'return kgen_fail(&args->error, "out of memory");\n}\nKGEN_API void')
        record = self.evaluate(refused, "refused.cu", "cuda")
        self.assertEqual(record["outcome"]["kind"], "launch", record["outcome"])
        record = self.evaluate(refused, "refused.cu", "cuda", KGEN_FAKE_CUDA_HELD=str(2 << 30))
        self.assertEqual((record["outcome"]["kind"], record["outcome"]["detail"]), ("suspect", "memory in use"))
        self.assertRegex(record["outcome"]["message"], r"other processes hold 2\S* of its 4 GiB")
        self.assertIn("second try: memory in use", record["labels"])

    def test_memory_that_others_hold_is_a_label(self):
        record = self.evaluate(NATIVE, "relu.cu", "cuda", KGEN_FAKE_CUDA_HELD=str(3 << 30))
        self.assert_right(record, ("correct",))
        self.assertRegex("\n".join(record["labels"]), r"shared device: other processes hold 3\S* of its 4 GiB")

    def test_a_device_for_one_process(self):
        done = self.run_kgen(NATIVE, "relu.cu", "cuda", KGEN_FAKE_CUDA_CONTEXT="46", XDG_CACHE_HOME=str(self.root))
        self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
        self.assertIn("sudo nvidia-smi -c DEFAULT", done.stderr)


    def test_selftest_saves_what_the_machine_has(self):
        corpus = self.root / "corpus"
        for folder in ("attacks", "honest", "tasks"):
            (corpus / folder).mkdir(parents=True)
        (corpus / "tasks" / "relu.py").write_text(TASK)
        head = "// honest: what it is\n// task: relu\n\n"
        (corpus / "honest" / "relu.cu").write_text(head + NATIVE)
        (corpus / "honest" / "relu.hip").write_text(head + NATIVE)
        command = [options.kgen, "selftest", "corpus", "--device", "0", "--cache-dir", "cache", "--save", "saved.json"]
        environment = {**os.environ, "LD_LIBRARY_PATH": options.fake_cuda}
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        saved = json.loads((self.root / "saved.json").read_text())
        self.assertEqual({case["name"]: case["answer"] for case in saved["cases"]}, {"honest/relu.cu": "ok", "honest/relu.hip": "missing"})
        (gpu,) = saved["devices"]["gpus"]
        self.assertEqual((gpu["name"], gpu["integrated"], gpu["use"]), ("Fake GPU", False, None))
        self.assertEqual(saved["memory_sharing"], {gpu["uuid"]: {"way": "virtual_memory", "error": None}})
        self.assertIn("isolation", [finding["name"] for finding in saved["findings"]])


class Timed(FakeGpu):
    def test_native_code(self):
        # A busy machine may make it suspect.
        self.assert_right(self.evaluate(NATIVE, "relu.cu", "cuda"), ("correct", "suspect"))

    def test_work_of_others(self):
        record = self.evaluate(NATIVE, "relu.cu", "cuda", KGEN_FAKE_CUDA_BUSY_US="1000")
        self.assertEqual((record["outcome"]["kind"], record["outcome"]["detail"]), ("suspect", "busy machine"))
        self.assertEqual(record["timing"]["device_contention"], 1)
        quiet = self.evaluate(NATIVE, "relu.cu", "cuda")
        self.assertLess(quiet["timing"]["device_contention"], 0.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--fake-cuda", required=True, help="the folder of the driver")
    options, rest = parser.parse_known_args()
    unittest.main(argv=["fake_gpu_test.py", *rest])
