# attack: H10 NaN instead of an answer
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        answer = torch.relu(x)
        answer[:, 1000:] = float("nan")
        return answer
