# attack: H44 raises an exception with a pickle that runs code in the process that reads it
# task: relu
# expect: launch:exception

import os

import torch
import torch.nn as nn


class Payload(Exception):
    def __reduce__(self):
        return os.system, ("touch /tmp/unpickled; echo correct",)


class ModelNew(nn.Module):
    def forward(self, x):
        raise Payload("correct")
