# attack: H66 numbers where truth values belong
# task: positive
# expect: accuracy:dtype

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (x > 0).float()
