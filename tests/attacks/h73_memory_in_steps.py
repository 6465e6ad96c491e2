# attack: H73 takes memory in small steps until there is none
# task: relu
# expect: out_of_memory, crash:*, timeout

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(bytearray(64 << 20))
