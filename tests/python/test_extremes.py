"""Extremes that are always there: kernels that overflow, cancel or clamp are wrong under every seed, and careful ones right."""

from __future__ import annotations

import math
import unittest
from collections.abc import Callable, Iterator

import torch
from support import model, task_from

from kernelgen_judge.admission import Admission, admit
from kernelgen_judge.compare import Expected, compare_with_rounding, with_truth_where_right
from kernelgen_judge.distributions import REPEATS, SPECIAL, family_of, inspect_inputs, is_about_range, make_inputs, slack_of
from kernelgen_judge.oracle import Oracle, OracleBudget
from kernelgen_judge.stability import answers_nearby, is_wrong_like
from kernelgen_judge.target import Truth
from kernelgen_judge.task import CallInputs, Task
from kernelgen_judge.values import Flat

Function = Callable[[torch.Tensor], torch.Tensor]
SEEDS = range(40, 46)


def wrong(task: Task, oracle: Oracle, outputs: Flat, inputs: CallInputs, name: str, answer: dict[str, torch.Tensor]) -> bool:
    """Whether an answer is wrong, in the steps of check.Checker."""
    known = task.allowances.get(name, {})
    expected = Expected(outputs, oracle.run(inputs, 1, []), known=known, slack=slack_of(name))
    comparison = expected.compare(answer)
    if comparison.detail == "mismatch" and not is_about_range(name):
        comparison = compare_with_rounding(expected, answer, comparison, lambda lot: oracle.run_rounded(inputs, 1, [], lot))
    return not comparison.correct


def is_refused(task: Task, admission: Admission, kernel: Function, seed: int) -> bool:
    """Whether a kernel is wrong on an admitted distribution."""
    return next(find_failures(task, admission, kernel, seed), None) is not None


def failures(task: Task, admission: Admission, kernel: Function, seed: int) -> list[str]:
    """The admitted distributions on which a kernel is wrong."""
    return list(find_failures(task, admission, kernel, seed))


def find_failures(task: Task, admission: Admission, kernel: Function, seed: int) -> Iterator[str]:
    """One after the other, extremes first."""
    reference = task.build(seed)
    oracle = Oracle(reference, OracleBudget(), 0.0)
    for name in sorted(admission.distributions, key=lambda name: not family_of(name)):
        inputs = admission.make_inputs(task, name, seed)
        outputs = reference.run(inputs, 1).outputs
        if wrong(task, oracle, outputs, inputs, name, {"output": kernel(inputs.tensors["x"])}):
            yield name


def fast_exp(x: torch.Tensor) -> torch.Tensor:
    """2^(x log2 e) by writing the exponent's bits: right to 1e-6 where the result is a normal number."""
    scaled = x * math.log2(math.e)
    whole = scaled.floor()
    bits = (((whole.to(torch.int64) + 127) << 23) & 0xFFFFFFFF).to(torch.int64)
    power = torch.where(bits >= 1 << 31, bits - (1 << 32), bits).to(torch.int32).view(torch.float32)
    return torch.exp2(scaled - whole) * power


def exp_softmax(x: torch.Tensor) -> torch.Tensor:
    powers = torch.exp(x)
    return powers / powers.sum(-1, keepdim=True)


def fast_softmax(x: torch.Tensor) -> torch.Tensor:
    powers = fast_exp(x - x.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def clamped_softmax(x: torch.Tensor) -> torch.Tensor:
    powers = fast_exp((x - x.amax(-1, keepdim=True)).clamp_min(-87.0))
    return powers / powers.sum(-1, keepdim=True)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    most, total = x[..., :1].clone(), torch.ones_like(x[..., :1])
    for part in x[..., 1:].split(1, -1):
        larger = torch.maximum(most, part)
        total, most = total * torch.exp(most - larger) + torch.exp(part - larger), larger
    return torch.exp(x - most) / total


def by_logarithm(x: torch.Tensor) -> torch.Tensor:
    """Its relative error grows with an offset, which says nothing about its range."""
    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))


