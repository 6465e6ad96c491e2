"""Evaluations that compile a Triton kernel for AMD GPUs that are not here."""

from evaluations import Evaluation, main

EVERY = "gfx90a,gfx942,gfx950,gfx1100,gfx1201"

TASK = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(4, 256)]


def get_init_inputs():
    return []
"""
KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def double_relu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0) * 2, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double_relu[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
"""


class CompileFor(Evaluation):
    task = TASK
    name = "kernel.py"

    def test_the_record_has_what_a_kernel_needs_on_each_architecture(self):
        _, record = self.record(KERNEL, "--compile-for", EVERY)
        self.assertEqual(record["outcome"]["kind"], "correct", record["outcome"])
        self.assertIn("compiled for gfx90a, gfx942, gfx950, gfx1100, gfx1201, never run there", record["labels"])
        self.assertEqual([one["architecture"] for one in record["compiled_for"]], EVERY.split(","))
        for one in record["compiled_for"]:
            with self.subTest(one["architecture"]):
                self.assertIsNone(one["failure"])
                (kernel,) = one["kernels"]
                self.assertEqual(kernel["name"], "double_relu[BLOCK=256, num_warps=4, num_stages=2]")
                self.assertGreater(kernel["registers"], 0)
                self.assertGreater(kernel["scalar_registers"], 0)
                self.assertGreater(kernel["occupancy"], 0)
                self.assertEqual(kernel["dynamic_shared_bytes"], 0)

    def test_the_verdict_as_text_has_a_line_for_each_kernel(self):
        done = self.eval(KERNEL, "--compile-for", "gfx942", "--compile-for", "gfx1100", as_json=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        for architecture in ("gfx942", "gfx1100"):
            self.assertRegex(done.stdout, rf"(?m)^{architecture} +double_relu\[BLOCK=256, num_warps=4, num_stages=2\]: \d+ VGPRs, .*"
                                          r"0 bytes of LDS, no spills, occupancy \d+$")

    def test_a_wrong_kernel_is_compiled_too(self):
        _, record = self.record(KERNEL.replace("* 2, mask", "* 3, mask"), "--compile-for", "gfx942")
        self.assertEqual(record["outcome"]["kind"], "accuracy")
        self.assertEqual(len(record["compiled_for"][0]["kernels"]), 1)

    def test_what_only_the_compiler_refuses_has_its_class_and_one_line(self):
        # Triton's interpreter takes sizes that are no powers of two.
        refused = KERNEL.replace("BLOCK=256)", "BLOCK=384)").replace("cdiv(x.numel(), 256)", "cdiv(x.numel(), 384)")
        _, record = self.record(refused, "--compile-for", "gfx942")
        failure = record["compiled_for"][0]["failure"]
        self.assertEqual((failure["kind"], failure["detail"]), ("compile", "triton"), record)
        self.assertTrue(failure["message"].startswith("double_relu: CompilationError"), failure)
        self.assertNotIn("\n", failure["message"])

    def test_without_the_option_nothing_is_compiled(self):
        self.assertNotIn("compiled_for", self.record(KERNEL)[1])

    def test_an_architecture_that_cannot_be_compiled_for(self):
        done = self.eval(KERNEL, "--compile-for", "gfx942,gfx906")
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("cannot compile for the architecture 'gfx906'; take some of gfx908, gfx90a, gfx942", done.stderr)

    def test_an_empty_architecture(self):
        done = self.eval(KERNEL, "--compile-for", "gfx942,")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--compile-for: expected architectures, such as gfx942,gfx1100", done.stderr)

    def test_kernels_of_other_targets(self):
        done = self.eval("int x;", "--compile-for", "gfx942", name="kernel.cpp")
        self.assertEqual(done.returncode, 64)
        self.assertIn("cpp candidates are not compiled for architectures of GPUs that are not here; triton ones are", done.stderr)


if __name__ == "__main__":
    main()
