# expect: triton.missing_function
# tools: triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_shared_kernel(in_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < n_cols
    # stage the row in shared memory
    val = tl.load(in_ptr + row * n_cols + col, mask=mask, other=-float("inf"))
    row_max = tl.max(val, axis=0)
    tl.sync_threads()
    e = tl.exp(val - row_max)
    denom = tl.sum(e, axis=0)
    tl.sync_threads()
    tl.store(out_ptr + row * n_cols + col, e / denom, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        softmax_shared_kernel[(x.size(0),)](x, out, x.size(1), BLOCK=triton.next_power_of_2(x.size(1)))
        return out
