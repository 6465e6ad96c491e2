"""Weight sets away from the initial distribution: wrong candidates that initial weights hide, and honest ones, which stay right."""

from __future__ import annotations

import unittest
from unittest import mock

import harness  # noqa: F401 - finds the packages
import torch
from kernelgen_common import weight_transforms
from kernelgen_common.weight_transforms import TRANSFORMS, number_of
from kernelgen_judge.admission import admit
from kernelgen_judge.compare import Expected
from kernelgen_judge.stability import is_stable
from kernelgen_judge.task import CallInputs, Reference, Task
from kernelgen_judge.values import Flat, flatten_output
from kernelgen_judge.weights import Weights
from kernelgen_runner.candidate import Candidate
from support import task_from

_IMPORTS = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def module(name: str, init: str, forward: str, arguments: str = "x") -> str:
    """The text of a module; `init` and `forward` may have several lines."""
    indent = "\n        "
    return (
        f"class {name}(nn.Module):\n    def __init__(self):{indent}super().__init__(){indent}{init.replace(chr(10), indent)}\n"
        f"    def forward(self, {arguments}):{indent}{forward.replace(chr(10), indent)}\n"
    )


def task_of(init: str, forward: str, inputs: str = "[torch.randn(16, 32)]", arguments: str = "x") -> Task:
    return task_from(module("Model", init, forward, arguments) + f"def get_inputs():\n    return {inputs}\n")


def candidate_of(init: str, forward: str, arguments: str = "x") -> Candidate:
    return Candidate((_IMPORTS + module("ModelNew", init, forward, arguments)).encode())


def right_under(task: Task, candidate: Candidate, name: str, everywhere: bool = False) -> bool:
    """Whether outputs agree on fresh inputs, with both constructed under a weight transform."""
    seed, number = 1234 + len(name), number_of(name)
    reference = task.build(seed, number)
    model = candidate.construct([], seed, None, number, everywhere)
    inputs = task.make_inputs(99)
    expected = Expected(reference.run(inputs, 1).outputs)
    with torch.no_grad():
        outputs: Flat = flatten_output(model(*inputs.clone().arguments()))
    return expected.compare(outputs.tensors).correct


def verdicts(task: Task, candidate: Candidate) -> dict[str, bool]:
    return {name: right_under(task, candidate, name) for name in admit(task, seed=5).weight_sets}


class Test(unittest.TestCase):
    def refused(self, task: Task, init: str, forward: str, arguments: str = "x") -> None:
        """Right under the initial weights, wrong under others."""
        found = verdicts(task, candidate_of(init, forward, arguments))
        self.assertTrue(found.pop(""), "wrong under initial weights already")
        self.assertIn(False, found.values(), found)

    def accepted(self, task: Task, init: str, forward: str, arguments: str = "x") -> None:
        found = verdicts(task, candidate_of(init, forward, arguments))
        self.assertGreater(len(found), 1)
        self.assertNotIn(False, found.values(), found)


