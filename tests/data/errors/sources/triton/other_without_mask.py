# expect: triton.pointer_mask
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def batchnorm_infer(x_ptr, mean_ptr, var_ptr, y_ptr, C, eps, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + n * C + c, mask=c < C, other=0.0)
    mean = tl.load(mean_ptr + c, other=0.0)
    var = tl.load(var_ptr + c, other=1.0)
    tl.store(y_ptr + n * C + c, (x - mean) / tl.sqrt(var + eps), mask=c < C)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = torch.nn.BatchNorm1d(128)

    def forward(self, x):
        y = torch.empty_like(x)
        batchnorm_infer[(x.shape[0],)](x, self.bn.running_mean, self.bn.running_var, y, x.shape[1], self.bn.eps, BLOCK=128)
        return y
