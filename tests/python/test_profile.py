"""kernelgen_profile: modules and native candidates under torch's profiler, on the CPU."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import torch

from kernelgen_judge.errors import TaskError
from kernelgen_judge.values import ScalarSpec
from kernelgen_profile import native, timeline
from kernelgen_profile.calls import CandidateError, Profiled, TorchDevice
from kernelgen_profile.shaken import Placer, Shaker

ROOT = Path(__file__).resolve().parents[2]

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, scale, note=None):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.register_buffer("offset", torch.full((width,), 0.5))
        self.scale = scale

    def forward(self, x, twice=True):
        y = self.linear(x) * self.scale + self.offset
        return (y * 2 if twice else y), y.sum(dim=0)


def get_inputs():
    return [torch.randn(64, 32), True]


def get_init_inputs():
    return [32, 1.5]
"""

RIGHT = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width, scale, note=None):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x, twice=True):
        y = self.linear(x) * self.scale + 0.5
        return (y * 2 if twice else y), y.sum(dim=0)
"""

NATIVE = """
#include <kernelgen/abi.h>
#include <stdio.h>
#include <stdlib.h>

KGEN_EXPORT_ABI_VERSION

static int calls;

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  if (x == NULL || x->data != NULL) return kgen_fail(&args->error, "an input has a shape only");
  if (!kgen_is(kgen_find(&args->parameters, "linear.weight"), KGEN_FLOAT32, 2)) return kgen_fail(&args->error, "weight");
  if (kgen_find(&args->parameters, "linear.weight")->data == NULL) return kgen_fail(&args->error, "weight data");
  if (!kgen_is(kgen_find(&args->buffers, "offset"), KGEN_FLOAT32, 1)) return kgen_fail(&args->error, "buffer");
  if (args->outputs.count != 2 || kgen_dim(kgen_at(&args->outputs, 1), 0) != 32) return kgen_fail(&args->error, "outputs");
  if (kgen_integer(&args->scalars, "twice", 0) != 1) return kgen_fail(&args->error, "scalar");
  if (kgen_number(&args->init_scalars, "scale", 0) != 1.5) return kgen_fail(&args->error, "init scalar");
  if (args->threads < 1 || args->device != KGEN_DEVICE_CPU) return kgen_fail(&args->error, "place");
  result->state = &calls;
  result->workspace_bytes = 1000;
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* y = kgen_at(&args->outputs, 0);
  if (state != &calls || args->workspace_bytes < 1000 || (size_t)args->workspace % KGEN_ALIGNMENT != 0)
    return kgen_fail(&args->error, "workspace");
  if (kgen_find(&args->inputs, "x")->data == NULL || y->data == NULL) return kgen_fail(&args->error, "no data");
  ++calls;
  for (uint64_t i = 0; i < y->element_count; ++i) ((float*)y->data)[i] = 1.0f;
  return LAST;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
