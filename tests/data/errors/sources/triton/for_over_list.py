# expect: triton.unsupported_syntax
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def dilated_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for d in [1, 2, 4, 8]:
        acc += tl.load(x_ptr + o + d, mask=o + d < n, other=0.0)
    tl.store(y_ptr + o, acc, mask=o < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        dilated_sum[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
        return y
