# attack: C12 tells torch to use four threads where one is allowed
# task: big_gelu
# twin: gelu_torch.py
# threads: 1

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.set_num_threads(4)
        return nn.functional.gelu(x)
