"""Compiling for GPUs that are not here: Triton's own backend for AMD lists what each kernel needs."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
import unittest
from typing import Any

from harness import SUPPORT, Answer, Bench, Judge, Runner, RunnerDied, Zygote, memory_file
from kernelgen_runner import protocol
from test_ahead import FACTS, TRITON, TUNED, UUID
from trial import TASK

CAPACITY = 1 << 20
#: Wavefronts and LDS of one device of each architecture.
ARCHITECTURES = {"gfx90a": (64, 64), "gfx942": (64, 64), "gfx950": (64, 160), "gfx1100": (32, 64), "gfx1201": (32, 64)}
WITH_CAPABILITY = TRITON.replace("half_kernel[(", "assert torch.cuda.get_device_capability() == CAPABILITY\n            half_kernel[(")
REFUSED = TRITON.replace("@triton.jit\ndef half", "@triton.jit\ndef bad(x):\n    tl.store(x, tl.arange(0, 3))\n@triton.jit\ndef half").replace(
    "half_kernel[(", "bad[(1,)](y)\n            half_kernel[("
)
GREEDY = """
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def greedy(x, y, B: tl.constexpr):
    r = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, 4):
        a = tl.load(x + k + r[:, None] * B + r[None, :]).to(tl.float16)
        acc += tl.dot(a, tl.load(x + k + r[:, None] * B + r[None, :]).to(tl.float16))
    tl.store(y + r[:, None] * B + r[None, :], acc)
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
    def forward(self, x):
        y = torch.empty_like(x)
        greedy[(1,)](x, y, B=256, num_warps=8)
        return y
