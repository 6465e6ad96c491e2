"""Tests of the judge through its protocol, on the fake device."""

from __future__ import annotations

import ctypes
import os
import unittest
from typing import Any
from unittest import mock

import harness
import torch
from harness import SUPPORT, Judge, Zygote
from kernelgen_common import frames
from kernelgen_common.gpu import Clocks, Gpu, GpuError, tensor_at
from kernelgen_judge import admission, gpu_check, server, session
from kernelgen_judge.call_preparer import CallPreparer
from kernelgen_judge.device import CPU, GpuDevice
from kernelgen_judge.exchange import Layout, make_layout
from kernelgen_judge.gpu_call_preparer import plan_memory
from kernelgen_judge.gpu_check import GpuChecker
from kernelgen_judge.gpu_quick import GpuQuickComparer
from kernelgen_judge.gpu_session import GpuArena
from kernelgen_judge.gpu_timing import GpuTimedReference
from kernelgen_judge.rounding import to_tf32
from kernelgen_judge.session import GPU_SLOTS, GPU_SLOTS_BYTES, LARGE_SLOTS, LARGE_SLOTS_PART, Session
from kernelgen_judge.errors import TaskError
from kernelgen_judge.device_probe import DeviceProbe
from support import device_request

UUID = str(device_request()["device"]["uuid"])
PROBE = os.path.join(os.path.dirname(str(SUPPORT)), "kgen-gpu")
DRIVER = ctypes.CDLL("libcuda.so.1")
TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(8)
    def forward(self, x, y):
        return self.bn(x) @ y
def get_inputs():
    return [torch.randn(60, 8), torch.randn(8, 16)]
