#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_EXPORT_REPORTS("h_full")

namespace {

constexpr int k_batch = 10;
constexpr int k_steps = 512;
constexpr int k_input = 128;
constexpr int k_hidden = 256;
constexpr int k_layers = 6;
constexpr int k_out = 10;
constexpr int k_rows = k_batch * k_steps;   // rows of the input-side product, m = t * 10 + b
constexpr int k_cluster = 8;
constexpr int k_rec_threads = 256;
constexpr int k_state_bytes = 2048;         // one buffer: 256 units x 2 rows x (hi, lo) x 2 bytes
constexpr int k_half_bytes = k_state_bytes / 2;  // what the early, or the late, warps of the cluster send in a step
constexpr int k_gemm_threads = 256;
constexpr int k_stage_bytes = 65536;
constexpr int k_gemm_smem = 3 * k_stage_bytes;
constexpr float k_lo_scale = 2048.0f;
constexpr float k_lo_inverse = 1.0f / 2048.0f;
constexpr int k_ring = 8;
constexpr int k_ahead = 6;
constexpr int k_cell_first_block = 40;
constexpr int k_last_blocks = 104;          // 5 clusters of the recurrence, 64 blocks of reverse_cell

// ---------------------------------------------------------------- helpers

__device__ __forceinline__ uint32_t smem_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ uint32_t scale_exponent(float amax) {
  const uint32_t e = __float_as_uint(amax) >> 23;
  return min(max(e, 27u), 250u);
}

__device__ __forceinline__ uint32_t half2_bits(__half2 v) { return *reinterpret_cast<uint32_t*>(&v); }

__device__ __forceinline__ float2 bits_to_float2(uint32_t v) {
  return __half22float2(*reinterpret_cast<__half2*>(&v));
}

// a = hi + lo / 2048, both fp16
__device__ __forceinline__ void split4(float4 v, uint2& hi, uint2& lo) {
  const __half2 h01 = __floats2half2_rn(v.x, v.y);
  const __half2 h23 = __floats2half2_rn(v.z, v.w);
  const float2 f01 = __half22float2(h01);
  const float2 f23 = __half22float2(h23);
  const __half2 l01 = __floats2half2_rn((v.x - f01.x) * k_lo_scale, (v.y - f01.y) * k_lo_scale);
  const __half2 l23 = __floats2half2_rn((v.z - f23.x) * k_lo_scale, (v.w - f23.y) * k_lo_scale);
  hi.x = half2_bits(h01);
  hi.y = half2_bits(h23);
  lo.x = half2_bits(l01);
  lo.y = half2_bits(l23);
}

__device__ __forceinline__ float tanh_small(float a) {  // 0 <= a < 0.55
  const float s = a * a;
  float p = 1.57394409e-2f;
  p = fmaf(p, s, -5.23039624e-2f);
  p = fmaf(p, s, 1.33152977e-1f);
  p = fmaf(p, s, -3.33327681e-1f);
  p = p * s;
  return fmaf(p, a, a);
}

__device__ __forceinline__ float tanh_accurate(float x) {
  const float a = fabsf(x);
  const float e = expf(2.0f * a);
  const float d = __fdividef(1.0f, 1.0f + e);
  const float large = fmaf(-2.0f, d, 1.0f);
  const float small = tanh_small(a);
  return copysignf(a < 0.55f ? small : large, x);
}

__device__ __forceinline__ float sigmoid_accurate(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }

// sigmoid, or tanh where is_tanh, without divergence
__device__ __forceinline__ float gate_activation(float v, bool is_tanh) {
  const float a = fabsf(v);
  const float e = expf(is_tanh ? 2.0f * a : -v);
  const float d = __fdividef(1.0f, 1.0f + e);
  const float large = fmaf(-2.0f, d, 1.0f);
  const float small = tanh_small(a);
  const float th = copysignf(a < 0.55f ? small : large, v);
  return is_tanh ? th : d;
}

// ---------------------------------------------------------------- packing of weights (kgen_prepare)

// One warp per output column n = n_base + unit * 4 + gate.
__global__ void __launch_bounds__(256)
    pack_ih_kernel(const float* __restrict__ w, const float* __restrict__ b_ih, const float* __restrict__ b_hh,
                   __half* __restrict__ hi, __half* __restrict__ lo, float* __restrict__ scale,
                   float* __restrict__ bias, int k_size, int n_base) {
  const int local = blockIdx.x * 8 + (threadIdx.x >> 5);
  const int lane = threadIdx.x & 31;
  if (local >= 4 * k_hidden) return;
  const int unit = local >> 2;
  const int gate = local & 3;
  const int row = gate * k_hidden + unit;
  const float* src = w + static_cast<int64_t>(row) * k_size;
  float amax = 0.0f;
  for (int k = lane; k < k_size; k += 32) amax = fmaxf(amax, fabsf(src[k]));
  for (int o = 16; o > 0; o >>= 1) amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, o));
  const uint32_t e = scale_exponent(amax);
  const float down = __uint_as_float((254u - e) << 23);
  const int n = n_base + local;
  for (int k = lane * 4; k < k_size; k += 128) {
    float4 v = *reinterpret_cast<const float4*>(src + k);
    v.x *= down;
    v.y *= down;
    v.z *= down;
    v.w *= down;
    uint2 h, l;
    split4(v, h, l);
    *reinterpret_cast<uint2*>(hi + static_cast<int64_t>(n) * k_size + k) = h;
    *reinterpret_cast<uint2*>(lo + static_cast<int64_t>(n) * k_size + k) = l;
  }
  if (lane == 0) {
    scale[n] = __uint_as_float(e << 23);
    bias[n] = b_ih[row] + b_hh[row];
  }
}

