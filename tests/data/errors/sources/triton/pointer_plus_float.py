# expect: triton.pointer_type
# tools: triton triton-hip
import torch
import triton
import triton.language as tl


@triton.jit
def upsample_nearest(x_ptr, y_ptr, L, scale, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    src = o / scale
    v = tl.load(x_ptr + b * L + src, mask=o < L * scale)
    tl.store(y_ptr + b * L * scale + o, v, mask=o < L * scale)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], x.shape[1] * 2)
        upsample_nearest[(x.shape[0],)](x, y, x.shape[1], 2, BLOCK=256)
        return y