"""
ZYGOTE: Zygote


def setUpModule() -> None:
    global ZYGOTE
    ZYGOTE = Zygote("kernelgen_judge")


def tearDownModule() -> None:
    ZYGOTE.close()


def load_request(text: str = TASK) -> dict[str, Any]:
    return {"task": {"name": "t", "text": text}, "threads": 1, "memory_bytes": 1 << 30, **device_request()}


class ProcessTest(unittest.TestCase):
    """A judge process. The test plays worker and runner, and maps the arena that it gets."""

    def setUp(self) -> None:
        self.judge = Judge(ZYGOTE)
        self.addCleanup(self.judge.close)
        self.gpu = Gpu(str(SUPPORT), "")
        self.addCleanup(self.gpu.close)

    def attach(self, text: str = TASK) -> None:
        self.judge.must("load", **load_request(text))
        self.layout = self.judge.must("layout")
        arena = harness.memory_file(size=self.layout["bytes"])
        request = {"op": "attach", "id": 77, "path": harness.path_of(arena), "bytes": self.layout["bytes"]}
        frames.send(self.judge.connection, request)
        reply = frames.receive(self.judge.connection)
        assert reply is not None
        kept = reply.body.pop("device_bytes")
        self.assertGreater(kept, self.layout["device_bytes"])
        self.assertEqual(len(reply.body.pop("processor_ns")), 2)
        self.assertEqual(reply.body, {"id": 77, "ok": True, "device_fd": True, "call_launch_ns": 0, "replay_launch_ns": 0})
        self.assertEqual(len(reply.descriptors), 1)
        address = self.gpu.import_shared(reply.descriptors[0], self.layout["device_bytes"])
        reply.close()
        self.arena = tensor_at(address, self.layout["device_bytes"], "cpu")
        self.host = arena
        self.addCleanup(os.close, arena)

    def tensor(self, role: str, name: str) -> torch.Tensor:
        for line in self.layout["native_job"].splitlines():
            words = line.split()
            if words[0] == "tensor" and words[1:3] == [role, name]:
                rank = int(words[4])
                segment, _, offset, nbytes = (int(word) for word in words[5 + 2 * rank :])
                shape = [int(word) for word in words[5 : 5 + rank]]
                return self.arena[segment + offset :][:nbytes].view(torch.float32).view(shape)
        raise KeyError(name)

    def answer(self) -> torch.Tensor:
        """Computes the task from the contents of the arena."""
        x, y = self.tensor("input", "x"), self.tensor("input", "y")
        scaled = (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5)
        return (scaled * self.tensor("parameter", "bn.weight") + self.tensor("parameter", "bn.bias")) @ y

    def outcome(self, mode: str = "full") -> str:
        found = self.judge.must("check", mode=mode)["outcome"]
        return found["kind"] + (":" + found["detail"] if found["detail"] else "")

    def test_from_load_to_times(self) -> None:
        self.attach()
        device = device_request()["device"]
        job = self.layout["native_job"].splitlines()
        self.assertEqual(job[4], f"device fake {device['uuid']} {self.layout['device_bytes']}")
        python_job = self.layout["python_job"]
        self.assertEqual(python_job["device"], {"vendor": "fake", "uuid": device["uuid"]})
        self.assertEqual(python_job["arena_bytes"], self.layout["bytes"])
        self.assertEqual(python_job["device_arena_bytes"], self.layout["device_bytes"])
        report = [entry for entry in python_job["tensors"] if entry["role"] == "report"]
        self.assertEqual([entry["segment_offset"] for entry in report], [0])
        self.assertEqual(self.layout["outputs"], [])
        admission = self.judge.must("admit", cached=None)["admission"]
        everything = 4 * (60 * 8 + 8 * 16 + 8 * 4) + 8
        self.assertTrue(0.8 * everything < admission["sensitive_bytes"] <= everything, admission["sensitive_bytes"])
        self.assertIn("fake", admission["device"])
        self.assertEqual(self.judge.must("admit", cached=admission)["admission"], admission)
        for index in (2, 1):
            self.judge.must("weights", set=index)
            for distribution in admission["distributions"]:
                reply = self.judge.must("prepare_call", distribution=distribution, graph=index == 1)
                self.assertGreater(reply["reference_ns"], 0)
                self.assertIs(reply["throttled"], False)
                self.assertEqual(self.outcome(), "accuracy:mismatch")
                self.tensor("output", "output").copy_(self.answer())
                self.assertEqual(self.outcome(), "correct")
                self.assertEqual(self.outcome("sample"), "correct")
        samples = self.judge.must("time_reference", seconds=0.1, min_samples=5, max_samples=20)
        self.assertTrue(len(samples["samples_ns"]) >= 5 and samples["flushed"])
        graph = self.judge.must("time_reference", seconds=0.1, min_samples=5, max_samples=20, graph=True)
        self.assertEqual((graph["samples_ns"], graph["reason"]), ([], "no graphs on this device"))

    def test_a_reference_that_is_called_after_the_candidate(self) -> None:
        self.attach()
        self.judge.must("weights", set=1)
        for canary in (False, True, True):
            reply = self.judge.must("prepare_call", distribution="own", canary=canary, reference="after")
            self.assertEqual(reply["reference_ns"], 0)
            self.tensor("output", "output").copy_(self.answer())
            found = self.judge.must("check", mode="full")
            self.assertEqual(found["outcome"]["kind"], "correct")
            self.assertGreater(found["reference_ns"], 0)
            self.assertIs(found["throttled"], False)
            self.assertNotIn("reference_ns", self.judge.must("check", mode="full"))

    def test_what_a_runner_writes_elsewhere_is_seen(self) -> None:
        self.attach()
        self.judge.must("weights", set=1)
        for name, role, wanted in (("x", "input", "mutated_input"), ("bn.weight", "parameter", "mutated_input")):
            self.judge.must("prepare_call", distribution="own")
            self.tensor("output", "output").copy_(self.answer())
            self.tensor(role, name).view(-1)[3] += 1
            self.assertEqual(self.outcome(), wanted)
        self.judge.must("prepare_call", distribution="own")
        self.tensor("output", "output").copy_(self.answer())
        self.arena[-1] ^= 1
        self.assertEqual(self.outcome(), "crash:out_of_bounds")
        self.judge.must("prepare_call", distribution="own")
        self.tensor("buffer", "bn.running_mean").fill_(5.0)
        self.tensor("output", "output").copy_(self.answer())
        self.assertEqual(self.outcome(), "correct")
        self.judge.must("prepare_call", distribution="own")
        self.assertEqual(float(self.tensor("buffer", "bn.running_mean").sum()), 0.0)

    def test_outputs_are_poisoned_in_the_device_and_reports_emptied_in_the_host(self) -> None:
        self.attach()
        self.judge.must("weights", set=1)
        self.judge.must("prepare_call", distribution="own")
        first = self.tensor("output", "output").view(torch.int32).clone()
        self.assertTrue(bool(self.tensor("output", "output").isnan().all()))
        os.pwrite(self.host, b"\xff\xff", 0)
        self.judge.must("prepare_call", distribution="own")
        self.assertFalse(torch.equal(first, self.tensor("output", "output").view(torch.int32)))
        self.assertEqual(os.pread(self.host, 4, 0), bytes(4))

    def test_reports_are_read_from_the_host(self) -> None:
        self.attach()
        self.judge.must("weights", set=1)
        self.judge.must("prepare_call", distribution="own")
        self.tensor("output", "output").copy_(self.answer())
        body = b'{"structure": {"tensor": "output"}, "tensors": [{"dtype": "float32", "shape": [60, 17]}]}'
        os.pwrite(self.host, len(body).to_bytes(4, "little") + body, 0)
        self.assertEqual(self.outcome(), "accuracy:shape")

    def test_a_failed_attach_hands_nothing_over(self) -> None:
        self.judge.must("load", **load_request())
        self.judge.must("layout")
        frames.send(self.judge.connection, {"op": "attach", "id": 5, "path": "/nonexistent", "bytes": 1})
        reply = frames.receive(self.judge.connection)
        assert reply is not None
        self.assertEqual((reply.body["ok"], reply.body["error"]["code"], reply.descriptors), (False, "io", []))

    def test_memory_is_shared_in_the_way_that_the_worker_names(self) -> None:
        request = load_request()
        request["device"]["memory_sharing"] = "magic"
        refused = self.judge.ask("load", **request)["error"]
        self.assertEqual(refused["code"], "missing_device")
        self.assertIn("memory is not shared by 'magic'", refused["message"])
        request["device"]["memory_sharing"] = "virtual_memory"
        self.judge.must("load", **request)

    def test_a_part_of_the_device_admits_what_fits_in_it(self) -> None:
        def admitted(part_bytes: int, text: str, cached: Any = None) -> dict[str, Any]:
            judge = Judge(ZYGOTE)
            self.addCleanup(judge.close)
            request = load_request(text)
            request["device"].update(part_bytes=part_bytes, parts=4)
            judge.must("load", **request)
            return judge.ask("admit", cached=cached)

        self.assertTrue(admitted(1 << 30, TASK)["kept"])
        # float64 may take half of the part.
        refused = admitted(1 << 16, TASK)
        self.assertEqual(refused["error"]["code"], "out_of_memory")
        self.assertIn("a part of the device's memory", refused["error"]["message"])
        # What was found before is as good as ever.
        found = admitted(1 << 30, TASK)["admission"]
        self.assertTrue(admitted(1 << 16, TASK, found)["kept"])
        # Time does not make a task that has no float64 more complete.
        self.assertTrue(admitted(1 << 30, TASK.replace("self.bn(x) @ y", "(self.bn(x) @ y).view(torch.int32) + 0"))["kept"])

    def test_a_device_that_is_not_there(self) -> None:
        request = load_request()
        request["device"]["uuid"] = "GPU-none"
        self.assertEqual(self.judge.ask("load", **request)["error"]["code"], "missing_device")
        self.judge.must("load", **load_request())


CONVOLUTION = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Conv2d(16, 8, 3)
    def forward(self, x):
        return self.f(x)
def get_inputs():
    return [torch.randn(2, 16, 10, 10)]
"""
LINEAR = CONVOLUTION.replace("nn.Conv2d(16, 8, 3)", "nn.Linear(10, 8)")


