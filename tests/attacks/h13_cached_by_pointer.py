# attack: H13 answers cached by the input's address
# task: relu
# installed: yes

import torch
import torch.nn as nn

answers = {}


class ModelNew(nn.Module):
    def forward(self, x):
        return answers.setdefault(x.data_ptr(), torch.relu(x))
