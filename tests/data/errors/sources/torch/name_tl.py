# expect: python.missing_import
# tools: torch
import torch
import triton


@triton.jit
def k(p, B: tl.constexpr):
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
