# expect: python.attribute
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(128, 32, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        out, h = self.lstm(x.unsqueeze(0))
        return self.head(h.squeeze(0))
