import torch
import triton
import triton.language as tl


@triton.jit
def lstm_last(x_ptr, u_ptr, last_ptr, steps, rows, H: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, H)
    h = tl.zeros([H], tl.float32)
    c = tl.zeros([H], tl.float32)
    u = tl.load(u_ptr + j[:, None] * H + j[None, :])
    for t in tl.range(steps, num_stages=2):
        pre = tl.load(x_ptr + (t * rows + row) * H + j) + tl.sum(u * h[None, :], axis=1)
        gate = tl.sigmoid(pre)
        c = gate * c + (1 - gate) * pre
        h = gate * tl.sigmoid(c)
    tl.store(last_ptr + row * H + j, h)


class ModelNew(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.u = torch.nn.Parameter(torch.randn(size, size) * 0.1)

    def forward(self, x):
        last = torch.empty_like(x[0])
        lstm_last[(x.shape[1],)](x, self.u, last, x.shape[0], x.shape[1], H=x.shape[2])
        return last


def drive(x):
    torch.manual_seed(1)
    return ModelNew(x.shape[2])(x).detach()[None]
