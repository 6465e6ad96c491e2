import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

template <int NSTATE>
__global__ void selective_scan(const float* u, const float* delta, const float* A, const float* Bm, const float* Cm,
                               const float* Dv, float* y, int batch, int dim, int length) {
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    if (d >= dim) return;
    float x[NSTATE];
    float a[NSTATE];
    for (int n = 0; n < NSTATE; ++n) { x[n] = 0.f; a[n] = -expf(A[d * NSTATE + n]); }
    const float* ub = u + (size_t)(b * dim + d) * length;
    const float* db = delta + (size_t)(b * dim + d) * length;
    float* yb = y + (size_t)(b * dim + d) * length;
    for (int l = 0; l < length; ++l) {
        float dt = db[l];
        dt = dt > 20.f ? dt : log1pf(expf(dt));
        float uv = ub[l];
        float acc = 0.f;
        #pragma unroll
        for (int n = 0; n < NSTATE; ++n) {
            float Bv = Bm[(size_t)(b * NSTATE + n) * length + l];
            float Cv = Cm[(size_t)(b * NSTATE + n) * length + l];
            x[n] = x[n] * expf(dt * a[n]) + dt * Bv * uv;
            acc += x[n] * Cv;
        }
        yb[l] = acc + Dv[d] * uv;
    }
}

torch::Tensor selective_scan_fwd(torch::Tensor u, torch::Tensor delta, torch::Tensor A, torch::Tensor B,
                                 torch::Tensor C, torch::Tensor D) {
    auto y = torch::empty_like(u);
    int batch = u.size(0), dim = u.size(1), length = u.size(2);
    dim3 grid((dim + 63) / 64, batch);
    TORCH_CHECK(A.size(1) == 16, "state size");
    selective_scan<16><<<grid, 64>>>(u.data_ptr<float>(), delta.data_ptr<float>(), A.data_ptr<float>(),
        B.data_ptr<float>(), C.data_ptr<float>(), D.data_ptr<float>(), y.data_ptr<float>(), batch, dim, length);
    return y;
}
"""

_decl = (
    "torch::Tensor selective_scan_fwd(torch::Tensor u, torch::Tensor delta, torch::Tensor A, "
    "torch::Tensor B, torch::Tensor C, torch::Tensor D);"
)


class ModelNew(nn.Module):
    def __init__(self, d_model, d_state=16, dt_rank=8):
        super().__init__()
        self.x_proj = nn.Linear(d_model, dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(dt_rank, d_model)
        self.A_log = nn.Parameter(torch.randn(d_model, d_state))
        self.D = nn.Parameter(torch.ones(d_model))
        self.sizes = [dt_rank, d_state, d_state]
        self.op = load_inline("selective_scan_op", cpp_sources=_decl, cuda_sources=_src,
                              functions=["selective_scan_fwd"])

    def forward(self, x):
        dt, B, C = self.x_proj(x).split(self.sizes, dim=-1)
        delta = self.dt_proj(dt).transpose(1, 2).contiguous()
        y = self.op.selective_scan_fwd(x.transpose(1, 2).contiguous(), delta, self.A_log,
                                       B.transpose(1, 2).contiguous(), C.transpose(1, 2).contiguous(), self.D)
        return y.transpose(1, 2)
