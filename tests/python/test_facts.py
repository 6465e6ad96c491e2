"""Facts about a task's work: the rules that count and classify, and what is observed of references."""

import unittest

import torch
import support  # noqa: F401  (sets the number of threads)

from kernelgen_judge.task_facts import (
    MAX_OPERATIONS,
    Observed,
    Operation,
    RecurrentCall,
    TensorSize,
    convolution_flops,
    facts_of,
    families_of,
    family_of,
    group_operations,
    has_written_attention,
    product_flops,
)

LAYERS = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(8, 8)
        self.cell = nn.GRUCell(8, 8)
        self.gru = nn.GRU(8, 8, 2, batch_first=True, bidirectional=True)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
        self.norm = nn.BatchNorm1d(6)
    def forward(self, x):
        h, out = torch.zeros(4, 8), []
        {body}
def get_inputs(): return [torch.rand(4, 6, 8)]
def get_init_inputs(): return []
"""


def facts(*lines):
    """The facts of a forward() of these lines; x is (4, 6, 8), six steps of a batch of four."""
    return support.task_from(LAYERS.replace("{body}", "\n        ".join(lines))).describe()["facts"]


def recurrence(*lines):
    """(kind, steps, returned part) of the recurrence, or None."""
    found = facts(*lines)["recurrence"]
    return found and (found["kind"], found["steps"], found["returns"])


class Rules(unittest.TestCase):
    def test_products_count_two_for_each_multiply_add(self):
        self.assertEqual(product_flops("mm", [(2, 3), (3, 5)], (2, 5)), 60)
        self.assertEqual(product_flops("addmm", [(5,), (2, 3), (3, 5)], (2, 5)), 60)
        self.assertEqual(product_flops("bmm", [(7, 2, 3), (7, 3, 5)], (7, 2, 5)), 420)
        attention = product_flops("_scaled_dot_product_flash_attention_for_cpu", [(1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8)], (1, 2, 4, 8))
        self.assertEqual(attention, 2 * (2 * 2 * 4 * 6 * 8))
        self.assertIsNone(product_flops("add", [(2,)], (2,)))

    def test_a_convolution_meets_each_output_with_one_filter(self):
        self.assertEqual(convolution_flops([(1, 3, 8, 8), (4, 3, 3, 3)], (1, 4, 6, 6), False), 2 * 4 * 36 * 27)
        self.assertEqual(convolution_flops([(1, 3, 8, 8), (3, 4, 3, 3)], (1, 4, 10, 10), True), 2 * 3 * 64 * 36)

    def test_families_follow_from_names(self):
        names = {"conv_transpose3d": "convolution", "linear": "gemm", "cumsum": "scan", "layer_norm": "normalization"}
        names |= {"triplet_margin_loss": "loss", "amax": "reduction", "max_pool2d": "pooling", "scaled_dot_product_attention": "attention"}
        for name, family in names.items():
            self.assertEqual(family_of(name), family, name)
        for name in ("relu", "view", "convert", "conv", "anything"):
            self.assertIsNone(family_of(name), name)

    def test_two_products_of_activations_with_a_softmax_between_are_attention(self):
        scores, values = (2, 6, 6), (2, 6, 8)
        first = Operation("matmul", (values, (2, 8, 6)), (scores,))
        softmax = Operation("softmax", (scores,), (scores,))
        self.assertTrue(has_written_attention([first, softmax, Operation("matmul", (scores, values), (values,))]))
        self.assertFalse(has_written_attention([first, Operation("matmul", (scores, values), (values,))]))
        weighted = Operation("linear", (values, (6, 8)), (scores,), reads_state=True)
        self.assertFalse(has_written_attention([weighted, softmax, Operation("matmul", (scores, values), (values,))]))

    def test_a_written_normalization_is_one(self):
        calls = [Operation(name, ((2,),), ((2,),)) for name in ("mean", "sqrt", "div")]
        self.assertEqual(families_of(calls), ["normalization", "reduction"])
        self.assertEqual(families_of(calls[1:]), [])

    def test_equal_operations_are_counted_together_and_the_list_has_a_limit(self):
        call = Operation("relu", ((2,),), ((2,),), "float32")
        listed, more = group_operations([call, Operation("view", ((2,),), ((2,),)), call])
        self.assertEqual([(row["name"], row["count"], row["inputs"]) for row in listed], [("relu", 2, [[2]])])
        self.assertEqual(more, 0)
        many = [Operation("relu", ((n,),), ((n,),)) for n in range(MAX_OPERATIONS + 3)]
        listed, more = group_operations([*many, many[-1]])
        self.assertEqual((len(listed), more), (MAX_OPERATIONS, 4))


class LeastWork(unittest.TestCase):
    product = Operation("matmul", ((2, 3), (3, 5)), ((2, 5),))
    inputs = [TensorSize("a", 24), TensorSize("b", 60)]

    def least(self, operations, inputs=None, **members):
        observed = Observed(operations=operations, product_flops=60, read={"a", "b"}, **members)
        found = facts_of(observed, inputs or self.inputs, [TensorSize("unused", 9), TensorSize("mean", 7, False)], [40])
        return found["least_flops"], found["least_read_bytes"]

    def test_one_product_and_elementwise_operations(self):
        self.assertEqual(self.least([self.product, Operation("relu_", ((2, 5),), ((2, 5),))]), (60, 84))
        self.assertEqual(self.least([Operation("__get__", ((5, 3),), ((3, 5),)), self.product]), (60, 84))

    def test_what_is_reduced_may_be_saved(self):
        self.assertEqual(self.least([self.product, Operation("sum", ((2, 5),), ((),))]), (None, 84))
        self.assertEqual(self.least([self.product, self.product]), (None, 84))

    def test_an_operation_that_may_drop_elements_makes_it_unknown(self):
        for name in ("__getitem__", "triu", "max_pool2d", "unheard_of"):
            self.assertEqual(self.least([self.product, Operation(name, ((2, 5),), ((2, 5),))]), (None, None), name)

    def test_an_input_with_a_known_structure_makes_it_unknown(self):
        self.assertEqual(self.least([self.product], [TensorSize("a", 24), TensorSize("b", 60, False)]), (None, None))

    def test_the_last_backward_layer_may_be_left_out(self):
        layer = RecurrentCall("gru", 1, 2, 5, 4, rows=10, weights=[7, 7], weight_bytes=56, input="a")
        self.assertEqual(self.least([], recurrent=[layer]), (140, 80))
        layer.input = ""
        self.assertEqual(self.least([], recurrent=[layer]), (None, None))


class ObservedReferences(unittest.TestCase):
    def test_a_layer_tells_its_sizes(self):
        found = facts("return self.gru(x)[0]")
        expected = {"kind": "gru", "layers": 2, "directions": 2, "steps": 6, "hidden_size": 8, "returns": "full_sequence"}
        self.assertEqual(found["recurrence"], expected)
        weights = 2 * (24 * 8 + 24 * 8) + 2 * (24 * 16 + 24 * 8)
        self.assertEqual(found["product_flops"], 2 * 4 * 6 * weights)
        self.assertEqual(found["operations"][-1]["name"], "gru")

    def test_what_a_layer_returns(self):
        self.assertEqual(recurrence("return self.gru(x)[1]"), ("gru", 6, "final_state_only"))
        self.assertEqual(recurrence("return self.w(self.gru(x)[0][:, -1, :8])"), ("gru", 6, "final_state_only"))
        self.assertEqual(recurrence("return self.gru(x)[0].mean(1)"), ("gru", 6, "other"))
        self.assertEqual(recurrence("return self.gru(x)[0][:, 2]"), ("gru", 6, "other"))

    def test_loops_that_carry_state(self):
        loop = "for t in range(6):"
        self.assertEqual(recurrence(loop, "    h = torch.tanh(self.w(x[:, t]) + h)", "return h"), ("loop", 6, "final_state_only"))
        self.assertEqual(
            recurrence(loop, "    h = self.cell(x[:, t], h)", "    out.append(h)", "return torch.stack(out, 1)"),
            ("gru", 6, "full_sequence"),
        )
        written = ("y = torch.zeros(4, 6, 8)", loop, "    h = 0.5 * h + x[:, t]", "    y[:, t] = h", "return y")
        self.assertEqual(recurrence(*written), ("loop", 6, "full_sequence"))
        self.assertEqual(
            recurrence("for s in x.unbind(1):", "    h = torch.tanh(torch.cat((s, h), 1)[:, 4:12] @ self.w.weight)", "return h"),
            ("loop", 6, "final_state_only"),
        )
        self.assertEqual(
            recurrence(loop, "    h = self.cell(x[:, t], h)", "    out.append(h)", "return torch.stack(out, 1).mean(1)"),
            ("gru", 6, "other"),
        )

    def test_loops_that_carry_none(self):
        self.assertIsNone(recurrence("for t in range(6):", "    out.append(self.w(x[:, t]))", "return torch.stack(out)"))
        self.assertIsNone(recurrence("for t in range(6):", "    h = h + x[:, t]", "return h"))
        self.assertIsNone(recurrence("for layer in self.layers:", "    x = layer(x)", "return x"))
        gates = "a, b, c, d = self.w(x).chunk(4, -1)"
        self.assertIsNone(recurrence(gates, "return torch.sigmoid(a) * b + torch.tanh(c) * d"))
        attention = "q, k, v = torch.cat((x, x, x), -1).split(8, 2)"
        self.assertIsNone(recurrence(attention, "return F.softmax(q @ k.transpose(1, 2), -1) @ v"))

    def test_attention_and_normalization_are_families(self):
        self.assertEqual(facts("return F.softmax(x @ x.transpose(1, 2), -1) @ x")["families"], ["attention", "gemm", "reduction"])
        self.assertEqual(facts("return self.norm(x)")["families"], ["normalization"])

    def test_bytes_and_floors_of_a_linear_layer(self):
        source = LAYERS.replace("h, out = torch.zeros(4, 8), []", "").replace("{body}", "return torch.relu(self.w(x))")
        found = support.task_from(source).describe()["facts"]
        self.assertEqual(found["product_flops"], 2 * 24 * 8 * 8)
        self.assertEqual(found["other_flops"], 4 * 6 * 8)
        self.assertEqual((found["input_bytes"], found["output_bytes"]), (768, 768))
        self.assertEqual(found["least_flops"], found["product_flops"])
        self.assertEqual(found["least_read_bytes"], 768 + 4 * 72)

    def test_observing_changes_no_result(self):
        task = support.task_from(LAYERS.replace("{body}", "return self.gru(x)[0]"))
        from kernelgen_judge.reference_trace import ReferenceTrace

        reference = task.build(3)
        inputs = task.make_inputs(4)
        observer = ReferenceTrace(inputs.tensors, {entry.name: entry.tensor for entry in reference.state})
        observed = reference.forward(inputs, 5, False, observer=observer).outputs.tensors["output"]
        self.assertTrue(torch.equal(observed, reference.run(inputs, 5).outputs.tensors["output"]))


if __name__ == "__main__":
    unittest.main()
