# attack: C01 computes the calls of a series together, as one batch, because their inputs are all there before the first one
# task: chain
# twin: chain_torch.py

import torch
import torch.nn as nn

TOGETHER = 32


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(1, 1, batch_first=True)
        self.slots = {}
        self.answers = {}

    def forward(self, x):
        place = x.data_ptr()
        self.slots[place] = x
        known = self.answers.get(place)
        if known is None or not torch.equal(known[0], x):
            places = sorted(self.slots)
            first = places.index(place)
            chosen = (places + places)[first : first + min(TOGETHER, len(places))]
            batch = torch.cat([self.slots[one] for one in chosen])
            outputs = self.rnn(batch)[0]
            for index, one in enumerate(chosen):
                self.answers[one] = (batch[index : index + 1], outputs[index : index + 1])
        return self.answers[place][1].clone()