class Wrong(Test):
    def test_norms_that_ignore_weight_and_bias(self) -> None:
        layer = task_of("self.norm = nn.LayerNorm(32)", "return self.norm(x)")
        self.refused(layer, "self.norm = nn.LayerNorm(32)", "return F.layer_norm(x, (32,))")
        self.refused(layer, "pass", "return F.layer_norm(x, (32,))")
        self.refused(layer, "self.norm = nn.LayerNorm(32)", "return F.layer_norm(x, (32,), self.norm.weight)")
        images = "[torch.randn(4, 8, 6, 6)]"
        group = task_of("self.norm = nn.GroupNorm(2, 8)", "return self.norm(x)", images)
        self.refused(group, "self.norm = nn.GroupNorm(2, 8)", "return F.group_norm(x, 2)")
        batch = task_of("self.norm = nn.BatchNorm2d(8)", "return self.norm(x)", images)
        self.refused(batch, "self.norm = nn.BatchNorm2d(8)", "return F.batch_norm(x, None, None, training=True)")

    def test_a_linear_layer_that_ignores_its_zero_bias(self) -> None:
        init = "self.fc = nn.Linear(32, 8)\nnn.init.zeros_(self.fc.bias)"
        self.refused(task_of(init, "return self.fc(x)"), init, "return F.linear(x, self.fc.weight)")

    def test_running_statistics_that_are_ignored(self) -> None:
        init, images = "self.norm = nn.BatchNorm2d(8)\nself.eval()", "[torch.randn(4, 8, 6, 6)]"
        forward = "w, b = self.norm.weight.view(-1, 1, 1), self.norm.bias.view(-1, 1, 1)\nreturn x / (1 + 1e-5) ** 0.5 * w + b"
        self.refused(task_of(init, "return self.norm(x)", images), init, forward)

    def test_a_recurrence_without_its_first_half_or_its_first_state(self) -> None:
        for layer in ("GRU", "LSTM"):
            init = f"self.rnn = nn.{layer}(16, 32, batch_first=True)"
            shape = "torch.randn(1, 4, 32)"
            state, arguments = ("h", "x, h") if layer == "GRU" else ("(h, c)", "x, h, c")
            inputs = f"[torch.randn(4, 400, 16), {shape}{', ' + shape if layer == 'LSTM' else ''}]"
            task = task_of(init, f"return self.rnn(x, {state})[0][:, -1]", inputs, arguments)
            with self.subTest(layer):
                self.refused(task, init, f"return self.rnn(x[:, 200:], {state})[0][:, -1]", arguments)
                self.refused(task, init, "return self.rnn(x)[0][:, -1]", arguments)

    def test_one_of_two_equal_parameters_is_ignored(self) -> None:
        init = "self.a = nn.Parameter(torch.ones(32))\nself.b = nn.Parameter(torch.ones(32))"
        task = task_of(init, "return torch.tanh(x * self.a) * self.b")
        self.refused(task, init, "return torch.tanh(x * self.a) * self.a")
        self.refused(task, "self.a = nn.Parameter(torch.ones(32))", "return torch.tanh(x * self.a) * self.a")

    def test_layers_that_are_copies_of_one_are_told_apart(self) -> None:
        init = "layer = nn.Linear(32, 32)\nself.layers = nn.ModuleList([__import__('copy').deepcopy(layer) for _ in range(2)])"
        task = task_of(init, "return self.layers[1](torch.tanh(self.layers[0](x)))")
        self.refused(task, init, "return self.layers[0](torch.tanh(self.layers[0](x)))")
        self.accepted(task, init, "return self.layers[1](torch.tanh(self.layers[0](x)))")

    def test_a_scalar_parameter_is_taken_for_a_constant(self) -> None:
        for made in ("torch.tensor(0.5)", "torch.ones(1) * 0.5", "torch.full((1,), 0.5)", "torch.empty(1).fill_(0.5)"):
            init = f"self.scale = nn.Parameter({made})"
            task = task_of(init, "return x * self.scale")
            with self.subTest(made):
                self.refused(task, init, "return x * 0.5")
                self.refused(task, "pass", "return x * 0.5")

    def test_parameters_filled_in_other_ways(self) -> None:
        for fill in ("self.w.data.fill_(1)", "nn.init.constant_(self.w, 1)", "self.w.data.copy_(torch.ones(32))",
                     "nn.init.ones_(self.w)", "self.w.data = torch.ones(32)"):  # fmt: skip
            init = f"self.w = nn.Parameter(torch.empty(32))\n{fill}"
            with self.subTest(fill):
                self.refused(task_of(init, "return x * self.w"), init, "return x")
                self.accepted(task_of(init, "return x * self.w"), init, "return x * self.w")


