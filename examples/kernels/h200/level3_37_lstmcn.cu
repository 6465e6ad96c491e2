#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("h_full", "input_ready", "gx_full", "gx_empty")

namespace {

constexpr int k_layers = 6;
constexpr int k_batch = 10;
constexpr int k_steps = 512;
constexpr int k_input = 128;
constexpr int k_hidden = 256;
constexpr int k_cluster = 8;
constexpr int k_rows = 5;       // rows of the batch in a cluster
constexpr int k_threads = 384;  // warps 0-7: recurrent product, warps 8-11: input product
constexpr int k_chunk = 3;      // steps of the input product at once
constexpr int k_ring = 4;       // chunks of input gates kept ahead
constexpr int k_chunks = (k_steps + k_chunk - 1) / k_chunk;
constexpr int k_recurrent_warps = 8;

constexpr int k_step_pieces = k_rows * k_hidden / 4;  // 320 pieces of 16 bytes for each step
constexpr int k_w_pieces = 8 * 16 * 2 * 32;           // 8192: fragments of one weight of one block

// Shared memory, in bytes.
constexpr int k_h_buffer = 16 * 32 * 16;                // 8192: [kt - 2 * rank mod 16][n][t] uint4
constexpr int k_gx_bytes = 8 * k_rows * 4 * 16;         // 2560: [mtile][row][u] float4
constexpr int k_off_w = 0;                              // [mtile][kt][hi/lo][lane] uint4
constexpr int k_off_h = k_off_w + k_w_pieces * 16;      // two buffers
constexpr int k_off_x = k_off_h + 2 * k_h_buffer;       // [kt][column 16][t] uint4
constexpr int k_off_gx = k_off_x + 16 * 64 * 16;        // ring
constexpr int k_off_bias = k_off_gx + k_ring * k_chunk * k_gx_bytes;
constexpr int k_off_scale = k_off_bias + 512;
constexpr int k_off_col = k_off_scale + 512;            // 16 floats
constexpr int k_off_hscale = k_off_col + 64;            // 8 floats
constexpr int k_off_full = k_off_hscale + 32;           // [2][8]
constexpr int k_off_gxf = k_off_full + 2 * 8 * 8;       // [ring][4]
constexpr int k_off_gxe = k_off_gxf + k_ring * 4 * 8;   // [ring][4]
constexpr int k_smem = k_off_gxe + k_ring * 4 * 8;
static_assert(k_smem <= 227 * 1024, "shared memory");
static_assert(k_off_full % 8 == 0, "alignment of the barriers");

constexpr uint32_t k_h_bytes = k_rows * 8 * 16;  // what one producer block sends to another in a step: 640
constexpr uint32_t k_sentinel = 0xFFFFFFFFu;
constexpr size_t k_slot_pieces = static_cast<size_t>(k_layers - 1) * 2 * k_steps * k_step_pieces;
constexpr size_t k_slot_bytes = k_slot_pieces * 16;

struct LayerPointers {
  const float* wih[k_layers];
  const float* whh[k_layers];
  const float* bih[k_layers];
  const float* bhh[k_layers];
};

// Biased exponent of the power of two that brings a maximum with these bits into [2^10, 2^11).
__device__ __forceinline__ uint32_t scale_exponent(uint32_t max_bits) {
  const int e = static_cast<int>(max_bits >> 23);
  int s = 264 - e;
  s = s < 1 ? 1 : s;
  s = s > 253 ? 253 : s;
  return static_cast<uint32_t>((e == 0 || e == 255) ? 127 : s);
}

__device__ __forceinline__ uint32_t half2_bits(__half2 h) { return *reinterpret_cast<uint32_t*>(&h); }

__device__ __forceinline__ void split2(float a, float b, uint32_t& hi, uint32_t& lo) {
  const __half2 h = __floats2half2_rn(a, b);
  const float2 f = __half22float2(h);
  const __half2 l = __floats2half2_rn(a - f.x, b - f.y);
  hi = half2_bits(h);
  lo = half2_bits(l);
}

// inv[layer][hh/ih][unit] as float4 over the gates: inverse of the scale of each row. One warp for each row.
__global__ void row_scales(LayerPointers p, float* __restrict__ inv) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int lane = threadIdx.x & 31;
  if (row >= k_layers * 2 * 4 * k_hidden) return;
  const int layer = row >> 11;
  const int part = (row >> 10) & 1;
  const int r = row & 1023;
  const int length = (part == 1 && layer == 0) ? k_input : k_hidden;
  const float* s = (part == 0 ? p.whh[layer] : p.wih[layer]) + r * length;
  uint32_t m = 0u;
  for (int k = lane; k < length; k += 32) m = max(m, __float_as_uint(s[k]) & 0x7FFFFFFFu);
  m = __reduce_max_sync(0xFFFFFFFFu, m);
  if (lane == 0) {
    inv[((layer * 2 + part) * k_hidden + (r & 255)) * 4 + (r >> 8)] =
        __uint_as_float((254u - scale_exponent(m)) << 23);
  }
}

