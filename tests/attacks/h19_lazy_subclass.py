# attack: H19 a tensor that computes when it is read
# task: relu
# expect: accuracy:*
# installed: yes

import torch
import torch.nn as nn


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = [torch.relu(a.as_subclass(torch.Tensor)) if isinstance(a, cls) else a for a in args]
        return function(*plain, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return x.as_subclass(Lazy)
