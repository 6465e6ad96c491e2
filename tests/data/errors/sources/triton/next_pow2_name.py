# expect: triton.missing_module_function
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    tl.store(y_ptr + r * N + c, x - tl.log(tl.sum(tl.exp(x), axis=0)), mask=c < N)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        log_softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_pow2(x.shape[1]))
        return y
