# expect: triton.thread_index
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def vector_scale(a, out, n, alpha):
    i = tl.program_id(0) * 256 + tl.threadIdx.x
    if i < n:
        tl.store(out + i, tl.load(a + i) * alpha)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        vector_scale[((n + 255) // 256,)](x, out, n, 2.0)
        return out
