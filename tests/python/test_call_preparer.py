"""Tests of input sets and canary lines within this process: which contents change, and which must not."""

from __future__ import annotations

import os
import random
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

import harness
import support
import torch
from kernelgen_common.weight_transforms import number_of
from kernelgen_judge.canary import Canary, plan_for
from kernelgen_judge.quick import QuickComparer
from kernelgen_judge.session import RequestError, Session
from kernelgen_judge.target import Allowance

TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(8)
    def forward(self, x, y):
        return self.bn(x) @ y
def get_inputs():
    return [torch.randn(60, 8), torch.softmax(torch.randn(8, 16), dim=1)]
"""


def session(text: str = TASK) -> tuple[Session, int]:
    judge = Session()
    judge.load({"task": {"name": "t", "text": text}, "threads": 1, **support.device_request()})
    layout = judge.layout({})
    arena = harness.memory_file(size=layout["bytes"])
    judge.attach({"path": f"/proc/self/fd/{arena}", "bytes": layout["bytes"]})
    for descriptor in judge.take_descriptors():
        os.close(descriptor)
    judge.weights({"set": 1})
    return judge, arena


def answer(judge: Session) -> None:
    """Plays a right candidate: copies the expected outputs into the arena."""
    preparer = judge._preparer
    for chosen in preparer.series:
        for segment in judge._layout.of("output", slot=chosen.slot):
            preparer._arena.view(segment).copy_(chosen.expected.outputs.tensors[segment.name])


class CanaryTest(unittest.TestCase):
    def changed(self, tensor: torch.Tensor, kind: str) -> torch.Tensor:
        plan = plan_for(tensor)
        self.assertEqual(plan.kind, kind)
        work = tensor.clone()
        canary = Canary(work, plan, random.Random(1))
        for _ in range(20):
            canary.revert()
            touched = canary.apply()
            self.assertTrue(touched)
        after = work.clone()
        canary.revert()
        self.assertTrue(torch.equal(work, tensor), "a canary can be taken back")
        return after

    def test_rows_of_probabilities_stay_probabilities(self) -> None:
        given = torch.softmax(torch.randn(64, 32), dim=1)
        after = self.changed(given, "rows")
        self.assertFalse(torch.equal(after, given))
        self.assertTrue(torch.allclose(after.sum(1), torch.ones(64)))

    def test_triangles_stay_triangles(self) -> None:
        after = self.changed(torch.tril(torch.randn(64, 64)), "swap")
        self.assertTrue(torch.equal(after, torch.tril(after)))

    def test_symmetric_matrices_stay_symmetric(self) -> None:
        given = torch.randn(32, 32)
        after = self.changed(given + given.T, "symmetric")
        self.assertTrue(torch.equal(after, after.T))

    def test_integers_keep_their_values(self) -> None:
        given = torch.randint(0, 10, (8, 50))
        after = self.changed(given, "exchange")
        self.assertTrue(torch.equal(after.flatten().sort().values, given.flatten().sort().values))

    def test_long_rows_change_in_chunks(self) -> None:
        self.changed(torch.randn(1, 100000), "chunks")

    def test_sorted_boolean_single_and_strided_inputs_are_left_alone(self) -> None:
        for tensor in (torch.arange(50), torch.rand(100).sort().values, torch.rand(5) > 1, torch.tensor(3.0), torch.randn(4, 6).T):
            self.assertEqual(plan_for(tensor).kind, "none")


class StagerTest(unittest.TestCase):
    def place(self, role: str) -> Any:
        """The first tensor of a role in the slot of the prepared call."""
        return self.judge._layout.of(role, slot=self.judge._preparer.current.slot)[0]

    def setUp(self) -> None:
        self.judge, self.arena = session()

    def tearDown(self) -> None:
        os.close(self.arena)

    def kind(self, mode: str = "full") -> str:
        outcome = self.judge.check({"mode": mode})["outcome"]
        return outcome["kind"] + (":" + outcome["detail"] if outcome["detail"] else "")

    def inputs(self) -> torch.Tensor:
        preparer = self.judge._preparer
        return torch.cat([preparer._arena.raw(segment) for segment in self.judge._layout.of("input", slot=self.judge._preparer.current.slot)])

    def test_new_inputs_each_time_and_the_same_when_repeated(self) -> None:
        first = self.judge.prepare_call({})
        one = self.inputs()
        again = self.judge.prepare_call({"repeat": True})
        self.assertEqual((first["seed"], first["forward_seed"]), (again["seed"], again["forward_seed"]))
        self.assertEqual(again["reference_ns"], 0)
        self.assertTrue(torch.equal(one, self.inputs()))
        self.judge.prepare_call({})
        self.assertFalse(torch.equal(one, self.inputs()))

    def test_one_call_of_five_is_all_new(self) -> None:
        judge, _ = session()
        with mock.patch.object(type(judge._preparer), "_fresh_share", return_value=0.0):
            fresh = [judge.prepare_call({"canary": True})["fresh"] for _ in range(80)]
        # The slots that are met first hold nothing that could be known.
        later = fresh[-30:]
        self.assertTrue(all(any(later[start : start + 5]) for start in range(26)), later)
        self.assertIn(False, later)

    def test_far_from_zero_an_honest_answer_may_be_what_sums_cost_away(self) -> None:
        """Of the same call, Welford's method is right and a difference of means of squares is wrong."""
        judge, _ = session(
            "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n"
            "        return torch.nn.functional.layer_norm(x, (2048,))\ndef get_inputs():\n    return [torch.randn(4, 2048)]\n"
        )
        judge.admit({})
        for _ in range(3):
            judge.prepare_call({"distribution": "offset"})
            current = judge._preparer.current
            x = current.tensors["x"]
            mean, squares = torch.zeros(4, 1), torch.zeros(4, 1)
            for index in range(2048):
                difference = x[:, index : index + 1] - mean
                mean = mean + difference / (index + 1)
                squares = squares + difference * (x[:, index : index + 1] - mean)
            output = judge._preparer._arena.view(judge._preparer.outputs()[0])
            output.copy_((x - mean) * torch.rsqrt(squares / 2048 + 1e-5))
            self.assertEqual(judge.check({})["outcome"]["kind"], "correct")
            mean = x.mean(1, keepdim=True)
            variance = (x.square().mean(1, keepdim=True) - mean.square()).clamp_min(0)
            output.copy_((x - mean) * torch.rsqrt(variance + 1e-5))
            self.assertEqual(judge.check({})["outcome"]["kind"], "accuracy")

    def test_a_chaotic_call_tells_nothing_and_a_stable_one_does(self) -> None:
        for gain, kind in ((9.0, "correct"), (0.5, "accuracy")):
            judge, _ = session(
                "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.fc = nn.Linear(8, 8)\n    def forward(self, x):\n        y = x\n        for _ in range(24):\n"
                f"            x = torch.sin({gain} * x) + 0.1 * self.fc(x)\n        return x + y\n"
                "def get_inputs():\n    return [torch.randn(16, 8)]\n"
            )
            weights = judge._weights
            for transform, expected in ((number_of("trained"), kind), (0, "accuracy")):
                weights._sets[1] = replace(weights._sets[1], transform=transform)
                judge.prepare_call({})
                answer(judge)
                judge._preparer._arena.view(judge._preparer.outputs()[0])[3, 4] += 3
                self.assertEqual(judge.check({})["outcome"]["kind"], expected, (gain, transform))

    def test_a_given_seed_gives_given_inputs(self) -> None:
        self.judge.prepare_call({"seed": "17"})
        one = self.inputs()
        self.judge.prepare_call({"seed": "18"})
        self.judge.prepare_call({"seed": "17"})
        self.assertTrue(torch.equal(one, self.inputs()))

    def test_right_answers_are_right_in_every_way_of_staging(self) -> None:
        for request in [{}, {"repeat": True}, *[{"canary": True}] * 10, {"repeat": True}, {}, {"canary": True}]:
            self.judge.prepare_call(request)
            answer(self.judge)
            self.assertEqual(self.kind(), "correct", request)
        self.judge.weights({"set": 2})
        self.judge.prepare_call({"repeat": True})
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")

    def test_the_reference_may_be_called_after_the_candidate(self) -> None:
        judge = self.judge
        for canary in (False, True, True, True):
            prepared = judge.prepare_call({"distribution": "own", "canary": canary, "reference": "after"})
            self.assertEqual(prepared["reference_ns"], 0)
            self.assertIsNone(judge._preparer.current.expected)
            checked = judge.check({"mode": "sample"})
            self.assertEqual(checked["outcome"]["kind"], "accuracy")
            self.assertGreater(checked["reference_ns"], 0)
            answer(judge)
            self.assertEqual(judge.check({"mode": "full"})["outcome"]["kind"], "correct")

    def test_draws_are_there_before_the_candidate_and_the_time_may_come_after_it(self) -> None:
        judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + torch.randn(16)"))
        self.addCleanup(os.close, arena)
        prepared = judge.prepare_call({"distribution": "own", "reference": "after"})
        self.assertEqual(prepared["reference_ns"], 0)
        preparer = judge._preparer
        draw = preparer._arena.view(judge._layout.of("draw", slot=preparer.current.slot)[0])
        self.assertTrue(torch.equal(draw, preparer.current.expected.draws[0]))
        self.judge = judge
        answer(judge)
        checked = judge.check({"mode": "full"})
        self.assertEqual(checked["outcome"]["kind"], "correct")
        self.assertGreater(checked["reference_ns"], 0)
        self.assertEqual(preparer.current.expected.nanoseconds, checked["reference_ns"])

    def test_a_rehearsal_needs_neither_draws_nor_an_answer(self) -> None:
        judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + torch.randn(16)"))
        self.addCleanup(os.close, arena)
        with mock.patch.object(judge._preparer, "_call") as call, mock.patch.object(judge._preparer, "_record_draws") as record:
            prepared = judge.prepare_call({"distribution": "own", "reference": "never", "calls": 8})
        self.assertEqual((prepared["reference_ns"], prepared["calls"]), (0, 8))
        self.assertFalse(call.called or record.called)
        with self.assertRaisesRegex(RequestError, "where the reference is called"):
            judge.check({"mode": "full"})
        with self.assertRaisesRegex(RequestError, "unknown order of the reference: 'later'"):
            judge.prepare_call({"reference": "later"})

    def test_given_draws_may_not_be_written(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + torch.randn(16)"))
        self.addCleanup(os.close, arena)
        for changed, kind in ((None, "correct"), (0, "mutated_input"), (2, "mutated_input")):
            self.judge.prepare_call({"calls": 3})
            answer(self.judge)
            preparer = self.judge._preparer
            if changed is not None:
                segment = self.judge._layout.of("draw", slot=preparer.slots[changed])[0]
                preparer._arena.view(segment)[5] += 1
            outcome = self.judge.check({"mode": "full"})["outcome"]
            self.assertEqual(outcome["kind"], kind)
            self.assertEqual("draws[0]" in outcome["message"], changed is not None)

    def test_a_candidate_that_draws_itself_finds_no_draws(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + torch.randn(16)"))
        self.addCleanup(os.close, arena)
        self.judge.prepare_call({"draws": False})
        preparer = self.judge._preparer
        segment = self.judge._layout.of("draw", slot=preparer.current.slot)[0]
        self.assertFalse(torch.equal(preparer._arena.view(segment), preparer.current.expected.draws[0]))
        # What lies there instead does not matter.
        preparer._arena.view(segment)[5] += 1
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")

    def test_slots_count_the_tensors_that_are_drawn(self) -> None:
        judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + sum(torch.randn(16) for _ in range(200))"))
        self.addCleanup(os.close, arena)
        self.assertLess(judge._layout.slots, 1000 if harness.DEVICE else 20)

    def test_the_arena_holds_what_the_expected_answer_belongs_to(self) -> None:
        for _ in range(30):
            self.judge.prepare_call({"canary": True})
            preparer = self.judge._preparer
            held = torch.cat([preparer.current.memory.raw(s) for s in preparer._private_layout.segments])
            self.assertTrue(torch.equal(held, self.inputs()))
            answer(self.judge)
            self.assertEqual(self.kind(), "correct")

    def test_a_canary_makes_the_previous_answer_wrong_and_says_stale(self) -> None:
        self.judge.prepare_call({})
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")
        preparer = self.judge._preparer
        old = preparer.current.expected.outputs.tensors["output"].clone()
        self.judge.prepare_call({"canary": True})
        preparer._arena.view(self.place("output")).copy_(old)
        outcome = self.judge.check({})["outcome"]
        self.assertEqual((outcome["kind"], outcome["detail"]), ("accuracy", "mismatch"))
        self.assertIn("stale", outcome["message"])

    def test_an_imprecise_answer_is_not_called_stale(self) -> None:
        # Calls of this task have several places in the arena: what was drawn for a place is then drawn again.
        self.judge, arena = session(TASK.replace("nn.BatchNorm1d(8)", "nn.Linear(8, 8)"))
        self.addCleanup(os.close, arena)
        self.judge.prepare_call({})
        answer(self.judge)
        self.judge._preparer._arena.view(self.place("output")).mul_(1 + 3e-5)
        outcome = self.judge.check({})["outcome"]
        self.assertEqual((outcome["kind"], outcome["detail"]), ("accuracy", "mismatch"))
        self.assertNotIn("stale", outcome["message"])

    def test_poisoned_outputs_were_not_written(self) -> None:
        self.judge.prepare_call({})
        outcome = self.judge.check({})["outcome"]
        self.assertEqual((outcome["kind"], outcome["detail"]), ("accuracy", "mismatch"))
        self.assertIn("was not written", outcome["message"])

    def test_the_answer_of_the_other_weights_is_recognized(self) -> None:
        text = TASK.replace("nn.BatchNorm1d(8)", "nn.Linear(8, 8)")
        self.judge, arena = session(text)
        self.judge.prepare_call({})
        other = self.judge._weights.get(2).reference
        chosen = self.judge._preparer.current
        result = other.run(chosen.inputs, chosen.expected.forward_seed).outputs.tensors["output"]
        self.judge._preparer._arena.view(self.place("output")).copy_(result)
        self.assertIn("other weight set", self.judge.check({})["outcome"]["message"])
        os.close(arena)

    def test_writes_where_nothing_may_be_written(self) -> None:
        preparer, layout = self.judge._preparer, self.judge._layout
        for role, name, expected in (("input", "x", "mutated_input"), ("parameter", "bn.weight", "mutated_input")):
            self.judge.prepare_call({})
            answer(self.judge)
            segment = next(s for s in layout.of(role, slot=preparer.current.slot) if s.name == name)
            preparer._arena.raw(segment)[5] ^= 1
            outcome = self.judge.check({})["outcome"]
            self.assertEqual(outcome["kind"], expected)
            self.assertIn(name, outcome["message"])
        self.judge.prepare_call({})
        answer(self.judge)
        segment = self.place("output")
        preparer._arena._all[segment.begin - 1] ^= 1
        outcome = self.judge.check({})["outcome"]
        self.assertEqual((outcome["kind"], outcome["detail"]), ("crash", "out_of_bounds"))
        self.assertIn("output", outcome["message"])
        self.judge.prepare_call({})
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")

    def test_buffers_that_forward_changes_may_change_and_are_restored(self) -> None:
        segment = next(s for s in self.judge._layout.of("buffer") if s.name == "bn.running_mean")
        view = self.judge._preparer._arena.view(segment)
        self.judge.prepare_call({})
        view.fill_(7.0)
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")
        self.judge.prepare_call({})
        self.assertTrue(torch.equal(view, torch.zeros(8)))

    def test_booleans_that_are_no_booleans(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "(x @ y) > 0"))
        self.judge.prepare_call({})
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")
        self.judge.prepare_call({})
        answer(self.judge)
        self.judge._preparer._arena.raw(self.place("output"))[3] = 2
        self.assertIn("no booleans", self.judge.check({})["outcome"]["message"])
        os.close(arena)

    def test_large_outputs_are_sampled_for_canaries_only(self) -> None:
        self.judge._checker._full = False
        self.judge.prepare_call({"canary": True})
        answer(self.judge)
        self.assertEqual(self.kind("sample"), "correct")
        self.judge.prepare_call({"canary": True})
        self.assertEqual(self.kind("sample"), "accuracy:mismatch")

    def test_each_call_of_a_series_has_inputs_of_its_own_and_is_compared(self) -> None:
        self.judge, arena = session("import torch, torch.nn as nn" + TASK.partition("import torch, torch.nn as nn")[2].replace(
            "self.bn(x) @ y", "x @ y"))  # fmt: skip
        preparer, layout = self.judge._preparer, self.judge._layout
        self.assertGreater(layout.slots, 60)
        for calls in (3, layout.slots, layout.slots + 9):
            reply = self.judge.prepare_call({"canary": True, "calls": calls})
            self.assertEqual(reply["calls"], min(calls, layout.slots))
            self.assertEqual(len(preparer.series), reply["calls"])
            self.assertEqual(preparer.slots[0], reply["slot"])
            self.assertEqual(len(set(preparer.slots)), reply["calls"])
            inputs = [bytes(preparer._arena.raw(layout.of("input", slot=slot)[0]).tolist()) for slot in preparer.slots]
            self.assertEqual(len(set(inputs)), reply["calls"])
            answer(self.judge)
            self.assertEqual(self.kind(), "correct")
        for broken in (0, 1, 2):
            for role, kind in (("output", "accuracy:mismatch"), ("input", "mutated_input")):
                self.judge.prepare_call({"canary": True, "calls": 3})
                answer(self.judge)
                preparer._arena.view(layout.of(role, slot=preparer.slots[broken])[0])[0, 0] += 1
                self.assertEqual(self.kind(), kind)
        self.judge.prepare_call({"calls": 2})
        answer(self.judge)
        segment = layout.of("output", slot=preparer.slots[1])[0]
        preparer._arena._all[segment.begin - 1] ^= 1
        self.assertEqual(self.kind(), "crash:out_of_bounds")
        os.close(arena)

    def test_calls_that_leave_something_to_the_next_are_no_series(self) -> None:
        for forward in ("self.bn(x) @ y + self.bn.running_mean.sum()", "x.mul_(2) @ y", "F.dropout(x @ y, 0.5)"):
            self.judge, arena = session("import torch.nn.functional as F\n" + TASK.replace("self.bn(x) @ y", forward))
            self.assertEqual(self.judge._layout.slots, 1)
            self.assertEqual(self.judge.prepare_call({"calls": 5})["calls"], 1)
            os.close(arena)

    def test_state_that_no_output_depends_on_allows_series_and_is_restored_before_each(self) -> None:
        self.judge, arena = session(TASK)
        preparer, layout = self.judge._preparer, self.judge._layout
        mean = preparer._arena.view(next(one for one in layout.of("buffer") if one.name == "bn.running_mean"))
        for _ in range(2):
            self.assertEqual(self.judge.prepare_call({"calls": 3})["calls"], 3)
            self.assertEqual(float(mean.abs().sum()), 0)
            for chosen in preparer.series:
                module = self.judge._weights.rebuilt(1).reference.module
                expected = module(*chosen.inputs.arguments())
                self.assertTrue(torch.equal(chosen.expected.outputs.tensors["output"], expected))
            answer(self.judge)
            mean.fill_(7)
            self.assertEqual(self.kind(), "correct")
        os.close(arena)

    def test_each_call_of_a_series_has_draws_of_its_own(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + torch.randn(16)"))
        preparer, layout = self.judge._preparer, self.judge._layout
        reply = self.judge.prepare_call({"calls": 5})
        self.assertEqual(reply["calls"], 5)
        draws = [preparer._arena.view(layout.of("draw", slot=slot)[0]).clone() for slot in preparer.slots]
        # As a Python candidate draws them: it is seeded once.
        torch.manual_seed(int(reply["forward_seed"]))
        for draw in draws:
            self.assertTrue(torch.equal(torch.randn(16), draw))
        for chosen, draw in zip(preparer.series, draws):
            expected = chosen.inputs.tensors["x"] @ chosen.inputs.tensors["y"] + draw
            self.assertTrue(torch.allclose(chosen.expected.outputs.tensors["output"], expected, atol=1e-5))
        answer(self.judge)
        self.assertEqual(self.kind(), "correct")
        os.close(arena)

    def test_single_calls_meet_the_same_addresses_and_others(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y"))
        slots = [self.judge.prepare_call({})["slot"] for _ in range(24)]
        if harness.DEVICE:
            # What was captured in a graph has addresses for good.
            self.assertEqual(set(slots), {0})
        else:
            self.assertTrue(all(len(set(slots[i : i + 4])) <= 2 for i in range(0, 24, 4)))
            self.assertGreater(len(set(slots)), 4)
        os.close(arena)

    def test_every_full_comparison_follows_the_float64_rule(self) -> None:
        """Only the first call has a float64 result of its own. A judge keeps what it learned for the next candidate."""
        for _ in range(3):
            self.judge.prepare_call({})
            answer(self.judge)
            self.assertEqual(self.kind(), "correct")
            for scale, expected in ((1 + 1e-6, "correct"), (1 + 5e-5, "accuracy:mismatch")):
                self.judge.prepare_call({"canary": True})
                answer(self.judge)
                self.judge._preparer._arena.view(self.place("output")).mul_(scale)
                self.assertEqual(self.kind(), expected)

    def test_inputs_that_the_reference_writes(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "x.mul_(2) @ y"))
        for _ in range(3):
            self.judge.prepare_call({"canary": True})
            answer(self.judge)
            self.judge._preparer._arena.view(self.place("input")).mul_(2)
            self.assertEqual(self.kind(), "correct")
        os.close(arena)

    def test_draws_are_in_the_arena(self) -> None:
        self.judge, arena = session(TASK.replace("self.bn(x) @ y", "x @ y + torch.randn(16)"))
        self.judge.prepare_call({})
        preparer, layout = self.judge._preparer, self.judge._layout
        x, y = (preparer._arena.view(segment) for segment in layout.of("input", slot=preparer.current.slot))
        draw = preparer._arena.view(self.place("draw"))
        preparer._arena.view(self.place("output")).copy_(x @ y + draw)
        self.assertEqual(self.kind(), "correct")
        os.close(arena)


class QuickTest(unittest.TestCase):
    def accepted(self, wanted: torch.Tensor, given: torch.Tensor, distance: float | None = None) -> Any:
        return QuickComparer(None).accept({"o": wanted}, {"o": given}, {"o": Allowance(distance=distance)})

    def test_what_is_far_from_the_reference_is_left_to_the_truth(self) -> None:
        wanted = torch.randn(128, 128)
        given = wanted * (1 + 1e-5)
        self.assertIsNotNone(self.accepted(wanted, given))
        self.assertIsNotNone(self.accepted(wanted, given, 3e-5))
        self.assertIsNone(self.accepted(wanted, given, 0.9e-5))
        self.assertIsNotNone(self.accepted(wanted, wanted.clone(), 0.0))

    def test_accepts_only_what_is_right(self) -> None:
        wanted = torch.randn(128, 128) * 100
        self.assertIsNotNone(self.accepted(wanted, wanted.clone()))
        self.assertIsNotNone(self.accepted(wanted, wanted * (1 + 1e-6)))
        for given in (wanted * 1.01, wanted * 314, torch.zeros_like(wanted), wanted.clone().fill_(float("nan"))):
            self.assertIsNone(self.accepted(wanted, given))
        one = wanted.clone()
        one[77, 3] = float("nan")
        self.assertIsNone(self.accepted(wanted, one))
        self.assertIsNone(self.accepted(one, one))
        one[77, 3] = float("inf")
        self.assertIsNone(self.accepted(one, one))

    def test_halves_and_integers(self) -> None:
        half = torch.randn(64, 64).half()
        self.assertIsNotNone(self.accepted(half, half.clone()))
        self.assertIsNone(self.accepted(half, half * 2))
        whole = torch.randint(0, 9, (10,))
        self.assertIsNotNone(self.accepted(whole, whole.clone()))
        self.assertIsNone(self.accepted(whole, whole + 1))

    def test_equal_numbers_of_any_type(self) -> None:
        for dtype in (torch.float64, torch.complex64, torch.complex128):
            with self.subTest(dtype):
                wanted = torch.randn(50, 3, dtype=dtype)
                self.assertIsNotNone(self.accepted(wanted, wanted.clone()))
                self.assertIsNone(self.accepted(wanted, wanted * (1 + 1e-12) if dtype != torch.complex64 else wanted * 1.0001))
                for odd in (float("nan"), float("inf")):
                    broken = wanted.clone()
                    broken[7, 1] = odd
                    self.assertIsNone(self.accepted(broken, broken.clone()))

    def test_views_that_change_numbers_are_compared_as_numbers(self) -> None:
        raw = torch.randn(50, 3, dtype=torch.complex64)
        self.assertIsNone(self.accepted(raw.conj(), raw.clone()))
        self.assertIsNotNone(self.accepted(raw.conj(), raw.conj().resolve_conj()))
        negated = raw.conj().imag
        self.assertTrue(negated.is_neg())
        self.assertIsNone(self.accepted(negated, raw.imag.contiguous()))
        self.assertIsNotNone(self.accepted(negated, negated.resolve_neg().contiguous()))


if __name__ == "__main__":
    unittest.main()
