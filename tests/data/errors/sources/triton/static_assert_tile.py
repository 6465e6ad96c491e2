# expect: triton.static_assert
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def tiled_sum(x_ptr, y_ptr, N, TILE: tl.constexpr, VEC: tl.constexpr):
    tl.static_assert(TILE % VEC == 0, "TILE must be a multiple of VEC")
    r = tl.program_id(0)
    s = tl.zeros([TILE], tl.float32)
    for i in range(0, N, TILE):
        c = i + tl.arange(0, TILE)
        s += tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
    tl.store(y_ptr + r, tl.sum(s, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        tiled_sum[(x.shape[0],)](x, y, x.shape[1], TILE=64, VEC=48)
        return y
