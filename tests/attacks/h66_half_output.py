# attack: H66 returns float16 for float32
# task: relu
# expect: accuracy:dtype
# installed: yes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).half()
