# expect: triton.undefined_name
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def gru_gate(x_ptr, h_ptr, o_ptr, H, step, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    z = tl.sigmoid(tl.load(x_ptr + b * H + c, mask=c < H))
    if step > 0:
        h_prev = tl.load(h_ptr + b * H + c, mask=c < H)
    out = (1.0 - z) * h_prev + z
    tl.store(o_ptr + b * H + c, out, mask=c < H)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        h = torch.zeros_like(x)
        o = torch.empty_like(x)
        for step in range(2):
            gru_gate[(x.shape[0],)](x, h, o, x.shape[1], step, BLOCK=128)
        return o
