# expect: triton.grid
# tools: triton-interpreter triton
import torch
import triton
import triton.language as tl


@triton.jit
def log_kernel(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    o = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + o, tl.log(tl.load(x_ptr + o, mask=o < n, other=1.0)), mask=o < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid = lambda meta: triton.cdiv(x.numel(), meta['BLOCK_SIZE'])
        log_kernel[grid](x, y, x.numel(), BLOCK_SIZE=512)
        return y