class Stable(unittest.TestCase):
    """A recurrence that folds its state over and over enlarges a rounding error in each step; one that halves it forgets it."""

    @staticmethod
    def recurrence(gain: float) -> Task:
        init = "self.fc = nn.Linear(8, 8)"
        forward = f"y = x\nfor _ in range(24):\n    x = torch.sin({gain} * x) + 0.1 * self.fc(x)\nreturn x + y"
        return task_of(init, forward, "[torch.randn(16, 8)]")

    def test_chaos_is_found(self) -> None:
        for gain, stable in ((9.0, False), (0.5, True)):
            task = self.recurrence(gain)
            for seed in range(6):
                state = task.build(seed, number_of("trained"))
                held = {name: tensor.clone() for name, tensor in state.tensors("parameter").items()}
                self.assertEqual(is_stable(state, task.make_inputs(seed), seed), stable, (gain, seed))
                for name, tensor in state.tensors("parameter").items():
                    self.assertTrue(torch.equal(tensor, held[name]), "weights are put back")

    def test_admission_drops_what_is_chaotic(self) -> None:
        stable, chaotic = admit(self.recurrence(0.5), seed=5), admit(self.recurrence(9.0), seed=5)
        self.assertIn("trained", stable.weight_sets)
        self.assertNotIn("trained", chaotic.weight_sets)
        self.assertNotIn("settled", chaotic.weight_sets)

    def test_a_chaotic_draw_gives_way_to_another_one(self) -> None:
        task, tried = self.recurrence(0.5), []
        weights = Weights.__new__(Weights)
        weights._task = task

        def third(reference: Reference, inputs: CallInputs, seed: int) -> bool:
            tried.append(reference)
            return len(tried) >= 3

        with mock.patch("kernelgen_judge.weights.is_stable", third):
            seed, transform, reference = weights._draw(number_of("trained"))
            self.assertIs(reference, tried[2])
            self.assertEqual(transform, number_of("trained"))
            rebuilt = task.build(seed, transform).tensors("parameter")
            self.assertTrue(all(torch.equal(tensor, rebuilt[name]) for name, tensor in reference.tensors("parameter").items()))
        with mock.patch("kernelgen_judge.weights.is_stable", lambda *_: False):
            self.assertEqual(weights._draw(number_of("settled"))[1], 0)

    def test_a_few_rows_and_columns_are_large(self) -> None:
        task = task_of("self.fc = nn.Linear(512, 512)", "return self.fc(x)", "[torch.randn(4, 512)]")
        weight = task.build(3, number_of("trained")).tensors("parameter")["fc.weight"]
        for dim in (0, 1):
            size = weight.square().mean(dim).sqrt()
            large = int((size > 3 * size.median()).sum())
            self.assertTrue(5 <= large <= 60, large)


