# honest: the library's function for sums of rows
# task: embedding

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = nn.Embedding(words, width)

    def forward(self, words):
        return nn.functional.embedding_bag(words, self.table.weight, mode="sum")
