import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
src = "#include <torch/extension.h>\n__global__ void k(const float*g,const float*h,float*o,int n){int i=blockIdx.x*256+threadIdx.x; if(i<n){float z=1.f/(1.f+expf(-g[i])); o[i]=z*h[i]+(1.f-z)*tanhf(g[n+i]);}}\n" \
      "torch::Tensor cell(torch::Tensor g, torch::Tensor h){auto o=torch::empty_like(h);k<<<(h.numel()+255)/256,256>>>(g.data_ptr<float>(),h.data_ptr<float>(),o.data_ptr<float>(),h.numel());return o;}"
_ext = None
def ext():
    global _ext
    if _ext is None:
        _ext = load_inline('cellx', 'torch::Tensor cell(torch::Tensor g, torch::Tensor h);', src, functions=['cell'])
    return _ext

class ModelNew(nn.Module):
    def __init__(self, n_layers, size):
        super().__init__()
        self.proj = nn.ModuleList([nn.Linear(size, 2 * size) for _ in range(n_layers)])
    def forward(self, x):
        T = x.size(0)
        for p in self.proj:
            g = p(x)
            h = torch.zeros_like(x[0])
            ys = []
            for t in range(T):
                h = ext().cell(g[t], h)
                ys.append(h)
            x = torch.stack(ys)
        return x
