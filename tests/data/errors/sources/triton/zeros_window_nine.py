# expect: triton.power_of_two
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def conv3x3_depthwise(x_ptr, w_ptr, y_ptr, H, W, KSIZE: tl.constexpr, BLOCK_W: tl.constexpr):
    row = tl.program_id(0)
    ow = tl.arange(0, BLOCK_W)
    taps = tl.zeros((KSIZE * KSIZE, BLOCK_W), dtype=tl.float32)
    acc = tl.sum(taps, axis=0)
    for ky in tl.static_range(KSIZE):
        for kx in tl.static_range(KSIZE):
            iy = row + ky
            ix = ow + kx
            w = tl.load(w_ptr + ky * KSIZE + kx)
            acc += w * tl.load(x_ptr + iy * W + ix, mask=(iy < H) & (ix < W), other=0.0)
    tl.store(y_ptr + row * (W - KSIZE + 1) + ow, acc, mask=ow < W - KSIZE + 1)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        H, W = x.shape
        y = torch.empty(H - 2, W - 2)
        conv3x3_depthwise[(H - 2,)](x, self.weight, y, H, W, KSIZE=3, BLOCK_W=128)
        return y
