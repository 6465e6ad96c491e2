# expect: triton.unsupported_syntax
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def pooled_max(x_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    for r in range(pid, rows, tl.num_programs(0)):
        if r >= rows:
            return
        c = tl.arange(0, BLOCK)
        v = tl.load(x_ptr + r * cols + c, mask=c < cols, other=float("-inf"))
        tl.store(y_ptr + r, tl.max(v, axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        pooled_max[(8,)](x, y, x.shape[0], x.shape[1], BLOCK=128)
        return y
