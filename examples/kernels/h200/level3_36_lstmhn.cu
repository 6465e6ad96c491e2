#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("h_full", "input_ready");

namespace {

// ---------------------------------------------------------------------------------------------
// Layout, in short.
//
// A cluster of 8 blocks owns one layer and 5 rows of the batch. Block `rank` owns 32 hidden units,
// recurrent warp w of it 4 of them with all 4 gates: one tile of 16 gate rows, row = gate * 4 + unit.
// Products are mma.m16n8k16 (weights = A, state = B, 5 of 8 columns used), each operand scaled by a
// power of two per row and split in two halves: hi*hi + hi*lo + lo*hi.
//
// A "group" is 4 consecutive k (4 units of one warp). For one column a group is a 16-byte chunk
// {hi(0,1), hi(2,3), lo(0,1), lo(2,3)}: exactly what one lane needs as its B fragment, when the four
// k of the group stand at 2q, 2q+1, 2q+8, 2q+9 of the tile of 16 (the weights are packed likewise).
//
// Roles: warps 0-7 do the recurrence and nothing else, warps 8-11 stage the input and compute the
// pre-gates of 4 steps at a time, up to two chunks ahead.
//
// The state in shared memory stands in rotated order: what rank p makes stands at relative rank
// r = (p - own rank + 1) & 7, groups r*8 .. r*8+7. The recurrent weights are loaded in the same order.
// Slice s is relative ranks 2s and 2s+1. A producer's first send fills slices 0 and 3, its second one
// slices 2 and 1: the product takes them in the order 0, 3, 2, 1.
// ---------------------------------------------------------------------------------------------

constexpr int k_steps = 512;
constexpr int k_batch = 10;
constexpr int k_rows = 5;  // rows of the batch in a cluster
constexpr int k_hidden = 256;
constexpr int k_layers = 6;
constexpr int k_features = 128;
constexpr int k_threads = 384;
constexpr int k_rec_warps = 8;
constexpr int k_cluster = 8;
constexpr int k_chunks = k_steps / 4;  // the input product handles 4 steps at a time
constexpr int k_regs_rec = 200;        // 2 * 200 + 104 = 3 * 168
constexpr int k_regs_in = 104;

constexpr int k_stage_group = 352;                 // bytes of a group in the stage: 22 slots, no conflicts
constexpr int k_stage_bytes = 64 * k_stage_group;  // 22528
constexpr int k_state_group = 160;                 // two buffers of 5 slots
constexpr int k_pre_bytes = 8 * 1600;              // pre-gates of one chunk, 1600 bytes a warp
constexpr int k_off_weights = 0;                   // 128 KiB of input weights
constexpr int k_off_stage = 131072;                // two stages
constexpr int k_off_state = k_off_stage + 2 * k_stage_bytes;
constexpr int k_off_pre = k_off_state + 64 * k_state_group;  // two buffers
constexpr int k_off_xs = k_off_pre + 2 * k_pre_bytes;
constexpr int k_off_h0s = k_off_xs + 256;
constexpr int k_off_const = k_off_h0s + 32;      // {scale, bias} of the 128 gate rows, input side
constexpr int k_off_scale = k_off_const + 1024;  // scales of the recurrent side, [unit][gate]
constexpr int k_off_bar = k_off_scale + 512;     // state_full[2][4], pre_full[2], pre_empty[2]
constexpr int k_off_progress = k_off_bar + 96;   // steps whose product is done, [warp & 3][warp >> 2]
constexpr int k_smem = k_off_progress + 32;

static_assert(k_off_const % 16 == 0 && k_off_scale % 16 == 0 && k_off_bar % 8 == 0, "alignment");
static_assert(k_smem <= 227 * 1024, "shared memory");

constexpr int k_bar_pre_full = 64;   // bytes behind k_off_bar
constexpr int k_bar_pre_empty = 80;

constexpr uint32_t k_slice_bytes = 2 * 8 * k_rows * 16;  // what one step brings to one slice of one block
constexpr float k_state_up = 16384.0f;
constexpr float k_state_down = 1.0f / 16384.0f;

constexpr int64_t k_hseq_count = 5ll * 2 * k_steps * k_rows * 64;  // in uint4
constexpr int64_t k_xf_count = 2ll * k_steps * k_rows * 32;        // in uint4

// ---------------------------------------------------------------------------------- small things

__device__ __forceinline__ uint4 lds128(uint32_t address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address));
  return v;
}

// Lanes that are not live keep what they have: a quarter of the warp less to serve.
__device__ __forceinline__ void lds128_if(uint4& v, uint32_t address, uint32_t live) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "setp.ne.u32 p, %5, 0;\n\t"
      "@p ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];\n\t}"
      : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
      : "r"(address), "r"(live));
}

