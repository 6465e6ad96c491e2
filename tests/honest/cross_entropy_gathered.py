# honest: logsumexp less the label's logit, then the mean
# task: cross_entropy

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        return (torch.logsumexp(logits, dim=-1) - logits.gather(1, labels[:, None])[:, 0]).mean()
