# honest: words that scanners of sources refuse: cache, try, pass, except ImportError
# task: relu
# installed: yes

import torch
import torch.nn as nn

try:
    import module_that_is_nowhere as fast
except ImportError:
    fast = None


class Base(nn.Module):
    pass


class ModelNew(Base):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        buffer = self.cache.setdefault("buffer", torch.empty_like(x))
        buffer.copy_(x).clamp_(min=0)
        return buffer.clone()
