"""Unit tests of the judge's parts for memory of a device, on the fake device."""

from __future__ import annotations

import contextlib
import math
import random
import unittest
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import support
import torch
from kernelgen_common.platform import platform_of
from kernelgen_common.gpu import GpuError
from kernelgen_judge import compare, exchange
from kernelgen_judge.device import GpuDevice, open_device
from kernelgen_judge.device_memory import GUARD, DeviceMemory, DevicePadding, Mirror, PaddingPattern, differs, read_flags, runs
from kernelgen_judge.errors import TaskError
from kernelgen_judge.gpu_check import Digest, _first_wrong
from kernelgen_judge.gpu_quick import GpuQuickComparer
from kernelgen_judge.gpu_call_preparer import MemoryPlan, plan_memory
from kernelgen_judge.gpu_timing import WARM_UP_CALLS, GpuTimedReference
from kernelgen_judge.call_preparer import Expected
from kernelgen_judge.target import Allowance
from kernelgen_judge.values import Flat, TensorSpec
from support import DEVICE, SUPPORT, model, task_from

GIB = 1 << 30


def spec(name: str, dtype: str, *shape: int) -> TensorSpec:
    return exchange.contiguous_spec(TensorSpec(name, dtype, shape, shape))


def memory(layout: exchange.Layout, pattern: PaddingPattern | None = None) -> DeviceMemory:
    return DeviceMemory.private(layout, DEVICE, pattern or PaddingPattern(DEVICE))


class OpenTest(unittest.TestCase):
    def fails(self, code: str, words: str, library: str = SUPPORT, **device: str) -> None:
        given = {**support.device_request()["device"], **device}
        with self.assertRaisesRegex(TaskError, words) as caught:
            open_device({"device": given, "support_library": library})
        self.assertEqual(caught.exception.code, code)

    def test_what_is_missing_is_named(self) -> None:
        self.fails("missing_tool", "libkgen_runner_support", library="")
        self.fails("missing_tool", "cannot be used", library="/nonexistent/lib.so")
        self.fails("missing_tool", "cannot be used", library="libc.so.6")
        self.fails("missing_device", "no GPU GPU-none", uuid="GPU-none")
        with mock.patch.object(torch.version, "cuda", None):
            self.fails("missing_tool", "has no CUDA; install a torch that fits the driver, or set KGEN_PYTHON", vendor="nvidia")

    def test_a_device_of_another_vendor_than_promised(self) -> None:
        with mock.patch.object(torch.version, "cuda", "13.0"), mock.patch.dict("os.environ"):
            self.fails("missing_device", "is of vendor fake, not nvidia", vendor="nvidia")

    def test_a_device_that_does_not_start(self) -> None:
        full, old = "starting the device: out of memory (2)", "the CUDA driver does not start: a fake error (803)"
        for why, code, words in ((full, "out_of_memory", "end the processes that hold its memory .*nvidia-smi.*choose another GPU"), (old, "missing_device", "803")):
            with mock.patch("kernelgen_judge.device.Gpu", side_effect=GpuError(why)):
                self.fails(code, words)

    def test_a_torch_that_is_newer_than_the_driver(self) -> None:
        facts = SimpleNamespace(vendor="nvidia", name="x", architecture="sm_90")
        gpu = SimpleNamespace(
            facts=facts, torch_device=torch.device("cuda"), platform=platform_of("nvidia"), choose_sharing=lambda way: None
        )
        told = RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")
        with mock.patch("kernelgen_judge.device.Gpu", return_value=gpu), mock.patch.object(torch.cuda, "init", side_effect=told):
            with mock.patch.object(torch.version, "cuda", "13.0"), mock.patch.dict("os.environ"):
                self.fails("missing_device", "cannot use GPU .*too old .*; install a torch that fits the driver", vendor="nvidia")

    def test_a_torch_for_another_vendor(self) -> None:
        with mock.patch.object(torch.version, "cuda", "13.0"), mock.patch.object(torch.version, "hip", None):
            self.fails("missing_tool", "has no ROCm; install a torch that fits the driver", vendor="amd")

    def test_a_vendor_that_is_not_known(self) -> None:
        self.fails("missing_device", "no GPUs of vendor 'acme' are known; there are amd, fake, nvidia", vendor="acme")

    def test_no_device_is_the_cpu(self) -> None:
        self.assertFalse(open_device({}).is_gpu)
        self.assertFalse(open_device({"device": None}).is_gpu)
        self.assertEqual(open_device({}).label, "")
        self.assertIn("fake", DEVICE.label)


