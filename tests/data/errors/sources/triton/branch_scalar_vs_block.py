# expect: triton.branch_type
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def dropout_scale(x_ptr, y_ptr, n, p, training, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    if training > 0:
        keep = tl.rand(42, offs) > p
    else:
        keep = 1
    tl.store(y_ptr + offs, tl.where(keep, x / (1.0 - p), 0.0), mask=offs < n)


class ModelNew(torch.nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, x):
        y = torch.empty_like(x)
        dropout_scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), self.p, 2 * int(self.training), BLOCK=1024)
        return y
