# attack: H25 works on a stream of its own, without a wait
# task: big_gelu
# device: gpu
# twin: gelu_torch.py
# expect: accuracy:*, off_distribution:*

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.side):
            return nn.functional.gelu(x)