"""


def job(**more: Any) -> dict[str, Any]:
    return {"mode": "timeline", "task": {"name": "t", "text": TASK}, "device": "cpu", "warmups": 1, "calls": 2, **more}


def build(folder: str, last: str = "0") -> str:
    source, library = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
    source.write_text(NATIVE.replace("LAST", last))
    command = ["cc", "-shared", "-fPIC", f"-I{ROOT / 'include/kernelgen/abi'}", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return str(library)


class Timelines(unittest.TestCase):
    def test_the_reference(self) -> None:
        found = timeline.record(Profiled(job()), 1, 2)
        self.assertEqual(found["schema"], 1)
        self.assertGreater(found["call_ns"], 0)
        names = {kernel["name"]: kernel for kernel in found["kernels"]}
        self.assertIn("aten::linear", names)
        self.assertEqual(names["aten::mul"]["launches"], 2)
        self.assertGreater(names["aten::linear"]["duration_ns"], 0)
        self.assertEqual(found["span_ns"], 0)

    def test_a_candidate(self) -> None:
        found = timeline.record(Profiled(job(source=RIGHT)), 1, 2)
        self.assertIn("aten::linear", [kernel["name"] for kernel in found["kernels"]])

    def test_a_shrunk_task_in_another_precision(self) -> None:
        text = "rows = 64\n" + TASK.replace("torch.randn(64, 32)", "torch.randn(rows, 32)")
        profiled = Profiled(job(task={"name": "t", "text": text}, shrink=[["rows", 8]], precision="bf16"))
        self.assertEqual(profiled.task.inputs[0].shape, (8, 32))
        self.assertEqual(profiled.task.inputs[0].dtype, "bfloat16")

    def test_a_native_candidate_gets_everything_that_the_abi_promises(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            profiled = Profiled(job(artifact=build(folder)))
            found = timeline.record(profiled, 1, 2)
        self.assertEqual([kernel["name"] for kernel in found["kernels"]], ["kgen_run"])


class Failures(unittest.TestCase):
    def test_a_task_that_is_none(self) -> None:
        with self.assertRaises(TaskError):
            Profiled(job(task={"name": "t", "text": "x = 1"}))

    def test_a_candidate_without_a_model(self) -> None:
        with self.assertRaisesRegex(CandidateError, "ModelNew"):
            Profiled(job(source="import torch"))

    def test_a_candidate_that_raises(self) -> None:
        profiled = Profiled(job(source=RIGHT.replace("y = self.linear(x)", "y = self.missing(x)")))
        with self.assertRaisesRegex(CandidateError, "missing"):
            profiled.call()

    def test_a_native_candidate_that_fails_says_why(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = build(folder, last='kgen_fail(&args->error, "it is Friday")')
            with self.assertRaisesRegex(CandidateError, "kgen_run failed: it is Friday"):
                Profiled(job(artifact=path)).call()

    def test_a_file_that_is_no_library(self) -> None:
        with tempfile.NamedTemporaryFile() as file, self.assertRaisesRegex(CandidateError, "cannot be loaded"):
            Profiled(job(artifact=file.name))

    def test_a_gpu_that_is_not_there(self) -> None:
        if torch.cuda.is_available():
            self.assertEqual(Profiled(job(device="cuda")).device.torch.type, "cuda")
            return
        with self.assertRaisesRegex(TaskError, "sees no GPU") as caught:
            Profiled(job(device="cuda"))
        self.assertEqual(caught.exception.code, "missing_device")


RELU = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(50, 33)]


def get_init_inputs():
    return []
"""

STEPS = """
#include <kernelgen/abi.h>
#include <string.h>
KGEN_EXPORT_ABI_VERSION
static const float* first;
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) { return 0; }
KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_at(&args->inputs, 0);
  const float* x = (const float*)input->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  if (first == NULL) first = x;
  BODY
  return 0;
}
KGEN_API void kgen_destroy(void* state) { (void)state; }
"""


