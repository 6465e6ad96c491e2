# expect: triton.unsupported_syntax
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, out_ptr, n_cols):
    row = tl.program_id(0)
    best = -float("inf")
    best_idx = 0
    for i in range(n_cols):
        v = tl.load(x_ptr + row * n_cols + i)
        if v > best:
            best = v
            best_idx = i
        if best >= 1.0:
            break
    tl.store(out_ptr + row, best_idx)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=torch.int32)
        argmax_kernel[(x.shape[0],)](x, out, x.shape[1])
        return out