// Recurrent weights as A fragments of m16n8k16, split in fp16 hi + lo / 2048, every gate row scaled by a power of two.
// Block = (rank, warp) of the recurrence: units rank * 32 + warp * 4 + u, u = 0..3, all four gates.
// mma row r = u * 2 + pg is gate (pg ? g : i) of unit u, mma row r + 8 is gate (pg ? o : f).
// k-tile kt, lane quarter kq: the four k are kt * 16 + kq * 4 ... + 3 (first two: a0, a1; last two: a2, a3).
// packed[(block * 32 + kt * 2 + part) * 32 + lane]
__global__ void __launch_bounds__(256)
    pack_hh_kernel(const float* __restrict__ w, uint4* __restrict__ packed, float* __restrict__ scale) {
  __shared__ uint32_t exponent[16];
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int unit0 = static_cast<int>(blockIdx.x) * 4;  // (rank * 8 + warp) * 4
  for (int j = 0; j < 2; ++j) {
    const int local = warp * 2 + j;
    const int u = local >> 2;
    const int gate = local & 3;
    const float* src = w + (gate * k_hidden + unit0 + u) * k_hidden;
    float amax = 0.0f;
    for (int k = lane; k < k_hidden; k += 32) amax = fmaxf(amax, fabsf(src[k]));
    for (int o = 16; o > 0; o >>= 1) amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, o));
    if (lane == 0) {
      const uint32_t e = scale_exponent(amax);
      exponent[local] = e;
      scale[(unit0 + u) * 4 + gate] = __uint_as_float(e << 23);
    }
  }
  __syncthreads();
  for (int kt = warp; kt < 16; kt += 8) {
    const int r = lane >> 2;
    const int kq = lane & 3;
    const int u = r >> 1;
    const int pg = r & 1;
    const int gate_a = pg ? 2 : 0;
    const int gate_b = pg ? 3 : 1;
    const int k = kt * 16 + kq * 4;
    const float down_a = __uint_as_float((254u - exponent[u * 4 + gate_a]) << 23);
    const float down_b = __uint_as_float((254u - exponent[u * 4 + gate_b]) << 23);
    float4 va = *reinterpret_cast<const float4*>(w + (gate_a * k_hidden + unit0 + u) * k_hidden + k);
    float4 vb = *reinterpret_cast<const float4*>(w + (gate_b * k_hidden + unit0 + u) * k_hidden + k);
    va.x *= down_a;
    va.y *= down_a;
    va.z *= down_a;
    va.w *= down_a;
    vb.x *= down_b;
    vb.y *= down_b;
    vb.z *= down_b;
    vb.w *= down_b;
    uint2 ha, la, hb, lb;
    split4(va, ha, la);
    split4(vb, hb, lb);
    const int at = (static_cast<int>(blockIdx.x) * 32 + kt * 2) * 32 + lane;
    packed[at] = make_uint4(ha.x, hb.x, ha.y, hb.y);
    packed[at + 32] = make_uint4(la.x, lb.x, la.y, lb.y);
  }
}

// ---------------------------------------------------------------- x to split form, rows m = t * 10 + b

__global__ void __launch_bounds__(256)
    split_x_kernel(const float* __restrict__ x, __half* __restrict__ hi, __half* __restrict__ lo,
                   float* __restrict__ row_scale) {
  const int m = blockIdx.x * 8 + (threadIdx.x >> 5);
  const int lane = threadIdx.x & 31;
  if (m >= k_rows) return;
  const int t = m / k_batch;
  const int b = m - t * k_batch;
  float4 v = *reinterpret_cast<const float4*>(x + (b * k_steps + t) * k_input + lane * 4);
  float amax = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, o));
  const uint32_t e = scale_exponent(amax);
  const float down = __uint_as_float((254u - e) << 23);
  v.x *= down;
  v.y *= down;
  v.z *= down;
  v.w *= down;
  uint2 h, l;
  split4(v, h, l);
  *reinterpret_cast<uint2*>(hi + m * k_input + lane * 4) = h;
  *reinterpret_cast<uint2*>(lo + m * k_input + lane * 4) = l;
  if (lane == 0) row_scale[m] = __uint_as_float(e << 23);
}

// ---------------------------------------------------------------- input-side gates

