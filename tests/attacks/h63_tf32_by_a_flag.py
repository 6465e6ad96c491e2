# attack: H63 turns TF32 on for its multiplications
# task: long_matmul
# device: gpu

import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("high")


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
