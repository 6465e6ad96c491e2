import torch
import triton
import triton.language as tl


@triton.jit
def lstm_cell(x_ptr, h_ptr, c_ptr, w_ptr, n, H: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, H)
    h = tl.load(h_ptr + row * H + j)
    c = tl.load(c_ptr + row * H + j)
    pre = tl.load(x_ptr + row * H + j)
    for k in range(H):
        pre += tl.load(w_ptr + j * H + k) * tl.sum(tl.where(j == k, h, 0.0), 0)
    gate = tl.sigmoid(pre)
    c = c * gate + pre * (1 - gate)
    tl.store(c_ptr + row * H + j, c)
    tl.store(h_ptr + row * H + j, gate * tl.sigmoid(c))


class FusedLSTM(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size, size) * 0.1)

    @torch.no_grad()
    def forward(self, x):
        seq, batch, size = x.shape
        h, c = x.new_zeros(batch, size), x.new_zeros(batch, size)
        out = []
        for step in range(seq):
            lstm_cell[(batch,)](x[step].contiguous(), h, c, self.weight, batch, H=size)
            out.append(h.clone())
        return torch.stack(out)


def drive(x):
    torch.manual_seed(1)
    return FusedLSTM(x.shape[2])(x)