__device__ __forceinline__ void cp_async16(uint32_t dst, const void* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_async4(uint32_t dst, const void* src) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ void ldmatrix4(uint32_t& r0, uint32_t& r1, uint32_t& r2, uint32_t& r3, uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void mma_zero(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const float z = 0.0f;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(z), "f"(z), "f"(z), "f"(z));
}

__device__ __forceinline__ void mma_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// out[m][n] = row_scale[m] * col_scale[n] * sum_k A[m][k] * B[n][k] + bias[n]
// Persistent blocks, tiles of 128 x 128, chunks of 64 of K, three stages.
template <int K, bool SCALED>
__global__ void __launch_bounds__(k_gemm_threads, 1)
    gate_gemm_kernel(const __half* __restrict__ a_hi, const __half* __restrict__ a_lo, const __half* __restrict__ b_hi,
                     const __half* __restrict__ b_lo, const float* __restrict__ row_scale,
                     const float* __restrict__ col_scale, const float* __restrict__ bias, float* __restrict__ out,
                     int n_shift, int tiles) {
  extern __shared__ __align__(1024) unsigned char gemm_smem[];
  constexpr int KC = K / 64;
  const uint32_t base = smem_address(gemm_smem);
  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int wm = warp >> 2;
  const int wn = warp & 3;
  const int n_total = 128 << n_shift;
  const int n_mask = (1 << n_shift) - 1;

  const int first = static_cast<int>(blockIdx.x);
  const int stride = static_cast<int>(gridDim.x);
  if (first >= tiles) return;
  const int mine = (tiles - first + stride - 1) / stride;
  const int total = mine * KC;

  // loads: 8 chunks of 16 bytes a row, 32 rows at once
  const int load_c = tid & 7;
  const int load_r = tid >> 3;
  const uint32_t load_dst = base + load_r * 128 + ((load_c ^ (load_r & 7)) << 4);

  auto load = [&](int q, int stage) {
    if (q < total) {
      const int tile = first + (q / KC) * stride;
      const int kc = q % KC;
      const int m0 = (tile >> n_shift) * 128;
      const int n0 = (tile & n_mask) * 128;
      const uint32_t dst0 = load_dst + stage * k_stage_bytes;
      const int a0 = (m0 + load_r) * K + kc * 64 + load_c * 8;
      const int b0 = (n0 + load_r) * K + kc * 64 + load_c * 8;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t dst = dst0 + i * 32 * 128;
        cp_async16(dst, a_hi + a0 + i * 32 * K);
        cp_async16(dst + 16384, a_lo + a0 + i * 32 * K);
        cp_async16(dst + 32768, b_hi + b0 + i * 32 * K);
        cp_async16(dst + 49152, b_lo + b0 + i * 32 * K);
      }
    }
    cp_async_commit();
  };

  float sum[4][4][4];
  float cross[4][4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        sum[i][j][r] = 0.0f;
        cross[i][j][r] = 0.0f;
      }

  const int r7 = lane & 7;
  const uint32_t a_row = (wm * 64 + (lane & 15)) * 128;
  const uint32_t a_xor = static_cast<uint32_t>(((lane >> 4) ^ r7) << 4);
  const uint32_t b_row = 32768 + (wn * 32 + (lane >> 4) * 8 + r7) * 128;
  const uint32_t b_xor = static_cast<uint32_t>((((lane >> 3) & 1) ^ r7) << 4);

  load(0, 0);
  load(1, 1);
  int stage = 0;
  int next_stage = 2;

#pragma unroll 1
  for (int q = 0; q < total; ++q) {
    cp_async_wait<1>();
    __syncthreads();
    load(q + 2, next_stage);
    const uint32_t st = base + stage * k_stage_bytes;

#pragma unroll
    for (int ks = 0; ks < 4; ++ks) {
      uint32_t ah[4][4], al[4][4], bh[4][2], bl[4][2];
      const uint32_t ax = a_xor ^ (ks << 5);
      const uint32_t bx = b_xor ^ (ks << 5);
#pragma unroll
      for (int nj = 0; nj < 2; ++nj) {
        const uint32_t address = st + b_row + nj * 16 * 128 + bx;
        ldmatrix4(bh[2 * nj][0], bh[2 * nj][1], bh[2 * nj + 1][0], bh[2 * nj + 1][1], address);
        ldmatrix4(bl[2 * nj][0], bl[2 * nj][1], bl[2 * nj + 1][0], bl[2 * nj + 1][1], address + 16384);
      }
#pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        const uint32_t address = st + a_row + mi * 16 * 128 + ax;
        ldmatrix4(ah[mi][0], ah[mi][1], ah[mi][2], ah[mi][3], address);
        ldmatrix4(al[mi][0], al[mi][1], al[mi][2], al[mi][3], address + 16384);
      }
#pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        float part[4][4];
#pragma unroll
        for (int ni = 0; ni < 4; ++ni) mma_zero(part[ni], ah[mi], bh[ni]);
#pragma unroll
        for (int ni = 0; ni < 4; ++ni) mma_add(cross[mi][ni], al[mi], bh[ni]);
#pragma unroll
        for (int ni = 0; ni < 4; ++ni) mma_add(cross[mi][ni], ah[mi], bl[ni]);
#pragma unroll
        for (int ni = 0; ni < 4; ++ni)
#pragma unroll
          for (int r = 0; r < 4; ++r) sum[mi][ni][r] += part[ni][r];
      }
    }

    if (q % KC == KC - 1) {
      const int tile = first + (q / KC) * stride;
      const int m0 = (tile >> n_shift) * 128 + wm * 64 + (lane >> 2);
      const int n0 = (tile & n_mask) * 128 + wn * 32 + (lane & 3) * 2;
      float2 cs[4], bs[4];
#pragma unroll
      for (int ni = 0; ni < 4; ++ni) {
        cs[ni] = *reinterpret_cast<const float2*>(col_scale + n0 + ni * 8);
        bs[ni] = *reinterpret_cast<const float2*>(bias + n0 + ni * 8);
      }
#pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        const int row = m0 + mi * 16;
        float rs0 = 1.0f;
        float rs1 = 1.0f;
        if (SCALED) {
          rs0 = row_scale[row];
          rs1 = row_scale[row + 8];
        }
#pragma unroll
        for (int ni = 0; ni < 4; ++ni) {
          float v[4];
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            v[r] = fmaf(cross[mi][ni][r], k_lo_inverse, sum[mi][ni][r]);
            sum[mi][ni][r] = 0.0f;
            cross[mi][ni][r] = 0.0f;
          }
          float2 o0, o1;
          o0.x = fmaf(v[0] * rs0, cs[ni].x, bs[ni].x);
          o0.y = fmaf(v[1] * rs0, cs[ni].y, bs[ni].y);
          o1.x = fmaf(v[2] * rs1, cs[ni].x, bs[ni].x);
          o1.y = fmaf(v[3] * rs1, cs[ni].y, bs[ni].y);
          *reinterpret_cast<float2*>(out + row * n_total + n0 + ni * 8) = o0;
          *reinterpret_cast<float2*>(out + (row + 8) * n_total + n0 + ni * 8) = o1;
        }
      }
    }
    stage = stage == 2 ? 0 : stage + 1;
    next_stage = next_stage == 2 ? 0 : next_stage + 1;
  }
  cp_async_wait<0>();
}

// ---------------------------------------------------------------- recurrence

__device__ __forceinline__ bool mbar_try_wait(uint32_t bar, uint32_t parity) {
  uint32_t ok;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(ok)
      : "r"(bar), "r"(parity)
      : "memory");
  return ok != 0;
}

__device__ __forceinline__ void mbar_wait(uint32_t bar, uint32_t parity, uint64_t* report) {
  if (mbar_try_wait(bar, parity)) return;
  const long long start = clock64();
  while (!mbar_try_wait(bar, parity)) {
    if (clock64() - start > 2000000000ll) {
      KGEN_REPORT(report, 1);
      __trap();
    }
  }
}