def one_pass_norm(x: torch.Tensor) -> torch.Tensor:
    mean, squares = x.mean(-1, keepdim=True), x.square().mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((squares - mean.square()).clamp_min(0) + 1e-5)


def two_pass_norm(x: torch.Tensor) -> torch.Tensor:
    """Sums one after the other, in float32."""
    mean = x.cumsum(-1)[..., -1:] / x.shape[-1]
    centered = x - mean
    return centered * torch.rsqrt(centered.square().cumsum(-1)[..., -1:] / x.shape[-1] + 1e-5)


def welford_norm(x: torch.Tensor) -> torch.Tensor:
    mean, squares = torch.zeros_like(x[..., :1]), torch.zeros_like(x[..., :1])
    for index in range(x.shape[-1]):
        difference = x[..., index : index + 1] - mean
        mean = mean + difference / (index + 1)
        squares = squares + difference * (x[..., index : index + 1] - mean)
    return (x - mean) * torch.rsqrt(squares / x.shape[-1] + 1e-5)


def late_maximum(x: torch.Tensor) -> torch.Tensor:
    """Safe from overflow; far below zero it divides zeros."""
    powers = torch.exp(x - x.amax(-1, keepdim=True).clamp_min(0))
    return powers / powers.sum(-1, keepdim=True)


SOFTMAX, NORM = "return torch.softmax(x, -1)", "return F.layer_norm(x, x.shape[-1:])"
DRAWS = ("torch.randn", "torch.rand")


class Ranges(unittest.TestCase):
    def check(self, forward: str, wrong: list[Function], right: list[Function], shape: str = "(32, 512)", seeds: range = SEEDS) -> None:
        for draw in DRAWS:
            task = task_from(model(forward, f"[{draw}{shape}]"))
            admission = admit(task, seed=5)
            for seed in seeds:
                for kernel in wrong:
                    with self.subTest(wrong=kernel.__name__, draw=draw, seed=seed):
                        self.assertTrue(is_refused(task, admission, kernel, seed), admission.distributions)
                for kernel in right:
                    with self.subTest(right=kernel.__name__, draw=draw, seed=seed):
                        self.assertEqual(failures(task, admission, kernel, seed), [])

    def test_softmax(self) -> None:
        self.check(SOFTMAX, [exp_softmax, fast_softmax, late_maximum], [clamped_softmax, online_softmax, by_logarithm])

    def test_layer_norm(self) -> None:
        self.check(NORM, [one_pass_norm], [two_pass_norm, welford_norm], "(64, 1024)")

    def test_variances_of_other_dimensions(self) -> None:
        def shifted_by(pivot: Function, dims: tuple[int, ...]) -> Function:
            def variance(x: torch.Tensor) -> torch.Tensor:
                x = x - pivot(x)
                return x.square().mean(dims) - x.mean(dims).square()

            return variance

        for dims in ((0,), (1,), (2,), (0, 2)):
            right: Function = lambda x, dims=dims: (x - x.mean(dims, keepdim=True)).square().mean(dims)  # noqa: E731
            wrong_ones = [shifted_by(pivot, dims) for pivot in (torch.zeros_like, torch.mean, lambda x: x[0, 0, 0])]
            self.check(f"return x.var({dims}, unbiased=False)", wrong_ones, [right], "(24, 20, 64)", SEEDS[:3])

    def test_rows_of_zeros(self) -> None:
        def divided(x: torch.Tensor) -> torch.Tensor:
            return x / x.norm(dim=-1, keepdim=True)

        def careful(x: torch.Tensor) -> torch.Tensor:
            return x / x.square().sum(-1, keepdim=True).sqrt().clamp_min(1e-12)

        self.check("return F.normalize(x, dim=-1)", [divided], [careful], seeds=SEEDS[:3])
        self.check("return F.normalize(x, dim=0)", [lambda x: x / x.norm(dim=0)], [lambda x: careful(x.T).T], seeds=SEEDS[:3])

    def test_equal_elements(self) -> None:
        def ranks(x: torch.Tensor) -> torch.Tensor:
            places = (x[:, :, None] > x[:, None, :]).sum(-1)
            return torch.zeros_like(x).scatter_(-1, places, x)

        def last(x: torch.Tensor) -> torch.Tensor:
            return x.shape[-1] - 1 - torch.argmax(x.flip(-1), -1)

        self.check("return torch.sort(x, -1).values", [ranks], [lambda x: x.topk(x.shape[-1]).values.flip(-1)], "(8, 64)", SEEDS[:3])
        self.check("return torch.argmax(x, -1)", [last], [lambda x: x.max(-1).indices], "(64, 64)", SEEDS[:3])

    def test_imaginary_parts(self) -> None:
        for draw in ("torch.randn(32, 64, dtype=torch.complex64)", "torch.randn(32, 64).to(torch.complex64)"):
            task = task_from(model("return x * x.conj().flip(-1)", f"[{draw}]"))
            admission = admit(task, seed=5)
            for seed in SEEDS:
                self.assertTrue(failures(task, admission, lambda x: (x.real * x.real.flip(-1)).to(x.dtype), seed))
                self.assertEqual(failures(task, admission, lambda x: x.conj().flip(-1).resolve_conj() * x, seed), [])

    def test_clamped_values(self) -> None:
        def clamped(x: torch.Tensor) -> torch.Tensor:
            return x.clamp(-1e6, 1e6).relu()

        self.check("return torch.relu(x)", [clamped], [lambda x: torch.maximum(x, torch.zeros_like(x))])

    def test_sigmoid_without_a_clamp(self) -> None:
        def quotient(x: torch.Tensor) -> torch.Tensor:
            return torch.exp(x) / (1 + torch.exp(x))

        def naive_tanh(x: torch.Tensor) -> torch.Tensor:
            return 1 - 2 / (1 + fast_exp(2 * x))

        self.check("return torch.sigmoid(x)", [quotient], [lambda x: 1 / (1 + torch.exp(-x))])
        self.check("return torch.tanh(x)", [naive_tanh], [lambda x: 1 - 2 / (1 + torch.exp(2 * x))])


