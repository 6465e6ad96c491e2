"""Tests of loading tasks: names, structures, state, draws, and invalid task files."""

import inspect
import unittest

import torch
from support import EXAMPLES, example, model, task_from

from kernelgen_judge.errors import TaskError
from kernelgen_judge.source import TaskSource, integer_constants, shrunk_text
from kernelgen_judge.task import load_task

SMALL = {
    "relu": [("rows", 4), ("columns", 8)],
    "softmax": [("batch", 2), ("dim", 64)],
    "matmul_gelu": [("batch", 4), ("in_features", 8), ("out_features", 8)],
    "layernorm": [("batch", 2), ("sequence", 3), ("features", 8)],
    "batchnorm": [("batch", 2), ("channels", 3), ("height", 4), ("width", 4)],
    "gru": [("sequence", 5), ("batch", 2), ("input_size", 3), ("hidden_size", 4)],
    "gru_hidden": [("sequence", 5), ("batch", 2), ("input_size", 3), ("hidden_size", 4)],
    "gru_bidirectional": [("sequence", 5), ("batch", 2), ("input_size", 3), ("hidden_size", 4)],
}


def names(specs):
    return [spec.name for spec in specs]


class Examples(unittest.TestCase):
    def test_every_example_loads_and_describes_itself(self):
        self.assertEqual(sorted(SMALL), sorted(path.stem for path in EXAMPLES.glob("*.py")))
        for name, shrink in SMALL.items():
            with self.subTest(name):
                description = example(name, shrink=shrink).describe()
                self.assertEqual(description["mode"], "train")
                self.assertEqual(description["randomness"], "none")
                self.assertEqual(names_of(description["outputs"]), ["output"])

    def test_gradients_are_off_as_in_kernelbench(self):
        check = "assert not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()"
        task = task_from(model(f"{check}; return x + self.w", "[torch.randn(2)]", f"{check}; self.w = nn.Parameter(torch.zeros(2))"))
        reference = task.build(1)
        self.assertTrue(reference.module.w.requires_grad)
        self.assertFalse(reference.run(task.make_inputs(2), 3).outputs.tensors["output"].requires_grad)

    def test_threads_in_forward(self):
        # One thread besides forward's own: it does not inherit no_grad(), and two would race for y's gradient in torch.
        body = (
            "from concurrent.futures import ThreadPoolExecutor\n        y = torch.empty_like(x)\n"
            "        with ThreadPoolExecutor(1) as pool:\n"
            "            list(pool.map(lambda i: y[i].copy_(x[i] * self.w[i]), range(2)))\n        return y"
        )
        task = task_from(model(body, "[torch.randn(2)]", "self.w = nn.Parameter(torch.ones(2))"))
        reference, inputs = task.build(1), task.make_inputs(2)
        found = reference.run(inputs, 3).outputs.tensors["output"]
        self.assertTrue(torch.equal(found, inputs.tensors["x"]))

    def test_gru_hidden_returns_only_the_last_state(self):
        task = example("gru_hidden", shrink=SMALL["gru_hidden"])
        self.assertEqual(task.outputs[0].shape, (3, 2, 4))
        self.assertEqual(names(task.inputs), ["x", "h0"])
        self.assertIn("gru.weight_hh_l2", names(task.parameters))

    def test_batchnorm_updates_its_buffers_and_runs_restore_them(self):
        task = example("batchnorm", shrink=SMALL["batchnorm"])
        self.assertEqual(task.mutated_buffers, ["bn.running_mean", "bn.running_var", "bn.num_batches_tracked"])
        reference = task.build(3)
        inputs = task.make_inputs(4)
        first = reference.run(inputs, 5).outputs.tensors["output"]
        again = reference.run(inputs, 5).outputs.tensors["output"]
        self.assertTrue(torch.equal(first, again))
        self.assertEqual(int(reference.tensors("buffer")["bn.num_batches_tracked"]), 1)


def names_of(specs):
    return [spec["name"] for spec in specs]


