# expect: triton.global_variable
# tools: triton
import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def sigmoid_kernel(x_ptr, y_ptr, n):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, 1.0 / (1.0 + tl.exp(-x)), mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sigmoid_kernel[(triton.cdiv(x.numel(), BLOCK_SIZE),)](x, y, x.numel())
        return y
