# expect: triton.dot_shape
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def attn_scores_kernel(Q, K, S, T, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q = tl.load(Q + offs_m[:, None] * HEAD_DIM + offs_d[None, :])
    k = tl.load(K + offs_n[:, None] * HEAD_DIM + offs_d[None, :])
    qk = tl.dot(q, k) * scale
    tl.store(S + offs_m[:, None] * T + offs_n[None, :], qk)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        T, D = x.shape
        s = torch.empty(T, T)
        attn_scores_kernel[(T // 32,)](x, x, s, T, D ** -0.5, BLOCK_M=32, BLOCK_N=64, HEAD_DIM=128)
        return s.softmax(-1) @ x
