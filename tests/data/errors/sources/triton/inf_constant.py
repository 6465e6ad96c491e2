# expect: triton.missing_function
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def max_pool1d_kernel(x_ptr, y_ptr, L, L_out, K, S, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    best = tl.full([BLOCK], -tl.inf, dtype=tl.float32)
    for k in range(K):
        src = o * S + k
        v = tl.load(x_ptr + row * L + src, mask=(o < L_out) & (src < L), other=float("-inf"))
        best = tl.maximum(best, v)
    tl.store(y_ptr + row * L_out + o, best, mask=o < L_out)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        B, L = x.shape
        L_out = (L - 3) // 2 + 1
        y = torch.empty(B, L_out)
        max_pool1d_kernel[(B,)](x, y, L, L_out, 3, 2, BLOCK=triton.next_power_of_2(L_out))
        return y
