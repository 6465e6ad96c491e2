# attack: C14 returns a list that contains itself
# task: relu
# expect: *

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        answer = [torch.relu(x)]
        answer.append(answer)
        return answer
