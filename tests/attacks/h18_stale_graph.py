# attack: H18 a graph of its own that is replayed on the first inputs
# task: gelu
# device: gpu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.input = x.clone()
            self.graph = torch.cuda.CUDAGraph()
            nn.functional.gelu(self.input)
            with torch.cuda.graph(self.graph):
                self.output = nn.functional.gelu(self.input)
        self.graph.replay()
        return self.output.clone()
