"""Wrong on the first call: autotuning runs the kernel many times, and each run adds to the same sums."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 2048})], key=["columns"])
@triton.jit
def sum_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0)
    tl.atomic_add(y_ptr + row, tl.sum(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros(x.shape[0], device=x.device, dtype=x.dtype)
        sum_kernel[lambda meta: (x.shape[0], triton.cdiv(x.shape[1], meta["BLOCK"]))](x, y, x.shape[1])
        return y
