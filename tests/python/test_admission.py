"""Admission: labels for tasks that cannot tell right from wrong, float64 errors, trivial answers, the cache."""

import json
import unittest
from unittest import mock

import torch
from support import DEVICE, example, model, task_from
from test_task import SMALL

from kernelgen_judge.admission import Admission, AdmissionBudget, admit
from kernelgen_judge.compare import Expected
from kernelgen_judge.oracle import Oracle, OracleBudget, OracleUnavailable
from kernelgen_judge.rounding import DispatchMode


def admitted(forward, inputs="[torch.rand(64, 96)]", init="pass", arguments="x", budget=AdmissionBudget(), **options):
    return admit(task_from(model(forward, inputs, init, arguments), **options), budget, seed=5)


def label(admission, start):
    return [text for text in admission.labels if text.startswith(start)]


class Scored(unittest.TestCase):
    def test_every_example_is_scored(self):
        shrinks = {**SMALL, "matmul_gelu": [("batch", 16), ("in_features", 64), ("out_features", 96)],
                   "batchnorm": [("height", 8), ("width", 8)], "layernorm": [("batch", 4), ("features", 128)]}
        for name, shrink in shrinks.items():
            with self.subTest(name):
                admission = admit(example(name, shrink=shrink), seed=3)
                self.assertTrue(admission.scored, admission.labels)
                self.assertEqual(admission.float64, "full")
                self.assertGreaterEqual(len(admission.distributions), 3)
                self.assertNotIn("passes", admission.trivial.values())

    def test_relu_of_rand_is_its_own_echo_until_the_input_is_transformed(self):
        admission = admitted("return torch.relu(x)")
        self.assertTrue(admission.scored, admission.labels)
        self.assertEqual(admission.trivial["echo of x"], "fails on zero_mean")

    def test_a_scalar_output_is_not_trivial_because_it_is_its_own_mean(self):
        admission = admitted("return F.mse_loss(x, y)", "[torch.rand(64, 96), torch.rand(64, 96)]", arguments="x, y")
        self.assertTrue(admission.scored, admission.labels)

    def test_draws_in_forward_are_replayed_in_float64(self):
        admission = admitted("return x @ torch.randn(96, 8)")
        self.assertTrue(admission.scored, admission.labels)
        self.assertEqual((admission.randomness, admission.float64), ("traced", "full"))
        self.assertLess(admission.float64_errors["own"]["output"], 1e-5)

    def test_precision_classes_have_tolerances_of_their_own(self):
        for precision, rtol in (("strict", 1e-4), ("tf32", 1e-4), ("bf16", 1e-2), ("fp16", 1e-2)):
            with self.subTest(precision):
                task = example("matmul_gelu", shrink=[("batch", 16), ("in_features", 64), ("out_features", 96)], precision=precision)
                admission = admit(task, seed=3)
                self.assertEqual(admission.tolerance["rtol"], rtol)
                self.assertTrue(admission.scored, admission.labels)

    def test_tf32_products_fail_on_an_admitted_distribution(self):
        from test_compare import to_tf32

        task = task_from(model("return x @ w", "[torch.rand(32, 65536), torch.rand(65536, 4)]", arguments="x, w"))
        admission = admit(task, seed=5)
        wrong = {}
        for name in admission.distributions:
            inputs = admission.make_inputs(task, name, 77)
            expected = Expected(task.build(1).run(inputs, 1).outputs)
            product = to_tf32(inputs.tensors["x"]) @ to_tf32(inputs.tensors["w"])
            wrong[name] = not expected.compare({"output": product}).correct
        self.assertTrue(wrong["zero_mean"], wrong)


