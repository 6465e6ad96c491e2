# expect: triton.constexpr
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def avg_pool(x_ptr, y_ptr, L, Lo, kernel_size, stride, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(kernel_size):
        acc += tl.load(x_ptr + b * L + o * stride + k, mask=o < Lo, other=0.0)
    tl.store(y_ptr + b * Lo + o, acc / kernel_size, mask=o < Lo)

class ModelNew(torch.nn.Module):
    def __init__(self, kernel_size=4, stride=4):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride

    def forward(self, x):
        B, L = x.shape
        Lo = (L - self.kernel_size) // self.stride + 1
        y = torch.empty(B, Lo, device=x.device)
        avg_pool[(B,)](x, y, L, Lo, self.kernel_size, self.stride, BLOCK=triton.next_power_of_2(Lo))
        return y