// packed[layer][rank][hh/ih][mtile][kt][hi/lo][lane] as uint4: A fragments of m16n8k16.
// Row r of a tile (0-7): unit r >> 1, gate i or g; row r + 8: the same unit, gate f or o.
// Fragment positions 2t, 2t+1, 2t+8, 2t+9 stand for k = 16 kt + 4 t + 0..3.
__global__ void pack_weights(LayerPointers p, const float* __restrict__ inv, uint4* __restrict__ packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= k_layers * 8 * 2 * k_w_pieces) return;
  const int lane = i & 31;
  const int low = (i >> 5) & 1;
  const int kt = (i >> 6) & 15;
  const int mt = (i >> 10) & 7;
  const int part = (i >> 13) & 1;
  const int rank = (i >> 14) & 7;
  const int layer = i >> 17;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int k = 16 * kt + 4 * t;
  const int unit = rank * 32 + mt * 4 + (g >> 1);
  const int length = (part == 1 && layer == 0) ? k_input : k_hidden;
  const float* base = part == 0 ? p.whh[layer] : p.wih[layer];
  uint32_t first[2];
  uint32_t second[2];
#pragma unroll
  for (int hrow = 0; hrow < 2; ++hrow) {
    const int gate = 2 * (g & 1) + hrow;
    float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (k < length) {
      const float* s = base + (gate * k_hidden + unit) * length + k;
      const uint32_t e = __float_as_uint(inv[((layer * 2 + part) * k_hidden + unit) * 4 + gate]) >> 23;
      const float scale = __uint_as_float((254u - e) << 23);
#pragma unroll
      for (int q = 0; q < 4; ++q) v[q] = s[q] * scale;
    }
    uint32_t h01, l01, h23, l23;
    split2(v[0], v[1], h01, l01);
    split2(v[2], v[3], h23, l23);
    first[hrow] = low ? l01 : h01;
    second[hrow] = low ? l23 : h23;
  }
  packed[i] = make_uint4(first[0], first[1], second[0], second[1]);
}

// bias[layer][unit] as float4 over the gates
__global__ void pack_bias(LayerPointers p, float4* __restrict__ bias) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= k_layers * k_hidden) return;
  const int layer = i / k_hidden;
  const int unit = i % k_hidden;
  const float* a = p.bih[layer];
  const float* b = p.bhh[layer];
  bias[i] = make_float4(a[unit] + b[unit], a[unit + 256] + b[unit + 256], a[unit + 512] + b[unit + 512],
                        a[unit + 768] + b[unit + 768]);
}

__device__ __forceinline__ uint64_t now_ns() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

template <int Code>
__device__ __forceinline__ void watch(unsigned& n, uint64_t& start, uint64_t* report) {
  if (((++n) & 255u) == 0u) {
    const uint64_t now = now_ns();
    if (start == 0) {
      start = now;
    } else if (now - start > 1000000000ull) {
      KGEN_REPORT(report, Code);
      __trap();
    }
  }
}

template <int Code>
__device__ __forceinline__ void wait_parity(uint32_t bar, uint32_t parity, uint64_t* report) {
  unsigned n = 0;
  uint64_t start = 0;
  while (true) {
    uint32_t done;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
    if (done) break;
    watch<Code>(n, start, report);
  }
}

__device__ __forceinline__ void bar_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void bar_expect(uint32_t bar, uint32_t bytes) {
  asm volatile(
      "{\n"
      ".reg .b64 s;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1;\n"
      "}\n" ::"r"(bar),
      "r"(bytes)
      : "memory");
}

__device__ __forceinline__ void bar_arrive(uint32_t bar) {
  asm volatile(
      "{\n"
      ".reg .b64 s;\n"
      "mbarrier.arrive.shared::cta.b64 s, [%0];\n"
      "}\n" ::"r"(bar)
      : "memory");
}

// The barrier of the four input warps
__device__ __forceinline__ void input_sync() {
  __syncwarp();
  asm volatile("bar.sync 1, 128;" ::: "memory");
}

__device__ __forceinline__ void cluster_sync() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ uint32_t map_rank(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}

__device__ __forceinline__ void send4(uint32_t address, const uint4 v, uint32_t bar) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(bar)
      : "memory");
}

__device__ __forceinline__ void store_shared4(uint32_t address, const uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

// Where `on` is zero, nothing is read and v keeps its value.
__device__ __forceinline__ void load_shared4_if(uint4& v, uint32_t address, uint32_t on) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "@p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}\n"
      : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
      : "r"(address), "r"(on)
      : "memory");
}

__device__ __forceinline__ uint4 load_relaxed4(const uint4* p) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}