__device__ __forceinline__ void sts128(uint32_t address, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ uint4 ldg_once(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

__device__ __forceinline__ uint4 ld_relaxed(const uint4* p) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}

__device__ __forceinline__ void st_relaxed(uint4* p, uint4 v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void cp_async16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void cp_async4(uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ __forceinline__ uint32_t map_rank(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__device__ __forceinline__ void st_async(uint32_t to, uint32_t bar, uint4 v) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(to),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(bar)
               : "memory");
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The barrier of the four input warps.
__device__ __forceinline__ void input_sync() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

__device__ __forceinline__ void bar_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void bar_arm(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void bar_arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

__device__ __forceinline__ bool bar_try(uint32_t bar, uint32_t parity) {
  uint32_t ok;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(ok)
      : "r"(bar), "r"(parity)
      : "memory");
  return ok != 0;
}

// The same without ever suspending the thread.
__device__ __forceinline__ bool bar_test(uint32_t bar, uint32_t parity) {
  uint32_t ok;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(ok)
      : "r"(bar), "r"(parity)
      : "memory");
  return ok != 0;
}

__device__ __forceinline__ uint32_t now_ns() {
  uint32_t v;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(v));
  return v;
}

template <int code>
__device__ __forceinline__ void bar_wait(uint32_t bar, uint32_t parity, uint64_t* report) {
  uint32_t spins = 0;
  uint32_t start = 0;
  while (!bar_try(bar, parity)) {
    if ((++spins & 63u) == 0) {
      const uint32_t t = now_ns();
      if (start == 0) {
        start = t & ~1u;
      } else if (t - start > 1000000000u) {
        KGEN_REPORT(report, code);
        __trap();
      }
    }
  }
}

// Holds the input role back until the recurrent warps of the same scheduler have done the product of
// `need` steps. Only a hint for speed: nothing depends on it, so it simply gives up after a while.
__device__ __forceinline__ void pace(uint32_t progress, int need) {
#pragma unroll 1
  for (int i = 0; i < 4096; ++i) {
    int a, b;
    asm volatile("ld.volatile.shared.v2.s32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(progress) : "memory");
    if (min(a, b) >= need) break;
  }
  __syncwarp();
}

__device__ __forceinline__ void mma(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                    uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// hi in the low half, lo in the high half
__device__ __forceinline__ uint32_t split(float v) {
  const __half hi = __float2half_rn(v);
  const __half lo = __float2half_rn(v - __half2float(hi));
  return static_cast<uint32_t>(__half_as_ushort(hi)) | (static_cast<uint32_t>(__half_as_ushort(lo)) << 16);
}

__device__ __forceinline__ uint4 chunk_of(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  uint4 c;
  c.x = __byte_perm(w0, w1, 0x5410);
  c.y = __byte_perm(w2, w3, 0x5410);
  c.z = __byte_perm(w0, w1, 0x7632);
  c.w = __byte_perm(w2, w3, 0x7632);
  return c;
}

__device__ __forceinline__ uint4 chunk_of(float4 v, float up) {
  return chunk_of(split(v.x * up), split(v.y * up), split(v.z * up), split(v.w * up));
}

__device__ __forceinline__ bool is_valid(uint4 v) {
  return v.x != 0xffffffffu && v.y != 0xffffffffu && v.z != 0xffffffffu && v.w != 0xffffffffu;
}

// Powers of two that bring a row of this largest magnitude to [2^14, 2^15), and back.
__device__ __forceinline__ void scales_of(int bits, float& up, float& down) {
  const int e = max(bits >> 23, 15);
  up = __int_as_float((268 - e) << 23);
  down = __int_as_float((e - 14) << 23);
}

__device__ __forceinline__ float max_abs(float4 v) {
  return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
}

__device__ __forceinline__ float warp_max(float m) {
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, s));
  return m;
}

__device__ __forceinline__ float reciprocal(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

__device__ __forceinline__ float exp2_of(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// Absolute error below 1e-7; saturates by itself (2^x = inf gives 0), NaN stays NaN.
__device__ __forceinline__ float sigmoid_of(float v) { return reciprocal(1.0f + exp2_of(v * -1.442695041f)); }

// A continued fraction below 0.6, 1 - 2 / (exp(2a) + 1) above: error near 1e-7. NaN stays NaN.
__device__ __forceinline__ float tanh_of(float v) {
  const float a = fabsf(v);
  const float e = exp2_of(a * 2.885390082f);
  const float s = a * a;
  const bool small = a < 0.6f;
  const float num = small ? a * fmaf(s, s + 105.0f, 945.0f) : -2.0f;
  const float den = small ? fmaf(s, fmaf(s, 15.0f, 420.0f), 945.0f) : e + 1.0f;
  const float add = small ? 0.0f : 1.0f;
  return copysignf(fmaf(num, reciprocal(den), add), v);
}

// -------------------------------------------------------------------------- once per set of weights

__global__ void __launch_bounds__(256)
    pack_kernel(const float* __restrict__ w, int k_count, __half* __restrict__ packed, float* __restrict__ scale) {
  __shared__ int top;
  const int row = blockIdx.x;
  const int k = threadIdx.x;
  if (k == 0) top = 0;
  __syncthreads();
  const float v = k < k_count ? w[row * k_count + k] : 0.0f;
  atomicMax(&top, __float_as_int(fabsf(v)));
  __syncthreads();
  float up, down;
  scales_of(top, up, down);
  if (k == 0) scale[row] = down;
  if (k < k_count) {
    const int gate = row >> 8;
    const int unit = row & 255;
    const int rank = unit >> 5;
    const int warp = (unit >> 2) & 7;
    const int tile_row = gate * 4 + (unit & 3);
    const int group = k >> 2;
    const int kt = group >> 2;
    const int lane = (tile_row & 7) * 4 + (group & 3);
    const int ku = k & 3;
    const int reg = (tile_row >> 3) + 2 * (ku >> 1);
    const int tile = ((rank * 8 + warp) * 16 + kt) * 2;
    const uint32_t both = split(v * up);
    const int at = reg * 2 + (ku & 1);
    packed[(tile * 32 + lane) * 8 + at] = __ushort_as_half(static_cast<unsigned short>(both & 0xffffu));
    packed[((tile + 1) * 32 + lane) * 8 + at] = __ushort_as_half(static_cast<unsigned short>(both >> 16));
  }
}

__global__ void __launch_bounds__(256)
    bias_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ sum) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  sum[i] = a[i] + b[i];
}

// --------------------------------------------------------------------- once per call: x as chunks

// 640 blocks of 8 warps: one warp for each of the 5120 rows of x; all threads mark the hand-over words.
__global__ void __launch_bounds__(256)
    input_kernel(const float* __restrict__ x, uint4* __restrict__ xf, float* __restrict__ xscale,
                 uint4* __restrict__ hseq) {
  const int lane = threadIdx.x & 31;
  const int row = blockIdx.x * 8 + (threadIdx.x >> 5);  // b * 512 + t
  const float4 v = reinterpret_cast<const float4*>(x)[row * 32 + lane];
  const uint4 mark = make_uint4(0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x; i < k_hseq_count;
       i += static_cast<int64_t>(gridDim.x) * 256)
    hseq[i] = mark;
  const float m = warp_max(max_abs(v));
  float up, down;
  scales_of(__float_as_int(m), up, down);
  const int b = row / k_steps;
  const int t = row % k_steps;
  const int half = b / k_rows;
  const int n = b % k_rows;
  const int to = (half * k_steps + t) * k_rows + n;
  xf[to * 32 + lane] = chunk_of(v, up);
  if (lane == 0) xscale[to] = down;
}

// ------------------------------------------------------------------------------- the recurrence

__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(384, 1)
    lstm_kernel(const uint4* __restrict__ w_rec, const uint4* __restrict__ w_in, const float* __restrict__ scale_rec,
                const float* __restrict__ scale_in, const float* __restrict__ bias, const float* __restrict__ h0,
                const float* __restrict__ c0, const uint4* xf, const float* xscale, uint4* hseq,
                float* __restrict__ out, uint64_t* report) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t sbase = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = __shfl_sync(0xffffffffu, tid >> 5, 0);
  const int rank = blockIdx.x & (k_cluster - 1);
  const int pair = blockIdx.x >> 3;  // clusters of lower layers come first
  const int layer = pair >> 1;
  const int half = pair & 1;

  const int g = lane >> 2;
  const int q = lane & 3;
  const int u = g & 3;

  // state_full[buffer][slice]: one arrival (who arms it) and the bytes of two producers.
  // pre_full[chunk & 1]: the four input warps. pre_empty[chunk & 1]: the eight recurrent warps.
  const uint32_t bar = sbase + k_off_bar;
  if (tid == 0) {
    for (int i = 0; i < 8; ++i) bar_init(bar + i * 8, 1);
    for (int i = 0; i < 2; ++i) {
      bar_init(bar + k_bar_pre_full + i * 8, 4);
      bar_init(bar + k_bar_pre_empty + i * 8, 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // First fills: buffer 0 takes h of step 0, buffer 1 h of step 1.
    for (int i = 0; i < 8; ++i) bar_arm(bar + i * 8, k_slice_bytes);
  }

  // Input weights of the block to shared memory.
  {
    const uint4* from = w_in + static_cast<size_t>(layer * 8 + rank) * 8192;
    uint4* to = reinterpret_cast<uint4*>(smem + k_off_weights);
#pragma unroll 8
    for (int i = tid; i < 8192; i += k_threads) to[i] = __ldg(from + i);
  }

  // The first state, as chunks in rotated order, into buffer 1 (the one of step -1).
  float* h0s = reinterpret_cast<float*>(smem + k_off_h0s);
  if (warp < k_rows) {
    const float4* from =
        reinterpret_cast<const float4*>(h0 + (layer * k_batch + half * k_rows + warp) * k_hidden);
    const float4 va = from[lane];
    const float4 vb = from[lane + 32];
    const float m = warp_max(fmaxf(max_abs(va), max_abs(vb)));
    float up, down;
    scales_of(__float_as_int(m), up, down);
    const uint32_t to = sbase + k_off_state + 80 + warp * 16;
    sts128(to + ((lane + 8 - 8 * rank) & 63) * k_state_group, chunk_of(va, up));
    sts128(to + ((lane + 40 - 8 * rank) & 63) * k_state_group, chunk_of(vb, up));
    if (lane == 0) h0s[warp] = down;
  }
  float* xs_all = reinterpret_cast<float*>(smem + k_off_xs);
  if (tid < 64) xs_all[tid] = k_state_down;
  if (tid < 128) {
    // Input side: row = warp's tile * 16 + gate * 4 + unit.
    const int row = layer * 1024 + ((tid >> 2) & 3) * 256 + rank * 32 + (tid >> 4) * 4 + (tid & 3);
    reinterpret_cast<float2*>(smem + k_off_const)[tid] = make_float2(scale_in[row], bias[row]);
    // Recurrent side: [unit][gate]; powers of two, so the product is exact.
    const int rec = layer * 1024 + (tid & 3) * 256 + rank * 32 + (tid >> 2);
    reinterpret_cast<float*>(smem + k_off_scale)[tid] = scale_rec[rec] * k_state_down;
  }
  if (tid < 8) reinterpret_cast<int*>(smem + k_off_progress)[tid] = 0;
  __syncthreads();

  // All barriers and first states are there before anybody sends.
  cluster_sync();

  if (warp < k_rec_warps) {
    // ----------------------------------------------------------------------------- recurrence
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(k_regs_rec));

    const int n = 2 * q + (lane >> 4);  // the column whose gates this lane combines
    const int nc = min(n, k_rows - 1);
    const int unit = rank * 32 + warp * 4 + u;

    // Recurrent weights of the warp's 16 gate rows to registers, tiles of k in rotated order:
    // relative rank i >> 1 is rank + (i >> 1) - 1.
    uint32_t wr[16][8];
    {
      const uint4* from = w_rec + (static_cast<size_t>(layer * 8 + rank) * 8 + warp) * 1024 + lane;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int kt = (2 * rank + i + 14) & 15;
        const uint4 hi = ldg_once(from + kt * 64);
        const uint4 lo = ldg_once(from + kt * 64 + 32);
        wr[i][0] = hi.x;
        wr[i][1] = hi.y;
        wr[i][2] = hi.z;
        wr[i][3] = hi.w;
        wr[i][4] = lo.x;
        wr[i][5] = lo.y;
        wr[i][6] = lo.z;
        wr[i][7] = lo.w;
      }
    }
    float c = c0[(layer * k_batch + half * k_rows + nc) * k_hidden + unit];

    // Addresses of the exchange: a lane sends the chunk of its column to the ranks rank + u and rank + u + 4.
    // At rank + v this block stands at relative rank (1 - v) & 7: the first send goes to the relative ranks
    // 1, 0, 7, 6 (slices 0 and 3), the second one to 5, 4, 3, 2 (slices 2 and 1).
    const uint32_t rel_a = static_cast<uint32_t>((9 - u) & 7);
    const uint32_t rel_b = static_cast<uint32_t>(5 - u);
    const uint32_t dst_a = static_cast<uint32_t>((rank + u) & 7);
    const uint32_t dst_b = static_cast<uint32_t>((rank + u + 4) & 7);
    const uint32_t own = sbase + k_off_state + warp * k_state_group + nc * 16;
    const uint32_t to_a = map_rank(own + rel_a * (8 * k_state_group), dst_a);
    const uint32_t to_b = map_rank(own + rel_b * (8 * k_state_group), dst_b);
    const uint32_t bar_a = map_rank(bar + (rel_a >> 1) * 8, dst_a);
    const uint32_t bar_b = map_rank(bar + (rel_b >> 1) * 8, dst_b);
    const bool sends = n < k_rows;
    const bool hands_on = sends && u == 0 && layer < k_layers - 1;
    uint4* next_layer = hseq +
                        static_cast<size_t>((layer < k_layers - 1 ? layer : 0) * 2 + half) * k_steps * k_rows * 64 +
                        nc * 64 + (rank * 8 + warp);

    const uint32_t live = g < k_rows ? 1u : 0u;
    const uint32_t state_lane = sbase + k_off_state + q * k_state_group + min(g, k_rows - 1) * 16;
    const uint32_t pre_lane = sbase + k_off_pre + warp * 1600 + nc * 80 + u * 16;
    const uint32_t scale_lane = sbase + k_off_scale + (warp * 4 + u) * 16;
    const uint32_t progress = sbase + k_off_progress + (warp & 3) * 8 + (warp >> 2) * 4;

    uint4 bq[4];  // columns 5 to 7 stay zero
#pragma unroll
    for (int i = 0; i < 4; ++i) bq[i] = make_uint4(0u, 0u, 0u, 0u);

    // Why nobody overwrites a state buffer that is still read: h of step t goes to the buffer that holds h of
    // step t - 2, read in step t - 1. A warp sends it after it has got all four slices of h of step t - 1, from
    // every warp of every block, and each of those sent that only after its own product of step t - 1. For the
    // same reason a barrier is at most one phase ahead of any warp that waits for it, and it has been armed for
    // its next fill (by the warp of the number of the slice, before that warp sends) before bytes of it come.
    // In step 0 the parity is 1: it stands for the phase before the first one, so nobody waits, and the first
    // phase of buffer 1 cannot end before all warps of the cluster have done the product of step 0.
#pragma unroll 1
    for (int t = 0; t < k_steps; ++t) {
      const int j = t & 3;
      const uint32_t buffer_in = static_cast<uint32_t>((t + 1) & 1);
      const uint32_t from = state_lane + buffer_in * 80;
      const uint32_t full = bar + buffer_in * 32;
      const uint32_t parity = static_cast<uint32_t>((t - 1) >> 1) & 1u;

      float hh[2][4];
      float hl[2][4];
      float lh[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          hh[i][e] = 0.0f;
          hl[i][e] = 0.0f;
          lh[i][e] = 0.0f;
        }

      // The recurrent product, slice by slice in the order of arrival: two producers are four tiles of k.
      // In the middle of a slice the next one is tested: if it is there, its fragments are loaded into the
      // registers that have been used, behind the multiply-adds that are left; if not, it is waited for.
      bar_wait<1>(full, parity, report);
      __syncwarp();
#pragma unroll
      for (int k = 0; k < 4; ++k) lds128_if(bq[k], from + k * (4 * k_state_group), live);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int s = (4 - i) & 3;       // 0, 3, 2, 1
        const int s_next = (3 - i) & 3;  // 3, 2, 1, none
        bool ready = true;
        uint32_t go = 0u;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int w = s * 4 + k;
          mma(hh[k & 1], wr[w][0], wr[w][1], wr[w][2], wr[w][3], bq[k].x, bq[k].y);
          mma(hl[k & 1], wr[w][0], wr[w][1], wr[w][2], wr[w][3], bq[k].z, bq[k].w);
          mma(lh[k & 1], wr[w][4], wr[w][5], wr[w][6], wr[w][7], bq[k].x, bq[k].y);
          if (i < 3) {
            if (k == 1) {
              ready = bar_test(full + s_next * 8, parity);
              go = ready ? live : 0u;
            }
            if (k == 2) {
              lds128_if(bq[0], from + (s_next * 4 + 0) * (4 * k_state_group), go);
              lds128_if(bq[1], from + (s_next * 4 + 1) * (4 * k_state_group), go);
            }
            if (k == 3) {
              lds128_if(bq[2], from + (s_next * 4 + 2) * (4 * k_state_group), go);
              lds128_if(bq[3], from + (s_next * 4 + 3) * (4 * k_state_group), go);
            }
          }
        }
        if (i < 3) {
          if (!ready) {
            bar_wait<1>(full + s_next * 8, parity, report);
#pragma unroll
            for (int k = 0; k < 4; ++k) lds128_if(bq[k], from + (s_next * 4 + k) * (4 * k_state_group), live);
          }
          __syncwarp();
        }
      }

      // All four slices have been seen complete: arm them for their next fill, before this warp sends.
      if (lane == 0 && warp < 4 && t > 0) bar_arm(full + warp * 8, k_slice_bytes);
      __syncwarp();

      // Pre-gates of this step, while the last products are under way.
      const uint32_t pre_buffer = static_cast<uint32_t>(t >> 2) & 1u;
      if (j == 0) {
        bar_wait<2>(bar + k_bar_pre_full + pre_buffer * 8, static_cast<uint32_t>(t >> 3) & 1u, report);
        __syncwarp();
      }
      const uint4 pre_bits = lds128(pre_lane + pre_buffer * k_pre_bytes + j * (k_rows * 80));
      const uint4 scale_bits = lds128(scale_lane);

      float d[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) d[e] = (hh[0][e] + hh[1][e]) + ((hl[0][e] + lh[0][e]) + (hl[1][e] + lh[1][e]));

      // The product is done: the input role may use the matrix units now. The comparison is always true (the
      // sums stay below 2^39); it only keeps the store behind the product.
      if (lane == 0 && d[0] != 1e30f)
        asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(progress), "r"(t + 1) : "memory");

      // Lanes below 16 hold i and g, the others f and o, of two columns; each lane takes one column.
      const bool lower = lane < 16;
      const float s0 = lower ? d[1] : d[0];
      const float s1 = lower ? d[3] : d[2];
      const float r0 = __shfl_xor_sync(0xffffffffu, s0, 16);
      const float r1 = __shfl_xor_sync(0xffffffffu, s1, 16);
      float a_i = lower ? d[0] : r0;
      float a_g = lower ? d[2] : r1;
      float a_f = lower ? r0 : d[1];
      float a_o = lower ? r1 : d[3];
      if (t == 0) {
        // The first state has a scale of its own, a power of two as well.
        const float ratio = h0s[nc] * k_state_up;
        a_i *= ratio;
        a_g *= ratio;
        a_f *= ratio;
        a_o *= ratio;
      }

      const float gate_i = sigmoid_of(fmaf(a_i, __uint_as_float(scale_bits.x), __uint_as_float(pre_bits.x)));
      const float gate_f = sigmoid_of(fmaf(a_f, __uint_as_float(scale_bits.y), __uint_as_float(pre_bits.y)));
      const float gate_g = tanh_of(fmaf(a_g, __uint_as_float(scale_bits.z), __uint_as_float(pre_bits.z)));
      const float gate_o = sigmoid_of(fmaf(a_o, __uint_as_float(scale_bits.w), __uint_as_float(pre_bits.w)));
      c = fmaf(gate_f, c, gate_i * gate_g);
      const float h = gate_o * tanh_of(c);

      // Four units of a column make one chunk.
      const uint32_t word = split(h * k_state_up);
      const int first = lane & 0x13;
      const uint32_t w0 = __shfl_sync(0xffffffffu, word, first);
      const uint32_t w1 = __shfl_sync(0xffffffffu, word, first | 4);
      const uint32_t w2 = __shfl_sync(0xffffffffu, word, first | 8);
      const uint32_t w3 = __shfl_sync(0xffffffffu, word, first | 12);
      const uint4 chunk = chunk_of(w0, w1, w2, w3);
      const bool last = t == k_steps - 1;
      if (sends) {
        // h of the last step has no reader within the cluster, but the next layer needs it as every other one.
        if (!last) {
          const uint32_t buffer = static_cast<uint32_t>(t & 1);
          st_async(to_a + buffer * 80, bar_a + buffer * 32, chunk);
          st_async(to_b + buffer * 80, bar_b + buffer * 32, chunk);
        }
        if (hands_on) st_relaxed(next_layer, chunk);
        if (last) out[(layer * k_batch + half * k_rows + n) * k_hidden + unit] = h;
      }
      next_layer += k_rows * 64;
      __syncwarp();
      // All lanes have read the pre-gates of the chunk.
      if (j == 3 && lane == 0) bar_arrive(bar + k_bar_pre_empty + pre_buffer * 8);
      __syncwarp();
    }
  } else {
    // ----------------------------------------------------------------------------------- input
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(k_regs_in));

    const int it = tid - k_rec_warps * 32;
    const int v = warp - k_rec_warps;  // owns the tiles of the recurrent warps 2v and 2v + 1

    // Staging: thread = (two steps of the chunk, group), 10 rows of 5 columns each step.
    const int groups = layer == 0 ? k_features / 4 : k_hidden / 4;
    const int in_parts = layer == 0 ? 2 : 4;  // parts of 4 tiles of k
    const int stage_part = it >> 6;
    const int stage_group = it & 63;
    const bool stage_active = stage_group < groups;
    const uint4* in_base = layer == 0 ? xf + static_cast<size_t>(half) * k_steps * k_rows * 32
                                      : hseq + static_cast<size_t>((layer - 1) * 2 + half) * k_steps * k_rows * 64;
    const uint4* in_thread = in_base + stage_part * (2 * k_rows) * groups + stage_group;
    const uint32_t stage_thread =
        sbase + k_off_stage + stage_group * k_stage_group + stage_part * (2 * k_rows * 16);

    auto stage_issue = [&](int chunk) {
      if (stage_active) {
        const uint4* from = in_thread + static_cast<size_t>(chunk) * (4 * k_rows) * groups;
        const uint32_t to = stage_thread + (chunk & 1) * k_stage_bytes;
#pragma unroll
        for (int i = 0; i < 2 * k_rows; ++i) cp_async16(to + i * 16, from + i * groups);
      }
      if (layer == 0 && it < 4 * k_rows)
        cp_async4(sbase + k_off_xs + (chunk & 1) * 128 + it * 4,
                  xscale + half * k_steps * k_rows + it + chunk * 4 * k_rows);
    };
    // Each word says for itself whether it has been written: what came too early is read again.
    auto stage_finish = [&](int chunk) {
      cp_async_wait();
      if (stage_active) {
#pragma unroll 1
        for (int s = 0; s < 2; ++s) {
          const uint32_t to = stage_thread + (chunk & 1) * k_stage_bytes + s * (k_rows * 16);
          bool good = true;
#pragma unroll
          for (int i = 0; i < k_rows; ++i) good = good && is_valid(lds128(to + i * 16));
          if (!good) {
            const uint4* from =
                in_thread + static_cast<size_t>(chunk) * (4 * k_rows) * groups + s * k_rows * groups;
            uint32_t spins = 0;
            uint32_t start = 0;
            while (true) {
              uint4 w[k_rows];
#pragma unroll
              for (int i = 0; i < k_rows; ++i) w[i] = ld_relaxed(from + i * groups);
              bool all = true;
#pragma unroll
              for (int i = 0; i < k_rows; ++i) all = all && is_valid(w[i]);
              if (all) {
#pragma unroll
                for (int i = 0; i < k_rows; ++i) sts128(to + i * 16, w[i]);
                break;
              }
              if ((++spins & 255u) == 0) {
                const uint32_t now = now_ns();
                if (start == 0) {
                  start = now & ~1u;
                } else if (now - start > 1000000000u) {
                  KGEN_REPORT(report, 2);
                  __trap();
                }
              }
            }
          }
        }
      }
      __syncwarp();
    };

    const uint32_t weight_lane = sbase + k_off_weights + v * (2 * 16384) + lane * 16;
    const uint32_t stage_lane = sbase + k_off_stage + q * k_stage_group + g * 16;
    const uint32_t progress = sbase + k_off_progress + v * 8;

    stage_issue(0);
    stage_finish(0);
    input_sync();

    // A stage is filled again only after the input_sync that all pass after the product of its last chunk.
    // A pre-gate buffer is filled again only after pre_empty of the chunk that it held: so pre_full is at most
    // one phase ahead of any recurrent warp, and pre_empty at most one ahead of any input warp.
