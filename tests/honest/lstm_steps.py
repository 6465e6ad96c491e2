# honest: products of all inputs first, then step by step
# task: lstm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True)
        self.hidden = hidden

    def forward(self, x):
        lstm = self.lstm
        state = cell = torch.zeros(x.shape[0], self.hidden, device=x.device)
        gates = nn.functional.linear(x, lstm.weight_ih_l0, lstm.bias_ih_l0 + lstm.bias_hh_l0)
        outputs = []
        for step in range(x.shape[1]):
            i, f, g, o = torch.addmm(gates[:, step], state, lstm.weight_hh_l0.t()).chunk(4, dim=-1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            state = torch.sigmoid(o) * torch.tanh(cell)
            outputs.append(state)
        return torch.stack(outputs, dim=1), cell.unsqueeze(0)
