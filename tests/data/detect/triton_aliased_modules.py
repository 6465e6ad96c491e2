import torch
import triton as tr
import triton.language as gpu
from triton import jit as kernel
from triton.language import load, store


@kernel
def sweep(src, mat, dst, count, rows, width: gpu.constexpr):
    me = gpu.program_id(0)
    lane = gpu.arange(0, width)
    weights = load(mat + lane[:, None] * width + lane[None, :])
    value = gpu.zeros((width,), gpu.float32)
    pointer = src + me * width + lane
    target = dst + me * width + lane
    remaining = count
    while remaining > 0:
        value = gpu.sigmoid(load(pointer) + gpu.sum(weights * value[None, :], 1))
        store(target, value)
        pointer += rows * width
        target += rows * width
        remaining -= 1


def run(x):
    torch.manual_seed(1)
    y = torch.empty_like(x)
    launcher = sweep[(x.shape[1],)]
    launcher(x, torch.randn(16, 16) * 0.1, y, x.shape[0], x.shape[1], width=16)
    return y
