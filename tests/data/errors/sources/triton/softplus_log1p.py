# expect: triton.missing_function
# tools: triton triton-hip
import torch
import triton
import triton.language as tl


@triton.jit
def softplus_fwd(inp, out, numel, beta, threshold, BLOCK: tl.constexpr):
    idx = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    valid = idx < numel
    v = tl.load(inp + idx, mask=valid)
    bv = v * beta
    soft = tl.math.log1p(tl.exp(bv)) / beta
    tl.store(out + idx, tl.where(bv > threshold, v, soft), mask=valid)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = 1.0
        self.threshold = 20.0

    def forward(self, x):
        res = torch.empty_like(x)
        softplus_fwd[(triton.cdiv(x.numel(), 1024),)](x, res, x.numel(), self.beta, self.threshold, BLOCK=1024)
        return res
