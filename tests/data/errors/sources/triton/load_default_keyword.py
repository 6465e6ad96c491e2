# expect: triton.arguments
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, default=-float("inf"))
    m = tl.max(x, axis=0)
    tl.store(out_ptr + row, m + tl.log(tl.sum(tl.exp(x - m), axis=0)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0])
        logsumexp_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=128)
        return out
