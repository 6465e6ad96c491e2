# honest: a pool of threads for parts of the rows, which write to the caller's tensor
# task: relu

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(2)

    def forward(self, x):
        y = torch.empty_like(x)
        half = x.shape[0] // 2

        def rows(part):
            y[part] = torch.relu(x[part])

        list(self.pool.map(rows, (slice(0, half), slice(half, None))))
        return y
