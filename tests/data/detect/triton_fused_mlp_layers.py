import torch
import triton
import triton.language as tl


@triton.jit
def mlp(x_ptr, w_ptr, b_ptr, y_ptr, layers, W: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, W)
    a = tl.load(x_ptr + row * W + i)
    for layer in range(layers):
        w = tl.load(w_ptr + layer * W * W + i[:, None] * W + i[None, :])
        b = tl.load(b_ptr + layer * W + i)
        a = tl.maximum(tl.sum(w * a[None, :], axis=1) + b, 0.0)
    tl.store(y_ptr + row * W + i, a)


def drive(x):
    torch.manual_seed(1)
    flat = x.reshape(-1, x.shape[2])
    y = torch.empty_like(flat)
    mlp[(flat.shape[0],)](flat, torch.randn(20, 16, 16), torch.randn(20, 16), y, 20, W=16)
    return y.reshape(x.shape)
