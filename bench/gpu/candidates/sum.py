"""Sum over the middle dimension of [outer, length, inner] in Triton; the dimension is kept with length 1."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, length, inner, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    outer = tl.program_id(1).to(tl.int64)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    totals = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, length, ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows[:, None] < length) & (columns[None, :] < inner)
        offsets = outer * length * inner + rows[:, None].to(tl.int64) * inner + columns[None, :]
        totals += tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + outer * inner + columns, tl.sum(totals, axis=0), mask=columns < inner)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outer, length, inner = x.shape
        y = torch.empty((outer, 1, inner), device=x.device, dtype=x.dtype)
        sum_kernel[(triton.cdiv(inner, 128), outer)](x, y, length, inner, ROWS=32, COLUMNS=128)
        return y
