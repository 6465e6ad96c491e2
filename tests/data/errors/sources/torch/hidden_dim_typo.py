# expect: python.name
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, input_size=128, hidden_size=256, num_layers=1):
        super(ModelNew, self).__init__()
        self.rnn = nn.GRU(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hiden_size, 10)

    def forward(self, x):
        out, _ = self.rnn(x.unsqueeze(1))
        return self.fc(out[:, -1])
