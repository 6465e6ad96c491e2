# expect: triton.tensor_condition
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def elu_kernel(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    if x > 0:
        y = x
    else:
        y = alpha * (tl.exp(x) - 1.0)
    tl.store(y_ptr + offs, y, mask=offs < n)


class ModelNew(torch.nn.Module):
    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        out = torch.empty_like(x)
        elu_kernel[(triton.cdiv(x.numel(), 256),)](x, out, self.alpha, x.numel(), BLOCK=256)
        return out
