"""Evaluations of hip kernels on the CPU: right ones, wrong ones, and what is refused."""

import json

from evaluations import EXAMPLE_TASK, Evaluation, blocks, main

# The state is in both buffers of the workspace by turns; CALL starts the kernel.
RECURRENCE_TASK = """import torch


class Model(torch.nn.Module):
    def __init__(self, units, steps):
        super().__init__()
        self.weight = torch.nn.Parameter(0.2 * torch.randn(units, units))
        self.steps = steps

    def forward(self, state):
        for _ in range(self.steps):
            state = torch.tanh(self.weight @ state)
        return state


def get_inputs():
    return [torch.randn(96)]


def get_init_inputs():
    return [96, 5]
"""
RECURRENCE_TAIL = """
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) {
  result->workspace_bytes = 2 * 96 * sizeof(float);
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* state = kgen_find(&args->inputs, "state");
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "weight")->data);
  float* states = static_cast<float*>(args->workspace);
  hipStream_t stream = static_cast<hipStream_t>(args->stream);
  int units = 96, steps = 5;
  if (hipMemcpyAsync(states, state->data, units * sizeof(float), hipMemcpyDeviceToDevice, stream) != hipSuccess) return 1;
  CALL
  const hipError_t status = hipGetLastError();
  if (status != hipSuccess) return kgen_fail(&args->error, hipGetErrorString(status));
  return hipMemcpyAsync(args->outputs.items[0]->data, states + LAST, units * sizeof(float), hipMemcpyDeviceToDevice,
                        stream);
}
KGEN_API void kgen_destroy(void*) {}
"""
COOPERATIVE = """void* packed[] = {&weight, &states, &units, &steps};
  (void)hipLaunchCooperativeKernel(reinterpret_cast<void*>(recur), dim3(3), dim3(32), packed, 0, stream);"""
PLAIN = "recur_wrong<<<3, 32, 0, stream>>>(weight, states, units, steps);"


