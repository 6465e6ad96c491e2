# expect: triton.return_type
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def apply_act(v, kind):
    if kind == 0:
        return tl.maximum(v, 0.0)
    return 0


@triton.jit
def fused_act(x_ptr, y_ptr, n, kind, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o, mask=o < n)
    tl.store(y_ptr + o, apply_act(x, kind), mask=o < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        fused_act[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 0, BLOCK=256)
        return y
