"""Tests of the comparison: every wrong answer is refused with its class and every honest one is accepted; with the measurements
behind the limits."""

import math
import unittest

import torch
import torch.nn.functional as F
import support  # noqa: F401  (sets the number of threads)

from kernelgen_judge.compare import ROUNDING_LOTS, Expected, _is_right, compare_with_rounding, is_far_in_samples
from kernelgen_judge.target import Allowance, Tolerance, Truth
from kernelgen_judge.values import flatten_output


def expect(value, truth=None, tolerance=None, known=None):
    return Expected(flatten_output(value), truth, tolerance, known)


def one(tensor, oracle=None, tolerance=None, tf32=None, rounding=0.0, is_float64=True):
    """A task with a single output called "output"; `oracle` and `tf32` are what it is without rounding, and in TF32."""
    truth = None
    if oracle is not None:
        truth = Truth({"output": oracle}, None if tf32 is None else {"output": tf32}, is_float64)
    return expect(tensor, truth, tolerance, {"output": Allowance(rounding=rounding)} if rounding else None)


def answer(tensor):
    return {"output": tensor}


def to_tf32(x):
    """float32 rounded to the 10 mantissa bits of TF32, ties to even."""
    bits = x.contiguous().view(torch.int32)
    bits = (bits + 0x0FFF + ((bits >> 13) & 1)) & ~0x1FFF
    return bits.view(torch.float32)


def sequential_sum(x):
    """Sum over the last dimension, one element after the other, in float32."""
    columns = x.t().contiguous()
    total = torch.zeros(x.shape[0])
    for k in range(columns.shape[0]):
        total += columns[k]
    return total


def kahan_sum(x):
    columns = x.t().contiguous()
    total, carry = torch.zeros(x.shape[0]), torch.zeros(x.shape[0])
    for k in range(columns.shape[0]):
        y = columns[k] - carry
        t = total + y
        carry = (t - total) - y
        total = t
    return total


