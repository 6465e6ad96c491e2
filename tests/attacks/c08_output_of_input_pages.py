# attack: C08 the output is the input's pages, mapped again sixteen times
# task: tile
# twin: tile_repeat.py

import ctypes
import mmap

import torch
import torch.nn as nn

libc = ctypes.CDLL(None, use_errno=True)
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
MAY_MOVE_AND_FIXED = 3


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.output = None

    def forward(self, x):
        if self.output is None:
            size = x.numel() * 4
            self.memory = mmap.mmap(-1, 17 * size)
            start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
            for i in range(16):
                if libc.mremap(x.data_ptr(), 0, size, MAY_MOVE_AND_FIXED, start + i * size) in (None, 2**64 - 1):
                    return x.repeat(16, 1)
            flat = torch.frombuffer(self.memory, dtype=torch.float32, count=16 * x.numel())
            self.output = flat.view(16 * x.shape[0], x.shape[1])
        return self.output
