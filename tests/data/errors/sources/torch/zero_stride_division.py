# expect: python.value
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, kernel_size=3, stride=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = int(stride or 0)

    def forward(self, x):
        out_len = (x.shape[1] - self.kernel_size) // self.stride + 1
        return torch.nn.functional.avg_pool1d(x, self.kernel_size, self.stride)[:, :out_len]
