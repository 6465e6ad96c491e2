import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_softmax_rows(out_ptr, in_ptr, stride_row, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    src = in_ptr + row * stride_row
    dst = out_ptr + row * stride_row
    lane = tl.arange(0, BLOCK)

    running_max = float("-inf")
    running_sum = 0.0
    off = 0
    while off < n_cols:
        cols = off + lane
        x = tl.load(src + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        block_max = tl.max(x, 0)
        prev = running_max
        running_max = tl.maximum(prev, block_max)
        running_sum *= tl.exp(prev - running_max)
        running_sum += tl.sum(tl.exp(x - running_max), 0)
        off += BLOCK

    shift = running_max + tl.log(running_sum)
    off = 0
    while off < n_cols:
        cols = off + lane
        keep = cols < n_cols
        x = tl.load(src + cols, mask=keep).to(tl.float32)
        tl.store(dst + cols, x - shift, mask=keep)
        off += BLOCK


class ModelNew(nn.Module):
    def __init__(self, dim: int = 1):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.dim() == 2 and self.dim == 1
        y = torch.empty_like(x)
        log_softmax_rows[(x.shape[0],)](y, x, x.stride(0), x.shape[1], BLOCK=2048, num_warps=8)
        return y
