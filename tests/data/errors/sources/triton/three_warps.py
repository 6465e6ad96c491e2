# expect: triton.value
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def axpy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + o, 2.0 * tl.load(x_ptr + o, mask=o < n), mask=o < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        axpy[(triton.cdiv(x.numel(), 384),)](x, y, x.numel(), BLOCK=512, num_warps=6)
        return y
