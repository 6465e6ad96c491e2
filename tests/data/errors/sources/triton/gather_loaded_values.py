# expect: triton.pointer_type
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(idx_ptr, table_ptr, out_ptr, D, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    row = tl.load(table_ptr + tl.load(idx_ptr + t) * D + d, mask=d < D)
    emb = tl.load(row, mask=d < D)
    tl.store(out_ptr + t * D + d, emb, mask=d < D)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(10, 32)

    def forward(self, x):
        idx = (x[:, 0] * 10).long()
        out = torch.empty(x.shape[0], 32)
        embedding_kernel[(x.shape[0],)](idx, self.emb.weight, out, 32, BLOCK=32)
        return out
