# expect: resource.threads
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def wide_relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + o, tl.maximum(tl.load(x_ptr + o, mask=o < n), 0), mask=o < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        wide_relu[(triton.cdiv(x.numel(), 8192),)](x, y, x.numel(), BLOCK=8192, num_warps=64)
        return y