__device__ __forceinline__ void mbar_expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// order of the two warps of one scheduler: the early warp arrives, the late warp waits
__device__ __forceinline__ void pair_arrive(int id) { asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory"); }
__device__ __forceinline__ void pair_wait(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }

__device__ __forceinline__ void load_weight(uint32_t (&v)[4], const uint4* p) {
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(p));
}

struct CellArgs {
  const float* w_ih;
  const float* w_hh;
  const float* b_ih;
  const float* b_hh;
};

// The only step of the last layer's reverse direction that is needed: t = 511, from h0 and c0.
// One warp per unit and half of the batch.
__device__ __forceinline__ void reverse_cell(int index, int lane, const CellArgs& cell, const __half* a_hi,
                                             const __half* a_lo, const float* h0, const float* c0, float* h_last) {
  if (index >= 2 * k_hidden) return;
  const int unit = index >> 1;
  const int row0 = (index & 1) * 5;
  float acc[4][5];
#pragma unroll
  for (int g = 0; g < 4; ++g)
#pragma unroll
    for (int r = 0; r < 5; ++r) acc[g][r] = 0.0f;

#pragma unroll 1
  for (int j = 0; j < 4; ++j) {
    const int k = j * 128 + lane * 4;
    float4 w[4];
#pragma unroll
    for (int g = 0; g < 4; ++g)
      w[g] = *reinterpret_cast<const float4*>(cell.w_ih + (g * k_hidden + unit) * (2 * k_hidden) + k);
#pragma unroll
    for (int r = 0; r < 5; ++r) {
      const int m = (k_steps - 1) * k_batch + row0 + r;
      const uint2 hi = *reinterpret_cast<const uint2*>(a_hi + m * (2 * k_hidden) + k);
      const uint2 lo = *reinterpret_cast<const uint2*>(a_lo + m * (2 * k_hidden) + k);
      const float2 h01 = bits_to_float2(hi.x);
      const float2 h23 = bits_to_float2(hi.y);
      const float2 l01 = bits_to_float2(lo.x);
      const float2 l23 = bits_to_float2(lo.y);
      const float ax = fmaf(l01.x, k_lo_inverse, h01.x);
      const float ay = fmaf(l01.y, k_lo_inverse, h01.y);
      const float az = fmaf(l23.x, k_lo_inverse, h23.x);
      const float aw = fmaf(l23.y, k_lo_inverse, h23.y);
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        acc[g][r] = fmaf(w[g].x, ax, acc[g][r]);
        acc[g][r] = fmaf(w[g].y, ay, acc[g][r]);
        acc[g][r] = fmaf(w[g].z, az, acc[g][r]);
        acc[g][r] = fmaf(w[g].w, aw, acc[g][r]);
      }
    }
  }
#pragma unroll 1
  for (int j = 0; j < 2; ++j) {
    const int k = j * 128 + lane * 4;
    float4 w[4];
#pragma unroll
    for (int g = 0; g < 4; ++g)
      w[g] = *reinterpret_cast<const float4*>(cell.w_hh + (g * k_hidden + unit) * k_hidden + k);
#pragma unroll
    for (int r = 0; r < 5; ++r) {
      const float4 a = *reinterpret_cast<const float4*>(h0 + (k_batch + row0 + r) * k_hidden + k);
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        acc[g][r] = fmaf(w[g].x, a.x, acc[g][r]);
        acc[g][r] = fmaf(w[g].y, a.y, acc[g][r]);
        acc[g][r] = fmaf(w[g].z, a.z, acc[g][r]);
        acc[g][r] = fmaf(w[g].w, a.w, acc[g][r]);
      }
    }
  }
  float vi = 0.0f, vf = 0.0f, vg = 0.0f, vo = 0.0f;
#pragma unroll
  for (int r = 0; r < 5; ++r) {
#pragma unroll
    for (int g = 0; g < 4; ++g) {
#pragma unroll
      for (int o = 16; o > 0; o >>= 1) acc[g][r] += __shfl_xor_sync(0xffffffffu, acc[g][r], o);
    }
    if (lane == r) {
      vi = acc[0][r];
      vf = acc[1][r];
      vg = acc[2][r];
      vo = acc[3][r];
    }
  }
  if (lane < 5) {
    const int row = row0 + lane;
    vi += cell.b_ih[unit] + cell.b_hh[unit];
    vf += cell.b_ih[k_hidden + unit] + cell.b_hh[k_hidden + unit];
    vg += cell.b_ih[2 * k_hidden + unit] + cell.b_hh[2 * k_hidden + unit];
    vo += cell.b_ih[3 * k_hidden + unit] + cell.b_hh[3 * k_hidden + unit];
    const float c = fmaf(sigmoid_accurate(vf), c0[(k_batch + row) * k_hidden + unit],
                         sigmoid_accurate(vi) * tanh_accurate(vg));
    h_last[row * (2 * k_hidden) + k_hidden + unit] = sigmoid_accurate(vo) * tanh_accurate(c);
  }
}

