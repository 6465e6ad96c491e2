import torch
import triton
import triton.language as tl


@triton.jit
def logadd(a, b):
    m = tl.maximum(a, b)
    return m + tl.log(tl.exp(a - m) + tl.exp(b - m))


@triton.jit
def ctc(logp, labels, alpha, T, S: tl.constexpr, V):
    n = tl.program_id(0)
    s = tl.arange(0, S)
    lab = tl.load(labels + n * S + s)
    for t in range(1, T):
        prev = alpha + (n * T + t - 1) * S
        a0 = tl.load(prev + s)
        a1 = tl.load(prev + s - 1, mask=s > 0, other=-1e30)
        emit = tl.load(logp + (n * T + t) * V + lab)
        tl.store(alpha + (n * T + t) * S + s, logadd(a0, a1) + emit)
        tl.debug_barrier()


def run(logp, labels, alpha):
    ctc[(logp.shape[0],)](logp, labels, alpha, logp.shape[1], 64, logp.shape[2])