class Description(unittest.TestCase):
    def test_nested_inputs_are_named_by_path(self):
        text = model(
            "return x['a'][0] + x['b'] * scale + rest[0] + (0 if mask is None else mask)",
            "[{'a': [torch.rand(3), 2], 'b': (torch.rand(3))}, None, 2.5, torch.rand(3)]",
            arguments="x, mask, scale, *rest",
        )
        task = task_from(text)
        self.assertEqual(names(task.inputs), ["x.a[0]", "x.b", "rest[0]"])
        self.assertEqual([(s.name, s.type, s.value) for s in task.input_scalars],
                         [("x.a[1]", "int", "2"), ("mask", "none", "None"), ("scale", "float", "2.5")])
        self.assertEqual(task.absent_inputs, ["mask"])

    def test_outputs_of_every_structure(self):
        cases = {
            "return x, [x + 1]": ["output[0]", "output[1][0]"],
            "return {'hidden': x, 'a b': x}": ["output.hidden", "output['a b']"],
            "return torch.max(x, dim=0)": ["output[0]", "output[1]"],
            "return [x, None, 3]": ["output[0]"],
        }
        for forward, expected in cases.items():
            with self.subTest(forward):
                self.assertEqual(names(task_from(model(forward, "[torch.rand(4, 3)]")).outputs), expected)

    def test_a_dataclass_is_an_output_structure(self):
        body = """
            from dataclasses import dataclass
            @dataclass
            class Out:
                first: torch.Tensor
                second: torch.Tensor
        """
        import textwrap

        task = task_from(textwrap.dedent(body) + model("return Out(x, x + 1)", "[torch.rand(2)]"))
        self.assertEqual(names(task.outputs), ["output.first", "output.second"])

    def test_attributes_buffers_and_hidden_modules_are_found(self):
        init = (
            "self.scale = torch.rand(3); self.tables = [torch.rand(2), {'k': torch.rand(1)}]; "
            "self.register_buffer('mask', torch.ones(3), persistent=False); self.hidden = [nn.Linear(3, 3)]"
        )
        task = task_from(model("return self.hidden[0](x * self.scale * self.mask)", "[torch.rand(2, 3)]", init))
        self.assertEqual(names(task.buffers), ["mask"])
        self.assertEqual(names(task.attributes), ["scale", "tables[0]", "tables[1].k"])
        self.assertEqual(names(task.parameters), ["hidden[0].weight", "hidden[0].bias"])

    def test_tied_parameters_are_listed_once(self):
        init = "self.a = nn.Linear(3, 3, bias=False); self.b = nn.Linear(3, 3, bias=False); self.b.weight = self.a.weight"
        task = task_from(model("return self.b(self.a(x))", "[torch.rand(2, 3)]", init))
        self.assertEqual(names(task.parameters), ["a.weight"])
        self.assertEqual(task.aliases, {"b.weight": "a.weight"})

    def test_strides_of_inputs_are_kept(self):
        inputs = "[torch.rand(4, 3).t(), torch.rand(3, 1).expand(3, 4), torch.rand(0, 4)]"
        task = task_from(model("return x + y + z.sum()", inputs, arguments="x, y, z"))
        self.assertEqual([spec.strides for spec in task.inputs], [(1, 3), (1, 0), (4, 1)])
        self.assertEqual(task.inputs[1].extent_bytes, 12)
        copy = task.make_inputs(1).clone()
        self.assertEqual(copy.tensors["y"].stride(), (1, 0))

    def test_inputs_that_share_memory_are_separated(self):
        text = model("return x + y", "list(torch.rand(4).expand(2, 4))", arguments="x, y")
        inputs = task_from(text).make_inputs(1)
        inputs.tensors["x"].zero_()
        self.assertFalse(bool((inputs.tensors["y"] == 0).all()))

    def test_mutated_inputs_are_found_and_protected(self):
        task = task_from(model("x.add_(1); return x * y", "[torch.rand(3), torch.rand(3)]", arguments="x, y"))
        self.assertEqual(task.mutated_inputs, ["x"])
        inputs = task.make_inputs(1)
        before = inputs.tensors["x"].clone()
        task.build(1).run(inputs, 2)
        self.assertTrue(torch.equal(inputs.tensors["x"], before))

    def test_an_output_that_aliases_state_gets_memory_of_its_own(self):
        task = task_from(model("self.total += x; return self.total", "[torch.ones(3)]", "self.total = torch.zeros(3)"))
        reference = task.build(1)
        inputs = task.make_inputs(1)
        first = reference.run(inputs, 1).outputs.tensors["output"]
        second = reference.run(inputs, 1).outputs.tensors["output"]
        self.assertEqual(first.tolist(), [1, 1, 1])
        self.assertEqual(second.tolist(), [1, 1, 1])
        self.assertEqual(task.mutated_state, ["total"])
        self.assertTrue(task.carries_state)

    def test_state_that_no_later_call_reads_is_not_carried(self):
        statistics = model("return self.bn(x)", "[torch.rand(3, 4)]", "self.bn = nn.BatchNorm1d(4)")
        for text, carries in (
            (statistics, False),
            (model("return x + 1", "[torch.rand(3)]"), False),
            (statistics.replace("self.bn(x)", "self.bn(x) + self.bn.running_var"), True),
            (statistics.replace("self.bn(x)", "self.bn(x) * (1 + self.bn.num_batches_tracked // 3)"), True),
            # The next call overwrites what the last one has returned.
            (model("self.cache[:] = x * 2; return self.cache", "[torch.rand(3)]", "self.register_buffer('cache', torch.zeros(3))"), True),
            (model("self.cache[:] = x * 2; return self.cache + 1", "[torch.rand(3)]", "self.register_buffer('cache', torch.zeros(3))"), False),
            # Equal inputs change it once.
            (model("self.top = torch.maximum(self.top, x.max()); return x / self.top", "[torch.rand(3)]", "self.register_buffer('top', torch.zeros(()))"), True),
            (model("torch.maximum(self.top, x.max(), out=self.top); return x / self.top", "[torch.rand(3)]", "self.register_buffer('top', torch.zeros(()))"), True),
            (model("torch.minimum(self.low, x.min(), out=self.low); return x - self.low", "[torch.rand(3)]", "self.register_buffer('low', torch.ones(()))"), True),
            (statistics.replace("return self.bn(x)", "self.bn(x); return x if self.bn.num_batches_tracked < 3 else (x, x)"), True),
        ):
            task = task_from(text)
            self.assertEqual((task.carries_state, task.has_independent_calls), (carries, not carries), text)

    def test_level_from_path_override_and_module(self):
        relu = model("return torch.relu(x)", "[torch.rand(3)]")
        self.assertEqual(task_from(relu).level, "single_operator")
        self.assertEqual(task_from(relu, path="/data/level2/7_x.py").level, "fusion")
        self.assertEqual(task_from(model("return torch.relu(x).exp() + 1", "[torch.rand(3)]")).level, "fusion")
        self.assertEqual(example("gru", shrink=SMALL["gru"]).level, "network")

    def test_mode_is_left_as_the_task_leaves_it(self):
        self.assertEqual(task_from(model("return x + 1", "[torch.rand(3)]", "self.eval()")).mode, "eval")


