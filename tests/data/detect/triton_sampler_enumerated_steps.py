import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _ddim_update(x_ptr, eps_ptr, out_ptr, alpha, alpha_prev, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    eps = tl.load(eps_ptr + i, mask=m)
    x0 = (x - tl.sqrt(1.0 - alpha) * eps) / tl.sqrt(alpha)
    tl.store(out_ptr + i, tl.sqrt(alpha_prev) * x0 + tl.sqrt(1.0 - alpha_prev) * eps, mask=m)


def ddim_update(x, eps, alpha, alpha_prev):
    out = torch.empty_like(x)
    n = x.numel()
    _ddim_update[(triton.cdiv(n, 1024),)](x, eps, out, alpha, alpha_prev, n, BLOCK=1024)
    return out


class ModelNew(nn.Module):
    def __init__(self, dim, steps=50):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 256), nn.SiLU(), nn.Linear(256, dim))
        self.register_buffer("alphas", torch.linspace(0.999, 0.01, steps))

    def forward(self, x):
        alphas = self.alphas.tolist()
        sample = x
        for i, alpha in enumerate(reversed(alphas)):
            prev = alphas[-i - 2] if i + 1 < len(alphas) else 1.0
            t = torch.full((x.shape[0], 1), float(i), device=x.device)
            noise = self.net(torch.cat([sample, t], dim=1))
            sample = ddim_update(sample, noise, alpha, prev)
        return sample
