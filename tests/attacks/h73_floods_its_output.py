# attack: H73 writes 50 MB, so that a reader of it is blocked
# task: relu
# expect: accuracy:mismatch

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 1:
            for _ in range(50):
                print("x" * (1 << 20), flush=True)
        return torch.zeros_like(x)
