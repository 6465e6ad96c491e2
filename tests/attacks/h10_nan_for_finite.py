# attack: H10 an infinity with the wrong sign in one row
# task: logsumexp

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        answer = torch.logsumexp(x, dim=-1)
        answer[7] = -float("inf")
        return answer
