# expect: triton.internal
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def smooth_l1(p_ptr, t_ptr, o_ptr, beta, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.abs(tl.load(p_ptr + i, mask=i < n, other=0.0) - tl.load(t_ptr + i, mask=i < n, other=0.0))
    loss = 0.5 * d * d / beta if d < beta else d - 0.5 * beta
    tl.atomic_add(o_ptr, tl.sum(loss, axis=0) / n)

class ModelNew(torch.nn.Module):
    def forward(self, pred):
        target = torch.zeros_like(pred)
        o = torch.zeros(())
        smooth_l1[(triton.cdiv(pred.numel(), 1024),)](pred, target, o, 1.0, pred.numel(), BLOCK=1024)
        return o
