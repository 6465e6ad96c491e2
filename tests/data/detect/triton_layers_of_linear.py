import torch
import triton
import triton.language as tl


@triton.jit
def linear_relu(x_ptr, w_ptr, b_ptr, y_ptr, K, W: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, W)
    acc = tl.load(b_ptr + j)
    for k in range(K):
        acc += tl.load(x_ptr + row * K + k) * tl.load(w_ptr + j * K + k)
    tl.store(y_ptr + row * W + j, tl.maximum(acc, 0.0))


def linear(x, weight, bias):
    y = torch.empty(x.shape[0], weight.shape[0])
    linear_relu[(x.shape[0],)](x, weight, bias, y, x.shape[1], W=weight.shape[0])
    return y


class ModelNew(torch.nn.Module):
    def __init__(self, size, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(size, size) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = linear(x, layer.weight, layer.bias)
        return x


def drive(x):
    torch.manual_seed(1)
    with torch.no_grad():
        return ModelNew(x.shape[2], 18)(x.reshape(-1, x.shape[2])).reshape(x.shape)