class Labelled(unittest.TestCase):
    def trivial(self, admission, name):
        self.assertFalse(admission.scored)
        self.assertIn(name, label(admission, "trivial:")[0])

    def test_an_output_that_is_always_zero(self):
        self.trivial(admitted("return F.gelu(x.amax(1, keepdim=True) - x.amax(1, keepdim=True).mean(1, keepdim=True))"), "zeros")

    def test_an_output_that_is_always_one(self):
        self.trivial(admitted("return torch.softmax(x.sum(1, keepdim=True), dim=1)"), "ones")

    def test_an_identity(self):
        self.trivial(admitted("return x * 1.0"), "echo of x")

    def test_an_output_that_ignores_its_input(self):
        self.trivial(admitted("return self.w * 2", init="self.w = nn.Parameter(torch.randn(9))"), "answer to other inputs")

    def test_one_trivial_output_of_two_is_a_note(self):
        admission = admitted("return torch.exp(x), x * 0")
        self.assertTrue(admission.scored, admission.labels)
        self.assertIn("zeros for output[1]", label(admission, "partly trivial:")[0])

    def test_live_dropout(self):
        admission = admitted("return F.dropout(x, 0.5)")
        self.assertEqual(admission.randomness, "stochastic")
        self.assertFalse(admission.scored)

    def test_random_numbers_of_another_library(self):
        task = task_from("import random\n" + model("return x * random.random()", "[torch.rand(64)]"))
        admission = admit(task, seed=5)
        self.assertEqual((admission.randomness, task.randomness), ("stochastic", "stochastic"))

    def test_a_reference_that_changes_from_call_to_call(self):
        task = task_from("calls = [0]\n" + model("calls[0] += 1; return x + calls[0]", "[torch.rand(64)]"))
        admission = admit(task, seed=5)
        self.assertFalse(admission.deterministic)
        self.assertTrue(label(admission, "nondeterministic:"))
        self.assertFalse(admission.scored)

    def test_a_reference_that_is_far_from_the_truth_is_scored_by_its_own_error(self):
        task = task_from(model("return (self.f(x) + 2e4) - 2e4", "[torch.randn(64, 96)]", "self.f = nn.Linear(96, 32)"))
        admission = admit(task, seed=5)
        self.assertTrue(admission.scored, admission.labels)
        self.assertRegex(label(admission, "raised tolerance:")[0], r"output is up to 0.00\d+ of its rms, and 8 times that is allowed")
        self.assertGreaterEqual(len(admission.distributions), 2, "transforms that are no worse stay")
        inputs, reference = task.make_inputs(3), task.build(1)
        later = Expected(reference.run(inputs, 1).outputs, None, None, admission.known_allowances()["own"])
        with torch.no_grad():
            truth = reference.module.f(inputs.tensors["x"])
        self.assertTrue(later.compare({"output": truth}).correct)
        self.assertFalse(later.compare({"output": truth * 1.1}).correct)

    def test_a_reference_that_is_too_far_from_the_truth(self):
        admission = admitted("return (x + 1e7) - 1e7", "[torch.randn(64, 96)]")
        self.assertFalse(admission.scored)
        self.assertTrue(label(admission, "ill-conditioned:"), admission.labels)

    def test_a_chaotic_reference(self):
        """Its rounding decides the outputs, and no trivial answer is near the truth."""
        chaotic = "for _ in range(60): x = 3.99 * x * (1 - x)\n        return x"
        admission = admitted(chaotic, "[torch.rand(64, 96)]")
        self.assertFalse(admission.scored, admission.labels)
        self.assertRegex(label(admission, "ill-conditioned:")[0], r"rounding decides output: the reference.s is 0\.\d+ of its rms from")

    def test_a_reference_that_is_nothing_but_rounding(self):
        admission = admitted("return (x - x.mean(1, keepdim=True)).mean(1)")
        self.assertTrue(label(admission, "ill-conditioned:") or label(admission, "trivial:"), admission.labels)
        self.assertFalse(admission.scored)


class Dropped(unittest.TestCase):
    def test_a_transform_on_which_the_reference_gives_nan(self):
        admission = admitted("return torch.log(x + 0.01)")
        self.assertIn("NaN or infinity", admission.dropped["negate"])
        self.assertIn("scale_up", admission.distributions)

    def test_a_transform_on_which_the_reference_raises(self):
        inputs = "[torch.rand(64, 96), torch.randint(0, 2, (64, 96)).float()]"
        admission = admitted("return F.binary_cross_entropy(x, y)", inputs, arguments="x, y")
        self.assertIn("raises", admission.dropped["negate"])
        self.assertTrue(admission.scored, admission.labels)

    def test_no_time_for_more_than_the_first(self):
        admission = admitted("return torch.relu(x)", budget=AdmissionBudget(seconds=0.0))
        self.assertEqual(admission.distributions, ["own", "zero_mean"])
        self.assertIn("was over", admission.dropped["negate"])
        self.assertTrue(admission.lacked_time())


