# expect: interface
# tools: torch
import torch


def ModelNew(x):
    return x
