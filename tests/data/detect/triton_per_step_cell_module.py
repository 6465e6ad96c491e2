import torch
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, h_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    ok = i < n
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i, mask=ok) - tl.load(h_ptr + i, mask=ok)), mask=ok)


class PersistentCell(torch.nn.Module):
    def forward(self, x, h):
        out = torch.empty_like(h)
        mix[(triton.cdiv(out.numel(), 32),)](x, h, out, out.numel(), B=32)
        return out


class ModelNew(torch.nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.cells = torch.nn.ModuleList([PersistentCell() for _ in range(layers)])

    def forward(self, x):
        outputs = []
        states = [torch.zeros_like(x[0]) for _ in self.cells]
        for x_t in torch.unbind(x, dim=0):
            for index, cell in enumerate(self.cells):
                states[index] = cell(x_t.contiguous(), states[index])
                x_t = states[index]
            outputs.append(x_t)
        return torch.stack(outputs, dim=0)


def drive(x):
    return ModelNew()(x)