class Allowances(unittest.TestCase):
    CONVOLUTION = model("return self.f(x)", "[torch.randn(2, 16, 10, 10)]", "self.f = nn.Conv2d(16, 8, 3)")
    LINEAR = model("return self.f(x)", "[torch.randn(32, 64)]", "self.f = nn.Linear(64, 32)")

    def allowed(self, text, precision):
        admission = admit(task_from(text, precision=precision), seed=5)
        self.assertTrue(admission.scored, admission.labels)
        return admission.known_allowances()["own"]["output"]

    def test_tf32_is_allowed_where_the_class_and_the_device_have_it(self):
        for text, precision, on_a_gpu in (
            (self.CONVOLUTION, "strict", False),
            (self.CONVOLUTION, "default", True),
            (self.CONVOLUTION, "tf32", True),
            (self.LINEAR, "default", False),
            (self.LINEAR, "tf32", True),
        ):
            with self.subTest(precision=precision, text=text[:200]):
                found = self.allowed(text, precision)
                self.assertEqual(found.least > 5e-4, on_a_gpu and DEVICE.is_gpu)
                self.assertLess(found.least, 1e-2)

    def test_a_transform_that_tf32_makes_meaningless_is_dropped(self):
        layers = "nn.Sequential(nn.Conv2d(4, 8, 3), nn.InstanceNorm2d(8))"
        text = model("return self.f(x)", "[torch.randn(2, 4, 20, 20)]", f"self.f = {layers}")
        for precision in ("default", "strict"):
            with self.subTest(precision=precision):
                admission = admit(task_from(text, precision=precision), seed=5)
                why = [reason for reason in admission.dropped.values() if reason.startswith("TF32 may cost")]
                self.assertEqual(bool(why), precision == "default" and DEVICE.is_gpu, admission.dropped)
                self.assertIn("negate", admission.distributions)

    def test_the_class_strict_knows_what_sequential_sums_cost(self):
        self.assertEqual(self.allowed(self.LINEAR, "default").rounding, 0.0)
        self.assertTrue(5e-8 < self.allowed(self.LINEAR, "strict").rounding < 5e-7)
        admission = admit(task_from(self.LINEAR), seed=5)
        self.assertTrue(8 <= admission.tolerance["max_rms_error_multiple"] < 64)

    def test_float32_shows_the_error_of_tf32_where_float64_costs_too_much(self):
        if not DEVICE.is_gpu:
            self.skipTest("a CPU has no TF32")
        task = task_from(self.CONVOLUTION, precision="default")
        with mock.patch("kernelgen_judge.oracle._slowdown", return_value=1e9):
            admission = admit(task, seed=5)
            self.assertGreater(admission.known_allowances()["own"]["output"].least, 5e-4)
            self.assertEqual(admission.float64_distributions, [])
            self.assertRegex(admission.float64, "^none: ")
            strict = admit(task_from(self.CONVOLUTION), seed=5)
            self.assertEqual(strict.known_allowances(), {})