class HipOnCpu(Evaluation):
    task = EXAMPLE_TASK

    def test_the_example_of_the_prompts(self):
        for lanes in ("64", "32"):
            code, record = self.record(blocks("examples/hip")[0], "--wave-size", lanes)
            self.assertEqual(code, 1)
            self.assertEqual(record["outcome"]["kind"], "correct")
            self.assertEqual(record["mode"], "correctness_only")
            self.assertIsNone(record.get("timing"))
            self.assertRegex(record["environment"]["compiler"], r"clang version|g\+\+|gcc|c\+\+")
            self.assertIn(f"executed on the CPU: an emulation of HIP with wavefronts of {lanes} lanes; says nothing about "
                          "an AMD GPU", record["labels"])

    def test_a_wrong_kernel(self):
        wrong = blocks("examples/hip")[0].replace("a.w * b.w", "a.w * b.z")
        code, record = self.record(wrong)
        self.assertEqual(code, 2)
        self.assertEqual(record["outcome"]["kind"], "accuracy")

    def test_the_recurrences_of_the_prompts(self):
        shown = blocks("partials/recurrence_example")
        head = "#include <hip/hip_runtime.h>\n#include <hip/hip_cooperative_groups.h>\n"
        right = next(block for block in shown if "__hip_atomic_load(" in block)
        tail = RECURRENCE_TAIL.replace("CALL", COOPERATIVE).replace("LAST", "steps % 2 * units")
        code, record = self.record(head + right + tail, task=RECURRENCE_TASK)
        self.assertEqual((code, record["outcome"]["kind"]), (1, "correct"), record["outcome"])
        wrong = next(block for block in shown if "__global__ void recur_wrong" in block)
        tail = RECURRENCE_TAIL.replace("CALL", PLAIN).replace("LAST", "0")
        code, record = self.record(head + wrong + tail, task=RECURRENCE_TASK)
        self.assertEqual((code, record["outcome"]["kind"]), (2, "accuracy"), record["outcome"])

    def test_a_divergent_barrier_says_where(self):
        stuck = blocks("examples/hip")[0].replace("const int64_t stride", "if (threadIdx.x < 8) __syncthreads();\n  const int64_t stride", 1)
        code, record = self.record(stuck)
        self.assertEqual(code, 2)
        self.assertIn("8 of 256 threads wait at the barrier in line", record["outcome"]["message"])

    def test_a_wait_that_does_not_end_is_told_by_its_name(self):
        gives_up = (
            blocks("examples/hip")[0]
            .replace("KGEN_EXPORT_ABI_VERSION", 'KGEN_EXPORT_ABI_VERSION\nKGEN_EXPORT_REPORTS("x_ready", "h_full")')
            .replace("int row_length) {", "int row_length, uint64_t* report) {\n  if (blockIdx.x == 1 && threadIdx.x == 0) KGEN_REPORT(report, 2);")
            .replace("kgen_dim(x, 1) / 4));", "kgen_dim(x, 1) / 4), args->report);")
        )
        code, record = self.record(gives_up)
        self.assertEqual((code, record["outcome"]["kind"]), (2, "launch"), record["outcome"])
        self.assertRegex(record["outcome"]["message"], r"a kernel reported 'h_full' in block 1, \d+ us after the call began")

    def test_a_write_behind_the_output(self):
        beyond = blocks("examples/hip")[0].replace("i < count; i += stride", "i < count + 4096; i += stride")
        code, record = self.record(beyond)
        self.assertEqual(code, 2)
        self.assertNotEqual(record["outcome"]["kind"], "correct")

    def test_matrix_instructions(self):
        code, record = self.record(
            "#include <hip/hip_runtime.h>\ntypedef float v4 __attribute__((ext_vector_type(4)));\n"
            "__global__ void k(float* x) { v4 a = {}; a = __builtin_amdgcn_mfma_f32_16x16x4f32(x[0], x[1], a, 0, 0, 0); }\n")
        self.assertEqual(code, 2)
        self.assertEqual(record["outcome"]["detail"], "unsupported")
        self.assertIn("__builtin_amdgcn_mfma_f32_16x16x4f32 is not executed on the CPU", record["outcome"]["message"])

    def test_vectors_of_clang(self):
        # The same kernel with clang's own vectors in place of HIP's.
        vectors = blocks("examples/hip")[0].replace("namespace {", "typedef float quad __attribute__((ext_vector_type(4)));\n"
                                                    "namespace {", 1).replace("float4*", "quad*").replace(
            "const float4 ", "const quad ").replace("make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w)",
                                                    "(a * b).wzyx.s3210")
        done = self.eval(vectors)
        # Where there is no clang of 15 or newer, the kernel is not to blame.
        if done.returncode == 69:
            self.assertIn("install clang 15 or newer", done.stderr)
        else:
            self.assertEqual(done.returncode, 1, done.stderr)
            record = json.loads(done.stdout)
            self.assertEqual(record["outcome"]["kind"], "correct", record["outcome"])
            self.assertIn("clang", record["environment"]["compiler"])

    def test_sanitizers_say_that_they_do_not_watch_it(self):
        code, record = self.record(blocks("examples/hip")[0], "--sanitize")
        self.assertEqual(code, 1)
        self.assertIn("the CPU executes it in place of a GPU", json.dumps(record["sanitizers"]))

    def test_without_a_device_the_cpu_is_named(self):
        done = self.eval(blocks("examples/hip")[0], device="")
        self.assertEqual(done.returncode, 69)
        self.assertIn("the cpu executes hip kernels on request (--device cpu), for correctness and without a time", done.stderr)

    def test_hipkittens_needs_a_gpu(self):
        done = self.eval(blocks("examples/hip")[0], "--target", "hipkittens")
        self.assertEqual(done.returncode, 64)
        self.assertIn("hipkittens kernels need a GPU, not the cpu: they are written for matrix instructions", done.stderr)

    def test_a_wavefront_of_another_size_is_refused(self):
        done = self.eval(blocks("examples/hip")[0], "--wave-size", "48")
        self.assertEqual(done.returncode, 64)
        self.assertIn("32 or 64", done.stderr)


if __name__ == "__main__":
    main()