"""


def facts_of(architecture: str) -> dict[str, Any]:
    threads, lds = ARCHITECTURES[architecture]
    return {
        "vendor": "amd",
        "name": "a GPU",
        "architecture": architecture,
        "memory_bytes": 64 << 30,
        "multiprocessors": 132,
        "warp_threads": threads,
        "threads_per_multiprocessor": 2048,
        "registers_per_multiprocessor": 131072,
        "shared_bytes_per_block": lds << 10,
        "shared_bytes_per_block_optin": lds << 10,
        "shared_bytes_per_multiprocessor": lds << 10,
        "l2_bytes": 4 << 20,
    }


judges: Zygote
runners: Zygote


def setUpModule() -> None:
    global judges, runners
    judges = Zygote("kernelgen_judge")
    runners = Zygote("kernelgen_runner", *(["--support", SUPPORT] if SUPPORT else []))


def tearDownModule() -> None:
    judges.close()
    runners.close()


@unittest.skipIf(importlib.util.find_spec("triton") is None, "there is no triton")
class CompileForTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # A sandbox may run as another user.
        os.chmod(self.folder.name, 0o777)

    def compile_for(
        self, architecture: str, source: str, task: str = TASK, capacity: int = CAPACITY, zygote: Zygote | None = None
    ) -> tuple[Answer | None, list[dict[str, Any]]]:
        """The reply, None from a process that died, and what is listed."""
        bench = Bench(Judge(judges), task, threads=1)
        self.addCleanup(bench.judge.close)
        self.addCleanup(bench.close)
        builder = Runner(zygote or runners, builds=self.folder.name, builder=True)
        self.addCleanup(builder.close)
        files = [
            memory_file(json.dumps(bench.layout["python_job"]).encode()),
            memory_file(source.encode()),
            memory_file(json.dumps(facts_of(architecture)).encode()),
            memory_file(size=CAPACITY),
        ]
        try:
            answer: Answer | None = builder.ask(protocol.OP_COMPILE_FOR, 8 << 30, capacity, descriptors=tuple(files))
        except RunnerDied:
            answer = None
        lines = os.pread(files[3], CAPACITY, 0).rstrip(b"\0").splitlines()
        for descriptor in files:
            os.close(descriptor)
        return answer, [json.loads(line) for line in lines]

    def listed(self, architecture: str, source: str, **options: Any) -> list[dict[str, Any]]:
        answer, kernels = self.compile_for(architecture, source, **options)
        assert answer is not None
        self.assertEqual(answer.status, protocol.OK, answer.text)
        return kernels

    def test_every_architecture_lists_what_a_kernel_needs(self) -> None:
        for architecture, (threads, _) in ARCHITECTURES.items():
            with self.subTest(architecture):
                (kernel,) = self.listed(architecture, TRITON)
                self.assertEqual(kernel["kernel"], "half_kernel[SMS=132, BLOCK=256, num_warps=4, num_stages=2]")
                self.assertEqual(kernel["dynamic_shared_bytes"], 0)
                self.assertIn(f"amdgcn-amd-amdhsa--{architecture}", kernel["code"])
                self.assertRegex(kernel["code"], rf"\.wavefront_size: {threads}\n")
                self.assertRegex(kernel["code"], r"(?m)^; Occupancy: \d+$")
                self.assertRegex(kernel["code"], r"\.vgpr_count: +\d+\n")

    def test_a_builder_of_another_gpu_compiles_for_it_too(self) -> None:
        support = ["--support", SUPPORT] if SUPPORT else []
        beside = Zygote("kernelgen_runner", *support, "--gpu", UUID, "--gpu-vendor", "fake", "--gpu-facts", json.dumps(FACTS))
        self.addCleanup(beside.close)
        (kernel,) = self.listed("gfx942", TRITON, zygote=beside)
        self.assertIn("amdgcn-amd-amdhsa--gfx942", kernel["code"])

    def test_the_capability_is_that_of_torch_for_the_architecture(self) -> None:
        for architecture, pair in {"gfx90a": (9, 0), "gfx942": (9, 4), "gfx1100": (11, 0), "gfx1201": (12, 0)}.items():
            with self.subTest(architecture):
                self.assertEqual(len(self.listed(architecture, WITH_CAPABILITY.replace("CAPABILITY", repr(pair)))), 1)

    def test_every_configuration_of_an_autotuner_is_listed(self) -> None:
        kernels = self.listed("gfx942", TUNED)
        self.assertEqual([kernel["kernel"].split("BLOCK=")[1].split(",")[0] for kernel in kernels], ["64", "128", "256"])

    def test_a_kernel_is_listed_once(self) -> None:
        twice = TRITON.replace("        return y +", "        half_kernel[(1,)](z, y, z.numel(), SMS=self.sms, BLOCK=256)\n        return y +")
        self.assertEqual(len(self.listed("gfx942", twice)), 1)

    def test_an_offset_that_breaks_the_alignment_is_another_kernel(self) -> None:
        shifted = TRITON.replace("        return y +", "        half_kernel[(1,)](z.view(-1)[1:], y, z.numel(), SMS=self.sms, BLOCK=256)\n        return y +")
        self.assertEqual(len(self.listed("gfx942", shifted)), 2)

    def test_a_kernel_that_is_refused_does_not_hide_the_others(self) -> None:
        refused, kernel = self.listed("gfx1100", REFUSED)
        self.assertEqual(refused["kernel"], "bad")
        self.assertIn("CompilationError", refused["error"])
        self.assertIn("half_kernel", kernel["kernel"])

    def test_lds_beyond_the_architecture_is_an_error_in_the_words_of_triton(self) -> None:
        kernel, error = self.listed("gfx942", GREEDY, task=TASK.replace("32, 64", "256, 256").replace("[64]", "[256]"))
        self.assertGreater(kernel["dynamic_shared_bytes"], 64 << 10)
        self.assertIn("out of resource: shared memory, Required: ", error["error"])

    def test_what_was_compiled_before_a_number_is_needed_stays(self) -> None:
        answer, kernels = self.compile_for("gfx942", TRITON.replace("return y +", "y.sum().item()\n        return y +"))
        assert answer is not None
        self.assertEqual(answer.status, protocol.EXCEPTION)
        self.assertEqual(len(kernels), 1)

    def test_a_candidate_that_ends_the_process_keeps_what_was_listed(self) -> None:
        answer, kernels = self.compile_for("gfx942", TRITON.replace("return y +", "__import__('os')._exit(3)\n        return y +"))
        self.assertIsNone(answer)
        self.assertEqual(len(kernels), 1)

    def test_a_list_without_room_is_shorter(self) -> None:
        self.assertEqual(self.listed("gfx942", TRITON, capacity=100), [])

    def test_too_few_descriptors_are_refused(self) -> None:
        builder = Runner(runners, builds=self.folder.name, builder=True)
        self.addCleanup(builder.close)
        self.assertEqual(builder.ask(protocol.OP_COMPILE_FOR, 0, CAPACITY).status, protocol.PROTOCOL)


if __name__ == "__main__":
    unittest.main()
