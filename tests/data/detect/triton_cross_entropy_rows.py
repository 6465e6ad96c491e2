import torch
import triton
import triton.language as tl


@triton.jit
def loss(logits, labels, out, V, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    m = float("-inf")
    d = 0.0
    best = 0
    for i in range(0, V, B):
        cols = i + tl.arange(0, B)
        x = tl.load(logits + row * V + cols, mask=cols < V, other=float("-inf"))
        top = tl.max(x)
        new_m = tl.maximum(m, top)
        best = tl.where(top > m, i + tl.argmax(x, 0), best)
        d = d * tl.exp(m - new_m) + tl.sum(tl.exp(x - new_m))
        m = new_m
    lse = m + tl.log(d)
    tl.store(out + row, lse - tl.load(logits + row * V + label))


def run(logits, labels, out):
    loss[(logits.shape[0],)](logits, labels, out, logits.shape[1], B=4096)
