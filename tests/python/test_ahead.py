"""Building ahead: a process without the device compiles what a candidate's first call on it will need."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
import unittest
from pathlib import Path

from harness import SUPPORT, Answer, Bench, Judge, Runner, RunnerDied, Zygote, memory_file
from kernelgen_runner import protocol
from trial import HEAD, HONEST, TASK

FACTS = {
    "vendor": "nvidia",
    "name": "NVIDIA H200",
    "architecture": "sm_90",
    "memory_bytes": 150 << 30,
    "multiprocessors": 132,
    "warp_threads": 32,
    "threads_per_multiprocessor": 2048,
    "registers_per_multiprocessor": 65536,
    "shared_bytes_per_block": 49152,
    "shared_bytes_per_block_optin": 232448,
    "shared_bytes_per_multiprocessor": 233472,
    "l2_bytes": 50 << 20,
}
UUID = "GPU-fafafafa-fafa-fafa-fafa-fafafafafafa"
TRITON = """
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def half_kernel(x, y, n, SMS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 0.5 * SMS, mask=at < n)
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count
    def forward(self, x):
        assert x.is_cuda and x.device.type == "cuda" and self.fc.weight.is_cuda
        z = self.fc(x).contiguous()
        y = torch.empty(z.shape, device="cuda")
        with torch.cuda.device(x.device):
            half_kernel[(triton.cdiv(z.numel(), 256),)](z, y, z.numel(), SMS=self.sms, BLOCK=256)
        return y + torch.zeros_like(x).cuda().to(x.device)
"""
TUNED = TRITON.replace(
    "@triton.jit\n",
    "@triton.autotune([triton.Config({'BLOCK': 64 << i}) for i in range(3)], key=['n'])\n@triton.jit\n",
).replace(", BLOCK=256)", ")")

needs_triton = unittest.skipIf(importlib.util.find_spec("triton") is None, "there is no triton")
judges: Zygote
runners: Zygote


def setUpModule() -> None:
    global judges, runners
    judges = Zygote("kernelgen_judge")
    support = ["--support", SUPPORT] if SUPPORT else []
    gpu = ["--gpu", UUID, "--gpu-vendor", "fake", "--gpu-variable", "CUDA_VISIBLE_DEVICES", "--gpu-facts", json.dumps(FACTS)]
    runners = Zygote("kernelgen_runner", *support, *gpu)


def tearDownModule() -> None:
    judges.close()
    runners.close()


class AheadTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # A sandbox may run as another user.
        os.chmod(self.folder.name, 0o777)

    def build(self, source: str, task: str = TASK) -> Answer:
        bench = Bench(Judge(judges), task, threads=1)
        self.addCleanup(bench.judge.close)
        self.addCleanup(bench.close)
        builder = Runner(runners, builds=self.folder.name, builder=True)
        self.addCleanup(builder.close)
        job = memory_file(json.dumps(bench.layout["python_job"]).encode())
        code = memory_file(source.encode())
        try:
            return builder.ask(protocol.OP_BUILD, descriptors=(job, code))
        finally:
            os.close(job)
            os.close(code)

    def built(self, pattern: str) -> list[Path]:
        return sorted((Path(self.folder.name) / "kept").rglob(pattern))

    @needs_triton
    def test_a_kernel_is_compiled_for_the_device_that_is_not_there(self) -> None:
        answer = self.build(TRITON)
        self.assertEqual(answer.status, protocol.OK, answer.text)
        (code,) = self.built("half_kernel.ptx")
        self.assertIn(".target sm_90", code.read_text())
        self.assertEqual(len(self.built("half_kernel.cubin")), 1)
        # The number of multiprocessors, 132, is in it.
        self.assertIn("0f43040000", code.read_text().lower())

    @needs_triton
    def test_every_configuration_of_an_autotuner_is_compiled(self) -> None:
        answer = self.build(TUNED)
        self.assertEqual(answer.status, protocol.OK, answer.text)
        self.assertEqual(len(self.built("half_kernel.cubin")), 3)

    @needs_triton
    def test_what_was_built_before_a_failure_stays(self) -> None:
        answer = self.build(TRITON.replace("return y +", "y.sum().item()\n        return y +"))
        self.assertEqual(answer.status, protocol.EXCEPTION)
        self.assertEqual(len(self.built("half_kernel.cubin")), 1)

    def test_what_is_built_while_importing_is_kept(self) -> None:
        before = (
            "import os, pathlib\nplace = pathlib.Path(os.environ['TORCH_EXTENSIONS_DIR']) / 'mine'\nplace.mkdir()\n"
            "(place / 'built').write_text(os.environ['TORCH_CUDA_ARCH_LIST'] + os.environ['CUDA_VISIBLE_DEVICES'])\n"
        )
        answer = self.build(f"{HEAD}{before}\nraise RuntimeError('afterwards')")
        self.assertNotEqual(answer.status, protocol.OK)
        self.assertIn("afterwards", answer.text)
        (built,) = self.built("built")
        self.assertEqual(built.read_text(), "9.0")

    def test_a_candidate_that_ends_the_process_ends_only_that(self) -> None:
        with self.assertRaises(RunnerDied):
            self.build("import os\nos._exit(0)")
        self.assertEqual(self.build(HONEST).status, protocol.OK)

    def test_it_does_nothing_but_build(self) -> None:
        builder = Runner(runners, builds=self.folder.name, builder=True)
        self.addCleanup(builder.close)
        self.assertEqual(builder.ask(protocol.OP_RUN, 1).status, protocol.PROTOCOL)

    @unittest.skipIf(SUPPORT is None, "no sandbox without the library")
    def test_it_has_no_sockets(self) -> None:
        answer = self.build("import socket\nsocket.socket()")
        self.assertEqual(answer.status, protocol.IMPORT)
        self.assertRegex(answer.text, "PermissionError|OSError")


if __name__ == "__main__":
    unittest.main()
