import torch
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, h_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) - tl.load(h_ptr + i)))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def _unrolled(self):
        h = self.h0
        for t in range(self.steps):
            mix[(self.n // 256,)](self.x[t], h, self.out[t], self.n, B=256)
            h = self.out[t]

    def forward(self, x):
        if self.graph is None:
            self.x, self.steps, self.n = x.clone(), x.shape[0], x[0].numel()
            self.h0, self.out = torch.zeros_like(x[0]), torch.empty_like(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._unrolled()
        self.x.copy_(x)
        self.graph.replay()
        return self.out