class Float64(unittest.TestCase):
    def test_no_memory(self):
        admission = admitted("return torch.exp(x)", budget=AdmissionBudget(float64=OracleBudget(20, 1000)))
        self.assertRegex(admission.float64, "^none: needs about")
        self.assertTrue(admission.scored)
        self.assertEqual((admission.lacked_memory(), admission.lacked_time()), (True, False))
        complete = admitted("return torch.exp(x)")
        self.assertEqual((complete.lacked_memory(), complete.lacked_time()), (False, False))

    def test_limits_of_time_are_as_many_times_as_long(self):
        budget = AdmissionBudget(float64=OracleBudget(5.0, 1000)).times(4)
        self.assertEqual(budget, AdmissionBudget(180.0, OracleBudget(20.0, 1000), 8.0, 16.0, 0.12))
        self.assertEqual(AdmissionBudget().times(1), AdmissionBudget())

    def test_no_time(self):
        admission = admitted("return torch.exp(x)", budget=AdmissionBudget(float64=OracleBudget(0.0)))
        self.assertRegex(admission.float64, "^none: would take about")
        self.assertEqual((admission.lacked_memory(), admission.lacked_time()), (False, True))

    def test_time_that_ends_on_the_way(self):
        task = task_from(model("return torch.exp(x)", "[torch.rand(64, 96)]"))
        oracle = Oracle(task.build(1), OracleBudget(5.0), 0.0)
        inputs = task.make_inputs(1)
        self.assertEqual(oracle.run(inputs, 1, []).outputs["output"].dtype, torch.float64)
        oracle._copy.spent = 5.0
        with self.assertRaises(OracleUnavailable):
            oracle.run(inputs, 1, [])

    def test_simulations_of_one_call_leave_time_to_the_next(self):
        task = task_from(model("return x.sum(-1)", "[torch.rand(64, 96)]"))
        oracle = Oracle(task.build(1), OracleBudget(5.0), 0.0)
        inputs = task.make_inputs(1)
        self.assertIsNotNone(oracle.run_rounded(inputs, 1, []))
        oracle._copy.rounded_spent = 5.0
        self.assertIsNone(oracle.run_rounded(inputs, 1, []))
        oracle.renew_rounding_time()
        self.assertIsNotNone(oracle.run_rounded(inputs, 1, []))

    def test_a_module_that_insists_on_float32(self):
        admission = admitted("return x @ torch.arange(288, dtype=torch.float32).view(96, 3).sin()")
        self.assertRegex(admission.float64, r"^none: forward\(\) in float64: line 9: RuntimeError")
        self.assertTrue(admission.scored, admission.labels)

    def test_inputs_that_the_reference_writes_stay_as_they_are(self):
        task = task_from(model("return x.add_(1)", "[torch.rand(9, dtype=torch.float64)]"))
        inputs = task.make_inputs(1)
        before = inputs.tensors["x"].clone()
        Oracle(task.build(1), OracleBudget(), 0.0).run(inputs, 1, [])
        self.assertTrue(torch.equal(inputs.tensors["x"], before))

    def test_default_dtype_is_put_back(self):
        admitted("return x @ torch.ones(96, 3)")
        self.assertEqual(torch.get_default_dtype(), torch.float32)

    def test_convolutions_do_without_cudnn(self):
        seen = {}

        class Noting(DispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                if any(torch.is_tensor(one) and one.dtype == torch.float64 for one in args):
                    seen[func.overloadpacket.__name__] = torch.backends.cudnn.enabled
                return func(*args, **(kwargs or {}))

        forward = "return self.up(self.down(x)).tanh()"
        init = "self.down, self.up = nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 3, 3)"
        task = task_from(model(forward, "[torch.rand(2, 3, 8, 8)]", init))
        with Noting():
            Oracle(task.build(1), OracleBudget(), 0.0).run(task.make_inputs(1), 1, [])
        self.assertEqual({name: seen[name] for name in ("convolution", "tanh")}, {"convolution": False, "tanh": True})
        self.assertTrue(torch.backends.cudnn.enabled)

    def test_convolutions_take_cudnn_where_memory_is_short(self):
        seen, inputs_of = [], "[torch.rand(2, 3, 8, 8)]"
        task = task_from(model("return self.down(x)", inputs_of, "self.down = nn.Conv2d(3, 4, 3)"))
        reference = task.build(1)
        oracle = Oracle(reference, OracleBudget(), 0.0)

        def forward(x):
            seen.append(torch.overrides._len_torch_function_stack())
            if len(seen) == 1:
                raise torch.OutOfMemoryError("out of memory")
            return x[:, :1, :6, :6].repeat(1, 4, 1, 1)

        with mock.patch.object(oracle._copy._module, "forward", forward):
            self.assertEqual(oracle.run(task.make_inputs(1), 1, []).outputs["output"].dtype, torch.float64)
            oracle.run(task.make_inputs(1), 1, [])
        # One mode fewer, and from then on.
        self.assertEqual([seen[0] - count for count in seen], [0, 1, 1])

    def test_plain_attributes_are_widened(self):
        admission = admitted("return x @ self.w", init="self.w = torch.randn(96, 5)")
        self.assertEqual(admission.float64, "full")


class Cache(unittest.TestCase):
    def test_json_round_trip_and_reuse(self):
        task = task_from(model("return torch.relu(x)", "[torch.rand(64, 96)]"))
        first = admit(task, seed=5)
        stored = json.loads(json.dumps(first.to_json()))
        again = admit(task, cached=stored, seed=6)
        self.assertEqual(again.to_json(), first.to_json())
        self.assertEqual(again.seconds, first.seconds, "nothing was measured again")

    def test_what_does_not_fit_is_not_reused(self):
        task = task_from(model("return torch.relu(x)", "[torch.rand(64, 96)]"))
        stored = admit(task, seed=5).to_json()
        for key, value in (("content_id", "x"), ("precision", "bf16"), ("version", 0), ("torch", "1.0"), ("device", "nvidia"), ("facts", [])):
            with self.subTest(key):
                self.assertIsNone(Admission.from_json({**stored, key: value}, task))
        self.assertIsNone(Admission.from_json({}, task))
        self.assertIsNone(Admission.from_json({**stored, "tolerance": {"rtol": 1, "surprise": 2}}, task))


if __name__ == "__main__":
    unittest.main()