__device__ __forceinline__ void store_relaxed4(uint4* p, const uint4 v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ bool missing(const uint4& v) {
  return v.x == k_sentinel || v.y == k_sentinel || v.z == k_sentinel || v.w == k_sentinel;
}

__device__ __forceinline__ void mma(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }

// Both branches of an accurate tanh, without a jump
__device__ __forceinline__ float tanh_select(float x) {
  const float a = fabsf(x);
  const float e = expf(a + a);
  const float big = copysignf(1.0f - __fdividef(2.0f, e + 1.0f), x);
  const float s = x * x;
  float p = 1.57394409e-2f;
  p = fmaf(p, s, -5.23025580e-2f);
  p = fmaf(p, s, 1.33152977e-1f);
  p = fmaf(p, s, -3.33327681e-1f);
  const float small = fmaf(p * s, x, x);
  return a < 0.55f ? small : big;
}

// The lane's cell out of the accumulators of two neighbours: unit lane >> 3, column 2 * (lane & 3) + ((lane >> 2) & 1),
// as float4 over i, f, g, o.
__device__ __forceinline__ float4 gather_cell(float a0, float a1, float a2, float a3, bool odd) {
  const float r0 = __shfl_xor_sync(0xFFFFFFFFu, odd ? a0 : a1, 4);
  const float r1 = __shfl_xor_sync(0xFFFFFFFFu, odd ? a2 : a3, 4);
  float4 v;
  v.x = odd ? r0 : a0;
  v.y = odd ? r1 : a2;
  v.z = odd ? a1 : r0;
  v.w = odd ? a3 : r1;
  return v;
}

// Block = (layer, half of the batch, rank in the cluster). It owns units 32 * rank .. + 32 with all four gates.
// Recurrent warp w owns units 32 * rank + 4 * w .. + 4 over all of K; input warp i the tiles of recurrent warps 2i, 2i+1.
// The state buffers and the recurrent weights have K rotated by the rank: position 0 and 1 are the block's own units.
// No deadlock: a cluster waits only for clusters with smaller block indices, and slots are written once.
__global__ void __cluster_dims__(k_cluster, 1, 1) __launch_bounds__(k_threads, 1)
    lstm_kernel(const float* __restrict__ x, const float* __restrict__ h0, const float* __restrict__ c0,
                const uint4* __restrict__ packed, const float4* __restrict__ inv, const float4* __restrict__ bias,
                uint4* slots, float* out, uint64_t* report) {
  extern __shared__ __align__(128) unsigned char smem[];
  const uint32_t sbase = static_cast<uint32_t>(__cvta_generic_to_shared(smem));

  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = __shfl_sync(0xFFFFFFFFu, tid >> 5, 0);
  const int rank = blockIdx.x & 7;
  const int half = (blockIdx.x >> 3) & 1;
  const int layer = blockIdx.x >> 4;

  // Barriers. The own part of the state is announced by the arrival of each recurrent warp, the others' by bytes.
  if (tid == 0) {
    for (int i = 0; i < 16; ++i) bar_init(sbase + k_off_full + i * 8, (i & 7) == rank ? k_recurrent_warps : 1);
    for (int i = 0; i < k_ring * 4; ++i) {
      bar_init(sbase + k_off_gxf + i * 8, 1);
      bar_init(sbase + k_off_gxe + i * 8, 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // Armed before the first send: the cluster barrier below stands between.
    for (int i = 0; i < 16; ++i) {
      if ((i & 7) != rank) bar_expect(sbase + k_off_full + i * 8, k_h_bytes);
    }
  }
  __syncwarp();

  // Fragments of the input weights
  {
    const uint4* source = packed + static_cast<size_t>((layer * 8 + rank) * 2 + 1) * k_w_pieces;
    uint4* ws = reinterpret_cast<uint4*>(smem + k_off_w);
#pragma unroll 1
    for (int i = tid; i < k_w_pieces; i += 8 * k_threads) {
      uint4 v[8];
#pragma unroll
      for (int q = 0; q < 8; ++q) {
        v[q] = make_uint4(0u, 0u, 0u, 0u);
        if (i + q * k_threads < k_w_pieces) v[q] = __ldcg(source + i + q * k_threads);
      }
#pragma unroll
      for (int q = 0; q < 8; ++q) {
        if (i + q * k_threads < k_w_pieces) ws[i + q * k_threads] = v[q];
      }
    }
  }

  // Zeros: the columns 5 to 7 of both state buffers, all of the input chunk
  {
    uint4* h = reinterpret_cast<uint4*>(smem + k_off_h);
    uint4* xs = reinterpret_cast<uint4*>(smem + k_off_x);
    for (int i = tid; i < 1024; i += k_threads) {
      if ((i & 31) >= k_rows * 4) h[i] = make_uint4(0u, 0u, 0u, 0u);
      xs[i] = make_uint4(0u, 0u, 0u, 0u);
    }
    if (tid < 16) reinterpret_cast<float*>(smem + k_off_col)[tid] = layer == 0 ? 1.0f : 1.0f / 2048.0f;
    if (tid >= 64 && tid < 96) {
      reinterpret_cast<float4*>(smem + k_off_bias)[tid - 64] = bias[layer * k_hidden + rank * 32 + tid - 64];
    } else if (tid >= 96 && tid < 128) {
      reinterpret_cast<float4*>(smem + k_off_scale)[tid - 96] = inv[(layer * 2 + 1) * k_hidden + rank * 32 + tid - 96];
    }
  }
  __syncwarp();

  // First state, one warp for each row, with a scale of its own
  if (warp < k_rows) {
    const float* source = h0 + (layer * k_batch + half * k_rows + warp) * k_hidden + 4 * lane;
    float v[8];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      v[q] = source[q];
      v[4 + q] = source[128 + q];
    }
    uint32_t m = 0u;
#pragma unroll
    for (int q = 0; q < 8; ++q) m = max(m, __float_as_uint(v[q]) & 0x7FFFFFFFu);
    m = __reduce_max_sync(0xFFFFFFFFu, m);
    const uint32_t se = scale_exponent(m);
    const float scale = __uint_as_float(se << 23);
    uint4* h = reinterpret_cast<uint4*>(smem + k_off_h) + warp * 4 + (lane & 3);
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      uint4 f;
      split2(v[4 * p] * scale, v[4 * p + 1] * scale, f.x, f.z);
      split2(v[4 * p + 2] * scale, v[4 * p + 3] * scale, f.y, f.w);
      const int position = ((lane >> 2) + 8 * p + 16 - 2 * rank) & 15;
      h[position * 32] = f;
    }
    if (lane == 0) reinterpret_cast<float*>(smem + k_off_hscale)[warp] = __uint_as_float((254u - se) << 23);
  }

  __syncthreads();
  cluster_sync();

  // The lane's cell in a tile
  const int u = lane >> 3;
  const bool odd = (lane & 4) != 0;
  const int n = 2 * (lane & 3) + ((lane >> 2) & 1);

  if (warp < k_recurrent_warps) {
    // ---------------------------------------------------------------- recurrent warps
    asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
    const int w = warp;
    const int unit = rank * 32 + 4 * w + u;
    const bool live = n < k_rows;

    uint4 ahi[16];
    uint4 alo[16];
    {
      const uint4* source = packed + static_cast<size_t>((layer * 8 + rank) * 2) * k_w_pieces + w * 1024 + lane;
#pragma unroll
      for (int kt = 0; kt < 16; ++kt) {
        const int piece = ((kt + 2 * rank) & 15) * 64;
        ahi[kt] = __ldcg(source + piece);
        alo[kt] = __ldcg(source + piece + 32);
      }
#pragma unroll
      for (int kt = 0; kt < 16; ++kt) {
        asm volatile("" : "+r"(ahi[kt].x), "+r"(ahi[kt].y), "+r"(ahi[kt].z), "+r"(ahi[kt].w));
        asm volatile("" : "+r"(alo[kt].x), "+r"(alo[kt].y), "+r"(alo[kt].z), "+r"(alo[kt].w));
      }
    }

    const float4 rs = inv[(layer * 2) * k_hidden + unit];
    float c = 0.0f;
    float hs = 1.0f;
    if (live) {
      c = c0[(layer * k_batch + half * k_rows + n) * k_hidden + unit];
      hs = reinterpret_cast<const float*>(smem + k_off_hscale)[n];
    }
    __syncwarp();

    const int n1 = lane >> 3;                       // row that this lane sends in the first round
    const int from = (n1 & 1) * 4 + (n1 >> 1);      // lane of unit 0 of that row
    const int kt_out = 2 * rank + (w >> 2);
    const int kt_to = (kt_out + 16 - 2 * (lane & 7)) & 15;  // its position in the buffer of the receiver
    const bool self = (lane & 7) == rank;           // this lane's receiver is the own block
    const bool peer = lane < 8 && lane != rank;     // this lane waits for another block
    const uint32_t on = lane < 4 * k_rows ? 1u : 0u;  // lanes of live columns of the B fragments
    const uint32_t remote = map_rank(sbase, lane & 7);
    const uint32_t data_out = k_off_h + (kt_to * 32 + n1 * 4 + (w & 3)) * 16;
    const uint32_t data_out4 = k_off_h + (kt_to * 32 + 4 * 4 + (w & 3)) * 16;
    uint4* hand = slots +
                  static_cast<size_t>((layer < k_layers - 1 ? layer : 0) * 2 + half) * k_steps * k_step_pieces +
                  kt_out * 20 + (w & 3);

    int s = 0;
    int chunk = 0;
#pragma unroll 1
    for (int t = 0; t < k_steps; ++t) {
      // Buffer t & 1 holds h of step t - 1. A producer sends into it again (h of step t + 1) only after it has h of
      // step t from all warps of this block, and each of them sends that after its product with this buffer; warp 0
      // after it armed the barriers again. So nothing is overwritten before its last read and no phase is missed.
      // The same holds for the own part: a warp of this block stores h of step t + 1 only after it waited for the
      // arrivals of all eight with h of step t, and each of them arrives after its product with this buffer.
      float hh[3][4];
      float xx[3][4];
#pragma unroll
      for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          hh[i][r] = 0.0f;
          xx[i][r] = 0.0f;
        }
      }
      uint4 b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) b[i] = make_uint4(0u, 0u, 0u, 0u);
      const uint32_t hb = sbase + k_off_h + (t & 1) * k_h_buffer + lane * 16;
      const uint32_t full = sbase + k_off_full + (t & 1) * 64;
      const uint32_t bar = full + (lane & 7) * 8;

      // The own eighth of K, while the others' parts are on their way
      if (t > 0) wait_parity<1>(full + rank * 8, ((t - 1) >> 1) & 1, report);
      __syncwarp();
#pragma unroll
      for (int kt = 0; kt < 2; ++kt) load_shared4_if(b[kt], hb + kt * 512, on);
#pragma unroll
      for (int kt = 0; kt < 2; ++kt) {
        mma(hh[kt % 3], ahi[kt], b[kt].x, b[kt].y);
        mma(xx[(2 * kt) % 3], alo[kt], b[kt].x, b[kt].y);
        mma(xx[(2 * kt + 1) % 3], ahi[kt], b[kt].z, b[kt].w);
      }

      // Input gates of this step
      const int slot = chunk & (k_ring - 1);
      if (s == 0) {
        wait_parity<3>(sbase + k_off_gxf + (slot * 4 + (w >> 1)) * 8, (chunk >> 2) & 1, report);
        __syncwarp();
      }
      float4 gx = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (live) {
        gx = *reinterpret_cast<const float4*>(smem + k_off_gx + (slot * k_chunk + s) * k_gx_bytes +
                                              (w * 20 + n * 4 + u) * 16);
      }
      __syncwarp();
      if (s == k_chunk - 1 && lane == 0) bar_arrive(sbase + k_off_gxe + (slot * 4 + (w >> 1)) * 8);

      // The other seven blocks
      if (t > 0) {
        if (peer) wait_parity<1>(bar, ((t - 1) >> 1) & 1, report);
      }
      __syncwarp();
#pragma unroll
      for (int kt = 2; kt < 6; ++kt) load_shared4_if(b[kt & 3], hb + kt * 512, on);
#pragma unroll
      for (int kt = 2; kt < 16; ++kt) {
        mma(hh[kt % 3], ahi[kt], b[kt & 3].x, b[kt & 3].y);
        mma(xx[(2 * kt) % 3], alo[kt], b[kt & 3].x, b[kt & 3].y);
        mma(xx[(2 * kt + 1) % 3], ahi[kt], b[kt & 3].z, b[kt & 3].w);
        if (kt + 4 < 16) load_shared4_if(b[kt & 3], hb + (kt + 4) * 512, on);
      }
      if (t > 0 && w == 0 && peer) bar_expect(bar, k_h_bytes);
      __syncwarp();

      float a[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) a[r] = ((xx[0][r] + xx[1][r]) + xx[2][r]) + ((hh[0][r] + hh[1][r]) + hh[2][r]);
      const float4 cell = gather_cell(a[0], a[1], a[2], a[3], odd);
      const float gi = sigmoid(fmaf(cell.x * hs, rs.x, gx.x));
      const float gf = sigmoid(fmaf(cell.y * hs, rs.y, gx.y));
      const float gg = tanh_select(fmaf(cell.z * hs, rs.z, gx.z));
      const float go = sigmoid(fmaf(cell.w * hs, rs.w, gx.w));
      c = fmaf(gf, c, gi * gg);
      const float h = go * tanh_select(c);

      // |h| <= 1: fixed scale 2^11
      const float v = h * 2048.0f;
      const __half vh = __float2half_rn(v);
      const __half vl = __float2half_rn(v - __half2float(vh));
      const uint32_t word =
          static_cast<uint32_t>(__half_as_ushort(vh)) | (static_cast<uint32_t>(__half_as_ushort(vl)) << 16);

      const uint32_t p0 = __shfl_sync(0xFFFFFFFFu, word, from);
      const uint32_t p1 = __shfl_sync(0xFFFFFFFFu, word, from + 8);
      const uint32_t p2 = __shfl_sync(0xFFFFFFFFu, word, from + 16);
      const uint32_t p3 = __shfl_sync(0xFFFFFFFFu, word, from + 24);
      const uint4 piece = make_uint4(__byte_perm(p0, p1, 0x5410), __byte_perm(p2, p3, 0x5410),
                                     __byte_perm(p0, p1, 0x7632), __byte_perm(p2, p3, 0x7632));
      const uint32_t q0 = __shfl_sync(0xFFFFFFFFu, word, 2);
      const uint32_t q1 = __shfl_sync(0xFFFFFFFFu, word, 10);
      const uint32_t q2 = __shfl_sync(0xFFFFFFFFu, word, 18);
      const uint32_t q3 = __shfl_sync(0xFFFFFFFFu, word, 26);
      const uint4 piece4 = make_uint4(__byte_perm(q0, q1, 0x5410), __byte_perm(q2, q3, 0x5410),
                                      __byte_perm(q0, q1, 0x7632), __byte_perm(q2, q3, 0x7632));
      if (t + 1 < k_steps) {
        const int buffer = (t + 1) & 1;
        const uint32_t to = remote + buffer * k_h_buffer;
        const uint32_t here = sbase + buffer * k_h_buffer;
        const uint32_t own_bar = k_off_full + (buffer * 8 + rank) * 8;
        if (!self) send4(to + data_out, piece, remote + own_bar);
        if (peer) send4(to + data_out4, piece4, remote + own_bar);
        if (self) store_shared4(here + data_out, piece);
        if (lane == rank) store_shared4(here + data_out4, piece4);
        __syncwarp();
        if (lane == 0) bar_arrive(sbase + own_bar);
      }
      if (layer < k_layers - 1) {
        if ((lane & 7) == 0) store_relaxed4(hand + t * k_step_pieces + n1 * 4, piece);
        if (lane == 0) store_relaxed4(hand + t * k_step_pieces + 4 * 4, piece4);
      }
      __syncwarp();

      hs = 1.0f / 2048.0f;
      if (++s == k_chunk) {
        s = 0;
        ++chunk;
      }
    }

    if (live) out[(layer * k_batch + half * k_rows + n) * k_hidden + unit] = c;
    cluster_sync();
  } else {
    // ---------------------------------------------------------------- input warps
    asm volatile("setmaxnreg.dec.sync.aligned.u32 104;");
    const int iw = warp - 8;
    const bool aligned = (reinterpret_cast<uintptr_t>(x) & 15) == 0;
    const uint4* in =
        slots + static_cast<size_t>((layer > 0 ? layer - 1 : 0) * 2 + half) * k_steps * k_step_pieces;
    uint4* xs = reinterpret_cast<uint4*>(smem + k_off_x);
    float* colscale = reinterpret_cast<float*>(smem + k_off_col);

#pragma unroll 1
    for (int j = 0; j < k_chunks; ++j) {
      const int first = j * k_chunk;
      const int steps = k_steps - first < k_chunk ? k_steps - first : k_chunk;

      // Fill the chunk: column = step * 5 + row
      if (layer == 0) {
        float4 v[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int col = iw + 4 * q;
          v[q] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          if (col < steps * k_rows) {
            const int st = col / k_rows;
            const int row = col - st * k_rows;
            const float* source = x + ((half * k_rows + row) * k_steps + first + st) * k_input + 4 * lane;
            if (aligned) {
              v[q] = *reinterpret_cast<const float4*>(source);
            } else {
              v[q] = make_float4(source[0], source[1], source[2], source[3]);
            }
          }
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int col = iw + 4 * q;
          if (col < steps * k_rows) {
            uint32_t m = max(max(__float_as_uint(v[q].x) & 0x7FFFFFFFu, __float_as_uint(v[q].y) & 0x7FFFFFFFu),
                             max(__float_as_uint(v[q].z) & 0x7FFFFFFFu, __float_as_uint(v[q].w) & 0x7FFFFFFFu));
            m = __reduce_max_sync(0xFFFFFFFFu, m);
            const uint32_t se = scale_exponent(m);
            const float scale = __uint_as_float(se << 23);
            uint4 f;
            split2(v[q].x * scale, v[q].y * scale, f.x, f.z);
            split2(v[q].z * scale, v[q].w * scale, f.y, f.w);
            xs[(lane >> 2) * 64 + col * 4 + (lane & 3)] = f;
            if (lane == 0) colscale[col] = __uint_as_float((254u - se) << 23);
          }
        }
      } else {
        int it = tid - 256;
        asm volatile("" : "+r"(it));  // addresses are computed again for each chunk: they would cost registers
        const uint4* source = in + first * k_step_pieces + it;
        const int limit = steps * k_step_pieces - it;
        uint4 v[8];
#pragma unroll
        for (int q = 0; q < 8; ++q) {
          v[q] = make_uint4(0u, 0u, 0u, 0u);
          if (q * 128 < limit) v[q] = load_relaxed4(source + q * 128);
        }
        unsigned tries = 0;
        uint64_t start = 0;
        while (true) {
          bool bad = false;
#pragma unroll
          for (int q = 0; q < 8; ++q) bad = bad || missing(v[q]);
          if (!bad) break;
#pragma unroll
          for (int q = 0; q < 8; ++q) {
            if (missing(v[q])) v[q] = load_relaxed4(source + q * 128);
          }
          watch<2>(tries, start, report);
        }
        __syncwarp();
#pragma unroll
        for (int q = 0; q < 8; ++q) {
          if (q * 128 < limit) {
            const int i = it + q * 128;
            const int st = i / k_step_pieces;
            const int p = i - st * k_step_pieces;
            const int kt = p / 20;
            xs[kt * 64 + st * 20 + (p - kt * 20)] = v[q];
          }
        }
      }
      input_sync();

      // Product: two tiles of rows, two of columns
      float sum[2][2][4];
      float cross[2][2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            sum[m][c][r] = 0.0f;
            cross[m][c][r] = 0.0f;
          }
        }
      }
      {
        const uint4* wa = reinterpret_cast<const uint4*>(smem + k_off_w) + iw * 2048 + lane;
        const uint4* xb = reinterpret_cast<const uint4*>(smem + k_off_x) + lane;
        const int groups = layer == 0 ? 2 : 4;
#pragma unroll 1
        for (int kq = 0; kq < groups; ++kq) {
          float hh[2][2][4];
#pragma unroll
          for (int m = 0; m < 2; ++m) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
#pragma unroll
              for (int r = 0; r < 4; ++r) hh[m][c][r] = 0.0f;
            }
          }
