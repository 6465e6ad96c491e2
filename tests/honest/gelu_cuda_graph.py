# honest: a graph of its own, with a buffer into which each input is copied
# task: gelu
# device: gpu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            return nn.functional.gelu(x)
        if self.graph is None:
            self.input = x.clone()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                nn.functional.gelu(self.input)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.output = nn.functional.gelu(self.input)
        self.input.copy_(x)
        self.graph.replay()
        return self.output.clone()
