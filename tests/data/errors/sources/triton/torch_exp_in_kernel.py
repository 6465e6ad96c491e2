# expect: triton.host_function
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def selu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    neg = 1.6732632423543772 * (torch.exp(x) - 1.0)
    tl.store(y_ptr + offs, 1.0507009873554805 * tl.where(x > 0, x, neg), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        selu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