class Rejected(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.reference = torch.randn(64, 256)
        self.expected = one(self.reference)

    def refused(self, comparison, detail):
        self.assertEqual((comparison.kind, comparison.detail), ("accuracy", detail), comparison.message)
        self.assertTrue(comparison.message)
        self.assertNotIn("\n", comparison.message)

    def test_zeros(self):
        self.refused(self.expected.compare(answer(torch.zeros(64, 256))), "mismatch")

    def test_zeros_for_a_softmax_over_393216_columns(self):
        reference = torch.softmax(torch.rand(4, 393216), dim=-1)
        comparison = one(reference).compare(answer(torch.zeros_like(reference)))
        self.refused(comparison, "mismatch")
        self.assertTrue(comparison.outputs[0].kernelbench_allclose, "KernelBench's tolerance accepts it; that is recorded")

    def test_mean_for_a_softmax(self):
        reference = torch.softmax(torch.rand(4, 393216), dim=-1)
        self.refused(one(reference).compare(answer(torch.full_like(reference, 1 / 393216))), "mismatch")

    def test_constant(self):
        self.refused(self.expected.compare(answer(torch.full((64, 256), float(self.reference.mean())))), "mismatch")

    def test_314_times_the_reference(self):
        self.refused(self.expected.compare(answer(314 * self.reference)), "mismatch")

    def test_1e30(self):
        self.refused(self.expected.compare(answer(torch.full((64, 256), 1e30))), "mismatch")

    def test_the_largest_number(self):
        """c - r overflows in float32; that is wrong, not equal."""
        huge = torch.full((64, 256), -3.4e38)
        self.refused(one(torch.full((64, 256), 3.4e38)).compare(answer(huge)), "mismatch")

    def test_nan(self):
        self.refused(self.expected.compare(answer(torch.full((64, 256), math.nan))), "nan")

    def test_one_nan_and_one_infinity(self):
        for value in (math.nan, math.inf, -math.inf):
            with self.subTest(value):
                wrong = self.reference.clone()
                wrong[63, 255] = value
                comparison = self.expected.compare(answer(wrong))
                self.refused(comparison, "nan")
                self.assertIn("[63, 255]", comparison.message)

    def test_a_number_where_the_reference_has_nan(self):
        reference = self.reference.clone()
        reference[3, 4] = math.nan
        self.refused(one(reference).compare(answer(self.reference)), "nan")

    def test_the_other_infinity(self):
        reference = torch.tensor([1.0, math.inf])
        self.refused(one(reference).compare(answer(torch.tensor([1.0, -math.inf]))), "nan")

    def test_broadcastable_shape(self):
        self.refused(one(torch.ones(64, 256)).compare(answer(torch.ones(256))), "shape")
        self.refused(one(torch.ones(64, 256)).compare(answer(torch.ones(1, 1))), "shape")
        self.refused(one(torch.ones(4, 1)).compare(answer(torch.ones(4))), "shape")

    def test_wrong_dtype(self):
        for dtype in (torch.float16, torch.float64, torch.int32):
            with self.subTest(dtype):
                self.refused(one(torch.ones(8)).compare(answer(torch.ones(8, dtype=dtype))), "dtype")

    def test_only_the_first_of_two_outputs_right(self):
        expected = expect((self.reference, self.reference * 2))
        comparison = expected.compare({"output[0]": self.reference, "output[1]": self.reference})
        self.refused(comparison, "mismatch")
        self.assertIn("output[1]", comparison.message)
        self.assertEqual(comparison.outputs[0].max_abs, 0)

    def test_an_output_missing_or_too_many(self):
        expected = expect((self.reference, self.reference))
        self.refused(expected.compare({"output[0]": self.reference}), "structure")
        three = {f"output[{i}]": self.reference for i in range(3)}
        self.refused(expected.compare(three), "structure")

    def test_another_structure(self):
        expected = expect({"hidden": self.reference})
        given = flatten_output([self.reference])
        self.refused(expected.compare({"output.hidden": self.reference}, given.structure), "structure")

    def test_another_scalar_beside_a_tensor(self):
        expected = expect((self.reference, 1.5))
        for scalar, right in ((1.5, True), (1.6, False)):
            given = flatten_output((self.reference, scalar))
            self.assertEqual(expected.compare(given.tensors, given.structure).correct, right)

    def test_uninitialized_poison(self):
        """empty_like returns the old contents of the buffer: a poison pattern, never the answer."""
        poison = torch.full((64, 256), 0x7FC0DEAD, dtype=torch.int32).view(torch.float32)
        self.refused(self.expected.compare(answer(poison)), "nan")

    def test_a_single_wrong_element_of_millions(self):
        reference = torch.randn(1 << 21)
        wrong = reference.clone()
        wrong[(1 << 21) - 1] += 0.01
        comparison = one(reference).compare(answer(wrong))
        self.refused(comparison, "mismatch")
        self.assertIn("1 of 2097152 elements", comparison.message)

    def test_integers_are_exact(self):
        reference = torch.arange(100000)
        wrong = reference.clone()
        wrong[99999] += 1
        comparison = one(reference).compare(answer(wrong))
        self.refused(comparison, "mismatch")
        self.assertTrue(comparison.outputs[0].kernelbench_allclose)

    def test_booleans_are_exact(self):
        reference = torch.zeros(100, dtype=torch.bool)
        wrong = reference.clone()
        wrong[7] = True
        self.refused(one(reference).compare(answer(wrong)), "mismatch")

    def test_noise_where_the_reference_is_all_zero(self):
        self.refused(one(torch.zeros(100)).compare(answer(torch.full((100,), 1e-6))), "mismatch")

    def test_small_rows_are_judged_on_their_own_scale(self):
        scales = torch.logspace(0, -5, 16)[:, None]
        reference = torch.randn(16, 512) * scales
        wrong = reference.clone()
        wrong[15] = 0
        comparison = one(reference).compare(answer(wrong))
        self.refused(comparison, "mismatch")
        self.assertIn("[15, ", comparison.message)

    def test_tanh_gelu_for_erf_gelu(self):
        x = torch.randn(64, 256)
        reference = torch.nn.functional.gelu(x)
        wrong = torch.nn.functional.gelu(x, approximate="tanh")
        self.refused(one(reference).compare(answer(wrong)), "mismatch")

    def test_float64_error_alone_can_refuse(self):
        """Every element is within the tolerance, and all of them are off by far more than rounding explains."""
        truth = torch.rand(1 << 16, dtype=torch.float64) + 1
        reference = truth.float()
        wrong = (truth * (1 + 9e-5)).float()
        self.assertTrue(one(reference).compare(answer(wrong)).correct)
        comparison = one(reference, truth).compare(answer(wrong))
        self.refused(comparison, "mismatch")
        self.assertIn("float64", comparison.message)

    def test_a_reference_that_is_right_by_luck(self):
        """A single number that the reference has exactly right does not demand the same of a candidate, but still reveals
        TF32."""
        truth = torch.tensor(1.0, dtype=torch.float64)
        expected = one(truth.float(), truth)
        self.assertTrue(expected.compare(answer(torch.tensor(1 + 3e-6))).correct)
        self.refused(expected.compare(answer(torch.tensor(1 + 3e-5))), "mismatch")
        many = torch.ones(64, dtype=torch.float64)
        self.refused(one(many.float(), many).compare(answer(torch.full((64,), 1 + 3e-6))), "mismatch")

    def test_half_precision_accumulation(self):
        """A product of halves that also accumulates in that type."""
        for dtype in (torch.float16, torch.bfloat16):
            a, b = torch.randn(64, 256).to(dtype), torch.randn(256, 64).to(dtype)
            expected = one(a @ b, a.double() @ b.double())
            total, rounded = torch.zeros(64, 64, dtype=dtype), torch.zeros(64, 64)
            for k in range(256):
                total += a[:, k : k + 1] * b[k : k + 1]
            for k in range(0, 256, 64):
                rounded += (a[:, k : k + 64].float() @ b[k : k + 64].float()).to(dtype).float()
            self.refused(expected.compare(answer(total)), "mismatch")
            self.assertTrue(expected.compare(answer(rounded.to(dtype))).correct)


class Accepted(unittest.TestCase):
    def test_equal_bytes(self):
        for tensor in (torch.randn(3, 5), torch.arange(9), torch.rand(4) > 0.5, torch.randn(4, dtype=torch.complex64)):
            comparison = one(tensor).compare(answer(tensor.clone()))
            self.assertTrue(comparison.correct)
            self.assertEqual(comparison.outputs[0].max_abs, 0)
            self.assertTrue(comparison.outputs[0].kernelbench_allclose)

    def test_non_contiguous_and_empty_outputs(self):
        tensor = torch.randn(6, 4).t()
        self.assertTrue(one(tensor).compare(answer(tensor.contiguous())).correct)
        self.assertTrue(one(torch.ones(0, 4)).compare(answer(torch.ones(0, 4))).correct)

    def test_equal_nan_and_infinities(self):
        tensor = torch.tensor([1.0, math.nan, math.inf, -math.inf])
        comparison = one(tensor).compare(answer(tensor.clone()))
        self.assertTrue(comparison.correct)
        self.assertFalse(comparison.outputs[0].kernelbench_allclose)

    def test_sparse_rows_keep_the_tolerance_of_the_whole(self):
        """A ReLU leaves a row with one tiny survivor: its error comes from the values that were cut away."""
        reference = torch.relu(torch.randn(32, 128))
        reference[:16] *= 100
        reference[20] = 0
        reference[20, 5] = 1e-6
        close = reference.clone()
        close[20, 5] = 1.4e-6
        close[20, 6] = 3e-7
        self.assertTrue(one(reference).compare(answer(close)).correct)

    def test_rows_in_which_the_reference_is_noise(self):
        """With a float64 result no candidate must be closer to the reference than the reference is to the truth."""
        truth = torch.randn(8, 256, dtype=torch.float64)
        truth[3] *= 1e-7
        reference = (truth + torch.randn(8, 256, dtype=torch.float64) * 1e-8).float()
        other = (truth + torch.randn(8, 256, dtype=torch.float64) * 1e-8).float()
        self.assertFalse(one(reference).compare(answer(other)).correct)
        self.assertTrue(one(reference, truth).compare(answer(other)).correct)

    def test_small_numbers_that_are_left_of_large_ones(self):
        """Clipping leaves few survivors: their error is that of the values before, which the rms does not show."""
        torch.manual_seed(2)
        before = torch.randn(1 << 16, dtype=torch.float64)
        noise = [torch.randn(1 << 16, dtype=torch.float64) * 1e-7 for _ in range(2)]
        truth, reference, other = (torch.clamp(before + n - 3.9, min=0) for n in (0, *noise))
        self.assertFalse(one(reference.float()).compare(answer((other * (1 + 3e-4)).float())).correct)
        self.assertTrue(one(reference.float(), truth).compare(answer(other.float())).correct)
        self.assertFalse(one(reference.float(), truth).compare(answer(torch.zeros(1 << 16))).correct)

    def test_a_loosened_tolerance_is_marked(self):
        loose = Tolerance(1.0, 1.0, 1e9, standard=False)
        self.assertTrue(one(torch.ones(4), tolerance=loose).compare(answer(torch.zeros(4))).correct)
        self.assertFalse(loose.to_json()["standard"])

    def test_scalars_are_outputs_too(self):
        self.assertTrue(one(torch.tensor(2.0)).compare(answer(torch.tensor(2.00001))).correct)
        self.assertFalse(one(torch.tensor(2.0)).compare(answer(torch.tensor(2.1))).correct)


def off_by(truth, error):
    """An answer with this relative rms error."""
    return (truth + torch.randn(truth.shape, dtype=torch.float64) * error * truth.square().mean().sqrt()).float()


class TheTruth(unittest.TestCase):
    """What is compared with is the float64 result, not the reference."""

    def setUp(self):
        torch.manual_seed(6)
        self.truth = torch.randn(64, 256, dtype=torch.float64)

    def test_an_answer_that_is_better_than_the_reference(self):
        for error in (4e-5, 1.8e-3, 2e-2):
            with self.subTest(error):
                expected = one(off_by(self.truth, error), self.truth)
                self.assertTrue(expected.compare(answer(off_by(self.truth, 3e-6))).correct)
                self.assertTrue(expected.compare(answer(self.truth.float())).correct)

    def test_the_tolerance_follows_from_the_error_of_the_reference(self):
        reference = off_by(self.truth, 1.8e-3)
        expected = one(reference, self.truth)
        self.assertTrue(expected.compare(answer(reference)).correct)
        self.assertTrue(expected.compare(answer(off_by(self.truth, 4e-3))).correct)
        comparison = expected.compare(answer(off_by(self.truth, 4e-2)))
        self.assertFalse(comparison.correct)
        self.assertIn("(the reference gives", comparison.message)

    def test_what_is_far_from_the_truth_is_wrong_near_the_reference_too(self):
        """The reference is off in one element only, which allows no more in any other row."""
        truth = self.truth * torch.logspace(0, -3, 64, dtype=torch.float64)[:, None]
        reference = truth.float()
        reference[0, 0] += 0.01
        wrong = reference.clone()
        wrong[9, 9] += 0.01
        expected = one(reference, truth)
        self.assertTrue(expected.compare(answer(reference)).correct)
        self.assertFalse(expected.compare(answer(wrong)).correct)

    def test_what_is_close_to_the_reference_is_right_where_that_is_far_from_the_truth(self):
        truth = torch.rand(64, 256, dtype=torch.float64)
        reference = truth.float()
        reference[9, 9] += 200
        expected = one(reference, truth)
        self.assertTrue(expected.compare(answer(reference)).correct)
        wrong = reference.clone()
        wrong[9, 8] += 0.3
        self.assertFalse(expected.compare(answer(wrong)).correct)

    def test_lost_digits_of_what_is_nothing_on_the_own_inputs(self):
        """log(1 + exp(x)) is zero below -17, where log1p is not: nothing beside the output on the task's own inputs."""
        x = -torch.rand(64, 256, dtype=torch.float64) * 250 - 10
        truth = F.mish(x)
        plain = (x.float() * torch.tanh(torch.log(1 + torch.exp(x.float()))))
        known = {"output": Allowance(magnitude=0.5)}
        flat = flatten_output(truth.float())
        for slack, right in ((32.0, True), (1.0, False)):
            expected = Expected(flat, Truth({"output": truth}), None, known, slack)
            self.assertEqual(expected.compare(answer(plain)).correct, right)
            self.assertFalse(expected.compare(answer(torch.where(x < -14, plain, 0.0))).correct)

    def test_trivial_answers_are_wrong_whatever_the_reference_does(self):
        for error in (0.03, 0.1, 1.0, 100.0):
            expected = one(off_by(self.truth, error), self.truth)
            self.assertFalse(expected.compare(answer(torch.zeros(64, 256))).correct, error)
            self.assertFalse(expected.compare(answer(off_by(self.truth, 0.5))).correct, error)

    def test_messages_name_what_is_allowed_and_why(self):
        comparison = one(off_by(self.truth, 1e-7), self.truth).compare(answer(off_by(self.truth, 2e-4)))
        self.assertRegex(comparison.message, r"expected \S+ \(the reference gives \S+\), \S+ times the allowed error")
        truth = self.truth + 10
        comparison = one(truth.float(), truth, rounding=2e-7).compare(answer(off_by(truth, 5e-6)))
        self.assertRegex(comparison.message, r"float64 is 5e-06, allowed 9.54e-07 \(what few roundings to float32 cost\)")
        comparison = one(off_by(truth, 1e-7), truth, rounding=1e-6).compare(answer(off_by(truth, 5e-6)))
        self.assertRegex(comparison.message, r"allowed 3e-06 \(3 times the 1e-06 of plain sequential float32 sums\)")
        comparison = one(off_by(truth, 1e-6), truth, rounding=1e-6).compare(answer(off_by(truth, 1e-5)))
        self.assertRegex(comparison.message, r"allowed \S+e-06 \(8 times the reference's own")


class AnotherAlgorithm(unittest.TestCase):
    """Where TF32 is the class's own precision, its error is allowed, whatever the reference got."""

    def setUp(self):
        torch.manual_seed(7)
        self.image, self.weight = torch.randn(2, 32, 12, 12), torch.randn(16, 32, 3, 3)
        self.truth = torch.conv2d(self.image.double(), self.weight.double())
        cut = [tensor.contiguous().view(torch.int32).bitwise_and(-8192).view(torch.float32) for tensor in (self.image, self.weight)]
        self.tf32 = torch.conv2d(cut[0].double(), cut[1].double())
        self.in_float32 = torch.conv2d(self.image, self.weight)
        self.in_tf32 = torch.conv2d(to_tf32(self.image), to_tf32(self.weight))
        self.in_bfloat16 = torch.conv2d(self.image.bfloat16().float(), self.weight.bfloat16().float())

    def test_float32_beside_tf32_and_the_reverse(self):
        for reference in (self.in_float32, self.in_tf32):
            expected = one(reference, self.truth, tf32=self.tf32)
            for candidate in (self.in_float32, self.in_tf32, self.tf32.float()):
                comparison = expected.compare(answer(candidate))
                self.assertTrue(comparison.correct, comparison.message)
            self.assertFalse(expected.compare(answer(self.in_bfloat16)).correct)

    def test_many_short_rows(self):
        """The largest error of all rows is a multiple of what a row of its own has."""
        torch.manual_seed(11)
        truth = torch.randn(1 << 15, 64, dtype=torch.float64) * torch.logspace(-2, 2, 1 << 15).view(-1, 1)
        scale = truth.square().mean(1, keepdim=True).sqrt() * 2.0**-10
        noise = [scale * torch.randn_like(truth) for _ in range(3)]
        expected = one((truth + noise[0]).float(), truth, tf32=truth + noise[1])
        comparison = expected.compare(answer((truth + noise[2]).float()))
        self.assertTrue(comparison.correct, comparison.message)
        self.assertFalse(expected.compare(answer((truth + 4 * noise[2]).float())).correct)

    def test_neither_in_the_class_strict(self):
        self.assertFalse(one(self.in_float32, self.truth).compare(answer(self.in_tf32)).correct)

    def test_less_precision_that_is_not_the_classs_is_refused(self):
        """Fewer bits than TF32, spread evenly so that no single element shows it."""
        expected = one(self.in_float32, self.truth, tf32=self.tf32)
        error = float((self.tf32 - self.truth).square().mean().sqrt() / self.truth.square().mean().sqrt())
        signs = (torch.rand(self.truth.shape) < 0.5).double() * 2 - 1
        wrong = (self.truth + 2.2 * error * signs * self.truth.square().mean().sqrt()).float()
        comparison = expected.compare(answer(wrong))
        self.assertFalse(comparison.correct)
        self.assertIn("of TF32)", comparison.message)

    def test_calls_without_a_float64_result(self):
        for reference, candidate in ((self.in_float32, self.in_tf32), (self.in_tf32, self.in_float32)):
            learned = one(reference, self.truth, tf32=self.tf32).learned()
            self.assertFalse(one(reference).compare(answer(candidate)).correct)
            later = expect(reference, None, None, learned)
            self.assertTrue(later.compare(answer(candidate)).correct)
            for wrong in (self.in_bfloat16, torch.zeros_like(candidate), candidate.roll(1, 2)):
                self.assertFalse(later.compare(answer(wrong)).correct)

    def test_what_is_far_from_the_reference_needs_the_truth(self):
        reference = self.truth.float()
        later = expect(reference, None, None, one(reference, self.truth).learned())
        for candidate, far in ((reference, False), (reference * (1 + 1e-6), False), (reference * (1 + 5e-5), True)):
            comparison = later.compare(answer(candidate))
            self.assertEqual((comparison.correct, comparison.needs_truth), (True, far))

    def test_float32_takes_the_place_of_a_float64_that_costs_too_much(self):
        """Then only the elementwise rule holds."""
        tf32 = self.tf32.float()
        for reference in (self.in_float32, self.in_tf32):
            expected = one(reference, self.in_float32, tf32=tf32, is_float64=False)
            for candidate in (self.in_float32, self.in_tf32):
                comparison = expected.compare(answer(candidate))
                self.assertTrue(comparison.correct, comparison.message)
                self.assertIsNone(comparison.outputs[0].rms_error_vs_float64)
            self.assertFalse(expected.compare(answer(self.in_bfloat16)).correct)

    def test_an_output_without_tf32_operations_keeps_its_tolerance(self):
        truth = self.truth
        expected = one(truth.float(), truth, tf32=truth.clone())
        self.assertFalse(expected.compare(answer(self.in_tf32)).correct)


class SummationOrders(unittest.TestCase):
    """K = 65536. The figures are in docs/measurements/tolerances.md; the multiple of 256 lies between them."""

    K = 65536

    def draw(self, kind, seed):
        torch.manual_seed(seed)
        make = torch.rand if kind == "rand" else torch.randn
        return make(32, self.K), make(self.K, 4)

    def test_plain_sequential_float32_sums_pass(self):
        for kind in ("rand", "randn"):
            x, w = self.draw(kind, 3)
            expected = one(x.sum(1), x.double().sum(1))
            comparison = expected.compare(answer(sequential_sum(x)))
            error = comparison.outputs[0]
            with self.subTest(kind):
                self.assertTrue(comparison.correct, comparison.message)
                self.assertLess(error.rms_error_vs_float64 / error.reference_rms_error_vs_float64, 128, "half of the multiple")
            product = torch.zeros(32, 4)
            columns = x.t().contiguous()
            for k in range(self.K):
                product.addcmul_(columns[k][:, None], w[k][None])
            comparison = one(x @ w, x.double() @ w.double()).compare(answer(product))
            self.assertTrue(comparison.correct, comparison.message)

    def test_kahan_and_split_sums_pass(self):
        for kind in ("rand", "randn"):
            x, w = self.draw(kind, 4)
            expected = one(x.sum(1), x.double().sum(1))
            split = x.view(32, 64, -1).sum(2).sum(1)
            strided = x.view(32, -1, 128).sum(1).sum(1)
            for total in (kahan_sum(x), split, strided):
                self.assertTrue(expected.compare(answer(total)).correct)
            split_k = sum(x[:, i::16] @ w[i::16] for i in range(16))
            self.assertTrue(one(x @ w, x.double() @ w.double()).compare(answer(split_k)).correct)

    def test_tf32_fails_on_data_of_zero_mean(self):
        """With positive data the rounding of the inputs averages out; the distribution zero_mean reveals it."""
        for kind in ("rand", "randn"):
            x, w = self.draw(kind, 5)
            if kind == "rand":
                x, w = x - x.mean(), w - w.mean()
            product = to_tf32(x) @ to_tf32(w)
            self.assertFalse(one(x @ w).compare(answer(product)).correct, "already without float64")
            self.assertFalse(one(x @ w, x.double() @ w.double()).compare(answer(product)).correct)
            self.assertFalse(one(x.sum(1)).compare(answer(sequential_sum(to_tf32(x)))).correct)


    def test_fewer_bits_than_float32_has_are_refused_where_sequential_sums_pass(self):
        """Admission knows what sequential sums cost; 256 times the reference's own error lets 14 bits pass."""
        torch.manual_seed(8)
        x, w = torch.randn(64, 4096), torch.randn(4096, 64)
        truth = x.double() @ w.double()
        total = torch.zeros(64, 64)
        for k in range(4096):
            total.addcmul_(x[:, k : k + 1], w[k : k + 1])
        bits = (w.view(torch.int32) + 128) & -256
        coarse = x @ bits.view(torch.float32)
        for rounding, refused in ((0.0, False), (1.2e-6, True)):
            expected = one(x @ w, truth, rounding=rounding)
            self.assertTrue(expected.compare(answer(total)).correct)
            self.assertEqual(expected.compare(answer(coarse)).correct, not refused)


class SimulatedRounding(unittest.TestCase):
    """Before an answer is refused, the rounding of plain sequential sums is simulated, which costs as much as many calls."""

    def setUp(self):
        torch.manual_seed(9)
        self.truth = torch.randn(64, 256, dtype=torch.float64)

    def compare(self, given, errors):
        """(correct, number of simulations), where the simulations have these relative errors, the last one again and again."""
        expected, calls = one(self.truth.float(), self.truth), []

        def simulate(number):
            calls.append(number)
            error = errors[min(number, len(errors) - 1)]
            return None if error is None else answer(self.truth + error(self.truth))

        first = expected.compare(answer(given))
        self.assertFalse(first.correct)
        return compare_with_rounding(expected, answer(given), first, simulate).correct, len(calls)

    @staticmethod
    def of_each(error):
        return lambda truth: error * torch.randn_like(truth)

    @staticmethod
    def of_all(error):
        return lambda truth: torch.full_like(truth, error)

    def test_a_gross_error_is_no_rounding(self):
        for given in (torch.zeros(64, 256), self.truth.float().roll(1), self.truth.float() * 1.3):
            self.assertEqual(self.compare(given, [self.of_each(0.3)]), (False, 0))

    def test_one_gross_element_is_no_rounding(self):
        given = self.truth.float()
        given[3, 5] += 2.0
        self.assertEqual(self.compare(given, [self.of_each(0.3)]), (False, 0))

    def test_an_error_far_above_rounding_is_refused_after_few(self):
        correct, simulations = self.compare(off_by(self.truth, 5e-2), [self.of_each(1e-5)])
        self.assertFalse(correct)
        self.assertLess(simulations, 4)

    def test_an_error_near_rounding_is_refused_after_all(self):
        self.assertEqual(self.compare(off_by(self.truth, 1e-3), [self.of_each(1e-4)]), (False, ROUNDING_LOTS))

    def test_rounding_is_right_at_once(self):
        self.assertEqual(self.compare(off_by(self.truth, 1e-3), [self.of_each(1e-3)]), (True, 1))

    def test_one_number_that_is_small_by_chance_is_tried_again(self):
        given = (self.truth + 2e-3).float()
        for chance in (0.2, 0.05, 0.01):
            self.assertEqual(self.compare(given, [self.of_all(1e-3 * chance), self.of_all(1e-3)]), (True, 2))

    def test_a_step_that_few_simulations_show_is_waited_for(self):
        given = self.truth.float()
        given[3, 5] += 0.05

        def step(truth):
            error = torch.zeros_like(truth)
            error[7, 9] = 0.05
            return error

        self.assertEqual(self.compare(given, [self.of_each(1e-7)] * 4 + [step]), (True, 5))

    def test_a_nan_is_told_before_a_mismatch_that_rounding_may_explain(self):
        truth = {"y": self.truth, "z": self.truth}
        expected = expect({name: one.float() for name, one in truth.items()}, Truth({f"output.{name}": one for name, one in truth.items()}))
        names = list(expected.targets)
        given = {names[0]: off_by(self.truth, 1e-3), names[1]: self.truth.float().clone()}
        self.assertEqual(expected.compare(given).detail, "mismatch")
        given[names[1]][0, 0] = math.nan
        self.assertEqual(expected.compare(given).detail, "nan")

    def test_without_time_the_answer_stays_wrong(self):
        self.assertEqual(self.compare(off_by(self.truth, 1e-3), [None]), (False, 1))


class ShortCuts(unittest.TestCase):
    """What ends early agrees with what looks at everything."""

    def outputs(self):
        generator = torch.Generator().manual_seed(5)
        x = torch.rand(300_000, generator=generator) - 0.5
        late, few = x.clone(), x.clone()
        late[-1] = 9.0
        few[::2] += 1e-6
        strange = x.clone()
        strange[-2:] = torch.tensor([math.nan, math.inf])
        yield from [(x, x.clone()), (x, late), (x, few), (x, x + 1.0), (x, strange), (strange, strange.clone()), (strange, x)]
        yield from [(x.to(torch.float16), x.to(torch.float16)), (torch.complex(x, x), torch.complex(x, -x)), (x[:0], x[:0])]
        whole = torch.arange(300_000)
        yield from [(whole, whole.clone()), (whole, whole + 1), (whole > 5, whole > 5), (whole > 5, whole > 7)]
        yield (torch.zeros(100_000), torch.zeros(100_000))
        yield (torch.zeros(100_000), torch.full((100_000,), 1e-3))
        yield (x.view(3, -1).T, x.view(3, -1).T.clone())

    def test_right_is_what_a_full_comparison_finds_right(self):
        for index, (wanted, given) in enumerate(self.outputs()):
            with self.subTest(index):
                expected = one(wanted, wanted.double() if wanted.dtype == torch.float32 else None)
                self.assertEqual(_is_right(expected.targets["output"], given), expected.compare(answer(given)).correct)

    def test_what_is_far_in_samples_is_wrong(self):
        far = 0
        for index, (wanted, given) in enumerate(self.outputs()):
            with self.subTest(index):
                found = is_far_in_samples(answer(wanted), answer(given), None)
                far += found
                self.assertFalse(found and one(wanted).compare(answer(given)).correct)
        self.assertEqual(far, 4)

    def test_what_does_not_fit_is_far(self):
        x = torch.rand(8)
        for given in ({}, answer(x[:4]), answer(x.double())):
            self.assertTrue(is_far_in_samples(answer(x), given, None))

    def test_samples_are_of_all_columns(self):
        wanted = torch.rand(1 << 16, 64) + 0.5
        wanted[:, 0] = 1e-9
        given = wanted.clone()
        given[:, 0] = 1e-7
        self.assertTrue(one(wanted).compare(answer(given)).correct)
        self.assertFalse(is_far_in_samples(answer(wanted), answer(given), None))


class Unchanged(unittest.TestCase):
    def test_comparisons_change_neither_reference_nor_truth(self):
        for dtype in (torch.float64, torch.complex128, torch.float32, torch.complex64, torch.bfloat16):
            with self.subTest(dtype):
                wide = torch.complex128 if dtype.is_complex else torch.float64
                truth = torch.randn(64, 64, dtype=wide)
                wanted, kept = truth.to(dtype), truth.clone()
                expected = one(wanted.clone(), truth)
                for _ in range(8):
                    self.assertTrue(expected.compare(answer(wanted.clone())).correct)
                    self.assertFalse(expected.compare(answer(torch.zeros_like(wanted))).correct)
                self.assertTrue(torch.equal(truth, kept))
                target = expected.targets["output"]
                self.assertTrue(torch.equal(target.oracle, torch.view_as_real(kept).reshape(-1) if dtype.is_complex else kept.reshape(-1)))

    def test_a_truth_beyond_the_reference_s_range_is_not_compared_with(self):
        truth = torch.ones(64, dtype=torch.float64)
        truth[3] = 1e39
        wanted = truth.float()
        self.assertTrue(one(wanted, truth).compare(answer(wanted.clone())).correct)
        self.assertFalse(one(wanted, truth).compare(answer(torch.ones(64))).correct)


class Json(unittest.TestCase):
    def test_spelling_of_the_record(self):
        comparison = one(torch.ones(4), torch.ones(4, dtype=torch.float64)).compare(answer(torch.full((4,), math.inf)))
        data = comparison.to_json()
        self.assertEqual(data["outcome"]["kind"], "accuracy")
        self.assertEqual(data["outcome"]["detail"], "nan")
        self.assertEqual(set(data["outputs"][0]) - {"rms_error_vs_float64", "reference_rms_error_vs_float64"},
                         {"output", "max_abs", "mean_abs", "max_error_ratio", "kernelbench_allclose"})
        self.assertTrue(all(math.isfinite(v) for v in data["outputs"][0].values() if isinstance(v, float)))


if __name__ == "__main__":
    unittest.main()
