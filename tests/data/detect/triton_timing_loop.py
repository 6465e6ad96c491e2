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
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
        return y


def benchmark(rounds=100):
    model = ModelNew().cuda()
    x = torch.randn(1 << 20, device="cuda")
    for _ in range(rounds):
        out = model(x)
    torch.cuda.synchronize()
    return out


if __name__ == "__main__":
    benchmark()
