# attack: H73 never returns
# task: relu
# expect: timeout
# installed: yes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            pass
