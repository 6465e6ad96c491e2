# honest: products of all inputs first, then step by step
# task: gru

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)

    def forward(self, x, h0):
        gru, state = self.gru, h0[0]
        gates = nn.functional.linear(x, gru.weight_ih_l0, gru.bias_ih_l0)
        for step in range(x.shape[1]):
            r, z, n = gates[:, step].chunk(3, dim=-1)
            hr, hz, hn = nn.functional.linear(state, gru.weight_hh_l0, gru.bias_hh_l0).chunk(3, dim=-1)
            update = torch.sigmoid(z + hz)
            state = torch.lerp(torch.tanh(n + torch.sigmoid(r + hr) * hn), state, update)
        return state, state.unsqueeze(0)