// A cluster of 8 blocks for one direction and two rows of the batch. Warp w of block `rank` owns units
// rank * 32 + w * 4 + u, u = 0..3, with all four gates and the whole K: one m16 tile, weights in registers.
//
// Lane map: u = lane >> 3, pg = (lane >> 2) & 1, row = lane & 1, dup = (lane >> 1) & 1; the lane's gate is pg * 2 + dup.
// Columns of B: n & 3 = row * 2 + part (part 0 = hi, 1 = lo of the state), columns 4..7 repeat 0..3.
//
// State buffer (2048 bytes): [unit / 4][row][part][unit & 3] halves, so that a warp's new state is 32 bytes in one
// place, and the B operand of one k-tile is 128 contiguous bytes.
//
// Two halves of K: warps 0..3 of every block are early, warps 4..7 late. The units of the early warps are the even
// k-tiles, those of the late warps the odd ones, and each half has its own barrier in each block: full[half * 2 + buf].
// Warps w and w + 4 share a scheduler and its tensor core, whose rate bounds the product. The late warp starts its
// second half only when the early warp has issued its own; so the early units are ready sooner, and all products with
// them run while the late units are still in their gates or on their way.
//
// h_buf[t & 1] holds the state that step t reads. A warp sends h(t+2) into buffer t & 1 only after it had h(t+1) of all
// 64 warps of the cluster (both barriers), and each of these sent h(t+1) only after its products had consumed h(t), of
// both halves: nothing is overwritten before its last read. The same chain keeps a barrier at most one phase ahead of
// any waiter: the phase of h(t+2), early or late, needs bytes of warps that had h(t+1) of every warp, also of one that
// still waits for h(t). A phase cannot complete before its thread (0 or 128) has armed it (the pending arrival), even if
// bytes arrive before that, and bytes of h(t+2) cannot arrive before the phase of h(t) has completed. The pair barrier
// cannot be met twice by the early warp: its next arrival stands behind h(t+1) of the late warp, sent after the wait.
template <bool LAST>
__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(k_rec_threads, 1)
    recurrence_kernel(const uint4* __restrict__ w_packed, const float* __restrict__ w_scale,
                      const float* __restrict__ gx, const float* __restrict__ h0, const float* __restrict__ c0,
                      __half* a_hi, __half* a_lo, float* h_last, uint64_t* report, CellArgs cell) {
  __shared__ __align__(128) unsigned char h_buf[2 * k_state_bytes];
  __shared__ __align__(16) float ring[k_ring * k_rec_threads];
  __shared__ __align__(8) uint64_t full[4];

  const int tid = static_cast<int>(threadIdx.x);
  const int lane = tid & 31;
  const int warp = tid >> 5;

  if (LAST && blockIdx.x >= k_cell_first_block) {  // whole clusters
    reverse_cell((static_cast<int>(blockIdx.x) - k_cell_first_block) * (k_rec_threads / 32) + warp, lane, cell, a_hi,
                 a_lo, h0, c0, h_last);
    return;
  }

  constexpr int N = LAST ? 4 * k_hidden : 8 * k_hidden;
  const int rank = static_cast<int>(blockIdx.x) & 7;
  const int cid = static_cast<int>(blockIdx.x) >> 3;
  const int dir = LAST ? 0 : cid / 5;
  const int group = LAST ? cid : cid - dir * 5;
  const int row0 = group * 2;

  const int u = lane >> 3;
  const int pg = (lane >> 2) & 1;
  const int row = lane & 1;
  const int dup = (lane >> 1) & 1;
  const int gate = pg * 2 + dup;
  const bool is_tanh = gate == 2;
  const int unit = rank * 32 + warp * 4 + u;
  const bool is_late = warp >= 4;
  const int pair_id = 1 + (warp & 3);

  // input-side gates: one float a lane and step, through a private slot of the ring
  const float* gx_lane = gx + (row0 + row) * N + dir * (4 * k_hidden) + unit * 4 + gate;
  const uint32_t ring_lane = smem_address(ring) + tid * 4;
  auto prefetch = [&](int t) {
    if (t < k_steps) {
      const int tt = dir ? k_steps - 1 - t : t;
      cp_async4(ring_lane + (t & (k_ring - 1)) * (k_rec_threads * 4), gx_lane + tt * (k_batch * N));
    }
    cp_async_commit();
  };
#pragma unroll
  for (int p = 0; p < k_ahead; ++p) prefetch(p);

  // recurrent weights, in registers for the whole sequence
  uint32_t wt[32][4];
  {
    const uint4* src = w_packed + dir * 65536 + (rank * 8 + warp) * 1024 + lane;
#pragma unroll
    for (int i = 0; i < 32; ++i) load_weight(wt[i], src + i * 32);
  }

  // initial state, scaled by a power of two for each row
  const float cs = w_scale[dir * (4 * k_hidden) + unit * 4 + gate];
  float scale;
  {
    const float* h_row = h0 + (dir * k_batch + row0) * k_hidden;
    float m0 = 0.0f;
    float m1 = 0.0f;
#pragma unroll 1
    for (int k = lane; k < k_hidden; k += 32) {
      m0 = fmaxf(m0, fabsf(h_row[k]));
      m1 = fmaxf(m1, fabsf(h_row[k_hidden + k]));
    }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      m0 = fmaxf(m0, __shfl_xor_sync(0xffffffffu, m0, o));
      m1 = fmaxf(m1, __shfl_xor_sync(0xffffffffu, m1, o));
    }
    const uint32_t e0 = scale_exponent(m0);
    const uint32_t e1 = scale_exponent(m1);
    const float v0 = h_row[tid] * __uint_as_float((254u - e0) << 23);
    const float v1 = h_row[k_hidden + tid] * __uint_as_float((254u - e1) << 23);
    __half* dst = reinterpret_cast<__half*>(h_buf) + (tid >> 2) * 16 + (tid & 3);
    const __half h_a = __float2half_rn(v0);
    const __half h_b = __float2half_rn(v1);
    dst[0] = h_a;
    dst[4] = __float2half_rn((v0 - __half2float(h_a)) * k_lo_scale);
    dst[8] = h_b;
    dst[12] = __float2half_rn((v1 - __half2float(h_b)) * k_lo_scale);
    scale = cs * __uint_as_float((row ? e1 : e0) << 23);
  }
  float c_now = c0[(dir * k_batch + row0 + row) * k_hidden + unit];

  const uint32_t full_base = smem_address(full);
  if (tid < 4) {
    const uint32_t bar = full_base + tid * 8;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(1) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    mbar_expect(bar, k_half_bytes);
  }

  // lanes 0..15: 16 bytes (one row, 4 units, hi and lo) to block lane >> 1
  uint32_t remote_h, remote_bar;
  {
    const int dest = (lane >> 1) & 7;
    const uint32_t local_h = smem_address(h_buf) + rank * 256 + warp * 32 + row * 16;
    const uint32_t local_bar = full_base + (warp >> 2) * 16;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_h) : "r"(local_h), "r"(dest));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_bar) : "r"(local_bar), "r"(dest));
  }

  // lanes 16..19: 8 bytes (one row, one part) for the next layer
  __half* store_lane =
      (dup ? a_lo : a_hi) + (row0 + row) * (2 * k_hidden) + dir * k_hidden + rank * 32 + warp * 4;

  // this lane's place in the B operand: column (lane >> 2) & 3, k quarter lane & 3
  const unsigned char* h_lane = h_buf + (lane & 3) * 32 + ((lane >> 2) & 3) * 8;
  const int quad = lane & 25;

  __syncthreads();
  cluster_barrier();

