"""Transforms keep the properties that a task relies on, and change the others."""

import unittest

import torch
from support import example, model, task_from

from kernelgen_judge.distributions import OWN, applicable, inspect_inputs, make_inputs, transform_tensor


def facts_of(task):
    return inspect_inputs(task.make_inputs(101), task.make_inputs(102))


def task_of(inputs, forward="return x", arguments="x"):
    return task_from(model(forward, inputs, arguments=arguments))


def transformed(task, name, seed=7):
    return make_inputs(task, facts_of(task), name, seed).tensors


class Free(unittest.TestCase):
    def test_rand_gets_negative_values(self):
        task = task_of("[torch.rand(64, 64)]")
        names = applicable(task, facts_of(task))
        self.assertEqual(names[:2], ["zero_mean", "negate"])
        for name in ("zero_mean", "negate", "heavy_tails"):
            self.assertLess(float(transformed(task, name)["x"].min()), 0)

    def test_randn_needs_no_shift(self):
        task = task_of("[torch.randn(64, 64)]")
        self.assertNotIn("zero_mean", applicable(task, facts_of(task)))

    def test_every_transform_keeps_shape_dtype_strides_and_finiteness(self):
        task = task_of("[torch.rand(64, 32).t(), torch.rand(32, 1).expand(32, 64)]", "return x + y", "x, y")
        facts = facts_of(task)
        own = make_inputs(task, facts, OWN, 7)
        for name in applicable(task, facts):
            changed = make_inputs(task, facts, name, 7)
            for key, tensor in changed.tensors.items():
                self.assertEqual((tensor.shape, tensor.dtype), (own.tensors[key].shape, own.tensors[key].dtype), name)
                self.assertEqual(tensor.stride(), own.tensors[key].stride(), name)
                self.assertTrue(bool(tensor.isfinite().all()))
            self.assertFalse(torch.equal(changed.tensors["x"], own.tensors["x"]), name)

    def test_seeds_decide(self):
        task = task_of("[torch.rand(64, 64)]")
        facts = facts_of(task)
        for name in [OWN, *applicable(task, facts)]:
            one, two, other = (make_inputs(task, facts, name, seed).tensors["x"] for seed in (1, 1, 2))
            self.assertTrue(torch.equal(one, two), name)
            self.assertFalse(torch.equal(one, other), name)

    def test_spikes_stand_at_other_positions_each_time(self):
        task = task_of("[torch.ones(64, 64) + torch.rand(64, 64) * 0.1]")
        one, two = (transformed(task, "heavy_tails", seed)["x"].abs() > 3 for seed in (1, 2))
        self.assertGreater(int(one.sum()), 0)
        self.assertFalse(torch.equal(one, two))

    def test_slices_and_channels_get_numbers_of_their_own(self):
        task = task_of("[torch.rand(6, 5, 40)]")
        for name, dim in (("slices_far", 0), ("channels_far", 1), ("slices_near", 0), ("channels_near", 1)):
            change = transformed(task, name)["x"] - task.make_inputs(7).tensors["x"]
            means = change.transpose(0, dim).reshape(change.shape[dim], -1)
            self.assertLess(float(means.std(dim=1).max()), 1e-4, name)
            self.assertEqual(means.mean(dim=1).unique().numel(), change.shape[dim], name)
            deviations = means.mean(dim=1).abs() / 12**-0.5
            far = name.endswith("far")
            self.assertTrue(bool((deviations > (120 if far else 9)).all() and (deviations < (265 if far else 21)).all()), deviations)

    def test_some_slices_are_zero_and_others_stay(self):
        task = task_of("[torch.rand(32, 24, 5), torch.rand(1, 9)]", "return x, y", "x, y")
        own, changed = task.make_inputs(7).tensors, transformed(task, "zero_slices")
        for dim, count in ((0, 4), (1, 3)):
            zero = (changed["x"].transpose(0, dim).reshape(own["x"].shape[dim], -1) == 0).all(dim=1)
            self.assertEqual(int(zero.sum()), count)
        rest = changed["x"] != 0
        self.assertTrue(torch.equal(changed["x"][rest], own["x"][rest]))
        self.assertEqual(int((changed["y"] == 0).sum()), 1)

    def test_slices_and_neighbours_are_there_twice(self):
        task = task_of("[torch.rand(32, 24), torch.rand(64)]", "return x, y", "x, y")
        own, changed = task.make_inputs(7).tensors, transformed(task, "repeats")
        self.assertLess(changed["x"].unique(dim=0).shape[0], 29)
        self.assertLess(changed["x"].unique(dim=1).shape[1], 22)
        self.assertGreater(int((changed["y"][1:] == changed["y"][:-1]).sum()), 4)
        for key in ("x", "y"):
            self.assertTrue(bool(torch.isin(changed[key], own[key]).all()))

    def test_offsets_for_the_range_of_exp_go_both_ways(self):
        task = task_of("[torch.rand(64, 64)]")
        self.assertGreater(float(transformed(task, "offset_far")["x"].min()), 88.8)
        below = transformed(task, "offset_below")["x"]
        self.assertEqual(float(torch.exp(below).max()), 0.0)

    def test_both_parts_of_complex_numbers(self):
        task = task_of("[torch.randn(16, 24, dtype=torch.complex64), torch.randn(16, 24).to(torch.complex64)]", "return x + y", "x, y")
        facts = facts_of(task)
        own = make_inputs(task, facts, OWN, 7).tensors
        names = applicable(task, facts)
        self.assertTrue({"negate", "offset", "slices_far", "zero_slices", "repeats", "heavy_tails"} <= set(names), names)
        for name in names:
            changed = make_inputs(task, facts, name, 7).tensors
            for part in ("real", "imag"):
                self.assertFalse(torch.equal(getattr(changed["x"], part), getattr(own["x"], part)), (name, part))
            if name.startswith(("offset", "slices", "channels")):
                self.assertGreater(float(changed["y"].imag.abs().min()), 0, name)
        zero = make_inputs(task, facts, "zero_slices", 7).tensors["x"] == 0
        self.assertTrue(bool(zero.all(dim=1).any() and zero.all(dim=0).any()))

    def test_half_precision_stays_half(self):
        task = task_from(model("return x", "[torch.rand(32, 32)]"), precision="fp16")
        for name in applicable(task, facts_of(task)):
            self.assertEqual(transformed(task, name)["x"].dtype, torch.float16)