class Honest(Test):
    LINEAR = "self.q = nn.Linear(32, 32)\nself.k = nn.Linear(32, 32)\nself.v = nn.Linear(32, 32)"
    ATTENTION = "return torch.softmax(self.q(x) @ self.k(x).T, -1) @ self.v(x)"

    def test_the_same_module_and_other_names(self) -> None:
        task = task_of(self.LINEAR, self.ATTENTION)
        self.accepted(task, self.LINEAR, self.ATTENTION)
        names = "self.a = nn.Linear(32, 32)\nself.b = nn.Linear(32, 32)\nself.c = nn.Linear(32, 32)"
        self.accepted(task, names, "return torch.softmax(self.a(x) @ self.b(x).T, -1) @ self.c(x)")

    def test_fused_transposed_and_converted_weights(self) -> None:
        task = task_of(self.LINEAR, self.ATTENTION)
        fused = (
            "q, k, v = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)\n"
            "self.w = nn.Parameter(torch.cat([q.weight, k.weight, v.weight]).t().contiguous())\n"
            "self.b = nn.Parameter(torch.cat([q.bias, k.bias, v.bias]))"
        )
        use = "q, k, v = (x @ self.w + self.b).chunk(3, -1)\nreturn torch.softmax(q @ k.T, -1) @ v"
        self.accepted(task, fused, use)
        self.accepted(task, fused.replace("self.w = nn.Parameter(", "self.register_buffer('w', "), use)
        lazy = self.LINEAR + "\nself.w = None"
        forward = "if self.w is None:\n    self.w = self.q.weight.t().double()\nreturn torch.softmax((x.double() @ self.w).float().add(self.q.bias) @ self.k(x).T, -1) @ self.v(x)"
        self.accepted(task, lazy, forward)

    def test_sums_and_folds_in_the_constructor(self) -> None:
        init = "self.fc = nn.Linear(32, 64)"
        task = task_of(init, "return self.fc(x).sum(1, keepdim=True)")
        prepared = "fc = nn.Linear(32, 64)\nself.w = fc.weight.detach().sum(0)\nself.b = float(fc.bias.sum())"
        self.accepted(task, prepared, "return (x @ self.w + self.b).unsqueeze(1)")
        init = "self.conv = nn.Conv2d(3, 8, 3)\nself.bn = nn.BatchNorm2d(8)\nself.scale = nn.Parameter(torch.ones(8, 1, 1))\nself.eval()"
        task = task_of(init, "return self.bn(self.conv(x)) * self.scale", "[torch.randn(2, 3, 8, 8)]")
        folded = init + (
            "\nfactor = self.bn.weight / (self.bn.running_var + 1e-5).sqrt()"
            "\nself.w = nn.Parameter((self.conv.weight * factor.view(-1, 1, 1, 1)).detach() * self.scale.view(-1, 1, 1, 1))"
            "\nself.c = ((self.conv.bias - self.bn.running_mean) * factor + self.bn.bias).detach() * self.scale.view(-1)"
            "\ndel self.conv, self.bn, self.scale"
        )
        self.accepted(task, folded, "return F.conv2d(x, self.w, self.c)")

    def test_folding_with_a_function_of_torch(self) -> None:
        init = "self.conv = nn.Conv2d(3, 8, 3)\nself.bn = nn.BatchNorm2d(8)\nself.eval()"
        task = task_of(init, "return self.bn(self.conv(x))", "[torch.randn(2, 3, 8, 8)]")
        fold = "\nself.conv = nn.utils.fuse_conv_bn_eval(self.conv, self.bn)\ndel self.bn"
        self.accepted(task, init + fold, "return self.conv(x)")

    def test_raw_parameters_in_place_of_layers(self) -> None:
        task = task_of("self.fc = nn.Linear(32, 64)\nself.norm = nn.LayerNorm(64)", "return self.norm(self.fc(x))")
        raw = (
            "self.w = nn.Parameter(torch.empty(64, 32))\nself.b = nn.Parameter(torch.empty(64))\n"
            "nn.init.kaiming_uniform_(self.w, a=5 ** 0.5)\nnn.init.uniform_(self.b, -32 ** -0.5, 32 ** -0.5)\n"
            "self.beta = nn.Parameter(torch.zeros(64))\nself.gamma = nn.Parameter(torch.ones(64))"
        )
        use = "return F.layer_norm(F.linear(x, self.w, self.b), (64,), self.gamma, self.beta)"
        self.accepted(task, raw, use)
        self.accepted(task, raw.replace("nn.init.uniform_(self.b, ", "self.b.data.uniform_("), use)

    def test_constants_that_are_no_parameters(self) -> None:
        task = task_of("self.norm = nn.LayerNorm(32)", "return self.norm(x)")
        for init in ("self.register_buffer('g', torch.ones(32))\nself.register_buffer('b', torch.zeros(32))",
                     "self.g = torch.ones(32)\nself.b = torch.zeros(32)"):  # fmt: skip
            candidate = candidate_of(init, "return F.layer_norm(x, (32,), self.g, self.b)")
            self.assertFalse(right_under(task, candidate, "spread"))
            self.assertTrue(right_under(task, candidate, "spread", everywhere=True))

    def test_workspaces_masks_tables_and_dropout_stay_as_they_are(self) -> None:
        init = "self.fc = nn.Linear(32, 32)\nself.drop = nn.Dropout(0.5)\nself.register_buffer('mask', torch.tril(torch.ones(16, 16)))\nself.eval()"
        task = task_of(init, "return self.mask @ self.drop(self.fc(x))")
        mine = "self.fc = nn.Linear(32, 32)\nself.space = torch.zeros(16, 32)\nself.ones = torch.ones(16, 16)"
        self.accepted(task, mine, "return self.space.zero_() + self.ones.tril() @ self.fc(x)")

    def test_tied_weights(self) -> None:
        init = "self.a = nn.Linear(32, 32)\nself.b = nn.Linear(32, 32)\nself.b.weight = self.a.weight"
        self.accepted(task_of(init, "return self.b(self.a(x))"), init, "return self.b(self.a(x))")
        single = "self.a = nn.Linear(32, 32)\nself.c = nn.Linear(32, 32).bias"
        self.accepted(task_of(init, "return self.b(self.a(x))"), single, "return self.a(x) @ self.a.weight.T + self.c")

    def test_a_transformer_and_truncated_normals(self) -> None:
        init = "layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)\nself.net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)\nself.p = nn.Parameter(torch.empty(1, 8, 32))\nnn.init.trunc_normal_(self.p, std=0.02)"
        self.accepted(task_of(init, "return self.net(x + self.p)", "[torch.randn(2, 8, 32)]"), init, "return self.net(x + self.p)")