#pragma unroll 1
  for (int t = 0; t < k_steps; ++t) {
    const int buf = t & 1;

    cp_async_wait<k_ahead - 1>();
    const float g_in = ring[(t & (k_ring - 1)) * k_rec_threads + tid];
    prefetch(t + k_ahead);

    // product: 16 k-tiles, weights hi and lo, eight independent chains of 64 of K; even k-tiles first, then odd ones
    const unsigned char* hp = h_lane + buf * k_state_bytes;
    const uint32_t full_now = full_base + buf * 8;
    const uint32_t parity = static_cast<uint32_t>(((t - 1) >> 1) & 1);
    float hi[4][4];
    float lo[4][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (t > 0) {
        mbar_wait(full_now + half * 16, parity, report);
        __syncwarp();
      }
      uint32_t hb[8][2];
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int kt = q * 4 + j * 2 + half;
          const uint2 v = *reinterpret_cast<const uint2*>(hp + kt * 128);
          hb[j * 4 + q][0] = v.x;
          hb[j * 4 + q][1] = v.y;
        }
      if (half == 1) {
        if (is_late) pair_wait(pair_id);
      }
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int kt = q * 4 + j * 2 + half;
          if (half == 0 && j == 0) {
            mma_zero(hi[q], wt[2 * kt], hb[j * 4 + q]);
            mma_zero(lo[q], wt[2 * kt + 1], hb[j * 4 + q]);
          } else {
            mma_add(hi[q], wt[2 * kt], hb[j * 4 + q]);
            mma_add(lo[q], wt[2 * kt + 1], hb[j * 4 + q]);
          }
          // four products before the end: about the time that the other warp takes to wake
          if (half == 1 && j == 1 && q == 1) {
            if (!is_late) pair_arrive(pair_id);
          }
        }
    }

    const float main0 = (hi[0][0] + hi[1][0]) + (hi[2][0] + hi[3][0]);
    const float main1 = (hi[0][2] + hi[1][2]) + (hi[2][2] + hi[3][2]);
    const float cross0 = ((hi[0][1] + hi[1][1]) + (hi[2][1] + hi[3][1])) + ((lo[0][0] + lo[1][0]) + (lo[2][0] + lo[3][0]));
    const float cross1 = ((hi[0][3] + hi[1][3]) + (hi[2][3] + hi[3][3])) + ((lo[0][2] + lo[1][2]) + (lo[2][2] + lo[3][2]));
    const float product = fmaf(dup ? cross1 : cross0, k_lo_inverse, dup ? main1 : main0);
    const float v = fmaf(product, scale, g_in);

    // gates, cell, state
    const float act = gate_activation(v, is_tanh);
    const float gi = __shfl_sync(0xffffffffu, act, quad);
    const float gf = __shfl_sync(0xffffffffu, act, quad | 2);
    const float gg = __shfl_sync(0xffffffffu, act, quad | 4);
    const float go = __shfl_sync(0xffffffffu, act, quad | 6);
    c_now = fmaf(gf, c_now, gi * gg);
    const float h = go * tanh_accurate(c_now);

    // hi in the low half, lo in the high half; then the four units of this lane's row
    const __half h_hi = __float2half_rn(h);
    const __half h_lo = __float2half_rn((h - __half2float(h_hi)) * k_lo_scale);
    const uint32_t word = half2_bits(__halves2half2(h_hi, h_lo));
    const uint32_t w0 = __shfl_sync(0xffffffffu, word, lane & 7);
    const uint32_t w1 = __shfl_sync(0xffffffffu, word, (lane & 7) | 8);
    const uint32_t w2 = __shfl_sync(0xffffffffu, word, (lane & 7) | 16);
    const uint32_t w3 = __shfl_sync(0xffffffffu, word, (lane & 7) | 24);
    const uint32_t q0 = __byte_perm(w0, w1, 0x5410);
    const uint32_t q1 = __byte_perm(w2, w3, 0x5410);
    const uint32_t q2 = __byte_perm(w0, w1, 0x7632);
    const uint32_t q3 = __byte_perm(w2, w3, 0x7632);

    if (lane < 16 && t + 1 < k_steps) {
      const int next = buf ^ 1;
      asm volatile(
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
              remote_h + next * k_state_bytes),
          "r"(q0), "r"(q1), "r"(q2), "r"(q3), "r"(remote_bar + next * 8)
          : "memory");
    }
    __syncwarp();

    // off the critical path: thread 0 arms the early half for h(t + 2), thread 128 the late half
    if (t > 0 && (tid & 127) == 0) mbar_expect(full_now + (tid >> 7) * 16, k_half_bytes);
    if (LAST) {
      if (t == k_steps - 1 && (lane & 6) == 0) h_last[(row0 + row) * (2 * k_hidden) + unit] = h;
    } else {
      if ((lane & 28) == 16) {
        const int tt = dir ? k_steps - 1 - t : t;
        *reinterpret_cast<uint2*>(store_lane + tt * (k_batch * 2 * k_hidden)) =
            dup ? make_uint2(q2, q3) : make_uint2(q0, q1);
      }
    }
    __syncwarp();
    scale = cs;  // |h| <= 1 from here on
  }
  cp_async_wait<0>();
  __syncwarp();
  cluster_barrier();
}

