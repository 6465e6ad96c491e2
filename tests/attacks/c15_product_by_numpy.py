# attack: C15 the matrix product of another package, on the tensors' own memory
# task: matmul
# device: cpu
# expect: label:*library*, launch:exception, import

import numpy
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        product = torch.empty(a.shape[0], b.shape[1])
        numpy.matmul(a.numpy(), b.numpy(), out=product.numpy())
        return product
