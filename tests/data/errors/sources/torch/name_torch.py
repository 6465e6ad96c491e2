# expect: python.missing_import
# tools: torch
import triton


class A(torch.nn.Module):
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
