# attack: C03 puts a function of its own where random.seed looks one up, before the clock starts
# task: big_gelu
# twin: gelu_torch.py

import builtins
import random

import torch
import torch.nn as nn

state = {"input": None, "answer": None}


def hook(*arguments):
    if state["input"] is not None and state["answer"] is None:
        state["answer"] = nn.functional.gelu(state["input"])
    return builtins.isinstance(*arguments)


random.isinstance = hook


class ModelNew(nn.Module):
    def forward(self, x):
        answer, state["answer"], state["input"] = state["answer"], None, x
        return nn.functional.gelu(x) if answer is None else answer