class Admitted(unittest.TestCase):
    def test_a_task_without_weights_has_no_further_sets(self) -> None:
        self.assertEqual(admit(task_of("pass", "return torch.relu(x)"), seed=5).weight_sets, ["", ""])

    def test_integers_alone_are_drawn_three_times(self) -> None:
        task = task_of("self.register_buffer('order', torch.randperm(32))", "return x[:, self.order]")
        self.assertEqual(admit(task, seed=5).weight_sets, ["", "", ""])

    def test_a_transform_that_leads_too_far_gives_way_to_a_milder_one(self) -> None:
        admission = admit(task_of("self.e = nn.Parameter(torch.full((32,), 75.0))", "return torch.exp(x - x + self.e) * x"), seed=5)
        self.assertIn("weights spread", admission.dropped)
        self.assertNotIn("spread", admission.weight_sets)
        self.assertIn("mild", admission.weight_sets)

    def test_outputs_that_no_longer_depend_on_inputs(self) -> None:
        task = task_of("self.b = nn.Parameter(torch.zeros(32))", "return torch.sigmoid(torch.tanh(x) * 0.001 + 100 * self.b.square()) - 1")
        self.assertIn("no longer depend", str(admit(task, seed=5).dropped))

    def test_draws_differ_and_repeat(self) -> None:
        task = task_of("self.norm = nn.LayerNorm(32)", "return self.norm(x)")
        for number in range(1, len(TRANSFORMS)):
            weight = [task.build(seed, number).tensors("parameter")["norm.weight"] for seed in (1, 1, 2)]
            self.assertTrue(torch.equal(weight[0], weight[1]))
            self.assertFalse(torch.equal(weight[0], weight[2]))
            self.assertGreater(float(weight[0].std()), 0.01)

    def test_constants_are_the_same_wherever_a_constructor_makes_its_tensors(self) -> None:
        def changed() -> torch.Tensor:
            values = weight_transforms._Values(weight_transforms.TRANSFORMS[1], 5)
            return values.constant(torch.ones(4, device="cpu"), 1.0, "parameter", 0)

        with torch.device("meta"):
            elsewhere = changed()
        self.assertTrue(torch.equal(elsewhere, changed()))

    def test_nothing_changes_without_a_transform(self) -> None:
        task = task_of("self.fc = nn.Linear(32, 8)\nself.norm = nn.BatchNorm1d(8)", "return self.norm(self.fc(x))")
        torch.manual_seed(3)
        plain = nn_state(torch.nn.Linear(32, 8))
        built = task.build(3).tensors("parameter")
        self.assertTrue(torch.equal(built["fc.weight"], plain["weight"]))
        self.assertTrue(bool((built["norm.weight"] == 1).all()))


def nn_state(layer: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.detach() for name, tensor in layer.named_parameters()}


if __name__ == "__main__":
    unittest.main()
