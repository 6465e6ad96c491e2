# expect: triton.item_assignment
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    out = tl.zeros([BLOCK], dtype=tl.float32)
    running = 0.0
    for i in range(N):
        running += tl.load(x_ptr + row * N + i)
        out[i] = running
    tl.store(y_ptr + row * N + cols, out, mask=cols < N)


class ModelNew(torch.nn.Module):
    def __init__(self, dim=1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        y = torch.empty_like(x)
        cumsum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
