# attack: H13 answers cached by the identity of the tensor object
# task: relu

import torch
import torch.nn as nn

answers = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = (id(x), x._version)
        if key not in answers:
            answers[key] = torch.relu(x)
        return answers[key].clone()
