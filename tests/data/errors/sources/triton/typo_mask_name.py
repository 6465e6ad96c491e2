# expect: triton.undefined_name
# tools: triton triton-hip triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def add_relu_kernel(a_ptr, b_ptr, c_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    a = tl.load(a_ptr + offsets, mask=mask)
    b = tl.load(b_ptr + offset, mask=mask)
    tl.store(c_ptr + offsets, tl.maximum(a + b, 0.0), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        c = torch.empty_like(x)
        n = x.numel()
        add_relu_kernel[(triton.cdiv(n, 1024),)](x, x, c, n, BLOCK_SIZE=1024)
        return c