class Shaking(unittest.TestCase):
    def shaken(self, calls: int = 60, **more: Any) -> dict[str, Any]:
        return Shaker(Profiled(job(task={"name": "t", "text": RELU}, **more)), seconds=60, calls=calls).run()

    def native(self, body: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
            source.write_text(STEPS.replace("BODY", body))
            include = f"-I{ROOT / 'include/kernelgen/abi'}"
            subprocess.run(["cc", "-shared", "-fPIC", include, "-o", str(library), str(source)], check=True)
            return self.shaken(artifact=str(library))

    def test_the_reference_agrees_with_itself(self) -> None:
        found = self.shaken()
        self.assertEqual((found["calls"], found["wrong"]), (60, 0))

    def test_an_honest_native_kernel_agrees_with_itself(self) -> None:
        found = self.native("for (uint64_t i = 0; i < input->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;")
        self.assertEqual(found["wrong"], 0)

    def test_what_depends_on_a_page_colour_is_found(self) -> None:
        found = self.native(
            "uint64_t begin = (size_t)x / 4096 % 2; y[0] = 7;"
            "for (uint64_t i = begin; i < input->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;"
        )
        self.assertGreater(found["wrong"], 0)
        self.assertEqual(found["output"], "output")

    def test_a_value_that_is_never_written_is_found(self) -> None:
        found = self.native(
            "static int calls; uint64_t begin = ++calls % 10 == 0;"
            "for (uint64_t i = begin; i < input->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;"
        )
        self.assertGreater(found["wrong"], 0)

    def test_a_module_that_is_wrong_now_and_then_is_found(self) -> None:
        source = """
import torch


class ModelNew(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.relu(x) if self.calls % 20 else torch.relu(x) * 1.01
"""
        found = self.shaken(source=source)
        self.assertEqual(found["wrong"], 3)

    def test_a_sum_in_another_order_is_no_finding(self) -> None:
        source = """
import torch


class ModelNew(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.relu(x) * (1 + 1e-6 * (self.calls % 3))
"""
        self.assertEqual(self.shaken(source=source)["wrong"], 0)

    def test_random_tasks_are_left_out(self) -> None:
        text = RELU.replace("torch.relu(x)", "x + torch.rand_like(x)")
        self.assertIn("random", Shaker(Profiled(job(task={"name": "t", "text": text})), 1, 2).run()["skipped"])

    def test_addresses_change_and_stay_aligned(self) -> None:
        placer = Placer(torch.device("cpu"), seed=1)
        tensor = torch.randn(6, 5).t()
        copies = [placer.copy("x", tensor) for _ in range(40)]
        self.assertGreater(len({copy.data_ptr() % 4096 for copy in copies}), 20)
        self.assertTrue(all(copy.data_ptr() % 64 == 0 and copy.stride() == tensor.stride() for copy in copies))
        self.assertTrue(torch.equal(copies[-1], tensor))
        self.assertTrue(placer.poison("y", torch.zeros(3)).isnan().all())


class Abi(unittest.TestCase):
    def test_sizes_and_places_are_those_of_the_header(self) -> None:
        self.assertEqual(ctypes.sizeof(native.Tensor), 64)
        self.assertEqual(ctypes.sizeof(native.TensorList), 16)
        self.assertEqual(ctypes.sizeof(native.Scalar), 40)
        self.assertEqual(ctypes.sizeof(native.ErrorText), 16)
        self.assertEqual(ctypes.sizeof(native.PrepareArgs), 176)
        self.assertEqual(native.PrepareArgs.stream.offset, 152)
        self.assertEqual(ctypes.sizeof(native.PrepareResult), 24)
        self.assertEqual(ctypes.sizeof(native.RunArgs), 200)
        self.assertEqual(native.RunArgs.outputs.offset, 88)
        self.assertEqual(native.RunArgs.workspace.offset, 160)

    def test_scalars(self) -> None:
        integer = native._scalar_of(ScalarSpec("n", "int", "-7"))
        self.assertEqual((integer.kind, integer.as_int, integer.as_float), (2, -7, -7.0))
        self.assertEqual(native._scalar_of(ScalarSpec("n", "int", str(1 << 70))).as_int, 0)
        yes = native._scalar_of(ScalarSpec("b", "bool", "True"))
        self.assertEqual((yes.kind, yes.as_int, yes.as_float), (1, 1, 1.0))
        self.assertEqual(native._scalar_of(ScalarSpec("f", "float", "2.5")).as_float, 2.5)
        text = native._scalar_of(ScalarSpec("s", "str", "mean"))
        self.assertEqual((text.kind, text.as_text), (4, b"mean"))
        self.assertEqual(native._scalar_of(ScalarSpec("o", "none", "None")).kind, 0)

    def test_a_device_of_torch_moves_modules_and_inputs(self) -> None:
        device = TorchDevice("cpu")
        self.assertTrue(device.is_gpu)
        self.assertEqual(device.move_module(torch.nn.Linear(2, 2)).weight.device.type, "cpu")
        device.synchronize()


class Program(unittest.TestCase):
    def run_job(self, **more: Any) -> tuple[int, dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path, result = Path(folder) / "job.json", Path(folder) / "timeline.json"
            path.write_text(json.dumps(job(result=str(result), **more)))
            command = [sys.executable, "-s", "-B", "-m", "kernelgen_profile", str(path)]
            done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=300, check=False)
            self.assertTrue(result.exists(), done.stderr)
            return done.returncode, json.loads(result.read_text())

    def test_a_result_is_written(self) -> None:
        code, found = self.run_job(source=RIGHT)
        self.assertEqual(code, 0)
        self.assertTrue(found["kernels"])

    def test_a_failure_is_a_result_with_its_class(self) -> None:
        code, found = self.run_job(source="import torch")
        self.assertEqual((code, found["failure"]["code"]), (1, "candidate"))
        code, found = self.run_job(task={"name": "t", "text": "x = 1"})
        self.assertEqual((code, found["failure"]["code"]), (1, "invalid_task"))


if __name__ == "__main__":
    unittest.main()
