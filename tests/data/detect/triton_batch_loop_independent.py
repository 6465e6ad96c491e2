import torch
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for b in range(x.shape[1]):
            part = x[:, b].contiguous()
            out = torch.empty_like(part)
            relu[(triton.cdiv(part.numel(), 64),)](part, out, part.numel(), B=64)
            y[:, b] = out
        return y


def drive(x):
    return ModelNew()(x)
