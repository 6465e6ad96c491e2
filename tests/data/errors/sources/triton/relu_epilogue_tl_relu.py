# expect: triton.missing_function
# tools: triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_relu_kernel(x_ptr, bias_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    off = pid * BLOCK + tl.arange(0, BLOCK)
    mask = off < rows * cols
    x = tl.load(x_ptr + off, mask=mask)
    b = tl.load(bias_ptr + off % cols, mask=mask)
    y = tl.relu(x + b)
    tl.store(out_ptr + off, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features=128, out_features=32):
        super(ModelNew, self).__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        x = self.gemm(x)
        out = torch.empty_like(x)
        bias_relu_kernel[(triton.cdiv(x.numel(), 256),)](x, self.bias, out, x.shape[0], x.shape[1], BLOCK=256)
        return out
