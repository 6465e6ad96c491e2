# expect: python.missing_import
# tools: torch
import torch
from torch import nn, Tensor


class ModelNew(nn.Module):
    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        s = x @ x.transpose(-2, -1)
        if mask is not None:
            s = s.masked_fill(mask, float("-inf"))
        return s.softmax(dim=-1)
