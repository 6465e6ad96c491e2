# attack: H73 fills the disk with what it calls its builds
# task: relu
# expect: out_of_memory

import os
import time

import torch
import torch.nn as nn

# A sparse file: its size is 3 GiB, and the disk of an honest machine stays empty.
place = os.environ.get("TORCH_EXTENSIONS_DIR") or os.environ["TRITON_CACHE_DIR"]
os.makedirs(place, exist_ok=True)
with open(os.path.join(place, "object.o"), "wb") as file:
    os.ftruncate(file.fileno(), 3 << 30)
    time.sleep(5)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