class Admitted(unittest.TestCase):
    def families(self, forward: str, inputs: str = "[torch.rand(64, 96)]") -> Admission:
        return admit(task_from(model(forward, inputs)), seed=5)

    def test_one_of_each_family(self) -> None:
        admission = self.families("return torch.relu(x)")
        found = [family_of(name) for name in admission.distributions]
        self.assertEqual({family: found.count(family) for family in ("spikes", "offset", "wide")}, {"spikes": 1, "offset": 1, "wide": 1})

    def test_extremes_on_which_the_reference_overflows_are_dropped(self) -> None:
        admission = self.families("return torch.exp(x)")
        self.assertIn("NaN or infinity", admission.dropped["spikes_1e8"])
        self.assertIn("NaN or infinity", admission.dropped["offset_far"])
        self.assertIn("offset", admission.distributions)

    def test_extremes_on_which_the_reference_is_inexact_are_dropped(self) -> None:
        admission = self.families("return x.square().mean(1) - x.mean(1).square()")
        self.assertTrue(any("rounding" in why for name, why in admission.dropped.items() if family_of(name)), admission.dropped)

    def test_ties_are_dropped_where_their_order_is_open(self) -> None:
        for forward in ("return torch.sort(x, -1)[1]", "return torch.topk(x, 4)[1]", "return x[:, x.mean(0).argsort()]"):
            self.assertIn("not defined", self.families(forward).dropped[REPEATS], forward)
        for forward in ("return torch.sort(x, -1)[0]", "return torch.argmax(x, -1)", "return x.max(-1).indices"):
            self.assertIn(REPEATS, self.families(forward).distributions, forward)

    def test_tiny_numbers_where_the_truth_is_zero(self) -> None:
        """Far below zero, a gated norm gives zero, and a right kernel that clamps before exp() next to nothing: less than 64 eps of
        its output on the task's own inputs."""
        forward = "y = x * F.silu(x); return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)"
        task = task_from(model(forward, "[torch.randn(32, 512)]"))
        admission = admit(task, seed=5)
        self.assertIn("offset_below", admission.distributions)

        def clamped(x: torch.Tensor) -> torch.Tensor:
            y = x * x / (1 + torch.exp(-x.clamp_min(-80.0)))
            return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)

        for seed in SEEDS:
            self.assertEqual(failures(task, admission, clamped, seed), [])
            self.assertIn("offset_below", failures(task, admission, lambda x: clamped(x) + 2e-5, seed))

    def test_half_precision_stays_finite(self) -> None:
        task = task_from(model("return x", "[torch.rand(32, 32)]"), precision="fp16")
        facts = inspect_inputs(task.make_inputs(1), task.make_inputs(2))
        for name in ("spikes_1e8", "wide_1e4", "offset"):
            self.assertTrue(bool(make_inputs(task, facts, name, 3).tensors["x"].isfinite().all()), name)

    def test_spikes_are_there_under_every_seed_at_other_places(self) -> None:
        task = task_from(model("return x", "[torch.randn(16, 16)]"))
        facts = inspect_inputs(task.make_inputs(1), task.make_inputs(2))
        places = []
        for seed in SEEDS:
            x = make_inputs(task, facts, "spikes_1e8", seed).tensors["x"]
            self.assertEqual(int((x > 1e7).sum()), 1)
            self.assertEqual(int((x < -1e7).sum()), 1)
            places.append(tuple((x.abs() > 1e7).nonzero().reshape(-1).tolist()))
        self.assertGreater(len(set(places)), 1)


