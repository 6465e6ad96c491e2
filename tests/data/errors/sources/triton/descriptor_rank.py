# expect: triton.block_pointer
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def tma_relu(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y_desc = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    pm = tl.program_id(0)
    t = x_desc.load([pm * BM])
    y_desc.store([pm * BM, 0], tl.maximum(t, 0.0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
        tma_relu[(triton.cdiv(x.shape[0], 16),)](x, y, x.shape[0], x.shape[1], BM=16, BN=128)
        return y
