"""Tests of a runner's use of its device, in this process: with the fake device, and with fakes of torch's graphs."""

from __future__ import annotations

import contextlib
import ctypes
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from harness import FAKE_UUID, SUPPORT
from kernelgen_common.gpu import GpuError
from kernelgen_runner import graphs, protocol
from kernelgen_runner.calls import Work, make_device_run
from kernelgen_runner.candidate import decisive, describe
from kernelgen_runner.device import Device, _free_blocks, device_failure, open_device
from kernelgen_runner.outputs import MappedTensor
from kernelgen_runner.protocol import Failure, Reply
from kernelgen_runner.support import python_paths

DRIVER = ctypes.CDLL("libcuda.so.1")
ILLEGAL_ADDRESS = 700


def place(tensor: torch.Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.nbytes


class DeviceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.device = Device(str(SUPPORT), FAKE_UUID)
        self.addCleanup(self.device.gpu.close)
        self.addCleanup(DRIVER.kgen_fake_cuda_fault, 0)

    def test_architecture(self) -> None:
        self.assertEqual(self.device.architecture, {"TORCH_CUDA_ARCH_LIST": "9.0"})

    def test_devices_that_are_not_there(self) -> None:
        with self.assertRaisesRegex(GpuError, "no GPU GPU-none"):
            open_device(str(SUPPORT), "GPU-none")
        with self.assertRaisesRegex(GpuError, "needs libkgen_runner_support"):
            open_device(None, FAKE_UUID)
        with self.assertRaisesRegex(GpuError, "nonexistent.so cannot be used"):
            open_device("/nonexistent.so", FAKE_UUID)

    def test_copies(self) -> None:
        source, target = torch.arange(10, dtype=torch.int32), torch.zeros(10, dtype=torch.int32)
        self.device.make_copier()([(target.data_ptr(), *place(source))])
        self.assertTrue(torch.equal(source, target))
        DRIVER.kgen_fake_cuda_fault(ILLEGAL_ADDRESS)
        with self.assertRaises(Failure) as caught:
            self.device.make_copier()([(target.data_ptr(), *place(source))])
        self.assertEqual((caught.exception.reply.status, caught.exception.reply.detail), (protocol.DEVICE_FAULT, ILLEGAL_ADDRESS))

    def test_a_fault_explains_what_failed_and_nothing_else_does(self) -> None:
        failed = Reply(protocol.EXCEPTION, "RuntimeError: who knows")
        self.assertIs(self.device.explain(failed), failed)
        DRIVER.kgen_fake_cuda_fault(ILLEGAL_ADDRESS)
        explained = self.device.explain(failed)
        self.assertEqual(explained.status, protocol.DEVICE_FAULT)
        self.assertIn("illegal memory access", explained.text)
        self.assertIn("who knows", explained.text)
        refused = Reply(protocol.PROTOCOL, "no such thing")
        self.assertIs(self.device.explain(refused), refused)

    def test_out_of_memory_is_no_fault(self) -> None:
        self.assertEqual(device_failure(GpuError("out of memory (2)", 2)).reply.status, protocol.OUT_OF_MEMORY)
        self.assertEqual(device_failure(GpuError("made up")).reply.status, protocol.DEVICE_FAULT)

    def test_a_replay_that_writes_its_outputs(self) -> None:
        outputs = [torch.zeros(1000), torch.zeros(100_000), torch.zeros(0)]
        writes = self.device.make_replay_check()
        self.assertTrue(writes(lambda: [output.fill_(3) for output in outputs], [place(output) for output in outputs]))
        self.assertTrue(bool((outputs[1] == 3).all()))

    def test_a_replay_that_leaves_an_output_alone_puts_it_back(self) -> None:
        written, alone = torch.zeros(1000), torch.full((100_000,), 7.0)
        writes = self.device.make_replay_check()
        self.assertFalse(writes(lambda: written.fill_(3), [place(written), place(alone)]))
        self.assertTrue(bool((alone == 7).all()))

    def test_memory_that_the_allocator_keeps(self) -> None:
        blocks = [("active_allocated", 512), ("inactive", 1024), ("active_awaiting_free", 64), ("inactive", 32)]
        segment = {"address": 4096, "blocks": [{"state": state, "size": size} for state, size in blocks]}
        self.assertEqual(_free_blocks([segment, {"address": 0, "blocks": []}]), [(4608, 1024), (5696, 32)])


class ChosenStreamTest(unittest.TestCase):
    def chosen(self, source: str, stream: int = 2) -> list[int]:
        """The streams that are made current for a candidate."""
        device = object.__new__(Device)
        device.torch, device._on_gpu = torch.device("cuda"), True
        device.gpu = SimpleNamespace(platform=SimpleNamespace(thread_stream=stream))  # type: ignore[assignment]
        made: list[int] = []
        with mock.patch("torch.cuda.ExternalStream", lambda handle, device: handle), mock.patch("torch.cuda.set_stream", made.append):
            device.choose_stream(source.encode())
        return made

    def test_extensions_launch_on_the_current_stream(self) -> None:
        self.assertEqual(self.chosen("from torch.utils.cpp_extension import load_inline"), [2])
        self.assertEqual(self.chosen("from torch.utils.cpp_extension import load_inline", 0), [])
        self.assertEqual(self.chosen("import triton"), [])

    def test_other_threads_and_streams_are_ordered_by_the_legacy_one(self) -> None:
        for more in ("cudaStreamCreate(&s)", "std::thread", "torch.enable_grad()", "torch.autograd.grad", "import threading"):
            self.assertEqual(self.chosen("from torch.utils.cpp_extension import load_inline\n" + more), [], more)


class PathsTest(unittest.TestCase):
    def test_torch_is_named_besides_the_folder_around_it(self) -> None:
        """The sandbox asks of each path whether another user may read it."""
        package = Path(torch.__file__).parent
        self.assertIn(str(package), python_paths())
        self.assertIn(str(package.parent), python_paths())


class TorchCuda:
    """A fake of the parts of torch.cuda that a capture uses. A stream is a text."""

    def __init__(self) -> None:
        self.stream = "default"
        self.log: list[str] = []
        self.broken = False
        self.fails_at_end = self.captures = False
        streams = SimpleNamespace(
            Stream=lambda: self.named("side"),
            stream=self.on_stream,
            current_stream=lambda: self.named(self.stream),
            set_stream=lambda stream: setattr(self, "stream", stream.name),
            synchronize=self.synchronize,
            CUDAGraph=lambda: SimpleNamespace(replay=lambda: self.log.append("replay")),
            graph=self.capturing,
        )
        self.patches = [mock.patch.multiple(torch.cuda, **vars(streams)), mock.patch("torch.rand", self.rand)]

    @staticmethod
    def named(name: str) -> SimpleNamespace:
        return SimpleNamespace(name=name, wait_stream=lambda other: None, cuda_stream={"default": 0, "thread's": 2}.get(name, 77))

    def rand(self, *shape: int, device: Any) -> torch.Tensor:
        self.log.append(f"rand on {self.stream}")
        return torch.zeros(*shape)

    def synchronize(self) -> None:
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nadvice")

    @contextlib.contextmanager
    def on_stream(self, stream: Any) -> Any:
        before, self.stream = self.stream, stream.name
        yield
        self.stream = before

    @contextlib.contextmanager
    def capturing(self, graph: Any, stream: Any, capture_error_mode: str) -> Any:
        """As in torch, a capture that fails at its end leaves the capture's stream as the current one."""
        before, self.stream, self.captures = self.stream, stream.name, True
        failed = True
        try:
            yield
            failed = self.fails_at_end
        finally:
            if failed:
                self.fails_at_end = False
                raise RuntimeError("CUDA error: the capture ended in another state\nadvice")
            self.stream, self.captures = before, False


class CaptureTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cuda = TorchCuda()
        for patch in self.cuda.patches:
            patch.start()
            self.addCleanup(patch.stop)
        self.broke = Failure(protocol.DEVICE_FAULT, "")
        self.marked: list[str] = []
        marks = [lambda what=what: self.marked.append(f"{what} on {self.cuda.stream}") for what in ("start", "end")]
        device: Any = SimpleNamespace(torch=torch.device("cuda"), broken=self.break_down, make_marks=lambda: marks, thread_stream=2)
        self.capture = graphs.make_capture(device)
        self.calls: list[str] = []

    def break_down(self, text: str) -> Failure:
        self.broke.reply.text = text
        return self.broke

    def call(self) -> str:
        self.calls.append(self.cuda.stream)
        return "value"

    def failing_call(self) -> None:
        if self.cuda.captures:
            raise ValueError("not here\nand more")

    def refused(self, call: Any) -> Reply:
        with self.assertRaises(Failure) as caught:
            self.capture(call)
        self.assertEqual(self.cuda.stream, "default")
        return caught.exception.reply

    def test_a_call_is_warmed_up_and_captured_once(self) -> None:
        captured = self.capture(self.call)
        self.assertEqual(self.calls, ["side", "side", "side"])
        self.assertEqual(self.marked, ["start on side", "end on side"])
        self.assertEqual((captured.value, self.cuda.stream), ("value", "default"))
        captured.replay()
        self.assertEqual(self.cuda.log, ["replay"])

    def test_the_thread_s_own_stream_is_captured_where_it_is_the_current_one(self) -> None:
        """It is where extensions launch what names no stream."""
        self.cuda.stream = "thread's"
        self.capture(self.call)
        self.assertEqual(self.calls, ["thread's"] * 3)

    def test_a_candidate_s_own_stream_is_not(self) -> None:
        self.cuda.stream = "pool"
        self.capture(self.call)
        self.assertEqual(self.calls, ["side"] * 3)

    def test_the_candidate_s_own_reason_is_told(self) -> None:
        reply = self.refused(self.failing_call)
        self.assertEqual((reply.status, reply.text), (protocol.NOT_CAPTURABLE, "ValueError: not here"))
        # A successful capture resets the state of the broken one; then random numbers work again.
        self.assertEqual(self.cuda.log, ["rand on side", "rand on default"])

    def test_a_capture_that_cannot_be_ended(self) -> None:
        self.cuda.fails_at_end = True
        reply = self.refused(self.call)
        self.assertEqual(reply.text, "RuntimeError: CUDA error: the capture ended in another state")

    def test_a_device_that_does_not_survive(self) -> None:
        def fatal() -> None:
            self.cuda.broken = True
            raise ValueError("boom")

        reply = self.refused(fatal)
        self.assertEqual(reply.status, protocol.DEVICE_FAULT)
        self.assertIn("after a capture that failed (ValueError: boom): RuntimeError: CUDA error: an illegal", reply.text)

    def test_a_device_without_graphs(self) -> None:
        device: Any = SimpleNamespace(torch=torch.device("cpu"))
        with self.assertRaisesRegex(Failure, "no graphs on this device"):
            graphs.make_capture(device)(self.call)


class DecisiveTest(unittest.TestCase):
    """Long messages, of which a reply contains a part."""

    def test_errors_of_a_compiler(self) -> None:
        noise = "/opt/venv/bin/python3 nvcc " + "-I/somewhere " * 200
        error = 'cuda.cu(9): error: identifier "nought" is undefined\n    y[i] = nought;\n           ^'
        title = "Error building extension 'relu': [1/3] short"
        text = f"{title}\n{noise}\nFAILED: [code=2] cuda.cuda.o\n{noise}\n{error}\n\n1 error detected.\n{noise}"
        self.assertEqual(decisive(text, 1000), f"{title}\n{error}")
        self.assertEqual(len(decisive(text, 60)), 60)
        self.assertIn("Entry function", decisive(f"{noise}\nptxas error   : Entry function 'k' uses too much shared data", 300))

    def test_what_a_pass_of_triton_writes_to_standard_error(self) -> None:
        reason = "[`TritonGPUReduceDataDuplication` on 'builtin.module' operation]"
        written = f"""python: Operation.h:1011: Assertion `n < 2 && "out of range"' failed.
module {{
  tt.func @k(%error: i32) {{
{__file__}:12:0: error: Failures have been detected while processing an MLIR pass pipeline
{__file__}:12:0: note: Pipeline failed while executing {reason}: reproducer generated at `std::errs`
"""
        with mock.patch("os.pread", return_value=written.encode()):
            passes, other = (describe(RuntimeError(text), __file__) for text in ("PassManager::run failed", "boom"))
        lines = passes.splitlines()
        self.assertEqual(lines[0], "RuntimeError: PassManager::run failed")
        self.assertIn("Assertion `n < 2", lines[1])
        self.assertEqual(lines[2], "line 12: error: Failures have been detected while processing an MLIR pass pipeline")
        self.assertTrue(lines[3].startswith(f"line 12: note: Pipeline failed while executing {reason}"), lines[3])
        self.assertEqual((len(lines), other), (4, "RuntimeError: boom"))

    def test_a_pass_of_which_nothing_is_kept(self) -> None:
        with mock.patch("os.pread", side_effect=OSError(29, "Illegal seek")):
            self.assertEqual(describe(RuntimeError("PassManager::run failed"), __file__), "RuntimeError: PassManager::run failed")

    def test_short_messages_and_those_without_errors(self) -> None:
        self.assertEqual(decisive("x" * 1000, 1000), "x" * 1000)
        cut = decisive("begin" + "x" * 5000 + "AttributeError('no tanh')", 1000)
        self.assertTrue(cut.startswith("begin") and cut.endswith("AttributeError('no tanh')"))
        self.assertLessEqual(len(cut), 1000)

    def test_a_reply_has_room_for_all_of_it(self) -> None:
        try:
            raise type("E" * 5000, (Exception,), {})("x" * 9000)
        except Exception as error:  # noqa: BLE001
            self.assertLessEqual(len(describe(error, __file__)), protocol.TEXT_BYTES)

    def test_what_caused_an_exception_is_told_unless_it_was_told_already(self) -> None:
        def raised(message: str) -> Exception:
            try:
                try:
                    raise ValueError("no tanh")
                except ValueError as cause:
                    raise RuntimeError(message) from cause
            except RuntimeError as error:
                return error

        self.assertEqual(describe(raised("at 4:8:"), "elsewhere.py"), "RuntimeError: at 4:8:\ncaused by ValueError: no tanh")
        self.assertEqual(describe(raised("ValueError('no tanh')"), "elsewhere.py"), "RuntimeError: ValueError('no tanh')")

    def test_causes_that_go_round_or_cannot_be_read_end(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no words")

        error = Silent()
        error.__cause__ = KeyError("a")
        error.__cause__.__cause__ = error
        text = describe(error, "elsewhere.py")
        self.assertTrue(text.startswith("Silent: (its message cannot be read)\ncaused by KeyError: 'a'"), text)
        self.assertLessEqual(text.count("caused by"), 4)


class SeriesTest(unittest.TestCase):
    """Series that are replayed as one graph, on the fake device, which runs a call again where another one replays it."""

    SLOTS, COUNT = 3, 8

    def setUp(self) -> None:
        device = Device(str(SUPPORT), FAKE_UUID)
        self.addCleanup(device.gpu.close)
        self.inputs = [torch.arange(float(self.COUNT)) + 100 * slot for slot in range(self.SLOTS)]
        self.outputs = [torch.full((self.COUNT,), -1.0) for _ in range(self.SLOTS)]
        self.models: dict[int, Any] = {}
        places = [self.mapped(slot) for slot in range(self.SLOTS)]
        work = Work(places, [[one] for one in self.inputs], self.models, lambda index: None, lambda: 0)
        capture = mock.patch("kernelgen_runner.calls.make_capture", lambda device: lambda call: graphs.Captured(call, call()))
        with capture:
            support: Any = SimpleNamespace(poison_allocations=lambda byte: None)
            self.run_command = make_device_run(work, support, device)

    def mapped(self, slot: int) -> MappedTensor:
        output = self.outputs[slot]
        return MappedTensor("output", "y", "float32", (self.COUNT,), (1,), output.data_ptr(), output.nbytes, slot)

    def ask(self, model: Any, calls: int, flags: int = protocol.RUN_GRAPH, first: int = 0) -> Reply:
        self.models[1] = model
        command: Any = SimpleNamespace(arguments=[1, 7, flags, first, calls])
        return self.run_command(command)

    def assert_doubled(self, slots: range) -> None:
        for slot in slots:
            self.assertTrue(torch.equal(self.outputs[slot], 2 * self.inputs[slot]), slot)

    def test_every_slot_gets_the_answer_to_its_own_inputs(self) -> None:
        self.ask(lambda x: x * 2, self.SLOTS)
        self.assert_doubled(range(self.SLOTS))
        for output, given in zip(self.outputs, self.inputs):
            output.fill_(-1)
            given.add_(1)
        self.ask(self.models[1], self.SLOTS)
        self.assert_doubled(range(self.SLOTS))

    def test_a_result_that_the_next_call_overwrites_is_copied_before(self) -> None:
        kept = torch.empty(self.COUNT)
        self.ask(lambda x: torch.mul(x, 2, out=kept), self.SLOTS)
        self.assert_doubled(range(self.SLOTS))

    def test_a_single_call_has_a_graph_of_its_own(self) -> None:
        kept = torch.empty(self.COUNT)
        self.ask(lambda x: torch.mul(x, 2, out=kept), self.SLOTS)
        for output in self.outputs:
            output.fill_(-1)
        self.ask(self.models[1], 1)
        self.assert_doubled(range(1))
        self.assertTrue(bool((self.outputs[1] == -1).all()))

    def test_a_shorter_series_has_a_graph_of_its_own(self) -> None:
        for calls in (self.SLOTS, 2):
            for output in self.outputs:
                output.fill_(-1)
            self.ask(lambda x: x * 2, calls)
            self.assert_doubled(range(calls))
        self.assertTrue(bool((self.outputs[2] == -1).all()))

    def test_series_are_graphs_from_the_first_slot_on(self) -> None:
        for calls, flags, first in ((2, protocol.RUN_GRAPH, 1), (self.SLOTS, 0, 0), (1, 0, 1), (4, protocol.RUN_GRAPH, 0)):
            with self.subTest(calls=calls, flags=flags, first=first), self.assertRaises(Failure) as caught:
                self.ask(lambda x: x * 2, calls, flags, first)
            self.assertEqual(caught.exception.reply.status, protocol.PROTOCOL)

    def test_outputs_that_a_series_leaves_unwritten(self) -> None:
        with self.assertRaises(Failure) as caught:
            self.ask(lambda x: (x, x), self.SLOTS)
        self.assertEqual(caught.exception.reply.status, protocol.NOT_CAPTURABLE)


if __name__ == "__main__":
    unittest.main()