class DrawTest(unittest.TestCase):
    def test_inputs_that_cannot_be_drawn_on_the_device_are_moved(self) -> None:
        @contextlib.contextmanager
        def refuses() -> Any:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
            yield

        with mock.patch.object(GpuDevice, "drawing", lambda self: refuses()):
            task = task_from(model("return x * 2", "[torch.randn(3, 4).T]"))
            self.assertFalse(task.draws_on_device)
            self.assertEqual(task.inputs[0].strides, (1, 4))
            self.assertTrue(torch.equal(task.make_inputs(3).tensors["x"], task.make_inputs(3).tensors["x"]))

    def test_large_weights_to_try_are_drawn_on_the_device(self) -> None:
        init = "self.fc = nn.Linear(4, 4); self.rnn = nn.GRU(4, 4); self.scale = nn.Parameter(torch.ones(4))"
        task = task_from(model("return self.rnn(self.fc(x) * self.scale)[0]", "[torch.randn(3, 2, 4)]", init))
        drawing = mock.Mock(side_effect=lambda device: DEVICE.torch)
        with mock.patch.object(GpuDevice, "drawing", lambda self: drawing(self)):
            small = task.build_to_try(5, 1)
            self.assertEqual(drawing.call_count, 0)
            with mock.patch("kernelgen_judge.task._LARGE_STATE", 1):
                large = task.build_to_try(5, 1)
        self.assertEqual(drawing.call_count, 1)
        self.assertTrue(torch.backends.cudnn.enabled)
        # The fake device has the processor's random stream.
        for one, other in zip(small.state, large.state):
            self.assertTrue(torch.equal(one.tensor, other.tensor), one.name)

    def test_a_constructor_that_fails_on_the_device_is_called_on_the_processor(self) -> None:
        task = task_from(model("return self.fc(x)", "[torch.randn(3, 4)]", "self.fc = nn.Linear(4, 4)"))
        drawing = mock.Mock(side_effect=RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'"))
        with mock.patch.object(GpuDevice, "drawing", drawing), mock.patch("kernelgen_judge.task._LARGE_STATE", 1):
            tried = [task.build_to_try(5, 1) for _ in range(2)]
        self.assertEqual(drawing.call_count, 1)
        self.assertTrue(torch.backends.cudnn.enabled)
        for one in tried:
            self.assertTrue(torch.equal(one.state[0].tensor, task.build(5, 1).state[0].tensor))

    def test_code_that_is_wrong_anywhere_is_an_error(self) -> None:
        with self.assertRaisesRegex(TaskError, "get_inputs"):
            task_from(model("return x", "[torch.randn(nowhere)]"))

    def test_tensors_that_are_no_parameters_move_too(self) -> None:
        module = torch.nn.Module()
        module.table = [torch.ones(3)]
        module.pair = (torch.ones(2),)
        elsewhere = torch.device("meta")
        with mock.patch.object(DEVICE, "torch", elsewhere):
            with self.assertRaisesRegex(TaskError, "pair"):
                DEVICE.move_module(module)
            del module.pair
            self.assertEqual(DEVICE.move_module(module).table[0].device, elsewhere)


class MemoryTest(unittest.TestCase):
    def setUp(self) -> None:
        specs = [spec("a", "float32", 3), spec("b", "uint8", 4096), spec("c", "int64", 0, 5), spec("d", "int8", 70)]
        self.layout = exchange.make_layout([("input", item) for item in specs], False, GUARD)
        self.pattern = PaddingPattern(DEVICE)

    def test_tensors_lie_between_pages_of_padding(self) -> None:
        for segment in self.layout.segments:
            self.assertEqual(segment.begin % exchange.PAGE, 0)
            self.assertGreaterEqual(segment.offset, GUARD)
            self.assertGreaterEqual(segment.segment_bytes - segment.offset - segment.nbytes, GUARD)

    def test_padding_tells_beside_which_tensor_somebody_wrote(self) -> None:
        arena = memory(self.layout, self.pattern)
        padding = DevicePadding(arena)
        self.assertFalse(bool(padding.flag()))
        for segment in self.layout.segments:
            end = segment.segment_offset + segment.segment_bytes
            for place in (segment.segment_offset, segment.begin - 1, segment.begin + segment.nbytes, end - 1):
                arena._all[place] ^= 1
                self.assertTrue(bool(padding.flag()))
                self.assertEqual(padding.broken(), [segment.name])
                padding.fill()
                self.assertEqual((bool(padding.flag()), padding.broken()), (False, []))

    def test_the_pattern_is_another_one_each_time(self) -> None:
        self.assertFalse(torch.equal(self.pattern.bytes, PaddingPattern(DEVICE).bytes))

    def test_neighbours_are_written_and_compared_as_one(self) -> None:
        arena, copy = memory(self.layout, self.pattern), memory(self.layout, self.pattern)
        pairs = list(zip(self.layout.segments, self.layout.segments))
        self.assertEqual([len(run) for run in runs(pairs)], [4])
        self.assertEqual([len(run) for run in runs([pairs[0], *pairs[2:]])], [1, 2])
        for segment in self.layout.segments:
            copy.raw(segment).random_()
        mirror = Mirror(arena, copy, pairs)
        mirror.write()
        self.assertEqual(read_flags([*mirror.flags(), DevicePadding(arena).flag()]), [False, False])
        for segment in (segment for segment in self.layout.segments if segment.nbytes):
            arena.raw(segment)[-1] ^= 1
            self.assertEqual(read_flags(mirror.flags()), [True])
            self.assertEqual([left.name for left, _ in mirror.differing()], [segment.name])
            mirror.write()

    def test_every_byte_counts_whatever_the_length(self) -> None:
        rng = random.Random(4)
        for count in (0, 1, 7, 8, 9, 64, 4095, 4099):
            left = torch.randint(256, (count + 8,), dtype=torch.uint8)
            for shift in (0, 3, 8):
                one, other = left[shift : shift + count].clone(), left[shift : shift + count]
                self.assertFalse(bool(differs(one, other)))
                if count:
                    one[rng.randrange(count)] ^= 1 << rng.randrange(8)
                    self.assertTrue(bool(differs(one, other)))
        with mock.patch("kernelgen_judge.device_memory._COMPARE_WORDS", 16):
            one = torch.zeros(1000, dtype=torch.uint8)
            for place in (0, 500, 999):
                other = one.clone()
                other[place] = 1
                self.assertTrue(bool(differs(one, other)))
            self.assertFalse(bool(differs(one, one.clone())))

    def test_memory_that_is_not_there(self) -> None:
        huge = exchange.Layout(self.layout.segments, 1 << 60)
        with self.assertRaisesRegex(TaskError, r"needs another 1.07e\+09 GiB of device memory, [0-9.]+ GiB are free"):
            memory(huge, self.pattern)


class PlanTest(unittest.TestCase):
    def sets(self, free: int, inputs: int, outputs: int, weights: int = 0) -> int:
        specs = [("input", spec("x", "float32", inputs // 4)), ("output", spec("y", "float32", outputs // 4))]
        specs.append(("parameter", spec("w", "float32", weights // 4)))
        layout = exchange.make_layout(specs, False, GUARD)
        device = SimpleNamespace(free_bytes=lambda: free, torch=torch.device("cuda"))
        return plan_memory(device, SimpleNamespace(call_bytes=0, kept_bytes=0), layout).sets  # type: ignore[arg-type]

    def test_as_many_sets_as_fit_beside_a_runner(self) -> None:
        large = int(6.4 * GIB)
        self.assertEqual(self.sets(int(125.5 * GIB), large, large), 3)
        self.assertEqual(self.sets(int(22.5 * GIB), 2 * GIB, 2 * GIB), 1)
        self.assertEqual(self.sets(int(22.5 * GIB), GIB // 4, GIB // 4), 3)
        self.assertEqual(self.sets(40 * GIB, GIB, GIB, weights=2 * GIB), 3)

    def test_a_task_that_does_not_fit_is_told_by_how_much(self) -> None:
        with self.assertRaisesRegex(TaskError, r"needs 52.5 GiB of device memory .*, and can have 33 GiB"):
            self.sets(22 * GIB, 6 * GIB, 6 * GIB)

    def test_a_runner_is_left_its_outputs_and_a_quarter(self) -> None:
        plan = MemoryPlan(free=100, runner=25, runner_ample=25, least=10, ample=40, per_set=20)
        self.assertEqual(plan.sets, 1)
        self.assertEqual(replace(plan, free=55).sets, 1)
        self.assertEqual(replace(plan, free=125).sets, 3)
        with self.assertRaises(TaskError):
            _ = replace(plan, free=54).sets

    def test_a_runner_is_left_more_before_the_judge_takes_a_second_set(self) -> None:
        plan = MemoryPlan(free=125, runner=25, runner_ample=45, least=10, ample=40, per_set=20)
        self.assertEqual((plan.sets, plan.kept, plan.judge), (2, 80, 80))
        self.assertEqual(replace(plan, free=145).sets, 3)
        scarce = replace(plan, free=55)
        self.assertEqual((scarce.sets, scarce.judge), (1, 30))

class QuickTest(unittest.TestCase):
    def accepted(self, wanted: torch.Tensor, given: torch.Tensor, chunk: int = 1000, distance: float | None = None) -> Any:
        expected = Expected(1, 1, Flat({"tensor": "o"}, {"o": wanted}), [], 0)
        return GpuQuickComparer(None, chunk).accept(expected, {"o": given}, {"o": Allowance(distance=distance)})

    def test_what_is_far_from_the_reference_is_left_to_the_truth(self) -> None:
        wanted = torch.randn(128, 128)
        given = wanted * (1 + 1e-5)
        self.assertIsNotNone(self.accepted(wanted, given))
        self.assertIsNotNone(self.accepted(wanted, given, distance=3e-5))
        self.assertIsNone(self.accepted(wanted, given, distance=0.9e-5))
        self.assertIsNotNone(self.accepted(wanted, wanted.clone(), distance=0.0))

    def test_accepts_only_what_is_right(self) -> None:
        wanted = torch.randn(128, 128) * 100
        self.assertIsNotNone(self.accepted(wanted, wanted.clone()))
        self.assertIsNotNone(self.accepted(wanted, wanted * (1 + 1e-6)))
        for given in (wanted * 1.01, wanted * 314, torch.zeros_like(wanted), wanted.clone().fill_(math.nan)):
            self.assertIsNone(self.accepted(wanted, given))
        for place in (0, 999, 1000, 128 * 128 - 1):
            for value in (math.nan, math.inf, -math.inf, 1e30, 1.0):
                one = wanted.clone().view(-1)
                one[place] += value
                self.assertIsNone(self.accepted(wanted, one.view(128, 128)), (place, value))

    def test_what_is_not_finite_is_left_to_the_full_comparison(self) -> None:
        wanted = torch.randn(64, 64)
        wanted[3, 3] = math.inf
        self.assertIsNone(self.accepted(wanted, wanted.clone()))

    def test_the_look_after_an_equal_answer_is_as_strict(self) -> None:
        for wanted in (torch.randn(50, 50), torch.randn(50, 50).bfloat16(), torch.randint(0, 9, (50, 50))):
            expected = Expected(1, 1, Flat({"tensor": "o"}, {"o": wanted}), [], 0)

            def after_equal(given: torch.Tensor) -> Any:
                comparer = GpuQuickComparer(None, 1000)
                self.assertIsNotNone(comparer.accept(expected, {"o": wanted.clone()}))
                return comparer.accept(expected, {"o": given})

            with mock.patch.object(GpuQuickComparer, "_measure", wraps=GpuQuickComparer(None, 1000)._measure) as measure:
                equal = after_equal(wanted.clone())
            self.assertEqual((equal, measure.call_count), (self.accepted(wanted, wanted.clone()), 1))
            if wanted.is_floating_point():
                close = wanted * (1 + 1e-6)
                self.assertEqual(after_equal(close), self.accepted(wanted, close))
            for place in (0, 999, 1000, 2499):
                for value in (math.nan, math.inf, 100.0) if wanted.is_floating_point() else (1,):
                    one = wanted.clone().view(-1)
                    one[place] += value
                    self.assertIsNone(after_equal(one.view(50, 50)), (place, value))
        self.assertIsNotNone(after_equal(wanted.clone()))

    def test_halves_integers_booleans_and_others(self) -> None:
        for dtype in (torch.float16, torch.bfloat16):
            half = torch.randn(64, 64).to(dtype)
            self.assertIsNotNone(self.accepted(half, half.clone()))
            self.assertIsNotNone(self.accepted(half, (half.float() * 1.004).to(dtype)))
            self.assertIsNone(self.accepted(half, half * 2))
        for whole in (torch.randint(0, 9, (10,)), torch.randint(0, 2, (3, 5)) > 0, torch.arange(7, dtype=torch.int8)):
            self.assertIsNotNone(self.accepted(whole, whole.clone()))
            other = whole.clone()
            other.view(-1)[-1] = 0 if other.view(-1)[-1] else 1
            self.assertIsNone(self.accepted(whole, other))
        self.assertIsNone(self.accepted(torch.randn(5).double(), torch.randn(5).double()))
        self.assertIsNotNone(self.accepted(torch.empty(0, 3), torch.empty(0, 3)))

    def test_large_elements_may_be_off_by_more(self) -> None:
        wanted = torch.randn(64, 128)
        wanted[5] *= 1e4
        given = wanted * (1 + 3e-5)
        errors = self.accepted(wanted, given)
        self.assertIsNotNone(errors)
        self.assertTrue(errors[0].max_error_ratio <= 1.0 and errors[0].kernelbench_allclose)
        self.assertIsNone(self.accepted(wanted, wanted * (1 + 3e-3)))

    def test_numbers_are_those_of_the_full_comparison_or_above(self) -> None:
        rng = random.Random(11)
        for _ in range(60):
            shape = rng.choice([(700,), (33, 65), (4, 8, 64), (2000, 3)])
            wanted = torch.randn(shape) * 10 ** rng.uniform(-3, 3)
            given = wanted + torch.randn(shape) * wanted.abs().mean() * 10 ** rng.uniform(-8, -3)
            errors = self.accepted(wanted, given, rng.choice([100, 999, 1 << 20]))
            full = compare.Expected(Flat({"tensor": "o"}, {"o": wanted})).compare({"o": given})
            if errors is None:
                continue
            self.assertTrue(full.correct, full.message)
            found, known = errors[0], full.outputs[0]
            self.assertAlmostEqual(found.max_abs, known.max_abs, delta=1e-6 * known.max_abs)
            self.assertAlmostEqual(found.mean_abs, known.mean_abs, delta=1e-4 * known.mean_abs)
            self.assertGreaterEqual(found.max_error_ratio * 1.001, known.max_error_ratio)
            self.assertEqual(found.kernelbench_allclose, known.kernelbench_allclose)


class DigestTest(unittest.TestCase):
    def test_tells_contents_apart(self) -> None:
        digest = Digest(torch.device("cpu"))
        for count in (0, 5, 4 * 4096, 4 * 4096 * 3 + 17):
            data = torch.randint(256, (count,), dtype=torch.uint8)
            one = digest.of([data])
            self.assertEqual(one, digest.of([data.clone()]))
            self.assertNotEqual(one, Digest(torch.device("cpu")).of([data]) if count >= 4 * 4096 else "")
            for place in {0, count // 2, count - 1} if count else ():
                other = data.clone()
                other[place] ^= 0x80
                self.assertNotEqual(one, digest.of([other]))

    def test_changes_that_cancel_out_in_a_plain_sum(self) -> None:
        digest = Digest(torch.device("cpu"))
        data = torch.randn(8192)
        swapped, flipped = data.clone(), data.clone()
        swapped[[10, 20]] = data[[20, 10]]
        flipped[[10, 5000]] *= -1
        known = {digest.of([item.view(torch.uint8)]) for item in (data, swapped, flipped)}
        self.assertEqual(len(known), 3)
        halves = [data[:4096].view(torch.uint8), data[4096:].view(torch.uint8)]
        self.assertNotEqual(digest.of(halves), digest.of(halves[::-1]))

    def test_the_first_wrong_block_is_named(self) -> None:
        self.assertEqual(_first_wrong([0, 0], [5, 9], 3), "")
        self.assertIn("2 of 3 elements from 9", _first_wrong([0, 2], [5, 9], 3))


class GraphTest(unittest.TestCase):
    """Capture and replay with the fake driver, which records the queued work, and fake streams of torch."""

    def setUp(self) -> None:
        side = SimpleNamespace(cuda_stream=DEVICE.gpu.stream())
        for name, value in (("Stream", lambda: side), ("MemPool", object)):
            patch = mock.patch.object(torch.cuda, name, value, create=True)  # MemPool: from torch 2.5 on
            patch.start()
            self.addCleanup(patch.stop)
        for name in ("stream", "use_mem_pool"):
            patch = mock.patch.object(torch.cuda, name, lambda value: contextlib.nullcontext(), create=True)
            patch.start()
            self.addCleanup(patch.stop)

    def timed(self, forward: str, **more: str) -> tuple[GpuTimedReference, Any, Flat]:
        task = task_from("KEPT = []\n" + model(forward, "[torch.randn(64, 64)]", **more))
        task.module.queue = lambda to, source: DEVICE.gpu.copy(
            to.data_ptr(), source.data_ptr(), source.numel() * 4, DEVICE.gpu.stream()
        )
        reference = task.build(1)
        timed = GpuTimedReference(reference, DEVICE)
        timed.no_graph = ""
        inputs = task.make_inputs(2)
        return timed, inputs, reference.run(inputs, 3).outputs

    #: The probe calls it before the queue exists. Only the task keeps the memory alive that a graph writes.
    QUEUED = "globals().get('queue', torch.Tensor.copy_)"
    ZEROS = "KEPT.append(torch.zeros(64, 64)); out = KEPT[-1]"

    def test_a_replay_reads_what_the_inputs_hold_by_then(self) -> None:
        timed, inputs, expected = self.timed(f"{self.ZEROS}; {self.QUEUED}(out, x); return out")
        graph = timed.capture(inputs, 3, [], expected)
        self.assertEqual(timed.no_graph, "")
        self.assertIsNotNone(graph)
        self.assertGreater(timed.replay(graph, []), 0)

    def test_a_replay_has_the_draws_of_its_call(self) -> None:
        timed, inputs, expected = self.timed(f"drawn = torch.randn(64, 64); {self.ZEROS}; {self.QUEUED}(out, drawn); return out")
        self.assertEqual(timed.reference.task.randomness, "traced")
        draws = timed.reference.run(inputs, 3).draws
        graph = timed.capture(inputs, 3, draws, expected)
        self.assertIsNotNone(graph, timed.no_graph)
        others = [torch.rand(64, 64)]
        self.assertGreater(timed.replay(graph, others), 0)
        self.assertTrue(torch.equal(timed.reference.task.module.KEPT[-1], others[0]))
        # With the draws of another call a replay gives something else, and would be refused.
        self.assertIsNone(timed.capture(inputs, 3, others, expected))
        self.assertIn("a replay gives something else", timed.no_graph)

    def test_inputs_that_the_reference_writes_are_fresh_in_every_replay(self) -> None:
        forward = f"{self.ZEROS}; {self.QUEUED}(out, x); result = out; {self.ZEROS}; {self.QUEUED}(x, out); return result"
        timed, inputs, expected = self.timed(forward)
        self.assertEqual(timed.reference.task.mutated_inputs, ["x"])
        before = inputs.tensors["x"].clone()
        graph = timed.capture(inputs, 3, [], expected)
        self.assertIsNotNone(graph, timed.no_graph)
        timed.replay(graph, [])
        timed.replay(graph, [])
        self.assertTrue(torch.equal(inputs.tensors["x"], before))

    def test_work_that_the_capture_did_not_see_is_noticed(self) -> None:
        timed, inputs, expected = self.timed("return x * 2")
        self.assertIsNone(timed.capture(inputs, 3, [], expected))
        self.assertIn("a replay gives something else", timed.no_graph)
        self.assertIsNone(timed.capture(inputs, 3, [], expected))

    def test_a_reference_that_raises_while_it_is_captured(self) -> None:
        timed, inputs, expected = self.timed("return x * 2")
        answers = [expected.tensors["output"]] * WARM_UP_CALLS
        with mock.patch.object(timed.reference.module, "forward", side_effect=[*answers, ValueError("no")]):
            self.assertIsNone(timed.capture(inputs, 3, [], expected))
        self.assertIn("cannot be captured: ValueError: no", timed.no_graph)
        DEVICE.gpu.begin_capture(DEVICE.gpu.stream())
        DEVICE.gpu.free_graph(DEVICE.gpu.end_capture(DEVICE.gpu.stream()))

    def test_reasons_that_are_known_beforehand(self) -> None:
        task = task_from(model("return x * 2", "[torch.randn(4, 4)]"))
        self.assertEqual(GpuTimedReference(task.build(1), DEVICE).no_graph, "no graphs on this device")
        drawing = task_from(model("return F.dropout(x, 0.5)", "[torch.randn(4, 4)]"))
        with mock.patch.object(DEVICE, "torch", torch.device("cuda", 0)):
            timed = GpuTimedReference.__new__(GpuTimedReference)
            timed._device, timed._task = DEVICE, drawing
            self.assertEqual(timed._obstacle(), "forward() draws random numbers that cannot be recorded")
            with mock.patch.object(torch.cuda, "MemPool", create=True):
                del torch.cuda.MemPool
                self.assertIn("no pools of memory", timed._obstacle())


if __name__ == "__main__":
    unittest.main()