#pragma unroll 1
    for (int chunk = 0; chunk < k_chunks; ++chunk) {
      const bool more = chunk + 1 < k_chunks;
      if (more) stage_issue(chunk + 1);

      float pre[2][3][4];
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int i = 0; i < 3; ++i)
#pragma unroll
          for (int e = 0; e < 4; ++e) pre[m][i][e] = 0.0f;

#pragma unroll 1
      for (int j = 0; j < in_parts; ++j) {
        // A part in each step of the recurrence, after its product: while gates are computed and states travel.
        pace(progress, 4 * (chunk - 1) + j);

        const uint32_t aw = weight_lane + j * 4096;
        const uint32_t bs = stage_lane + (chunk & 1) * k_stage_bytes + j * (16 * k_stage_group);
        float hh[3][4];
        float cr[3][4];
#pragma unroll
        for (int i = 0; i < 3; ++i)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            hh[i][e] = 0.0f;
            cr[i][e] = 0.0f;
          }
        uint4 ah = lds128(aw);
        uint4 bv[3];
#pragma unroll
        for (int i = 0; i < 3; ++i) bv[i] = lds128(bs + i * 128);
#pragma unroll
        for (int p = 0; p < 8; ++p) {
          const int m = p >> 2;
          const int k = p & 3;
          const uint4 al = lds128(aw + m * 16384 + k * 1024 + 512);
          uint4 ah_next = ah;
          uint4 bv_next[3] = {bv[0], bv[1], bv[2]};
          if (p < 7) {
            const int m_next = (p + 1) >> 2;
            const int k_next = (p + 1) & 3;
            ah_next = lds128(aw + m_next * 16384 + k_next * 1024);
#pragma unroll
            for (int i = 0; i < 3; ++i) bv_next[i] = lds128(bs + k_next * (4 * k_stage_group) + i * 128);
          }
          // In an order that keeps uses of one accumulator apart.
          mma(cr[0], ah.x, ah.y, ah.z, ah.w, bv[0].z, bv[0].w);
          mma(cr[1], ah.x, ah.y, ah.z, ah.w, bv[1].z, bv[1].w);
          mma(cr[2], ah.x, ah.y, ah.z, ah.w, bv[2].z, bv[2].w);
          mma(hh[0], ah.x, ah.y, ah.z, ah.w, bv[0].x, bv[0].y);
          mma(cr[0], al.x, al.y, al.z, al.w, bv[0].x, bv[0].y);
          mma(cr[1], al.x, al.y, al.z, al.w, bv[1].x, bv[1].y);
          mma(hh[1], ah.x, ah.y, ah.z, ah.w, bv[1].x, bv[1].y);
          mma(cr[2], al.x, al.y, al.z, al.w, bv[2].x, bv[2].y);
          mma(hh[2], ah.x, ah.y, ah.z, ah.w, bv[2].x, bv[2].y);
          if (k == 3) {
#pragma unroll
            for (int i = 0; i < 3; ++i)
#pragma unroll
              for (int e = 0; e < 4; ++e) {
                pre[m][i][e] += hh[i][e] + cr[i][e];
                hh[i][e] = 0.0f;
                cr[i][e] = 0.0f;
              }
          }
          ah = ah_next;
#pragma unroll
          for (int i = 0; i < 3; ++i) bv[i] = bv_next[i];
        }
      }

      // Pre-gates of 4 steps, bias included: [buffer][recurrent warp][column][unit][gate].
      if (chunk >= 2)
        bar_wait<1>(bar + k_bar_pre_empty + (chunk & 1) * 8, static_cast<uint32_t>((chunk - 2) >> 1) & 1u, report);
      __syncwarp();
      {
        const float* xs = xs_all + (chunk & 1) * 32;
        const float2* rows = reinterpret_cast<const float2*>(smem + k_off_const) + v * 32 + g;
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const float2 k0 = rows[m * 16];
          const float2 k1 = rows[m * 16 + 8];
          float* to_tile =
              reinterpret_cast<float*>(smem + k_off_pre + (chunk & 1) * k_pre_bytes + (2 * v + m) * 1600) + u * 4 +
              (g >> 2);
#pragma unroll
          for (int i = 0; i < 3; ++i) {
            const int col = i * 8 + 2 * q;
            if (col < 4 * k_rows) {
              const float x0 = xs[col];
              const float x1 = xs[col + 1];
              float* to = to_tile + col * 20;
              to[0] = fmaf(pre[m][i][0], k0.x * x0, k0.y);
              to[20] = fmaf(pre[m][i][1], k0.x * x1, k0.y);
              to[2] = fmaf(pre[m][i][2], k1.x * x0, k1.y);
              to[22] = fmaf(pre[m][i][3], k1.x * x1, k1.y);
            }
          }
        }
      }
      __syncwarp();
      if (lane == 0) bar_arrive(bar + k_bar_pre_full + (chunk & 1) * 8);
      __syncwarp();

      if (more) {
        stage_finish(chunk + 1);
        input_sync();
      }
    }
  }

  // Nobody leaves while others may still address its shared memory.
  __syncwarp();
  cluster_sync();
}