// ---------------------------------------------------------------- last linear layer

__global__ void __launch_bounds__(128)
    fc_kernel(const float* __restrict__ h, const float* __restrict__ w, const float* __restrict__ bias,
              float* __restrict__ out) {
  const int index = blockIdx.x * 4 + (threadIdx.x >> 5);
  const int lane = threadIdx.x & 31;
  if (index >= k_batch * k_out) return;
  const int row = index / k_out;
  const int column = index - row * k_out;
  float s = 0.0f;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float4 a = *reinterpret_cast<const float4*>(h + row * 512 + j * 128 + lane * 4);
    const float4 b = *reinterpret_cast<const float4*>(w + column * 512 + j * 128 + lane * 4);
    s = fmaf(a.x, b.x, s);
    s = fmaf(a.y, b.y, s);
    s = fmaf(a.z, b.z, s);
    s = fmaf(a.w, b.w, s);
  }
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (lane == 0) out[index] = s + bias[column];
}

// ---------------------------------------------------------------- host

constexpr int64_t k_w_layer = 2048ll * 512;  // halves of one layer's stacked input weights, hi or lo

struct State {
  int multiprocessors = 0;
  unsigned char* memory = nullptr;
  __half* w_hi = nullptr;
  __half* w_lo = nullptr;
  float* col_scale = nullptr;
  float* bias = nullptr;
  uint4* w_hh = nullptr;
  float* hh_scale = nullptr;
};

// workspace
constexpr uint64_t k_off_gx = 0;
constexpr uint64_t k_off_hi = k_off_gx + static_cast<uint64_t>(k_rows) * 2048 * 4;
constexpr uint64_t k_off_lo = k_off_hi + static_cast<uint64_t>(k_rows) * 512 * 2;
constexpr uint64_t k_off_rs = k_off_lo + static_cast<uint64_t>(k_rows) * 512 * 2;
constexpr uint64_t k_off_h = k_off_rs + static_cast<uint64_t>(k_rows) * 4;
constexpr uint64_t k_workspace = k_off_h + static_cast<uint64_t>(k_batch) * 512 * 4;

bool is_matrix(const kgen_tensor* t, int64_t rows, int64_t columns) {
  return kgen_is(t, KGEN_FLOAT32, 2) && kgen_dim(t, 0) == rows && kgen_dim(t, 1) == columns;
}
bool is_vector(const kgen_tensor* t, int64_t length) {
  return kgen_is(t, KGEN_FLOAT32, 1) && kgen_dim(t, 0) == length;
}
bool is_cube(const kgen_tensor* t, int64_t a, int64_t b, int64_t c) {
  return kgen_is(t, KGEN_FLOAT32, 3) && kgen_dim(t, 0) == a && kgen_dim(t, 1) == b && kgen_dim(t, 2) == c;
}