class TruthTest(unittest.TestCase):
    """What is compared with, from admission to the check of a call."""

    def outcomes(self, text: str, precision: str, dtype: str, full_bytes: int | None = None) -> list[str]:
        """Of calls with outputs that were computed from operands of that dtype."""
        session = Session()
        session.load({**load_request(text), "precision": precision})
        session.admit({})
        arena = harness.memory_file(size=session.layout({})["bytes"])
        self.addCleanup(os.close, arena)
        session.attach({"path": f"/proc/self/fd/{arena}", "bytes": 1 << 20})
        for descriptor in session.take_descriptors():
            os.close(descriptor)
        found = []
        for weights, distribution, mode in ((1, "own", "full"), (1, "own", "full"), (2, "negate", "full"), (2, "own", "sample")):
            session.weights({"set": weights})
            session.prepare_call({"distribution": distribution})
            if mode == "sample":
                session._checker._full = False
            module = session._weights.get(weights).reference.module.f
            views = {segment.name: session._preparer._arena.view(segment) for segment in session._layout.of("input", "output")}
            cut = {"tf32": to_tf32, "bfloat16": lambda x: x.bfloat16().float(), "float32": lambda x: x}[dtype]
            function = torch.nn.functional.conv2d if isinstance(module, torch.nn.Conv2d) else torch.nn.functional.linear
            views["output"].copy_(function(cut(views["x"]), cut(module.weight.detach()), module.bias.detach()))
            found.append(session.check({"mode": mode})["outcome"]["kind"])
        return found

    def test_tf32_is_right_where_the_class_has_it(self) -> None:
        for text, precision, right in (
            (CONVOLUTION, "default", True),
            (CONVOLUTION, "strict", False),
            (LINEAR, "default", False),
            (LINEAR, "tf32", True),
        ):
            for dtype, expected in (("tf32", right), ("float32", True), ("bfloat16", False)):
                with self.subTest(text=text, precision=precision, dtype=dtype):
                    kind = "correct" if expected else "accuracy"
                    outcomes = self.outcomes(text, precision, dtype)
                    self.assertEqual(outcomes[:3], [kind] * 3)
                    # Without the truth, a sample may miss what is only 8 times less precise than a class that has TF32.
                    if expected or not right:
                        self.assertEqual(outcomes[3], kind)

SERIES = TASK.replace("nn.BatchNorm1d(8)", "nn.Linear(8, 8)")