#pragma unroll
          for (int kk = 0; kk < 4; ++kk) {
            uint4 ah[2];
            uint4 al[2];
            uint4 b[2];
#pragma unroll
            for (int c = 0; c < 2; ++c) b[c] = xb[kk * 64 + c * 32];
#pragma unroll
            for (int m = 0; m < 2; ++m) {
              ah[m] = wa[m * 1024 + kk * 64];
              al[m] = wa[m * 1024 + kk * 64 + 32];
            }
#pragma unroll
            for (int m = 0; m < 2; ++m) {
#pragma unroll
              for (int c = 0; c < 2; ++c) mma(hh[m][c], ah[m], b[c].x, b[c].y);
            }
#pragma unroll
            for (int m = 0; m < 2; ++m) {
#pragma unroll
              for (int c = 0; c < 2; ++c) mma(cross[m][c], al[m], b[c].x, b[c].y);
            }
#pragma unroll
            for (int m = 0; m < 2; ++m) {
#pragma unroll
              for (int c = 0; c < 2; ++c) mma(cross[m][c], ah[m], b[c].z, b[c].w);
            }
          }
#pragma unroll
          for (int m = 0; m < 2; ++m) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
#pragma unroll
              for (int r = 0; r < 4; ++r) sum[m][c][r] += hh[m][c][r];
            }
          }
          wa += 256;
          xb += 256;
        }
      }
      // Column scales are read before the barrier: behind it, the next chunk may replace them.
      float cs[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) cs[c] = colscale[c * 8 + n];
      input_sync();

      const int slot = j & (k_ring - 1);
      if (j >= k_ring) wait_parity<4>(sbase + k_off_gxe + (slot * 4 + iw) * 8, ((j >> 2) & 1) ^ 1, report);
      __syncwarp();
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int cell_unit = (2 * iw + m) * 4 + u;
        const float4 sc = reinterpret_cast<const float4*>(smem + k_off_scale)[cell_unit];
        const float4 bi = reinterpret_cast<const float4*>(smem + k_off_bias)[cell_unit];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const float4 cell =
              gather_cell(sum[m][c][0] + cross[m][c][0], sum[m][c][1] + cross[m][c][1],
                          sum[m][c][2] + cross[m][c][2], sum[m][c][3] + cross[m][c][3], odd);
          const int col = c * 8 + n;
          const int st = col / k_rows;
          const int row = col - st * k_rows;
          if (col < k_chunk * k_rows) {
            float4 g;
            g.x = fmaf(cell.x * cs[c], sc.x, bi.x);
            g.y = fmaf(cell.y * cs[c], sc.y, bi.y);
            g.z = fmaf(cell.z * cs[c], sc.z, bi.z);
            g.w = fmaf(cell.w * cs[c], sc.w, bi.w);
            *reinterpret_cast<float4*>(smem + k_off_gx + (slot * k_chunk + st) * k_gx_bytes +
                                       ((2 * iw + m) * 20 + row * 4 + u) * 16) = g;
          }
          __syncwarp();
        }
      }
      __syncwarp();
      if (lane == 0) bar_arrive(sbase + k_off_gxf + (slot * 4 + iw) * 8);
      __syncwarp();
    }
    cluster_sync();
  }
}

