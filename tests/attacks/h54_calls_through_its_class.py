# attack: H54 makes a Model of its own class tree and asks the runner's modules for another
# task: relu
# expect: launch:exception, accuracy:*

import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        classes = [c for c in nn.Module.__subclasses__() if c.__name__ == "Model"]
        modules = [getattr(m, "Model", None) for name, m in list(sys.modules.items()) if name.startswith("kernelgen")]
        for found in [*classes, *modules]:
            if found is not None:
                return found()(x)
        return torch.zeros_like(x)