const kgen_tensor* find_parameter(const kgen_tensor_list* list, const char* kind, int layer, int dir) {
  char name[96];
  std::snprintf(name, sizeof(name), "lstm.%s_l%d%s", kind, layer, dir ? "_reverse" : "");
  return kgen_find(list, name);
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (!is_cube(kgen_find(&args->inputs, "x"), k_batch, k_steps, k_input))
    return kgen_fail(&args->error, "x must be contiguous float32 (10, 512, 128)");
  if (!is_cube(kgen_find(&args->inputs, "h0"), 2 * k_layers, k_batch, k_hidden) ||
      !is_cube(kgen_find(&args->inputs, "c0"), 2 * k_layers, k_batch, k_hidden))
    return kgen_fail(&args->error, "h0 and c0 must be contiguous float32 (12, 10, 256)");
  if (!is_matrix(kgen_find(&args->parameters, "fc.weight"), k_out, 2 * k_hidden) ||
      !is_vector(kgen_find(&args->parameters, "fc.bias"), k_out))
    return kgen_fail(&args->error, "fc must be (10, 512)");
  for (int layer = 0; layer < k_layers; ++layer) {
    const int k_size = layer == 0 ? k_input : 2 * k_hidden;
    for (int dir = 0; dir < 2; ++dir) {
      if (!is_matrix(find_parameter(&args->parameters, "weight_ih", layer, dir), 4 * k_hidden, k_size) ||
          !is_matrix(find_parameter(&args->parameters, "weight_hh", layer, dir), 4 * k_hidden, k_hidden) ||
          !is_vector(find_parameter(&args->parameters, "bias_ih", layer, dir), 4 * k_hidden) ||
          !is_vector(find_parameter(&args->parameters, "bias_hh", layer, dir), 4 * k_hidden))
        return kgen_fail(&args->error, "a weight or bias of the LSTM has another shape than expected");
    }
  }

  int device = 0;
  int multiprocessors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return kgen_fail(&args->error, "the device does not tell its multiprocessors");

  if (cudaFuncSetAttribute(gate_gemm_kernel<128, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, k_gemm_smem) !=
          cudaSuccess ||
      cudaFuncSetAttribute(gate_gemm_kernel<512, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, k_gemm_smem) !=
          cudaSuccess)
    return kgen_fail(&args->error, "the product kernel does not get its shared memory");

  const uint64_t w_bytes = static_cast<uint64_t>(k_layers) * k_w_layer * 2;
  const uint64_t vector_bytes = static_cast<uint64_t>(k_layers) * 2048 * 4;
  const uint64_t hh_bytes = static_cast<uint64_t>(2 * k_layers) * 65536 * 16;
  unsigned char* memory = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&memory), 2 * w_bytes + 3 * vector_bytes + hh_bytes) != cudaSuccess)
    return kgen_fail(&args->error, "no memory for the packed weights");

  State* state = new State;
  state->multiprocessors = multiprocessors;
  state->memory = memory;
  state->w_hi = reinterpret_cast<__half*>(memory);
  state->w_lo = reinterpret_cast<__half*>(memory + w_bytes);
  state->w_hh = reinterpret_cast<uint4*>(memory + 2 * w_bytes);
  state->col_scale = reinterpret_cast<float*>(memory + 2 * w_bytes + hh_bytes);
  state->bias = reinterpret_cast<float*>(memory + 2 * w_bytes + hh_bytes + vector_bytes);
  state->hh_scale = reinterpret_cast<float*>(memory + 2 * w_bytes + hh_bytes + 2 * vector_bytes);

  cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  for (int layer = 0; layer < k_layers; ++layer) {
    const int k_size = layer == 0 ? k_input : 2 * k_hidden;
    for (int dir = 0; dir < 2; ++dir) {
      const float* w_ih =
          static_cast<const float*>(find_parameter(&args->parameters, "weight_ih", layer, dir)->data);
      const float* w_hh =
          static_cast<const float*>(find_parameter(&args->parameters, "weight_hh", layer, dir)->data);
      const float* b_ih = static_cast<const float*>(find_parameter(&args->parameters, "bias_ih", layer, dir)->data);
      const float* b_hh = static_cast<const float*>(find_parameter(&args->parameters, "bias_hh", layer, dir)->data);
      pack_ih_kernel<<<128, 256, 0, stream>>>(w_ih, b_ih, b_hh, state->w_hi + layer * k_w_layer,
                                              state->w_lo + layer * k_w_layer, state->col_scale + layer * 2048,
                                              state->bias + layer * 2048, k_size, dir * 4 * k_hidden);
      pack_hh_kernel<<<64, 256, 0, stream>>>(w_hh, state->w_hh + static_cast<int64_t>(layer * 2 + dir) * 65536,
                                             state->hh_scale + (layer * 2 + dir) * 1024);
    }
  }
  if (cudaGetLastError() != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess) {
    cudaFree(memory);
    delete state;
    return kgen_fail(&args->error, "packing of the weights failed");
  }
  result->state = state;
  result->workspace_bytes = k_workspace;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  const float* x = static_cast<const float*>(kgen_find(&args->inputs, "x")->data);
  const float* h0 = static_cast<const float*>(kgen_find(&args->inputs, "h0")->data);
  const float* c0 = static_cast<const float*>(kgen_find(&args->inputs, "c0")->data);
  const float* fc_w = static_cast<const float*>(kgen_find(&args->parameters, "fc.weight")->data);
  const float* fc_b = static_cast<const float*>(kgen_find(&args->parameters, "fc.bias")->data);
  float* out = static_cast<float*>(kgen_find(&args->outputs, "output")->data);

  CellArgs cell;
  cell.w_ih = static_cast<const float*>(kgen_find(&args->parameters, "lstm.weight_ih_l5_reverse")->data);
  cell.w_hh = static_cast<const float*>(kgen_find(&args->parameters, "lstm.weight_hh_l5_reverse")->data);
  cell.b_ih = static_cast<const float*>(kgen_find(&args->parameters, "lstm.bias_ih_l5_reverse")->data);
  cell.b_hh = static_cast<const float*>(kgen_find(&args->parameters, "lstm.bias_hh_l5_reverse")->data);

  unsigned char* workspace = static_cast<unsigned char*>(args->workspace);
  float* gx = reinterpret_cast<float*>(workspace + k_off_gx);
  __half* a_hi = reinterpret_cast<__half*>(workspace + k_off_hi);
  __half* a_lo = reinterpret_cast<__half*>(workspace + k_off_lo);
  float* row_scale = reinterpret_cast<float*>(workspace + k_off_rs);
  float* h_last = reinterpret_cast<float*>(workspace + k_off_h);
  uint64_t* report = args->report;

  split_x_kernel<<<k_rows / 8, 256, 0, stream>>>(x, a_hi, a_lo, row_scale);

  for (int layer = 0; layer < k_layers; ++layer) {
    const bool last = layer == k_layers - 1;
    const int n_shift = last ? 3 : 4;
    const int tiles = (k_rows / 128) << n_shift;
    const int blocks = tiles < state->multiprocessors ? tiles : state->multiprocessors;
    const __half* w_hi = state->w_hi + layer * k_w_layer;
    const __half* w_lo = state->w_lo + layer * k_w_layer;
    const float* col_scale = state->col_scale + layer * 2048;
    const float* bias = state->bias + layer * 2048;
    if (layer == 0)
      gate_gemm_kernel<128, true><<<blocks, k_gemm_threads, k_gemm_smem, stream>>>(
          a_hi, a_lo, w_hi, w_lo, row_scale, col_scale, bias, gx, n_shift, tiles);
    else
      gate_gemm_kernel<512, false><<<blocks, k_gemm_threads, k_gemm_smem, stream>>>(
          a_hi, a_lo, w_hi, w_lo, row_scale, col_scale, bias, gx, n_shift, tiles);

    const uint4* w_hh = state->w_hh + static_cast<int64_t>(layer) * 2 * 65536;
    const float* hh_scale = state->hh_scale + layer * 2048;
    const float* h_layer = h0 + layer * 2 * k_batch * k_hidden;
    const float* c_layer = c0 + layer * 2 * k_batch * k_hidden;
    if (!last)
      recurrence_kernel<false><<<10 * k_cluster, k_rec_threads, 0, stream>>>(w_hh, hh_scale, gx, h_layer, c_layer, a_hi,
                                                                            a_lo, h_last, report, cell);
    else
      recurrence_kernel<true><<<k_last_blocks, k_rec_threads, 0, stream>>>(w_hh, hh_scale, gx, h_layer, c_layer, a_hi,
                                                                          a_lo, h_last, report, cell);
  }

  fc_kernel<<<25, 128, 0, stream>>>(h_last, fc_w, fc_b, out);

  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state != nullptr) {
    cudaFree(state->memory);
    delete state;
  }
}
