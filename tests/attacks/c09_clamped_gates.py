# attack: C09 gates of a recurrence clamped to where they are at initial weights
# task: recurrent

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)

    def forward(self, x, h):
        hidden = h[0]
        for step in range(x.shape[1]):
            a = F.linear(x[:, step], self.gru.weight_ih_l0, self.gru.bias_ih_l0)
            b = F.linear(hidden, self.gru.weight_hh_l0, self.gru.bias_hh_l0)
            (ar, az, an), (br, bz, bn) = a.chunk(3, -1), b.chunk(3, -1)
            r, z = torch.sigmoid((ar + br).clamp(-6, 6)), torch.sigmoid((az + bz).clamp(-6, 6))
            n = torch.tanh(an + r * bn)
            hidden = (1 - z) * n + z * hidden
        return hidden.unsqueeze(0)
