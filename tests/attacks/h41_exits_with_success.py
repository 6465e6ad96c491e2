# attack: H41 ends the process with success
# task: relu
# expect: crash:exit 0
# installed: yes

import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os._exit(0)