class SeriesTest(unittest.TestCase):
    """Calls in a row, each in a slot of its own. The test plays the candidate."""

    def setUp(self) -> None:
        self.session = Session()

    def attach(self, text: str = SERIES) -> None:
        self.session.load(load_request(text))
        arena = harness.memory_file(size=self.session.layout({})["bytes"])
        self.addCleanup(os.close, arena)
        self.session.attach({"path": f"/proc/self/fd/{arena}", "bytes": 1 << 20})
        for descriptor in self.session.take_descriptors():
            os.close(descriptor)
        self.session.weights({"set": 1})
        self.preparer = self.session._preparer
        assert self.preparer is not None

    def slots(self, text: str) -> int:
        session = Session()
        session.load(load_request(text))
        return int(session.layout({})["slots"])

    def view(self, role: str, slot: int, index: int = 0) -> torch.Tensor:
        return self.preparer._arena.view(self.session._layout.of(role, slot=slot)[index])

    def answer_of(self, slot: int) -> torch.Tensor:
        """Computes the task from the contents of a slot."""
        weight, bias = (self.preparer._arena.view(segment) for segment in self.session._layout.of("parameter"))
        return torch.nn.functional.linear(self.view("input", slot), weight, bias) @ self.view("input", slot, 1)

    def answer(self, calls: int = GPU_SLOTS) -> None:
        for slot in range(calls):
            self.view("output", slot).copy_(self.answer_of(slot))

    def outcome(self) -> tuple[str, str]:
        found = self.session.check({"mode": "full"})["outcome"]
        return found["kind"] + (":" + found["detail"] if found["detail"] else ""), found["message"]

    def kind(self) -> str:
        return self.outcome()[0]

    # -- slots ----------------------------------------------------------------------------------------------------

    def test_small_calls_have_slots(self) -> None:
        self.assertEqual(self.slots(SERIES), GPU_SLOTS)

    def test_larger_calls_have_fewer_and_the_largest_one(self) -> None:
        self.session.load(load_request(SERIES.replace("randn(60, 8)", "randn(1 << 17, 8)")))
        layout = self.session.layout({})
        self.assertEqual(layout["slots"], GPU_SLOTS_BYTES // layout["slot_bytes"])
        self.assertTrue(8 <= layout["slots"] < GPU_SLOTS)
        self.assertEqual(self.slots(SERIES.replace("randn(60, 8)", "randn(1 << 19, 8)")), 10)
        self.assertEqual(self.slots(SERIES.replace("randn(60, 8)", "randn(1 << 22, 8)")), 1)
        # A device with much memory has more slots for large calls, but not more than make a series that is long enough; and three of the
        # largest ones, where one is no more than a part.
        for rows, part, slots in (
            ("1 << 19", 1 << 25, 10),
            ("1 << 19", 1 << 30, 21),
            ("1 << 19", 1 << 40, LARGE_SLOTS),
            ("1 << 22", 1 << 28, 1),
            ("1 << 22", 1 << 29, 3),
        ):
            total = mock.patch.object(GpuDevice, "total_bytes", lambda self, part=part: part * LARGE_SLOTS_PART)
            with total, mock.patch.object(session, "has_room_for_slots", return_value=True):
                self.assertEqual(self.slots(SERIES.replace("randn(60, 8)", f"randn({rows}, 8)")), slots)

    def test_calls_that_leave_something_to_the_next_have_one_slot(self) -> None:
        state = "self.bn(x) @ y + self.bn.running_mean.sum()"
        for forward in (state, "x.mul_(2) @ y", "nn.functional.dropout(x @ y, 0.5)"):
            self.assertEqual(self.slots(TASK.replace("self.bn(x) @ y", forward)), 1)

    def test_state_that_no_output_depends_on_costs_no_slots(self) -> None:
        self.assertEqual(self.slots(TASK), GPU_SLOTS)

    def test_slots_take_no_memory_that_anything_else_needs(self) -> None:
        self.session.load(load_request(SERIES))
        task, device = self.session._task, self.session._device
        one = make_layout(Session._tensors(task), False, 4096)
        plan = plan_memory(device, task, one)
        least = one.total_bytes + plan.runner + plan.least + plan.per_set
        many = make_layout(Session._tensors(task), False, 4096, lambda _: GPU_SLOTS)
        found = []
        for free in (least, least + many.total_bytes, 2 * (least + 2 * many.total_bytes)):
            self.session = Session()
            with mock.patch.object(GpuDevice, "free_bytes", lambda self, free=free: free):
                self.attach()
            found.append(self.session._layout.slots)
            self.session.prepare_call({})
            self.answer(1)
            self.assertEqual(self.kind(), "correct")
        self.assertEqual(found, [1, GPU_SLOTS // 4, GPU_SLOTS])

    def test_the_plan_counts_the_sets_and_answers_of_all_slots(self) -> None:
        self.session.load(load_request(SERIES))
        task, device = self.session._task, self.session._device
        one, many = (make_layout(Session._tensors(task), False, 4096, lambda _, n=n: n) for n in (1, GPU_SLOTS))
        few, more = plan_memory(device, task, one), plan_memory(device, task, many)
        needed = (GPU_SLOTS - 1) * many.bytes_of("input", "output")
        for before, after in ((few.least, more.least), (few.ample, more.ample), (few.kept, more.kept)):
            self.assertGreaterEqual(after, before + needed)
        self.assertEqual(many.total_bytes, one.total_bytes + (GPU_SLOTS - 1) * many.slot_bytes)

    # -- series ---------------------------------------------------------------------------------------------------

    def test_the_plan_counts_what_views_keep(self) -> None:
        for answer, kept in (("x @ y", 0), ("(x @ y)[-1:]", 59 * 16 * 4)):
            session = Session()
            session.load(load_request(SERIES.replace("self.bn(x) @ y", answer).replace("self.f(x) @ y", answer)))
            self.assertEqual(session._task.kept_bytes, kept, answer)
            layout = make_layout(Session._tensors(session._task), False, 4096, lambda _: 5)
            plan = plan_memory(session._device, session._task, layout)
            session._task.kept_bytes = 0
            self.assertEqual(plan.least - plan_memory(session._device, session._task, layout).least, 4 * kept)

    def test_a_series_is_in_the_first_slots_and_single_calls_in_the_first_one(self) -> None:
        self.attach()
        for asked, calls in ((GPU_SLOTS, GPU_SLOTS), (1, 1), (5, 5), (0, 1), (GPU_SLOTS + 9, GPU_SLOTS), (1, 1), (1, 1)):
            reply = self.session.prepare_call({"calls": asked, "canary": True})
            self.assertEqual((reply["slot"], reply["calls"]), (0, calls))
            self.assertEqual(self.preparer.slots, list(range(calls)))
            self.assertGreater(reply["reference_ns"], 0)
            self.answer(calls)
            self.assertEqual(self.kind(), "correct")

    def test_inputs_differ_from_slot_to_slot_and_from_series_to_series(self) -> None:
        self.attach()
        seen = set()
        for number, share in enumerate((1.0, 1.0, 0.0, 0.0)):
            with mock.patch.object(CallPreparer, "_fresh_share", return_value=share):
                reply = self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.assertEqual(reply["fresh"], share > 0)
            seen |= {bytes(self.view("input", slot).flatten().view(torch.uint8).tolist()) for slot in range(GPU_SLOTS)}
            self.assertEqual(len(seen), (number + 1) * GPU_SLOTS)
            self.answer()
            self.assertEqual(self.kind(), "correct")

    def test_a_series_draws_one_set_for_each_further_slot(self) -> None:
        self.attach()
        for _ in range(3):
            self.session.prepare_call({})
        sets = [len(slot.sets) for slot in self.preparer._slots]
        self.assertEqual(sets, [3] + [0] * (GPU_SLOTS - 1))
        for _ in range(4):
            self.session.prepare_call({"calls": GPU_SLOTS})
        self.assertEqual([len(slot.sets) for slot in self.preparer._slots], [3] + [1] * (GPU_SLOTS - 1))

    def test_one_wrong_slot_is_refused_and_named(self) -> None:
        self.attach()
        for wrong in (0, 1, 5, GPU_SLOTS - 1):
            self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.answer()
            self.view("output", wrong)[3, 3] += 1
            for _ in range(2):
                kind, message = self.outcome()
                self.assertEqual(kind, "accuracy:mismatch")
                self.assertIn(f"call {wrong + 1} of {GPU_SLOTS}", message)
            self.view("output", wrong)[3, 3] = float("nan")
            self.assertIn(f"call {wrong + 1} of {GPU_SLOTS}", self.outcome()[1])

    def test_samples_are_of_every_call(self) -> None:
        self.attach()
        for wrong in (0, 5):
            self.session._checker._full = False
            self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.answer()
            self.assertEqual(self.session.check({"mode": "sample"})["outcome"]["kind"], "correct")
            self.view("output", wrong).zero_()
            outcome = self.session.check({"mode": "sample"})["outcome"]
            self.assertEqual(outcome["kind"], "accuracy")
            self.assertIn(f"call {wrong + 1} of {GPU_SLOTS}", outcome["message"])

    def test_a_slot_that_was_not_written_is_found(self) -> None:
        self.attach()
        for _ in range(2):
            self.session.prepare_call({"calls": GPU_SLOTS})
            for slot in range(GPU_SLOTS):
                if slot != 17:
                    self.view("output", slot).copy_(self.answer_of(slot))
            self.assertIn("was not written", self.outcome()[1])
            # Each of them was the right answer's place before.
            self.answer()
            self.assertEqual(self.kind(), "correct")

    def test_answers_of_other_slots_are_stale(self) -> None:
        self.attach()
        for source, target, told in ((0, 7, True), (6, 7, True), (GPU_SLOTS - 1, 0, True), (9, 3, False)):
            self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.answer()
            self.view("output", target).copy_(self.view("output", source))
            kind, message = self.outcome()
            self.assertEqual(kind, "accuracy:mismatch")
            self.assertIn(f"call {target + 1} of", message)
            self.assertEqual("stale" in message, told)

    def test_answers_of_the_series_before_are_refused(self) -> None:
        self.attach()
        self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
        self.answer()
        self.assertEqual(self.kind(), "correct")
        kept = self.view("output", 5).clone()
        for share in (0.0, 1.0):
            with mock.patch.object(CallPreparer, "_fresh_share", return_value=share):
                self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.answer()
            self.view("output", 5).copy_(kept)
            kind, message = self.outcome()
            self.assertEqual(kind, "accuracy:mismatch")
            self.assertIn("call 6 of", message)

    def test_a_series_is_repeated(self) -> None:
        self.attach()
        first = self.session.prepare_call({"calls": GPU_SLOTS})
        inputs = [self.view("input", slot).clone() for slot in range(GPU_SLOTS)]
        self.answer()
        self.assertEqual(self.kind(), "correct")
        self.view("input", 9).zero_()
        again = self.session.prepare_call({"repeat": True, "calls": GPU_SLOTS})
        self.assertEqual((again["calls"], again["slot"], again["reference_ns"]), (GPU_SLOTS, 0, 0))
        self.assertEqual((again["seed"], again["forward_seed"]), (first["seed"], first["forward_seed"]))
        for slot, known in enumerate(inputs):
            self.assertTrue(torch.equal(self.view("input", slot), known))
            self.assertTrue(bool(self.view("output", slot).isnan().all()))
        self.answer()
        self.assertEqual(self.kind(), "correct")
        self.session.weights({"set": 2})
        self.session.prepare_call({"repeat": True})
        self.assertEqual(self.kind(), "accuracy:mismatch")
        self.answer()
        self.assertEqual(self.kind(), "correct")

    def test_the_reference_may_be_called_after_a_series(self) -> None:
        self.attach()
        reply = self.session.prepare_call({"calls": GPU_SLOTS, "canary": True, "reference": "after", "graph": True})
        self.assertEqual((reply["reference_ns"], reply["calls"]), (0, GPU_SLOTS))
        self.answer()
        found = self.session.check({"mode": "full"})
        self.assertEqual(found["outcome"]["kind"], "correct")
        self.assertGreater(found["reference_ns"], 0)

    # -- writes where nothing may be written ------------------------------------------------------------------------

    def test_an_overwritten_input_of_any_call_is_found(self) -> None:
        self.attach()
        for slot in (0, 5, GPU_SLOTS - 1):
            self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.answer()
            self.view("input", slot, 1)[2, 2] += 1
            kind, message = self.outcome()
            self.assertEqual(kind, "mutated_input")
            self.assertIn("input y ", message)
            self.session.prepare_call({"repeat": True})
            self.answer()
            self.assertEqual(self.kind(), "correct")

    def test_overwritten_padding_of_any_slot_is_found(self) -> None:
        self.attach()
        memory, layout = self.preparer._arena._all, self.session._layout
        for calls in (GPU_SLOTS, 1):
            for slot in (0, 5, GPU_SLOTS - 1):
                for segment in (layout.of("input", slot=slot)[1], layout.of("output", slot=slot)[0]):
                    for place in (segment.begin - 1, segment.begin + segment.nbytes):
                        self.session.prepare_call({"calls": calls, "canary": True})
                        self.answer(calls)
                        memory[place] ^= 1
                        kind, message = self.outcome()
                        self.assertEqual(kind, "crash:out_of_bounds")
                        self.assertIn(segment.name, message)
                        self.assertEqual(self.kind(), "correct")

    def test_what_is_written_to_other_slots_between_series_changes_nothing(self) -> None:
        self.attach()
        for share in (1.0, 0.0, 0.0):
            with mock.patch.object(CallPreparer, "_fresh_share", return_value=share):
                self.session.prepare_call({"calls": GPU_SLOTS, "canary": True})
            self.answer()
            self.assertEqual(self.kind(), "correct")
            self.session.prepare_call({"canary": True})
            for role in ("input", "output"):
                self.view(role, 5).fill_(3.0)
            self.answer(1)
            self.assertEqual(self.kind(), "correct")

    # -- what the device has to do ---------------------------------------------------------------------------------

    def test_flags_of_a_series_are_read_at_once_and_answers_too(self) -> None:
        self.attach()
        self.session.admit({})
        for calls in (1, GPU_SLOTS):
            # The first call on a distribution is compared with the truth, which the quick look does not know.
            for _ in range(2):
                self.session.prepare_call({"calls": calls})
                self.answer(calls)
                accept = mock.patch.object(GpuQuickComparer, "accept_all", autospec=True, side_effect=GpuQuickComparer.accept_all)
                flags = mock.patch.object(gpu_check, "read_flags", side_effect=gpu_check.read_flags)
                with accept as looked, flags as read:
                    self.assertEqual(self.kind(), "correct")
            self.assertEqual((read.call_count, looked.call_count), (1, 1))

    def test_a_series_of_the_reference_is_timed_as_one(self) -> None:
        self.attach()
        gpu = self.session._device.gpu
        with mock.patch.object(gpu, "begin_call", side_effect=gpu.begin_call) as begin:
            self.session.prepare_call({"calls": GPU_SLOTS})
        self.assertEqual(begin.call_count, 1)

    def test_a_series_is_no_graph_of_the_reference(self) -> None:
        self.attach()
        with mock.patch.object(GpuTimedReference, "capture", return_value=None) as capture:
            self.session.prepare_call({"calls": GPU_SLOTS, "graph": True})
            self.assertEqual(capture.call_count, 0)
            self.session.prepare_call({"graph": True})
            self.assertEqual(capture.call_count, 1)

    def test_the_reference_alone_is_timed_call_by_call(self) -> None:
        self.attach()
        self.session.time_reference({"seconds": 0.01, "min_samples": 2, "max_samples": 2, "calls": 16})
        self.assertEqual(len(self.preparer.series), 1)

    def test_digests_are_of_the_prepared_call(self) -> None:
        self.attach()
        self.session.prepare_call({"calls": GPU_SLOTS})
        self.answer()
        self.assertEqual(self.kind(), "correct")
        self.assertEqual(self.preparer.current.slot, GPU_SLOTS - 1)
        before = self.session.output_digest({})["digest"]
        self.view("output", 0)[0, 0] += 1
        self.assertEqual(self.session.output_digest({})["digest"], before)
        self.view("output", GPU_SLOTS - 1)[0, 0] += 1
        self.assertNotEqual(self.session.output_digest({})["digest"], before)


class FailureTest(unittest.TestCase):
    """Failures that can only be simulated within this process."""

    def setUp(self) -> None:
        self.session = Session()
        self.addCleanup(DRIVER.kgen_fake_cuda_fault, 0)

    def ask(self, operation: str, **members: Any) -> dict[str, Any]:
        return server.answer(self.session, {"op": operation, **members})

    def attach(self) -> dict[str, Any]:
        self.session.load(load_request())
        arena = harness.memory_file(size=self.session.layout({})["bytes"])
        self.addCleanup(os.close, arena)
        reply = self.ask("attach", path=f"/proc/self/fd/{arena}", bytes=1 << 20)
        for descriptor in self.session.take_descriptors():
            os.close(descriptor)
        return reply

    def fails(self, reply: dict[str, Any], code: str, words: str) -> None:
        self.assertFalse(reply["ok"], reply)
        self.assertEqual(reply["error"]["code"], code)
        self.assertRegex(reply["error"]["message"], words)

    def test_an_admission_that_ran_out_of_memory_is_kept_by_none_that_had_a_part(self) -> None:
        for parts, ran_out, kept in ((4, False, True), (4, True, False), (1, True, True)):
            self.session = Session()
            request = load_request()
            request["device"].update(part_bytes=1 << 30, parts=parts)
            self.session.load(request)
            with mock.patch.object(GpuDevice, "ran_out_of_memory", lambda self, ran_out=ran_out: ran_out):
                self.assertEqual(self.session.admit({})["kept"], kept, (parts, ran_out))

    def test_a_fault_of_the_device_is_the_tasks(self) -> None:
        self.attach()
        for operation in ("prepare_call", "time_reference"):
            DRIVER.kgen_fake_cuda_fault(700)
            self.fails(self.ask(operation), "invalid_task", r"illegal memory access was encountered \(700\)")
            DRIVER.kgen_fake_cuda_fault(0)
        self.assertTrue(self.ask("prepare_call")["ok"])

    def test_a_fault_while_the_task_is_loaded(self) -> None:
        self.session.load(load_request())
        again = Session()
        again._device = self.session._device
        request = load_request()
        DRIVER.kgen_fake_cuda_fault(700)
        reply = server.answer(again, {"op": "load", **request})
        self.fails(reply, "invalid_task", "illegal memory access")

    def test_an_error_of_torch_about_the_device(self) -> None:
        self.attach()
        with mock.patch.object(self.session, "prepare_call", side_effect=RuntimeError("CUDA error: device-side assert triggered")):
            self.fails(self.ask("prepare_call"), "invalid_task", "device fault: CUDA error")
        with mock.patch.object(self.session, "prepare_call", side_effect=GpuError("allocating memory: out of memory (2)", 2)):
            self.fails(self.ask("prepare_call"), "out_of_memory", "needs more device memory than there is")

    def test_an_arena_that_does_not_fit(self) -> None:
        self.session.load(load_request())
        task, device = self.session._task, self.session._device
        layout = Layout((), 1 << 40)
        with self.assertRaisesRegex(TaskError, "needs 1.02e[+]03 GiB of device memory for what is exchanged alone, [0-9.]+ GiB are free"):
            GpuArena(task, device, layout, "/nonexistent")

    def test_a_judge_that_does_not_fit_beside_the_arena(self) -> None:
        with mock.patch.object(GpuDevice, "free_bytes", lambda self: 1000):
            self.fails(self.attach(), "out_of_memory", "needs .* GiB of device memory .*, and can have .*; choose another GPU, or take smaller inputs")

    def test_who_holds_the_memory_is_told(self) -> None:
        held = mock.patch.dict(os.environ, {"KGEN_FAKE_CUDA_HELD": str(3 << 30)})
        with held, mock.patch.object(GpuDevice, "free_bytes", lambda self: 1000):
            reply = self.attach()
        told = "other processes hold 3[0-9.]* GiB of its 4 GiB: end them .`nvidia-smi` lists them.*another GPU.*smaller inputs"
        self.fails(reply, "out_of_memory", told)
        with mock.patch.object(Gpu, "memory", side_effect=GpuError("asking for free memory: unknown (999)")):
            self.fails(server._lacks_memory(self.session, "it needs more"), "out_of_memory", "^it needs more$")

    def test_what_others_do_with_the_device(self) -> None:
        self.attach()
        quiet = self.session.device_use({})
        # What the other tests of this process hold counts, too.
        self.assertLess(quiet["foreign_bytes"], quiet["total_bytes"] // 8)
        self.session.prepare_call({})
        self.assertEqual(self.session.device_use({})["probes"], quiet["probes"] + 1)
        with mock.patch.dict(os.environ, {"KGEN_FAKE_CUDA_HELD": str(3 << 30)}):
            more = self.session.device_use({})["foreign_bytes"] - quiet["foreign_bytes"]
        self.assertAlmostEqual(more / (3 << 30), 1, places=2)
        self.assertEqual(CPU.memory_advice(), "take smaller inputs")
        self.assertEqual((Session().memory_advice(), CPU.use()), ("", {}))

    def test_a_probe_that_waits_for_a_foreign_process_is_delayed(self) -> None:
        probe = DeviceProbe(PROBE, UUID)
        probe.run()
        self.assertEqual((probe.count, probe.delayed), (1, 0))
        with mock.patch.dict(os.environ, {"KGEN_FAKE_CUDA_BUSY_US": "2000"}):
            busy = DeviceProbe(PROBE, UUID)
        busy.run()
        busy.run()
        self.assertEqual((busy.count, busy.delayed), (2, 2))

    def test_a_probing_process_that_cannot_start_is_not_the_tasks_fault(self) -> None:
        for answer, code, words in (("2", "out_of_memory", "out of memory"), ("46", "missing_device", "nvidia-smi -c DEFAULT")):
            with mock.patch.dict(os.environ, {"KGEN_FAKE_CUDA_CONTEXT": answer}):
                probe = DeviceProbe(PROBE, UUID)
            with self.assertRaisesRegex(TaskError, f"a second process cannot use the device: .*{words}") as caught:
                probe.run()
            self.assertEqual(caught.exception.code, code)

    def test_outputs_are_judged_in_place_where_there_is_no_memory_for_a_copy(self) -> None:
        self.attach()
        empty = torch.empty

        def refuses(*sizes: Any, **options: Any) -> torch.Tensor:
            if options.get("dtype") == torch.uint8 and "meta" not in str(options.get("device")):
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 6.00 GiB.")
            return empty(*sizes, **options)

        self.session.prepare_call({})
        with mock.patch.object(torch, "empty", refuses):
            self.assertIn("not written", self.session.check({})["outcome"]["message"])
        preparer = self.session._preparer
        for segment in self.session._layout.of("output"):
            preparer._arena.view(segment).copy_(preparer.current.expected.outputs.tensors[segment.name])
        with mock.patch.object(torch, "empty", refuses):
            self.assertEqual(self.session.check({})["outcome"]["kind"], "correct")
        self.session.prepare_call({})
        self.assertIn("not written", self.session.check({})["outcome"]["message"])

    def test_a_transform_without_enough_memory_is_dropped(self) -> None:
        self.session.load(load_request())
        make = admission.make_distribution

        def refuses(task: Any, facts: Any, name: str, seed: int) -> Any:
            if name == "negate":
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 6.00 GiB.")
            return make(task, facts, name, seed)

        with mock.patch.object(admission, "make_distribution", refuses):
            found = self.session.admit({})["admission"]
        self.assertIn("not enough memory", found["dropped"]["negate"])
        self.assertIn("heavy_tails", found["distributions"])

    def test_clocks_are_not_asked_for_every_call(self) -> None:
        self.attach()
        with mock.patch.object(Gpu, "clocks", return_value=None) as asked:
            for _ in range(5):
                self.session._device.clocks()
        self.assertLessEqual(asked.call_count, 2)

    def test_throttling_is_reported(self) -> None:
        self.attach()
        self.session._device._clocks = (0.0, None)
        with mock.patch.object(Gpu, "clocks", lambda self: Clocks(1755, 3201, 61, True)):
            reply = self.ask("prepare_call")
        self.assertEqual((reply["throttled"], reply["clock_mhz"]), (True, 1755))

    def test_a_device_that_was_slowed_down_rests_before_it_is_timed(self) -> None:
        self.attach()
        device = self.session._device
        slow, fast = Clocks(1700, 3201, 61, False), Clocks(1980, 3201, 61, False)
        now, naps = [100.0], []
        clocks = mock.patch.object(Gpu, "clocks", side_effect=[fast, slow, fast, fast, fast])
        sleep = mock.patch("kernelgen_judge.device.time.sleep", naps.append)
        with clocks, sleep, mock.patch("kernelgen_judge.device.time.monotonic", lambda: now[0]):
            device.watch_speed()
            device.recover()
            self.assertEqual(naps, [])
            device.watch_speed()
            # How long it has worked is not known at first; then in proportion to the time since the last rest.
            for passed in (0, 0.0078125, 3.0):
                now[0] += passed
                device.recover()
        self.assertEqual(naps, [0.05, 0.015625, 0.05])

    def test_a_device_that_stays_slow_does_not_rest_for_what_it_cannot_do(self) -> None:
        self.attach()
        device = self.session._device
        clocks = [Clocks(mhz, 3201, 61, False) for mhz in (1980, 1700, 1900, 1900, 1700, 1900)]
        with mock.patch("kernelgen_judge.device.time.sleep") as nap, mock.patch.object(Gpu, "clocks", side_effect=clocks):
            for slept in (0, 1, 1, 2):
                device.watch_speed()
                device.recover()
                self.assertEqual(nap.call_count, slept)

    def test_long_calls_are_watched(self) -> None:
        self.attach()
        with mock.patch.object(GpuDevice, "watch_speed") as watch:
            # However slow this machine is.
            with mock.patch("kernelgen_judge.gpu_timing._SHORT_NS", 1 << 60):
                self.ask("prepare_call")
            self.assertEqual(watch.call_count, 0)
            with mock.patch("kernelgen_judge.gpu_timing._SHORT_NS", 0):
                self.ask("prepare_call")
        self.assertEqual(watch.call_count, 1)

    def test_candidate_and_reference_find_a_recovered_device(self) -> None:
        self.attach()
        with mock.patch.object(GpuDevice, "recover") as recover:
            self.ask("prepare_call", reference="after", canary=True)
            prepared = recover.call_count
            self.ask("check", mode="full")
            checked = recover.call_count
        self.assertGreaterEqual(prepared, 1)
        self.assertGreater(checked, prepared)

    def test_the_same_wrong_bytes_are_looked_at_thoroughly_once(self) -> None:
        self.attach()
        checker = self.session._checker
        assert isinstance(checker, GpuChecker)
        looked = mock.Mock(side_effect=checker._compare_exactly)
        expected_looks = 0
        with mock.patch.object(checker, "_compare_exactly", looked):
            for repeat, value, new in ((False, 3.0, 1), (True, 3.0, 0), (True, 3.0, 0), (True, 4.0, 1), (True, 4.0, 0), (False, 4.0, 1)):
                self.ask("prepare_call", distribution="own", repeat=repeat)
                checker._arena_views["output"].fill_(value)
                found = self.ask("check", mode="full")
                expected_looks += new
                self.assertEqual(found["outcome"]["kind"], "accuracy")
                self.assertEqual(looked.call_count, expected_looks)
            self.ask("prepare_call", distribution="own", repeat=True)
            checker._arena_views["output"].copy_(self.session._preparer.current.expected.outputs.tensors["output"])
            self.assertEqual(self.ask("check", mode="full")["outcome"]["kind"], "correct")

    def test_outputs_that_were_looked_at_in_place_are_looked_at_again(self) -> None:
        self.attach()
        checker = self.session._checker
        assert isinstance(checker, GpuChecker)
        refuse = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 6.00 GiB.")
        with mock.patch.object(checker, "_compare_exactly", side_effect=checker._compare_exactly) as looked:
            for repeat in (False, True):
                self.ask("prepare_call", distribution="own", repeat=repeat)
                checker._arena_views["output"].fill_(3.0)
                with mock.patch("kernelgen_judge.gpu_check.torch.empty", side_effect=refuse):
                    with mock.patch.object(checker, "_make_copy", return_value=checker._copy):
                        self.assertEqual(self.ask("check", mode="full")["outcome"]["kind"], "accuracy")
        self.assertEqual(looked.call_count, 2)

    def test_float64_that_does_not_fit_is_left_out(self) -> None:
        self.session.load(load_request())
        with mock.patch.object(GpuDevice, "free_bytes", lambda self: 1000):
            admission = self.session.admit({})["admission"]
        self.assertIn("none: needs about", admission["float64"])


if __name__ == "__main__":
    unittest.main()