struct State {
  unsigned char* memory;
  const uint4* w_rec;
  const uint4* w_in;
  const float* scale_rec;
  const float* scale_in;
  const float* bias;
};

bool has_shape(const kgen_tensor* t, int64_t a) { return kgen_is(t, KGEN_FLOAT32, 1) && kgen_dim(t, 0) == a; }

bool has_shape(const kgen_tensor* t, int64_t a, int64_t b) {
  return kgen_is(t, KGEN_FLOAT32, 2) && kgen_dim(t, 0) == a && kgen_dim(t, 1) == b;
}

bool has_shape(const kgen_tensor* t, int64_t a, int64_t b, int64_t c) {
  return kgen_is(t, KGEN_FLOAT32, 3) && kgen_dim(t, 0) == a && kgen_dim(t, 1) == b && kgen_dim(t, 2) == c;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (!has_shape(kgen_find(&args->inputs, "x"), k_batch, k_steps, k_features) ||
      !has_shape(kgen_find(&args->inputs, "h0"), k_layers, k_batch, k_hidden) ||
      !has_shape(kgen_find(&args->inputs, "c0"), k_layers, k_batch, k_hidden))
    return kgen_fail(&args->error, "x must be (10, 512, 128), h0 and c0 (6, 10, 256), contiguous float32");
  const kgen_tensor* wi[k_layers];
  const kgen_tensor* wh[k_layers];
  const kgen_tensor* bi[k_layers];
  const kgen_tensor* bh[k_layers];
  for (int l = 0; l < k_layers; ++l) {
    char name[64];
    std::snprintf(name, sizeof(name), "lstm.weight_ih_l%d", l);
    wi[l] = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.weight_hh_l%d", l);
    wh[l] = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.bias_ih_l%d", l);
    bi[l] = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.bias_hh_l%d", l);
    bh[l] = kgen_find(&args->parameters, name);
    if (!has_shape(wi[l], 1024, l == 0 ? k_features : k_hidden) || !has_shape(wh[l], 1024, k_hidden) ||
        !has_shape(bi[l], 1024) || !has_shape(bh[l], 1024))
      return kgen_fail(&args->error, "the weights of the LSTM have other shapes");
  }

  if (cudaFuncSetAttribute(lstm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_smem) != cudaSuccess)
    return kgen_fail(&args->error, "the device refuses the shared memory");

  constexpr size_t layer_bytes = 1u << 20;
  constexpr size_t pack_bytes = k_layers * layer_bytes;
  constexpr size_t row_bytes = k_layers * 1024 * sizeof(float);
  constexpr size_t total = 2 * pack_bytes + 3 * row_bytes;
  unsigned char* memory = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&memory), total) != cudaSuccess)
    return kgen_fail(&args->error, "no memory for the packed weights");
  cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  unsigned char* rec = memory;
  unsigned char* in = memory + pack_bytes;
  float* scale_rec = reinterpret_cast<float*>(memory + 2 * pack_bytes);
  float* scale_in = scale_rec + k_layers * 1024;
  float* bias = scale_in + k_layers * 1024;
  cudaMemsetAsync(memory, 0, total, stream);
  for (int l = 0; l < k_layers; ++l) {
    pack_kernel<<<1024, 256, 0, stream>>>(static_cast<const float*>(wh[l]->data), k_hidden,
                                          reinterpret_cast<__half*>(rec + l * layer_bytes), scale_rec + l * 1024);
    pack_kernel<<<1024, 256, 0, stream>>>(static_cast<const float*>(wi[l]->data), l == 0 ? k_features : k_hidden,
                                          reinterpret_cast<__half*>(in + l * layer_bytes), scale_in + l * 1024);
    bias_kernel<<<4, 256, 0, stream>>>(static_cast<const float*>(bi[l]->data),
                                       static_cast<const float*>(bh[l]->data), bias + l * 1024);
  }
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) {
    cudaFree(memory);
    return kgen_fail(&args->error, cudaGetErrorString(status));
  }

  State* state = new State;
  state->memory = memory;
  state->w_rec = reinterpret_cast<const uint4*>(rec);
  state->w_in = reinterpret_cast<const uint4*>(in);
  state->scale_rec = scale_rec;
  state->scale_in = scale_in;
  state->bias = bias;
  result->state = state;
  result->workspace_bytes =
      static_cast<uint64_t>(k_hseq_count * 16 + k_xf_count * 16 + 2 * k_steps * k_rows * static_cast<int64_t>(sizeof(float)));
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* c0 = kgen_find(&args->inputs, "c0");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  cudaStream_t stream = static_cast<cudaStream_t>(args->stream);

  unsigned char* work = static_cast<unsigned char*>(args->workspace);
  uint4* hseq = reinterpret_cast<uint4*>(work);
  uint4* xf = hseq + k_hseq_count;
  float* xscale = reinterpret_cast<float*>(xf + k_xf_count);

  input_kernel<<<k_batch * k_steps / 8, 256, 0, stream>>>(static_cast<const float*>(x->data), xf, xscale, hseq);
  lstm_kernel<<<k_layers * 2 * k_cluster, k_threads, k_smem, stream>>>(
      state->w_rec, state->w_in, state->scale_rec, state->scale_in, state->bias,
      static_cast<const float*>(h0->data), static_cast<const float*>(c0->data), xf, xscale, hseq,
      static_cast<float*>(y->data), args->report);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  cudaFree(state->memory);
  delete state;
}
