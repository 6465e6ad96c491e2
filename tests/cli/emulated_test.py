"""Evaluations of hip kernels on an emulator of AMD GPUs. What runs on one is skipped where none is named: KGEN_ROCJITSU
(librocjitsu.so) and KGEN_ROCJITSU_CONFIG (the configuration of a GPU that ROCm's HIP here knows)."""

import os
import pathlib
import unittest

from evaluations import EXAMPLE_TASK, Evaluation, blocks, main

TASK = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.flip(x.view(-1, 256), (1,)).reshape(x.shape)


def get_inputs():
    return [torch.randn(16, 256)]


def get_init_inputs():
    return []
"""
# Needs the barrier: the numbers that a thread writes come from another wavefront's.
KERNEL = """#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>

__global__ void __launch_bounds__(256) turn(const float* in, float* out, int count) {
  __shared__ float part[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < count ? in[i] : 0;
  __syncthreads();
  if (i < count) out[i] = part[255 - threadIdx.x];
}

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) { return 0; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* in = args->inputs.items[0];
  const int count = static_cast<int>(in->shape[0] * in->shape[1]);
  turn<<<(count + 255) / 256, 256, 0, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<const float*>(in->data), static_cast<float*>(args->outputs.items[0]->data), count);
  return hipGetLastError() == hipSuccess ? 0 : 1;
}

KGEN_API void kgen_destroy(void* state) {}
"""
VARIABLES = ("KGEN_ROCJITSU", "KGEN_ROCJITSU_CONFIG")


class Emulated(Evaluation):
    task = TASK
    device = "amd:emulated"


class WithoutEmulator(Emulated):
    def fails(self, code, message, *more, **given):
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environment.update(given)
        done = self.eval(KERNEL, *more, environment=environment)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)

    def test_none_is_named(self):
        self.fails(69, "amd:emulated needs an emulator: set KGEN_ROCJITSU to librocjitsu.so of AMD's rocjitsu")

    def test_there_is_no_such_library(self):
        self.fails(69, "KGEN_ROCJITSU is '/no/lib.so', and there is no such file", KGEN_ROCJITSU="/no/lib.so")

    def test_no_configuration_is_named(self):
        self.fails(69, "set KGEN_ROCJITSU_CONFIG to the configuration of a GPU", KGEN_ROCJITSU=__file__)

    def test_a_library_that_is_no_emulator(self):
        library = next(pathlib.Path("/usr/lib").glob("*/libm.so.6"), None) or next(pathlib.Path("/lib64").glob("libm.so.6"))
        self.fails(69, "the emulator shows no AMD GPU (", KGEN_ROCJITSU=str(library), KGEN_ROCJITSU_CONFIG=__file__)

    def test_kernels_for_other_devices(self):
        for target in ("cpp", "cuda", "triton"):
            self.fails(64, f"{target} kernels do not run on amd:emulated, which executes hip", "--target", target)


@unittest.skipUnless(all(os.environ.get(name) for name in VARIABLES), "no emulator is named by " + " and ".join(VARIABLES))
class WithEmulator(Emulated):
    def refused(self, before, after, *kinds, more=()):
        self.assertIn(before, KERNEL)
        code, record = self.record(KERNEL.replace(before, after), *more)
        self.assertEqual(code, 2)
        self.assertIn(record["outcome"]["kind"], kinds, record["outcome"])
        return record

    def test_a_right_kernel_has_no_time_that_counts(self):
        code, record = self.record(KERNEL)
        self.assertEqual((code, record["outcome"]["kind"]), (1, "correct"), record["outcome"])
        self.assertIsNone(record.get("timing"))
        self.assertRegex(record["environment"]["device"], r"^amd:emulated: gfx\w+, by rocjitsu$")
        label = f"executed on an emulator: {record['environment']['device']}; says nothing about an AMD GPU"
        self.assertIn(label, record["labels"])
        self.assertEqual([kernel["name"] for kernel in record["compile"]["kernels"]], ["turn(float const*, float*, int)"])

    def test_the_example_of_the_prompts(self):
        code, record = self.record(blocks("examples/hip")[0], task=EXAMPLE_TASK)
        self.assertEqual((code, record["outcome"]["kind"]), (1, "correct"), record["outcome"])

    def test_wrong_numbers(self):
        self.refused("part[255 -", "part[254 -", "accuracy")

    def test_a_missing_barrier(self):
        record = self.refused("  __syncthreads();\n", "", "device_fault")
        self.assertEqual(record["outcome"]["detail"], "data_race")
        self.assertRegex(record["outcome"]["message"], r"data race on LDS byte \d+ .*ds_write_b32 .*wave \d.*ds_read_b32")

    def test_a_write_behind_the_output(self):
        self.refused("if (i < count) out[i] =", "out[i + 65536] =", "crash", "device_fault")

    def test_an_endless_loop(self):
        self.refused("  __syncthreads();", "  __syncthreads();\n  while (__hip_atomic_load(&in[0], __ATOMIC_RELAXED, "
                     "__HIP_MEMORY_SCOPE_AGENT) != 12345.f) {}", "timeout", more=("--timeout", "5"))

    def test_a_launch_that_cannot_be(self):
        self.refused("/ 256, 256, 0,", "/ 256, 4096, 0,", "launch")


if __name__ == "__main__":
    main()