class Kept(unittest.TestCase):
    def untouched(self, task, key):
        facts = facts_of(task)
        own = make_inputs(task, facts, OWN, 7).tensors[key]
        for name in applicable(task, facts):
            self.assertTrue(torch.equal(make_inputs(task, facts, name, 7).tensors[key], own), name)

    def test_integers_and_booleans(self):
        task = task_of("[torch.rand(64, 9), torch.randint(9, (64,)), torch.rand(64, 9) > 0.5]", "return x", "x, labels, mask")
        self.untouched(task, "labels")
        self.untouched(task, "mask")

    def test_few_valued_floats(self):
        task = task_of("[torch.rand(64, 9), torch.randint(0, 2, (128,)).float() * 2 - 1]", "return x", "x, targets")
        self.untouched(task, "targets")

    def test_rotations_and_conjugate_symmetry(self):
        draw = "[torch.randn(64, 9), torch.polar(torch.ones(64, 9), torch.randn(64, 9)), hermitian()]"
        function = "def hermitian():\n    a = torch.randn(8, 8, dtype=torch.complex64)\n    return a + a.mH\n"
        task = task_from(function + model("return x, turns, h", draw, arguments="x, turns, h"))
        self.untouched(task, "turns")
        self.untouched(task, "h")

    def test_additive_attention_masks(self):
        mask = "torch.zeros(8, 8).masked_fill(torch.ones(8, 8).triu(1) > 0, float('-inf'))"
        self.untouched(task_of(f"[torch.rand(64, 9), {mask}]", "return x", "x, mask"), "mask")

    def test_the_same_under_every_seed(self):
        self.untouched(task_of("[torch.rand(64, 9), torch.linspace(0, 1, 100)]", "return x", "x, grid"), "grid")

    def test_probabilities_keep_their_row_sums(self):
        task = task_of("[torch.softmax(torch.randn(64, 100), dim=-1)]")
        names = applicable(task, facts_of(task))
        self.assertTrue(names)
        own = task.make_inputs(7).tensors["x"]
        for name in names:
            x = transformed(task, name)["x"]
            torch.testing.assert_close(x.sum(-1), torch.ones(64))
            self.assertGreaterEqual(float(x.min()), 0)
            self.assertFalse(torch.equal(x, own))

    def test_zero_patterns_and_triangles(self):
        task = task_of("[torch.rand(32, 32).triu(), torch.relu(torch.randn(32, 32))]", "return x + y", "x, y")
        own = task.make_inputs(7).tensors
        for name in applicable(task, facts_of(task)):
            changed = transformed(task, name)
            for key in ("x", "y"):
                zeros = changed[key] == 0
                self.assertTrue(bool(zeros[own[key] == 0].all()), name)
                self.assertEqual(torch.equal(zeros, own[key] == 0), name != "zero_slices", name)

    def test_symmetry(self):
        task = task_from("def sym():\n    a = torch.rand(32, 32)\n    return a + a.T\n" + model("return x", "[sym()]"))
        names = applicable(task, facts_of(task))
        self.assertIn("negate", names)
        for name in names:
            x = transformed(task, name)["x"]
            self.assertTrue(torch.equal(x, x.T), name)

    def test_equal_inputs_stay_equal(self):
        task = task_of("[torch.manual_seed(torch.initial_seed()) and torch.rand(64, 9)] * 2", "return x", "x, y")
        for name in applicable(task, facts_of(task)):
            changed = transformed(task, name)
            self.assertTrue(torch.equal(changed["x"], changed["y"]), name)

    def test_non_finite_positions(self):
        x = torch.rand(64, 64)
        x[3, 4] = float("inf")
        task = task_of("[torch.rand(64, 64)]")
        from kernelgen_judge.distributions import inspect_tensor

        facts = inspect_tensor("x", x, x + 1)
        y = transform_tensor("negate", x, facts, 3)
        self.assertEqual(float(y[3, 4]), float("inf"))
        self.assertEqual(float(y[0, 0]), -float(x[0, 0]))
        del task

    def test_empty_inputs(self):
        self.untouched(task_of("[torch.rand(64, 9), torch.rand(0, 3)]", "return x", "x, y"), "y")


class Unknown(unittest.TestCase):
    def test_a_name_that_does_not_exist(self):
        task = example("relu", shrink=[("rows", 4), ("columns", 8)])
        with self.assertRaises(KeyError):
            make_inputs(task, facts_of(task), "no_such", 1)


if __name__ == "__main__":
    unittest.main()
