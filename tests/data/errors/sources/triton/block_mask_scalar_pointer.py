# expect: triton.pointer_mask
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def scale_channels(x_ptr, s_ptr, y_ptr, C, HW, BLOCK: tl.constexpr):
    nc = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < HW
    s = tl.load(s_ptr + nc % C, mask=mask)
    x = tl.load(x_ptr + nc * HW + i, mask=mask)
    tl.store(y_ptr + nc * HW + i, x * s, mask=mask)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale_channels[(x.shape[0],)](x, x[:, 0].contiguous(), y, x.shape[0], x.shape[1], BLOCK=128)
        return y