struct State {
  uint4* packed;
  float4* inv;
  float4* bias;
};

void release(State* state) {
  cudaFree(state->packed);
  cudaFree(state->inv);
  cudaFree(state->bias);
  delete state;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* c0 = kgen_find(&args->inputs, "c0");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  if (!kgen_is(x, KGEN_FLOAT32, 3) || kgen_dim(x, 0) != k_batch || kgen_dim(x, 1) != k_steps ||
      kgen_dim(x, 2) != k_input)
    return kgen_fail(&args->error, "x must be contiguous float32 (10, 512, 128)");
  if (!kgen_is(h0, KGEN_FLOAT32, 3) || kgen_dim(h0, 0) != k_layers || kgen_dim(h0, 1) != k_batch ||
      kgen_dim(h0, 2) != k_hidden)
    return kgen_fail(&args->error, "h0 must be contiguous float32 (6, 10, 256)");
  if (!kgen_is(c0, KGEN_FLOAT32, 3) || kgen_dim(c0, 0) != k_layers || kgen_dim(c0, 1) != k_batch ||
      kgen_dim(c0, 2) != k_hidden)
    return kgen_fail(&args->error, "c0 must be contiguous float32 (6, 10, 256)");
  if (!kgen_is(y, KGEN_FLOAT32, 3) || kgen_dim(y, 0) != k_layers || kgen_dim(y, 1) != k_batch ||
      kgen_dim(y, 2) != k_hidden)
    return kgen_fail(&args->error, "output must be float32 (6, 10, 256)");

  LayerPointers p;
  for (int l = 0; l < k_layers; ++l) {
    char name[64];
    std::snprintf(name, sizeof(name), "lstm.weight_ih_l%d", l);
    const kgen_tensor* wih = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.weight_hh_l%d", l);
    const kgen_tensor* whh = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.bias_ih_l%d", l);
    const kgen_tensor* bih = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.bias_hh_l%d", l);
    const kgen_tensor* bhh = kgen_find(&args->parameters, name);
    const int64_t length = l == 0 ? k_input : k_hidden;
    if (!kgen_is(wih, KGEN_FLOAT32, 2) || kgen_dim(wih, 0) != 4 * k_hidden || kgen_dim(wih, 1) != length ||
        !kgen_is(whh, KGEN_FLOAT32, 2) || kgen_dim(whh, 0) != 4 * k_hidden || kgen_dim(whh, 1) != k_hidden ||
        !kgen_is(bih, KGEN_FLOAT32, 1) || kgen_dim(bih, 0) != 4 * k_hidden || !kgen_is(bhh, KGEN_FLOAT32, 1) ||
        kgen_dim(bhh, 0) != 4 * k_hidden)
      return kgen_fail(&args->error, "weights of the LSTM do not have the expected shapes");
    p.wih[l] = static_cast<const float*>(wih->data);
    p.whh[l] = static_cast<const float*>(whh->data);
    p.bih[l] = static_cast<const float*>(bih->data);
    p.bhh[l] = static_cast<const float*>(bhh->data);
  }

  if (cudaFuncSetAttribute(lstm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_smem) != cudaSuccess)
    return kgen_fail(&args->error, "not enough shared memory per block");

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(k_layers * 2 * k_cluster);
  config.blockDim = dim3(k_threads);
  config.dynamicSmemBytes = k_smem;
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = k_cluster;
  attribute[0].val.clusterDim.y = 1;
  attribute[0].val.clusterDim.z = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, lstm_kernel, &config) != cudaSuccess || clusters < 1)
    return kgen_fail(&args->error, "no cluster of 8 blocks fits on the device");

  constexpr int count = k_layers * 8 * 2 * k_w_pieces;
  constexpr int rows = k_layers * 2 * 4 * k_hidden;
  State* state = new State{nullptr, nullptr, nullptr};
  if (cudaMalloc(reinterpret_cast<void**>(&state->packed), sizeof(uint4) * count) != cudaSuccess ||
      cudaMalloc(reinterpret_cast<void**>(&state->inv), sizeof(float4) * k_layers * 2 * k_hidden) != cudaSuccess ||
      cudaMalloc(reinterpret_cast<void**>(&state->bias), sizeof(float4) * k_layers * k_hidden) != cudaSuccess) {
    release(state);
    return kgen_fail(&args->error, "no memory for the packed weights");
  }
  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  row_scales<<<rows / 8, 256, 0, stream>>>(p, reinterpret_cast<float*>(state->inv));
  pack_weights<<<(count + 255) / 256, 256, 0, stream>>>(p, reinterpret_cast<const float*>(state->inv), state->packed);
  pack_bias<<<k_layers, k_hidden, 0, stream>>>(p, state->bias);
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) {
    release(state);
    return kgen_fail(&args->error, cudaGetErrorString(status));
  }
  result->state = state;
  result->workspace_bytes = k_slot_bytes + 256;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* c0 = kgen_find(&args->inputs, "c0");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  const uintptr_t raw = (reinterpret_cast<uintptr_t>(args->workspace) + 255) & ~static_cast<uintptr_t>(255);
  uint4* slots = reinterpret_cast<uint4*>(raw);
  cudaError_t status = cudaMemsetAsync(slots, 0xFF, k_slot_bytes, stream);
  if (status != cudaSuccess) return kgen_fail(&args->error, cudaGetErrorString(status));
  lstm_kernel<<<k_layers * 2 * k_cluster, k_threads, k_smem, stream>>>(
      static_cast<const float*>(x->data), static_cast<const float*>(h0->data), static_cast<const float*>(c0->data),
      state->packed, state->inv, state->bias, slots, static_cast<float*>(y->data), args->report);
  status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  release(state);
}