class Randomness(unittest.TestCase):
    def test_draws_are_recorded_and_follow_the_forward_seed(self):
        task = task_from(model("return x + torch.randn(3) + torch.empty(3).uniform_()", "[torch.rand(3)]"))
        self.assertEqual(task.randomness, "traced")
        self.assertEqual(names(task.draws), ["draws[0]", "draws[1]"])
        reference, inputs = task.build(1), task.make_inputs(2)
        one, two, other = (reference.run(inputs, seed) for seed in (5, 5, 6))
        self.assertTrue(torch.equal(one.outputs.tensors["output"], two.outputs.tensors["output"]))
        self.assertFalse(torch.equal(one.draws[0], other.draws[0]))
        torch.testing.assert_close(inputs.tensors["x"] + one.draws[0] + one.draws[1], one.outputs.tensors["output"])

    def test_live_dropout_is_stochastic(self):
        self.assertEqual(task_from(model("return F.dropout(x, 0.5)", "[torch.rand(99)]")).randomness, "stochastic")

    def test_dropout_that_never_drops_is_not(self):
        self.assertEqual(task_from(model("return F.dropout(x, 0.0)", "[torch.rand(99)]")).randomness, "none")
        lstm = model("return self.l(x)[0]", "[torch.rand(4, 2, 3)]", "self.l = nn.LSTM(3, 4, 2, dropout=0.0)")
        self.assertEqual(task_from(lstm).randomness, "none")


class Shrink(unittest.TestCase):
    TEXT = "a, b = 4096, (2\n  * 8)\nN: int = 2**10\nname = 'x'\nM = -3\n"

    def test_constants_are_found(self):
        self.assertEqual(integer_constants(TaskSource("t", self.TEXT)), {"a": 4096, "b": 16, "N": 1024, "M": -3})

    def test_values_are_replaced_and_lines_stay(self):
        text = shrunk_text(TaskSource("t", self.TEXT), [("b", 5), ("N", 7), ("a", 1)])
        scope = {}
        exec(text, scope)
        self.assertEqual((scope["a"], scope["b"], scope["N"], scope["M"]), (1, 5, 7, -3))
        self.assertEqual(text.count("\n"), self.TEXT.count("\n"))

    def test_elements_of_a_constant_tuple(self):
        source = TaskSource("t", "shape = (32768, 'x', 2 * 3)\n")
        self.assertEqual(integer_constants(source), {"shape[0]": 32768, "shape[2]": 6})
        self.assertEqual(shrunk_text(source, [("shape[0]", 8), ("shape[2]", 1)]), "shape = (8, 'x', 1)\n")

    def test_a_missing_name_is_an_error_that_lists_what_there_is(self):
        with self.assertRaisesRegex(TaskError, "no integer constant batch.*there are: rows, columns"):
            example("relu", shrink=[("batch", 2)])

    def test_inspect_sees_the_source_that_ran(self):
        task = example("relu", shrink=[("rows", 3)])
        self.assertIn("torch.relu", inspect.getsource(task.module.Model))
        self.assertEqual(task.inputs[0].shape[0], 3)


