# expect: triton.loop_carried_type
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def linear_gelu(x_ptr, w_ptr, y_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    om = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    on = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = 0.0
    for k0 in range(0, K, BLOCK_K):
        ok = k0 + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + om[:, None] * K + ok[None, :])
        w = tl.load(w_ptr + on[None, :] * K + ok[:, None])
        acc += tl.dot(x, w)
    y = acc * 0.5 * (1.0 + tl.erf(acc * 0.70710678))
    tl.store(y_ptr + om[:, None] * N + on[None, :], y)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(128, 64, bias=False)

    def forward(self, x):
        y = torch.empty(x.shape[0], 64)
        linear_gelu[(2, 2)](x, self.fc.weight, y, x.shape[0], 64, 128, 32, 32, 32)
        return y
