"""The reference as torch.compile builds it: when there is a time, and the reason if there is none."""

from __future__ import annotations

import os
import signal
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import harness
import support
from harness import Bench, Judge, Zygote
from kernelgen_judge.session import RequestError, Session

HEAD = "import torch, torch.nn as nn\n"
LINEAR = HEAD + """
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
    def forward(self, x):
        return torch.relu(self.fc(x))
def get_inputs():
    return [torch.randn(16, 8)]
def get_init_inputs():
    return [8]
"""
INPUTS = "\ndef get_inputs():\n    return [torch.rand(32, 8)]\n"
CACHE: tempfile.TemporaryDirectory[str]


def setUpModule() -> None:
    global CACHE
    # Imported here, because a budget could interrupt the import and leave it incomplete in this process.
    with mock.patch.dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="1"):
        import torch._inductor.compile_fx  # noqa: F401
    CACHE = tempfile.TemporaryDirectory(prefix="compiled-")


def tearDownModule() -> None:
    CACHE.cleanup()


def model(*forward: str, init: str = "pass") -> str:
    body = "\n        ".join(forward)
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x):\n        {body}\n{INPUTS}"
    )


def request(**members: Any) -> dict[str, Any]:
    return {"kind": "compile", "cache_dir": CACHE.name, "seconds": 200, **members}


SAMPLING = {"seconds": 0.2, "min_samples": 5, "max_samples": 8}


class InProcess(unittest.TestCase):
    """Judges within the test's process. Each compiles its own module."""

    def ask(self, text: str, **members: Any) -> tuple[Session, str]:
        """The judge, and the reason why it cannot time the compiled reference."""
        judge = Session()
        judge.load({"task": {"name": "t", "text": text}, "threads": 1, **support.device_request()})
        layout = judge.layout({})
        arena = harness.memory_file(size=layout["bytes"])
        judge.attach({"path": f"/proc/self/fd/{arena}", "bytes": layout["bytes"]})
        os.close(arena)
        for descriptor in judge.take_descriptors():
            os.close(descriptor)
        judge.weights({"set": 1})
        # Only a separate process needs its own process group.
        with mock.patch("os.setpgid"), mock.patch.dict(os.environ):
            return judge, str(judge.compile(request(**members))["reason"])

    def reason(self, text: str, **members: Any) -> str:
        judge, reason = self.ask(text, **members)
        self.assertNotEqual(reason, "")
        self.assertNotIn("\n", reason)
        with self.assertRaisesRegex(RequestError, "comes after compile"):
            judge.time_compiled(SAMPLING)
        return reason

    def test_state_that_calls_change_is_no_obstacle(self) -> None:
        judge, reason = self.ask(model("return self.bn(x)", init="self.bn = nn.BatchNorm1d(8)"))
        self.assertEqual(reason, "")
        self.assertGreaterEqual(len(judge.time_compiled(SAMPLING)["samples_ns"]), 5)

    def test_state_that_long_calls_change_is_no_obstacle(self) -> None:
        """On a GPU a short call is repeated before it is timed, a long one is not."""
        with mock.patch("kernelgen_judge.gpu_timing._SHORT_NS", 1):
            _, reason = self.ask(model("return self.bn(x)", init="self.bn = nn.BatchNorm1d(8)"))
        self.assertEqual(reason, "")

    def test_other_answers_while_it_is_timed(self) -> None:
        judge, reason = self.ask(model("return x * 11"))
        self.assertEqual(reason, "")
        assert judge._compiled is not None
        judge._compiled.timed.reference.module = lambda x: x * 12
        reply = judge.time_compiled(SAMPLING)
        self.assertEqual(reply["samples_ns"], [])
        self.assertIn("gives other answers", reply["reason"])

    def test_other_answers_once_compiled(self) -> None:
        reason = self.reason(model("return x * 2 if torch.compiler.is_compiling() else x + 9"))
        self.assertIn("the compiled reference gives other answers: output: 256 of 256 elements are wrong", reason)

    def test_another_state_once_compiled(self) -> None:
        step = "self.count.add_(2 if torch.compiler.is_compiling() else 1)"
        reason = self.reason(model(step, "return x + 1", init='self.register_buffer("count", torch.zeros(()))'))
        self.assertIn("gives other answers: count: 1 of 1 elements are wrong", reason)

    def test_inputs_overwritten_once_compiled(self) -> None:
        reason = self.reason(model("y = x + 3", "if torch.compiler.is_compiling():", "    x.mul_(2)", "return y"))
        self.assertIn("input x was overwritten", reason)

    def test_a_compiler_that_fails(self) -> None:
        import torch._inductor.config as inductor

        with mock.patch.object(inductor.cpp, "cxx", ("/nonexistent/compiler",)):
            reason = self.reason(model("return torch.sigmoid(x) * 7"))
        self.assertIn("torch.compile failed: ", reason)
        self.assertIn("compiler", reason)

    def test_a_budget_that_is_too_small(self) -> None:
        reason = self.reason(model("return torch.tanh(x) * 5"), seconds=0.01)
        self.assertEqual(reason, "compiling and checking it took more than the 0.01 s allowed")
        self.assertEqual(signal.getitimer(signal.ITIMER_REAL), (0.0, 0.0))
        self.assertEqual(signal.getsignal(signal.SIGALRM), signal.SIG_DFL)

    def test_a_budget_whose_end_is_swallowed(self) -> None:
        def compiler(module: Any, mode: Any) -> Any:
            try:
                time.sleep(5)
            except BaseException:  # noqa: BLE001 - like a careless compiler
                pass
            return module

        with mock.patch("torch.compile", compiler):
            self.assertIn("more than the 0.2 s allowed", self.reason(model("return torch.cos(x)"), seconds=0.2))

    def test_tasks_without_a_comparison(self) -> None:
        with mock.patch("torch.compile") as compiler:
            self.assertIn("random numbers", self.reason(model("return x + torch.randn(8)")))
            self.assertIn("random numbers", self.reason(model("return self.d(x)", init="self.d = nn.Dropout(0.5)")))
            self.assertIn("writes to its input x", self.reason(model("return x.mul_(2)")))
        compiler.assert_not_called()

    def test_an_unknown_kind(self) -> None:
        with self.assertRaisesRegex(RequestError, "unknown kind of baseline"):
            self.ask(model("return x"), kind="faster")


class ProcessTest(unittest.TestCase):
    def test_a_judge_that_ends_with_its_compilers(self) -> None:
        zygote = Zygote("kernelgen_judge")
        self.addCleanup(zygote.close)
        judge = Judge(zygote)
        self.addCleanup(judge.close)
        bench = Bench(judge, LINEAR)
        self.addCleanup(bench.close)
        judge.must("weights", set=1)
        for kind in ("compile", "compile-max-autotune"):
            self.assertEqual(judge.must("compile", **request(kind=kind))["reason"], "")
            reply = judge.must("time_compiled", **SAMPLING)
            self.assertTrue(5 <= len(reply["samples_ns"]) <= 8 and all(sample > 0 for sample in reply["samples_ns"]))
        self.assertEqual(os.getpgid(judge.pid), judge.pid)
        children = Path(f"/proc/{judge.pid}/task/{judge.pid}/children").read_text().split()
        # With the fake device there is one such process, the probe.
        self.assertEqual(len(children), 1 if harness.DEVICE else 0)
        self.assertTrue(any(Path(CACHE.name, "inductor").iterdir()))
        self.assertEqual(judge.ask("compile", kind="compile")["error"]["code"], "protocol")


if __name__ == "__main__":
    unittest.main()
