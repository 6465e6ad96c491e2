import torch


class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.u = torch.nn.Linear(n, n)

    def forward(self, x, h):
        for t in range(x.shape[0]):
            h = torch.tanh(x[t] + self.u(h))
        return h
