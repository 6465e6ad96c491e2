# attack: C15 H60 a Triton kernel of its own on one element, the library for the others
# task: gelu
# device: gpu
# timeout: 60
# expect: label:*library*

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def first_element(x_ptr, y_ptr):
    x = tl.load(x_ptr)
    tl.store(y_ptr, 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)))


class ModelNew(nn.Module):
    def forward(self, x):
        answer = nn.functional.gelu(x)
        first_element[(1,)](x, answer)
        return answer
