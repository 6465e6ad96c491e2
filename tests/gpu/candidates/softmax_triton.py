"""Softmax in Triton with autotuning, right."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({}, num_warps=4), triton.Config({}, num_warps=8), triton.Config({}, num_warps=16)],
    key=["columns"],
)
@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=float("-inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + offsets, x / tl.sum(x, axis=0), mask=offsets < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
