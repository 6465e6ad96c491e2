#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

// Fast-weight programmer (gated delta rule), one workgroup per head.
// Thread c holds column c of the fast weight matrix in registers.

template <int D>
class FastColumn {
public:
    __device__ FastColumn()
    {
#pragma unroll
        for (int i = 0; i < D; ++i) w_[i] = 0.f;
    }
    __device__ float read(const float* key) const
    {
        float s = 0.f;
#pragma unroll
        for (int i = 0; i < D; ++i) s = fmaf(w_[i], key[i], s);
        return s;
    }
    __device__ void forget(float a)
    {
#pragma unroll
        for (int i = 0; i < D; ++i) w_[i] *= a;
    }
    __device__ void write(const float* key, float amount)
    {
#pragma unroll
        for (int i = 0; i < D; ++i) w_[i] = fmaf(key[i], amount, w_[i]);
    }

private:
    float w_[D];
};

template <int D>
__global__ __launch_bounds__(D) void program(const __half* __restrict__ q,
                                             const __half* __restrict__ k,
                                             const __half* __restrict__ v,
                                             const float2* __restrict__ ab,
                                             __half* __restrict__ o, int T)
{
    __shared__ float key[D], query[D];
    const int c = threadIdx.x;
    const size_t head = (size_t)blockIdx.x * T;
    FastColumn<D> col;
    for (size_t i = head; i < head + T; ++i) {
        __syncthreads();
        key[c] = __half2float(k[i * D + c]);
        query[c] = __half2float(q[i * D + c]);
        const float2 g = ab[i];
        __syncthreads();
        col.forget(g.x);
        const float old = col.read(key);
        col.write(key, g.y * (__half2float(v[i * D + c]) - old));
        o[i * D + c] = __float2half(col.read(query));
    }
}

extern "C" int fast_weights(int D, const __half* q, const __half* k, const __half* v,
                            const float2* ab, __half* o, int heads, int T, hipStream_t s)
{
    switch (D) {
    case 32: program<32><<<dim3(heads), dim3(32), 0, s>>>(q, k, v, ab, o, T); return 0;
    case 64: program<64><<<dim3(heads), dim3(64), 0, s>>>(q, k, v, ab, o, T); return 0;
    default: return -1;
    }
}
