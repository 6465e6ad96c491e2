# honest: the module itself
# task: chain

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(1, 1, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]