class Precision(unittest.TestCase):
    def test_half_classes_cast_module_and_floating_inputs(self):
        for precision, dtype in (("fp16", "float16"), ("bf16", "bfloat16")):
            with self.subTest(precision):
                task = example("matmul_gelu", shrink=SMALL["matmul_gelu"], precision=precision)
                self.assertEqual({spec.dtype for spec in task.inputs + task.parameters + task.outputs}, {dtype})

    def test_integer_inputs_keep_their_dtype(self):
        text = model("return self.e(x)", "[torch.randint(5, (3,))]", "self.e = nn.Embedding(5, 4)")
        task = task_from(text, precision="bf16")
        self.assertEqual((task.inputs[0].dtype, task.outputs[0].dtype), ("int64", "bfloat16"))

    def test_an_unknown_class_is_an_argument_error(self):
        with self.assertRaises(TaskError) as caught:
            example("relu", precision="fp8")
        self.assertEqual(caught.exception.code, "invalid_argument")


class Errors(unittest.TestCase):
    GOOD = model("return x", "[torch.rand(3)]")

    def failing(self, body, pattern, code="invalid_task"):
        with self.assertRaisesRegex(TaskError, pattern) as caught:
            task_from(body)
        self.assertEqual(caught.exception.code, code)
        self.assertNotIn("\n", caught.exception.message)

    def test_syntax_error_with_its_line(self):
        self.failing("x = (1\n", "syntax error in line 4")

    def test_null_bytes_are_not_source(self):
        with self.assertRaises(TaskError):
            load_task(TaskSource("t", "x = 1\0"))

    def test_import_error_with_its_line(self):
        self.failing("import no_such_module_at_all", "line 4: ModuleNotFoundError: No module named")

    def test_exit_while_importing(self):
        self.failing("import sys\nsys.exit(3)", "import failed: line 5: SystemExit: 3")

    def test_no_model(self):
        self.failing("def get_inputs(): return []", "no class Model")

    def test_a_model_that_is_no_module(self):
        self.failing("class Model: pass\ndef get_inputs(): return []", "no class Model derived from torch.nn.Module")

    def test_no_get_inputs(self):
        self.failing("class Model(nn.Module): pass", r"no function get_inputs\(\)")

    def test_get_init_inputs_may_be_missing(self):
        self.assertEqual(task_from(self.GOOD).init_scalars, [])

    def test_constructor_raises(self):
        self.failing(model("return x", "[torch.rand(3)]", "raise ValueError('no such size\\n!')"),
                     "constructing Model failed: line 7: ValueError: no such size !")

    def test_forward_raises(self):
        self.failing(model("return x @ x", "[torch.rand(3, 4)]"), r"forward\(\) failed: line 9: RuntimeError")

    def test_inputs_raise(self):
        self.failing(model("return x", "[1 // 0]"), r"get_inputs\(\) failed: line 11: ZeroDivisionError")

    def test_inputs_are_no_list(self):
        self.failing(model("return x", "torch.rand(3)"), "must return a list, not Tensor")

    def test_output_without_a_tensor(self):
        self.failing(model("return 3", "[torch.rand(3)]"), "returns no tensor, but int")

    def test_unsupported_input_types_are_named(self):
        self.failing(model("return x", "[object()]"), "input x: values of type object", "unsupported")
        self.failing(model("return x.to_dense()", "[torch.eye(3).to_sparse()]"), "x: tensors of layout", "unsupported")

    def test_lazy_parameters_are_named(self):
        self.failing(model("return self.l(x)", "[torch.rand(3, 3)]", "self.l = nn.LazyLinear(4)"), "l.weight: lazily", "unsupported")

    def test_more_memory_than_there_is(self):
        self.failing(model("return x", "[torch.empty(1 << 50)]"), "needs more memory than there is", "out_of_memory")

    def test_shapes_that_depend_on_the_seed(self):
        task = task_from(model("return x", "[torch.rand(int(torch.randint(2, 99, (1,))))]"))
        with self.assertRaisesRegex(TaskError, "other shapes under another seed"):
            for seed in range(9):
                task.make_inputs(seed)

    def test_output_of_a_task_is_swallowed_and_capped(self):
        task = task_from("print('x' * 10_000_000)\n" + self.GOOD)
        self.assertEqual(len(task.sink.text()), 64 * 1024)
        self.assertGreater(task.sink.written, 10_000_000)


if __name__ == "__main__":
    unittest.main()
