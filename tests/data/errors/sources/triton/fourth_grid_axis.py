# expect: triton.value
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def nchw_relu(x_ptr, y_ptr, C, H, W):
    w = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.program_id(2)
    n = tl.program_id(3)
    i = ((n * C + c) * H + h) * W + w
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i), 0.0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x4 = x.view(4, 16, 8, 16)
        y = torch.empty_like(x4)
        nchw_relu[(16, 8, 16)](x4, y, 16, 8, 16)
        return y.view_as(x)
