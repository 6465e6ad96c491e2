# expect: triton.arguments
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def tanh_like(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    o = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + o, mask=o < n)
    tl.store(y_ptr + o, 2 * tl.sigmoid(2 * x) - 1, mask=o < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)
        tanh_like[grid](x, y, x.numel(), BLOCK_SIZE=1024, GROUP_SIZE=8)
        return y
