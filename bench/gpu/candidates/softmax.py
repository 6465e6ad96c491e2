"""Softmax over the last dimension in Triton: one program per row, running maximum and sum, then the quotients."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    maximum = float("-inf")
    total = 0.0
    for first in range(0, columns, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + offsets, mask=offsets < columns, other=float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(x, axis=0))
        total = total * tl.exp(maximum - new_maximum) + tl.sum(tl.exp(x - new_maximum), axis=0)
        maximum = new_maximum
    for first in range(0, columns, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + offsets, mask=offsets < columns, other=float("-inf"))
        tl.store(y_ptr + start + offsets, tl.exp(x - maximum) / total, mask=offsets < columns)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows = x.numel() // x.shape[-1]
        softmax_kernel[(rows,)](x, y, x.shape[-1], BLOCK=4096, num_warps=8)
        return y
