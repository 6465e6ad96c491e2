"""Tests of the number of bytes that a reference needs, and of calls that would break a device's context."""

from __future__ import annotations

import random
import time
import unittest

import torch
from kernelgen_judge.errors import TaskError
from kernelgen_judge.guarded import _Guard
from kernelgen_judge.sensitivity import sensitive_bytes
from kernelgen_judge.task import Task
from support import model, task_from


def share(task: Task, seconds: float = 20.0) -> float | None:
    """The share of bytes that matter."""
    reference, inputs = task.build(5), task.make_inputs(6)
    held = {name: tensor.clone() for name, tensor in inputs.tensors.items()}
    state = {entry.name: entry.tensor.detach().clone() for entry in reference.state}
    found = sensitive_bytes(reference, inputs, 7, seconds, random.Random(8))
    assert all(torch.equal(held[name], tensor) for name, tensor in inputs.tensors.items())
    assert all(torch.equal(state[entry.name], entry.tensor) for entry in reference.state)
    specs = [*task.inputs, *task.parameters, *task.buffers, *task.attributes]
    return None if found is None else found / sum(spec.elements * spec.itemsize for spec in specs)


SLEEPY = "globals()['time'] = __import__('time')"


class SensitivityTest(unittest.TestCase):
    def needs(self, forward: str, inputs: str, least: float, most: float, **more: str) -> None:
        found = share(task_from(model(forward, inputs, **more)))
        assert found is not None
        self.assertTrue(least <= found <= most, found)

    def test_everything(self) -> None:
        self.needs("return torch.relu(x)", "[torch.rand(64, 512)]", 1.0, 1.0)
        self.needs("return x.sum(1)", "[torch.randn(64, 512)]", 1.0, 1.0)
        self.needs("return x.amax(1)", "[torch.randn(64, 512)]", 0.9, 1.0)
        self.needs("return x.amin(1)", "[torch.randn(64, 512)]", 0.9, 1.0)
        self.needs("return x * y", "[torch.randn(64, 512), torch.randn(64, 512)]", 1.0, 1.0, arguments="x, y")

    def test_half_of_an_input(self) -> None:
        self.needs("return x[:, :256] * 2", "[torch.randn(64, 512)]", 0.35, 0.55)
        self.needs("return x[:32] * 2", "[torch.randn(64, 512)]", 0.4, 0.55)

    def test_one_of_two_inputs(self) -> None:
        self.needs("return x * 2", "[torch.randn(64, 512), torch.randn(64, 512)]", 0.4, 0.55, arguments="x, y")

    def test_the_last_step_of_a_sequence(self) -> None:
        self.needs("return x[:, -1] * 2", "[torch.randn(16, 64, 128)]", 0.0, 0.05)

    def test_a_diagonal(self) -> None:
        self.needs("return torch.diagonal(x) * 2", "[torch.randn(512, 512)]", 0.0, 0.1)

    def test_parameters_and_buffers(self) -> None:
        self.needs("return self.fc(x)", "[torch.randn(4, 256)]", 0.95, 1.0, init="self.fc = nn.Linear(256, 256)")
        # In training mode running statistics are written, not read.
        text = model("return self.bn(x)", "[torch.randn(2, 4096)]", init="self.bn = nn.BatchNorm1d(4096, affine=False)")
        found = share(task_from(text))
        self.assertTrue(found is not None and 0.4 <= found <= 0.55, found)

    def test_indices_stay_indices(self) -> None:
        text = model("return self.e(x)", "[torch.randint(0, 50, (4096,))]", init="self.e = nn.Embedding(50, 8)")
        found = share(task_from(text))
        self.assertTrue(found is not None and found > 0.9, found)

    def test_a_value_that_no_change_shows(self) -> None:
        # The tensor has only one value, so its bytes count as not needed.
        self.needs("return x * 2", "[torch.ones(64, 512)]", 0.0, 0.0)

    def test_no_time(self) -> None:
        task = task_from(model("time.sleep(0.01); return x * 2", "[torch.rand(99)]", init=SLEEPY))
        self.assertIsNone(share(task, 0.05))

    def test_a_reference_that_gets_slow_is_given_up(self) -> None:
        body = "time.sleep(0.1 * float((x[1:] == x.max()).any())); return x * 2"
        task = task_from(model(body, "[torch.arange(-96.0, 0.0).flip(0)]", init=SLEEPY))
        started = time.monotonic()
        self.assertIsNone(share(task, 0.1))
        self.assertLess(time.monotonic() - started, 5.0)


class GuardTest(unittest.TestCase):
    def raises(self, task: Task, words: str, **tensors: torch.Tensor) -> None:
        reference = task.build(1)
        inputs = task.make_inputs(2).replace(tensors)
        with _Guard(), self.assertRaisesRegex(TaskError, words):
            reference.run(inputs, 3)

    def test_what_asserts_on_a_device_raises_first(self) -> None:
        task = task_from(model("return F.binary_cross_entropy(x, y)", "[torch.rand(9), torch.rand(9)]", arguments="x, y"))
        self.raises(task, "between 0 and 1", x=torch.full((9,), 1.5))
        task = task_from(model("return x[(y * 8).long()]", "[torch.rand(9), torch.rand(9)]", arguments="x, y"))
        self.raises(task, "out of bounds", y=torch.full((9,), 5.0))
        task = task_from(model("return self.e((x * 8).long())", "[torch.rand(9)]", init="self.e = nn.Embedding(9, 3)"))
        self.raises(task, "out of range", x=torch.full((9,), 5.0))

    def test_what_is_allowed_stays_as_it_is(self) -> None:
        task = task_from(model("x[0] = 1; return x[1:, torch.tensor([0, 2])], torch.bernoulli(x)", "[torch.rand(4, 3)]"))
        reference, inputs = task.build(1), task.make_inputs(2)
        wanted = reference.run(inputs, 3).outputs.tensors
        with _Guard():
            found = reference.run(inputs, 3).outputs.tensors
        for name, tensor in wanted.items():
            self.assertTrue(torch.equal(tensor, found[name]))


if __name__ == "__main__":
    unittest.main()
