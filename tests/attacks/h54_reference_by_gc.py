# attack: H54 finds the reference's module with the garbage collector
# task: relu
# expect: launch:exception, accuracy:*
# installed: yes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        import gc

        found = [o for o in gc.get_objects() if isinstance(o, nn.Module) and type(o).__name__ == "Model"]
        return found[0](x) if found else torch.zeros_like(x)
