# expect: triton.grid
# tools: triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def conv2d_naive(x_ptr, w_ptr, y_ptr, H, W, K: tl.constexpr):
    ow = tl.program_id(0)
    oh = tl.program_id(1)
    acc = 0.0
    for i in range(K):
        for j in range(K):
            acc += tl.load(x_ptr + (oh + i) * W + ow + j) * tl.load(w_ptr + i * K + j)
    tl.store(y_ptr + oh * (W - K + 1) + ow, acc)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1, 1, 3, 3))

    def forward(self, x):
        H, W = x.shape
        y = torch.empty(1, 1, H - 2, W - 2)
        conv2d_naive[(W - 2, H - 2, 1, 1)](x, self.weight, y, H, W, K=3)
        return y