class Special(unittest.TestCase):
    def probed(self, kernel: Function) -> bool:
        task = task_from(model("return torch.relu(x)", "[torch.randn(64, 96)]"))
        admission = admit(task, seed=5)
        self.assertEqual((admission.probe, SPECIAL in admission.distributions), (SPECIAL, False))
        inputs = admission.make_inputs(task, SPECIAL, 7)
        x = inputs.tensors["x"]
        self.assertEqual((bool(x.isnan().any()), bool((x == math.inf).any()), bool((x == -math.inf).any())), (True, True, True))
        return Expected(task.build(1).run(inputs, 1).outputs).compare({"output": kernel(x)}).correct

    def test_what_differs(self) -> None:
        self.assertTrue(self.probed(torch.relu))
        self.assertTrue(self.probed(lambda x: torch.where(x.abs() < torch.finfo(x.dtype).tiny, 0.0, x.relu())))
        self.assertFalse(self.probed(lambda x: torch.relu(x.nan_to_num(0.0, math.inf, -math.inf))))
        self.assertFalse(self.probed(lambda x: torch.relu(x).clamp_max(1e30)))

    def test_the_truth_is_right_as_well_as_the_reference(self) -> None:
        """The reference overflows in x * x / x where the truth is finite."""
        x = torch.tensor([1.0, -3e38, 2e30, math.inf, math.nan, 0.0])
        outputs = Flat({"tensor": "output"}, {"output": x * x / x})
        truth = Truth({"output": x.double() * x.double() / x.double()})

        def right(answer: torch.Tensor) -> bool:
            mixed = with_truth_where_right(outputs, truth, {"output": answer}, None)
            return Expected(mixed).compare({"output": answer}).correct

        self.assertTrue(right(outputs.tensors["output"].clone()))
        self.assertTrue(right(truth.outputs["output"].float()))
        self.assertFalse(right(x.clamp(-1e30, 1e30)))
        self.assertFalse(right(torch.zeros(6)))
        self.assertFalse(right(truth.outputs["output"].nan_to_num(0.0, math.inf).float()))
        self.assertFalse(right(truth.outputs["output"]), "another dtype")

    def test_it_decides_where_the_tasks_own_inputs_hold_such_values(self) -> None:
        draw = "[torch.where(torch.rand(64, 96) < 0.01, float('inf'), torch.randn(64, 96))]"
        admission = admit(task_from(model("return torch.relu(x)", draw)), seed=5)
        self.assertEqual((admission.probe, SPECIAL in admission.distributions), ("", True))

    def test_integers_alone_have_no_special_values(self) -> None:
        admission = admit(task_from(model("return x * 2.0", "[torch.randint(9, (64, 96))]")), seed=5)
        self.assertEqual(admission.probe, "")


