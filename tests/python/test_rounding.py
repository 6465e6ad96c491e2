"""Simulated rounding: TF32 operands where a class allows them, and plain sequential float32 sums."""

import unittest

import torch
import torch.nn.functional as F
from torch import nn
import support  # noqa: F401  (sets the number of threads)

from test_compare import sequential_sum

from kernelgen_judge.rounding import NotSimulated, SequentialRounding, Tf32Operands, to_tf32


def difference(value, truth):
    """The relative rms error."""
    return float((value.double() - truth).square().mean().sqrt() / truth.square().mean().sqrt())


def simulated(function, *inputs):
    """(error of plain sequential sums as simulated, the result in float64)."""
    wide = [x.double() for x in inputs]
    with torch.no_grad():
        truth = function(*wide)
        with SequentialRounding(5).active():
            return difference(function(*wide), truth), truth


def in_tf32(function, *inputs, products=False):
    """(error of TF32 operands, whether any were found)."""
    wide = [x.double() for x in inputs]
    operands = Tf32Operands(products)
    with torch.no_grad():
        truth = function(*wide)
        with operands.active():
            return difference(function(*wide), truth), operands.found


class Tf32(unittest.TestCase):
    def test_ten_bits_are_left(self):
        for dtype in (torch.float32, torch.float64):
            x = torch.tensor([1 + 2**-10, 1 + 2**-10 + 2**-11, -(1 + 2**-11), 0.0, float("inf"), float("nan")], dtype=dtype)
            cut = to_tf32(x)
            self.assertEqual(cut[:5].tolist(), [1 + 2**-10, 1 + 2**-10, -1.0, 0.0, float("inf")])
            self.assertTrue(bool(cut[5].isnan()))
        self.assertEqual(to_tf32(torch.arange(3)).tolist(), [0, 1, 2])

    def test_convolutions_and_recurrent_layers_but_no_products(self):
        torch.manual_seed(1)
        image, sequence, rows = torch.randn(2, 8, 12, 12), torch.randn(6, 2, 8), torch.randn(8, 8)
        weight, cell = torch.randn(8, 8, 3, 3), nn.LSTMCell(8, 8).double()
        for layer in (nn.LSTM(8, 8), nn.GRU(8, 8), nn.RNN(8, 8)):
            error, found = in_tf32(lambda x: layer.double()(x)[0], sequence)
            self.assertTrue(found)
            self.assertTrue(1e-5 < error < 2e-3, error)
        for function in (F.conv2d, F.conv_transpose2d):
            error, found = in_tf32(function, image, weight)
            self.assertTrue(found)
            self.assertTrue(1e-4 < error < 2e-3, error)
        for function in (torch.matmul, F.linear, lambda a, b: cell(a)[0]):
            self.assertEqual(in_tf32(function, rows, rows), (0.0, False))

    def test_products_in_the_class_tf32(self):
        torch.manual_seed(1)
        a, b = torch.randn(16, 64), torch.randn(64, 16)
        for function in (torch.matmul, lambda a, b: F.linear(a, b.t()), lambda a, b: torch.einsum("ik,kj->ij", a, b)):
            error, found = in_tf32(function, a, b, products=True)
            self.assertTrue(found)
            self.assertTrue(1e-4 < error < 2e-3, error)


class Sequential(unittest.TestCase):
    def test_sums_err_as_plain_sequential_ones_do(self):
        for make in (torch.rand, torch.randn):
            torch.manual_seed(2)
            x = make(64, 16384)
            for function, plain in ((lambda x: x.sum(1), sequential_sum), (lambda x: x.mean(1), lambda x: sequential_sum(x) / 16384)):
                error, truth = simulated(function, x)
                self.assertTrue(0.7 < error / difference(plain(x), truth) < 1.6)

    def test_products_and_convolutions_err_as_plain_sequential_ones_do(self):
        torch.manual_seed(3)
        a, b = torch.randn(32, 4096), torch.randn(4096, 32)
        total = torch.zeros(32, 32)
        for k in range(4096):
            total.addcmul_(a[:, k : k + 1], b[k : k + 1])
        error, truth = simulated(torch.matmul, a, b)
        self.assertTrue(0.7 < error / difference(total, truth) < 1.6)
        bias = torch.randn(32)
        self.assertTrue(0.7 < simulated(torch.addmm, bias, a, b)[0] / error < 1.3)
        # The same sums as a convolution with one place.
        image, weight = a.view(32, 4096, 1, 1), b.t().reshape(32, 4096, 1, 1)
        self.assertTrue(0.7 < simulated(F.conv2d, image, weight)[0] / error < 1.3)
        self.assertTrue(0.7 < simulated(F.conv_transpose2d, image, weight.transpose(0, 1))[0] / error < 1.3)

    def test_small_terms_that_a_large_total_swallows(self):
        x = torch.full((64, 20001), 2e-8)
        x[:, 0] = 1.0
        error, truth = simulated(lambda x: x.sum(1), x)
        self.assertGreater(error, 0.5 * difference(sequential_sum(x), truth))

    def test_equal_terms_are_rounded_alike(self):
        """A slice of zeros makes a convolution give its bias everywhere."""
        torch.manual_seed(5)
        constant = torch.rand(64, 1).expand(64, 16384)
        noisy = constant + 1e-2 * torch.randn(64, 16384)
        for x in (constant.contiguous(), noisy):
            for function, plain in ((lambda x: x.sum(1), sequential_sum), (lambda x: x.mean(1), lambda x: sequential_sum(x) / 16384)):
                error, truth = simulated(function, x)
                self.assertTrue(0.4 < error / difference(plain(x), truth) < 2.5)

    def test_what_is_taken_apart_gives_the_same(self):
        torch.manual_seed(4)
        x = torch.rand(8, 16, 10, 10)
        weight, bias = torch.rand(16).double(), torch.rand(16).double()
        running = torch.rand(16).double(), torch.rand(16).double()
        for function in (
            lambda x: torch.softmax(x, 1),
            lambda x: F.log_softmax(x, -1),
            lambda x: torch.logsumexp(x, (1, 2)),
            lambda x: torch.logsumexp(x, 1, keepdim=True),
            lambda x: F.layer_norm(x, [10, 10]),
            lambda x: F.group_norm(x, 4, weight, bias),
            lambda x: F.batch_norm(x, *running, weight, bias, training=False),
            lambda x: F.batch_norm(x, None, None, weight, bias, training=True),
            lambda x: x.var((2, 3)),
            lambda x: x.std(1, correction=0, keepdim=True),
            lambda x: torch.var_mean(x, 0)[1],
            lambda x: torch.linalg.vector_norm(x, dim=1),
            lambda x: torch.norm(x),
            lambda x: F.normalize(x, p=1),
            lambda x: F.scaled_dot_product_attention(x, x, x),
        ):
            error, _ = simulated(function, x)
            self.assertTrue(1e-9 < error < 1e-5, error)

    def test_an_operation_that_cannot_be_taken_apart(self):
        with self.assertRaises(NotSimulated):
            simulated(lambda x: torch.fft.rfft(x).abs(), torch.rand(8, 64))


if __name__ == "__main__":
    unittest.main()
