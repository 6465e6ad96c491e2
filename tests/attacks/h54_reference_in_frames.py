# attack: H54 looks for a tensor of the right shape in all frames and modules
# task: relu
# expect: accuracy:*

import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for thing in gc.get_objects():
            if type(thing) is torch.Tensor and thing is not x and thing.shape == x.shape and thing.data_ptr() != x.data_ptr():
                return thing.clone()
        return torch.zeros_like(x)
