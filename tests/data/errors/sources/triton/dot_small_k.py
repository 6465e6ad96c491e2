# expect: triton.dot_shape
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def pointwise_conv(x_ptr, w_ptr, y_ptr, P, C_OUT: tl.constexpr, C_IN: tl.constexpr, BLOCK_P: tl.constexpr):
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    ci = tl.arange(0, C_IN)
    co = tl.arange(0, C_OUT)
    x = tl.load(x_ptr + p[:, None] * C_IN + ci[None, :], mask=p[:, None] < P, other=0.0)
    w = tl.load(w_ptr + ci[:, None] * C_OUT + co[None, :])
    y = tl.dot(x, w)
    tl.store(y_ptr + p[:, None] * C_OUT + co[None, :], y, mask=p[:, None] < P)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(4, 32))

    def forward(self, x):
        x = x.reshape(-1, 4)
        y = torch.empty(x.shape[0], 32)
        pointwise_conv[(triton.cdiv(x.shape[0], 64),)](x, self.w, y, x.shape[0], C_OUT=32, C_IN=4, BLOCK_P=64)
        return y
