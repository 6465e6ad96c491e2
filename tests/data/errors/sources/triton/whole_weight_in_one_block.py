# expect: triton.too_large
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def frobenius(w_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr, tl.sqrt(tl.sum(w * w, axis=0)))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1500, 1000))

    def forward(self, x):
        o = torch.empty(1)
        n = self.weight.numel()
        frobenius[(1,)](self.weight, o, n, BLOCK=triton.next_power_of_2(n))
        return x / o