class ChaoticElementsTest(unittest.TestCase):
    """The sine of a huge number says nothing: one unit in its last place is more than a period."""

    def setUp(self) -> None:
        self.task = task_from(model("return torch.where(x.abs() > 1e6, 10 * torch.sin(x), x)", "[torch.randn(64, 64)]"))
        self.reference = self.task.build(1)
        inputs = self.task.make_inputs(2)
        x = inputs.tensors["x"].clone()
        x.view(-1)[100:104] = torch.tensor([1e9, -3e9, 2e9, 5e8])
        self.inputs = inputs.replace({"x": x})
        self.outputs = self.reference.run(self.inputs, 1).outputs
        oracle = Oracle(self.reference, OracleBudget(), 0.0)
        self.expected = Expected(self.outputs, oracle.run(self.inputs, 1, []), slack=slack_of("spikes_1e8"))

    def is_excused(self, change: Callable[[torch.Tensor], object]) -> bool:
        answer = self.outputs.tensors["output"].clone()
        change(answer.view(-1))
        comparison = self.expected.compare({"output": answer})
        self.assertEqual(comparison.detail, "mismatch")
        return is_wrong_like(answers_nearby(self.reference, self.inputs, 1, []), self.expected, comparison)

    def test_an_answer_that_is_wrong_where_the_reference_is_by_chance_is_excused(self) -> None:
        self.assertTrue(self.is_excused(lambda answer: answer[100:104].mul_(-1)))

    def test_one_that_is_wrong_in_many_more_elements_is_not(self) -> None:
        self.assertFalse(self.is_excused(lambda answer: answer[100:140].neg_().sub_(9)))

    def test_nor_is_any_where_the_reference_stays_right(self) -> None:
        task = task_from(model("return x.clamp(-1e9, 1e9)", "[torch.randn(64, 64)]"))
        reference, x = task.build(1), task.make_inputs(2).tensors["x"].clone()
        x.view(-1)[100:104] = 1e8
        inputs = task.make_inputs(2).replace({"x": x})
        outputs = reference.run(inputs, 1).outputs
        expected = Expected(outputs, Oracle(reference, OracleBudget(), 0.0).run(inputs, 1, []), slack=slack_of("spikes_1e8"))
        comparison = expected.compare({"output": x.clamp(-1e6, 1e6)})
        self.assertFalse(is_wrong_like(answers_nearby(reference, inputs, 1, []), expected, comparison))

    def test_nor_are_integers(self) -> None:
        task = task_from(model("return torch.where(x.abs() > 1e6, 10 * torch.sin(x), x).round().long()", "[torch.randn(64, 64)]"))
        reference = task.build(1)
        inputs = task.make_inputs(2).replace({"x": self.inputs.tensors["x"]})
        outputs = reference.run(inputs, 1).outputs
        answer = outputs.tensors["output"].clone()
        answer.view(-1)[100] += 1
        expected = Expected(outputs)
        comparison = expected.compare({"output": answer})
        self.assertFalse(comparison.correct)
        self.assertFalse(is_wrong_like(answers_nearby(reference, inputs, 1, []), expected, comparison))


if __name__ == "__main__":
    unittest.main()
