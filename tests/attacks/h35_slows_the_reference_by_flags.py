# attack: H35 turns threads and libraries off, which a reference in the same process would feel
# task: matmul
# twin: matmul_torch.py
# timeout: 60

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.backends.mkldnn.enabled = False
torch.backends.cudnn.enabled = False
torch.use_deterministic_algorithms(True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
