#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// A cluster of CTAs shares one sequence; CTA r owns units [r*UPC, (r+1)*UPC).
// Hidden vector replicated in every CTA's shared memory, two copies.

template <int CTAS, int UPC>
struct Replica {
    static constexpr int H = CTAS * UPC;
    float h[2][H];
    int phase;

    __device__ void reset()
    {
        for (int i = threadIdx.x; i < H; i += blockDim.x) h[0][i] = 0.f;
        if (threadIdx.x == 0) phase = 0;
    }
    __device__ const float* read() const { return h[phase]; }

    __device__ void publish(cg::cluster_group& cl, int unit, float v)
    {
        for (int r = 0; r < CTAS; ++r) {
            Replica* peer = cl.map_shared_rank(this, r);
            peer->h[phase ^ 1][unit] = v;
        }
    }
    __device__ void flip(cg::cluster_group& cl)
    {
        cl.sync();
        if (threadIdx.x == 0) phase ^= 1;
        __syncthreads();
    }
};

template <int CTAS, int UPC>
__global__ void cell_kernel(const float* __restrict__ pre, const float* __restrict__ U,
                            float* __restrict__ out, const int* __restrict__ lens, int Tmax)
{
    using R = Replica<CTAS, UPC>;
    __shared__ R rep;
    auto cl = cg::this_cluster();
    const int seq = blockIdx.x / CTAS;
    const int unit = cl.block_rank() * UPC + threadIdx.x;
    rep.reset();
    cl.sync();

    const float* x = pre + (size_t)seq * Tmax * R::H;
    float* y = out + (size_t)seq * Tmax * R::H;
    int t = lens[seq];
    while (t-- > 0) {                     // right to left
        const float* h = rep.read();
        float s = x[(size_t)t * R::H + unit];
#pragma unroll 8
        for (int k = 0; k < R::H; ++k) s = fmaf(U[(size_t)k * R::H + unit], h[k], s);
        s = s / (1.f + fabsf(s));         // softsign
        rep.publish(cl, unit, s);
        y[(size_t)t * R::H + unit] = s;
        rep.flip(cl);
    }
    cl.sync();
}

cudaError_t run_cell(const float* pre, const float* U, float* out, const int* lens,
                     int seqs, int Tmax, cudaStream_t st)
{
    constexpr int CTAS = 4, UPC = 128;
    cudaLaunchConfig_t cfg = {};
    cfg.gridDim = dim3(seqs * CTAS);
    cfg.blockDim = dim3(UPC);
    cfg.stream = st;
    cudaLaunchAttribute at[1];
    at[0].id = cudaLaunchAttributeClusterDimension;
    at[0].val.clusterDim.x = CTAS;
    at[0].val.clusterDim.y = 1;
    at[0].val.clusterDim.z = 1;
    cfg.attrs = at;
    cfg.numAttrs = 1;
    return cudaLaunchKernelEx(&cfg, cell_kernel<CTAS, UPC>, pre, U, out, lens, Tmax);
}
