#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("h_full", "input_ready");

namespace {

// ---------------------------------------------------------------------------------------------
// Shape of the task
// ---------------------------------------------------------------------------------------------
constexpr int k_steps = 512;
constexpr int k_batch = 10;
constexpr int k_in = 128;
constexpr int k_hidden = 256;
constexpr int k_layers = 6;

// Work division: cluster = (layer, half of the batch), block = 32 hidden units (96 gate rows).
constexpr int k_cluster = 8;
constexpr int k_rows = 5;         // batch rows of a cluster
constexpr int k_rec_warps = 8;    // (16 units 2) x (quarter of K 4)
constexpr int k_in_warps = 4;     // quarter of K
constexpr int k_warps = k_rec_warps + k_in_warps;
constexpr int k_threads = k_warps * 32;
constexpr int k_gate_warps = 5;   // warp b < 5 combines the gates of batch row b, lane = unit
constexpr int k_blocks = k_layers * 2 * k_cluster;

// Fragments of 512 bytes (16 bytes a lane) of a block.
constexpr int k_rec_frags = 24;   // a recurrent warp: 3 gates x 4 k-tiles x {hi, lo}
constexpr int k_in_frags = 48;    // an input warp: 2 halves of the units x 3 gates x 4 k-tiles x {hi, lo}
constexpr int k_block_frags = k_rec_warps * k_rec_frags + k_in_warps * k_in_frags;  // 384

// A message: 32 units of one producer, 5 rows.
//   [j 2][row 5][tig 4] x 16 bytes {hi01, hi23, lo01, lo23}, then 8 floats: inverse scale of each row.
constexpr int k_msg = 672;                // bytes
constexpr int k_buf = 8 * k_msg;          // 5376 bytes: whole state of 5 rows
constexpr int k_buf_vec = k_buf / 16;     // 336
constexpr int k_msg_vec = k_msg / 16;     // 42

// Partial sums: [buffer 2][quarter 4][r, z, n][row 8 * 36]
constexpr int k_cat = 8 * 36;
constexpr int k_part_kq = 3 * k_cat;        // 864 floats
constexpr int k_part_buf = 4 * k_part_kq;   // 3456 floats

// Shared memory
constexpr int k_off_h = 0;                                        // 4 buffers
constexpr int k_off_part = k_off_h + 4 * k_buf;                   // recurrent partial sums
constexpr int k_off_xpart = k_off_part + 2 * k_part_buf * 4;      // input partial sums
constexpr int k_off_wlo = k_off_xpart + 2 * k_part_buf * 4;       // low parts of the input weights
constexpr int k_off_whi = k_off_wlo + k_in_warps * 24 * 512;      // high parts of one tile of them
constexpr int k_off_bias = k_off_whi + k_in_warps * 4 * 512;
constexpr int k_smem = k_off_bias + 4 * 32 * 4;

// Named barriers
constexpr int k_bar_sum = 1;
constexpr int k_bar_xfull = 2;  // 2, 3
constexpr int k_bar_xfree = 4;  // 4, 5
constexpr int k_sum_count = k_rec_warps * 32;                               // 256
constexpr int k_xfull_count = (k_in_warps + k_gate_warps) * 32;             // 288
constexpr int k_xfree_count = (k_in_warps + k_rec_warps - k_gate_warps) * 32;  // 224

constexpr uint32_t k_sentinel = 0xFFFFFFFFu;
constexpr uint32_t k_one_bits = 0x3F800000u;
constexpr uint32_t k_full = 0xFFFFFFFFu;
constexpr uint32_t k_spin_shared = 1u << 26;
constexpr uint32_t k_spin_global = 1u << 22;

// ---------------------------------------------------------------------------------------------
// Small device helpers
// ---------------------------------------------------------------------------------------------
__device__ __forceinline__ uint32_t smem_u32(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ uint32_t mapa(uint32_t addr, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(addr), "r"(rank));
  return r;
}

template <int Code>
__device__ __forceinline__ void give_up(uint64_t* report) {
  if (Code == 1) {
    KGEN_REPORT(report, 1);
  } else {
    KGEN_REPORT(report, 2);
  }
  __trap();
}

template <int Count>
__device__ __forceinline__ void bar_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(Count) : "memory");
}

template <int Count>
__device__ __forceinline__ void bar_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(Count) : "memory");
}

// Stores to the shared memory of a block of the cluster.
__device__ __forceinline__ void st_cluster_v4(uint32_t addr, uint4 v) {
  asm volatile("st.relaxed.cluster.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(addr), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void st_cluster_word(uint32_t addr, uint32_t v) {
  asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], %1;" ::"r"(addr), "r"(v) : "memory");
}

// Loads of what other blocks write into the shared memory of this one.
__device__ __forceinline__ uint32_t lds_poll(uint32_t addr) {
  uint32_t v;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(addr) : "memory");
  return v;
}

__device__ __forceinline__ uint4 lds_poll4(uint32_t addr) {
  uint4 v;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(addr)
               : "memory");
  return v;
}

__device__ __forceinline__ float2 lds_poll_f2(uint32_t addr) {
  float2 v;
  asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(addr) : "memory");
  return v;
}

// Loads from shared memory that stay where they are.
__device__ __forceinline__ uint4 lds_here(uint32_t addr) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(addr)
               : "memory");
  return v;
}

__device__ __forceinline__ float lds_float(uint32_t addr) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(addr) : "memory");
  return v;
}

__device__ __forceinline__ void sts_vec(uint32_t addr, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(addr), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void sts_float(uint32_t addr, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(addr), "f"(v) : "memory");
}

__device__ __forceinline__ void cp_async16(uint32_t dst, const void* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
}

__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ __forceinline__ void prefetch_l2(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

__device__ __forceinline__ uint4 ld_relaxed(const void* p) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}

__device__ __forceinline__ uint2 ld_relaxed2(const void* p) {
  uint2 v;
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p) : "memory");
  return v;
}

__device__ __forceinline__ void st_relaxed(void* p, uint4 v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void st_relaxed_word(void* p, uint32_t v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// A load that the compiler must not repeat: what it gives stays in registers.
__device__ __forceinline__ uint4 ld_keep(const void* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

__device__ __forceinline__ void mma(float (&c)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// The first product of a chain: nothing to add to.
__device__ __forceinline__ void mma_zero(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "f"(0.0f));
}

__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float sigmoid(float a) {
  const float d = 1.0f + ex2(fminf(-1.442695041f * a, 125.0f));
  const float r = rcp(d);
  return fmaf(r, fmaf(-d, r, 1.0f), r);
}

__device__ __forceinline__ float tanh_both(float a) {
  const float t = fabsf(a);
  const float e = ex2(2.885390082f * t);
  const float large = copysignf(fmaf(-2.0f, rcp(e + 1.0f), 1.0f), a);
  const float s = a * a;
  float p = 0.000590027440f;
  p = fmaf(p, s, -0.00145583438f);
  p = fmaf(p, s, 0.00359212804f);
  p = fmaf(p, s, -0.00886323553f);
  p = fmaf(p, s, 0.0218694885f);
  p = fmaf(p, s, -0.0539682540f);
  p = fmaf(p, s, 0.133333333f);
  p = fmaf(p, s, -0.333333333f);
  const float small = fmaf(p * s, a, a);
  return t < 0.6f ? small : large;
}

// Scales: the largest value of a group, exponent e (biased), goes to [2^14, 2^15).
__device__ __forceinline__ uint32_t abs_bits(float v) { return __float_as_uint(v) & 0x7FFFFFFFu; }

__device__ __forceinline__ uint32_t group_exponent(uint32_t bits) { return min(max(bits >> 23, 87u), 240u); }

__device__ __forceinline__ float scale_up(uint32_t e) { return __uint_as_float((268u - e) << 23); }

__device__ __forceinline__ uint32_t scale_down_bits(uint32_t e) { return (e - 14u) << 23; }

__device__ __forceinline__ uint32_t half2_bits(__half2 h) { return *reinterpret_cast<uint32_t*>(&h); }

__device__ __forceinline__ uint4 split4(float a, float b, float c, float d) {
  const __half2 h01 = __floats2half2_rn(a, b);
  const __half2 h23 = __floats2half2_rn(c, d);
  const float2 f01 = __half22float2(h01);
  const float2 f23 = __half22float2(h23);
  const __half2 l01 = __floats2half2_rn(a - f01.x, b - f01.y);
  const __half2 l23 = __floats2half2_rn(c - f23.x, d - f23.y);
  return make_uint4(half2_bits(h01), half2_bits(h23), half2_bits(l01), half2_bits(l23));
}

// Exponent for a state row of 32 units (one a lane) and for its successor: h' lies between n,
// |n| <= 1, and h, so max(1, |h|) bounds both; scaled values have a bit of headroom in fp16.
__device__ __forceinline__ uint32_t state_exponent(float v) {
  return group_exponent(max(__reduce_max_sync(k_full, abs_bits(v)), k_one_bits));
}

// One value per lane (32 units of a row) to the 16-byte group lane & 7.
__device__ __forceinline__ uint4 pack_units(float v, float s, int lane) {
  const float a = v * s;
  const float lo = a - __half2float(__float2half_rn(a));
  const uint32_t w = half2_bits(__floats2half2_rn(a, lo));  // low half: hi, high half: lo
  const int q4 = (lane & 7) * 4;
  const uint32_t w0 = __shfl_sync(k_full, w, q4);
  const uint32_t w1 = __shfl_sync(k_full, w, q4 + 1);
  const uint32_t w2 = __shfl_sync(k_full, w, q4 + 2);
  const uint32_t w3 = __shfl_sync(k_full, w, q4 + 3);
  return make_uint4(__byte_perm(w0, w1, 0x5410), __byte_perm(w2, w3, 0x5410), __byte_perm(w0, w1, 0x7632),
                    __byte_perm(w2, w3, 0x7632));
}

__device__ __forceinline__ uint32_t top_word(const uint4& v) { return max(max(v.x, v.y), max(v.z, v.w)); }

// ---------------------------------------------------------------------------------------------
// The kernel: all layers as a wavefront
// ---------------------------------------------------------------------------------------------
// Words validate themselves: a buffer holds the sentinel until its values come. No fp16 pair and no
// scale is 0xFFFFFFFF (a NaN of a conversion is 0x7FFF).
//
// Why nothing is overwritten or reset early. "SUM t" is the barrier of the recurrent warps in step t;
// whoever passed it knows that this block has received h_{t-1} of all eight blocks.
//  - h buffers, h_t in buffer t & 3: h_{t-1} is put back to the sentinel in step t, after SUM t, thus
//    after all warps of the block took it, and before warps 5-7 arrive at SUM t+1. A producer writes
//    h_{t+3} there only after it received h_{t+2} of this block, which is sent after SUM t+2.
//  - partial sums of the state, two: those of t are overwritten after SUM t+1, at which the gate warps
//    arrive after they have read them.
//  - partial sums of the input, two: read by the gate warps in step t before SUM t; warps 5-7 free
//    them after SUM t, and the input warps wait for that before the product of t+2.
//  - words in global memory: x_{t-1} goes back to the sentinel in step t, after SUM t: all blocks have
//    sent h_{t-1}, thus have added the products of x_{t-1}. x_511 follows after the last cluster barrier.
__global__ void __launch_bounds__(k_threads, 1)
    gru_kernel(const float* __restrict__ x, const float* __restrict__ h0, float* __restrict__ out,
               const uint4* __restrict__ frags, const float* __restrict__ biases, const float* __restrict__ scales,
               uint4* xg, uint64_t* report) {
  extern __shared__ __align__(128) unsigned char smem[];
  const int tid = static_cast<int>(threadIdx.x);
  const int warp = __shfl_sync(k_full, tid >> 5, 0);
  const int lane = tid & 31;
  const int g = lane >> 2;
  const int tig = lane & 3;
  const int rank = static_cast<int>(cluster_rank());
  const int layer = static_cast<int>(blockIdx.x) >> 4;
  const int grp = (static_cast<int>(blockIdx.x) >> 3) & 1;
  const uint32_t sb = smem_u32(smem);
  uint4* const xin = xg + (layer > 0 ? ((layer - 1) * 2 + grp) * k_steps * k_buf_vec : 0);
  const uint4* const block_frags = frags + (layer * k_cluster + rank) * k_block_frags * 32 + lane;

  // Shared memory: all state buffers to the sentinel (padding of the scales 0), input sums to zero.
  for (int i = tid; i < 4 * k_buf_vec; i += k_threads) {
    const uint32_t w = (i % k_msg_vec == k_msg_vec - 1) ? 0u : k_sentinel;
    sts_vec(sb + k_off_h + i * 16, make_uint4(k_sentinel, w, w, w));
  }
  for (int i = tid; i < 2 * k_part_buf / 4; i += k_threads) sts_vec(sb + k_off_xpart + i * 16, make_uint4(0u, 0u, 0u, 0u));
  if (tid < 128) sts_float(sb + k_off_bias + tid * 4, biases[(layer * k_cluster + rank) * 128 + tid]);
  if (layer > 0) {
    if (tid < k_msg_vec) prefetch_l2(reinterpret_cast<const char*>(xin + rank * k_buf_vec) + tid * 128);
  } else {
    if (tid < 20) prefetch_l2(x + (rank * k_batch + grp * k_rows + (tid >> 2)) * k_in + (tid & 3) * 32);
  }
  __syncthreads();

  // The initial state, all 256 units, is h_{-1}: buffer 3.
  for (int c = warp; c < 8 * k_rows; c += k_warps) {
    const int row = c >> 3;
    const int p = c & 7;
    const float v = h0[(layer * k_batch + grp * k_rows + row) * k_hidden + p * 32 + lane];
    const uint32_t e = state_exponent(v);
    const uint4 pk = pack_units(v, scale_up(e), lane);
    unsigned char* msg = smem + k_off_h + 3 * k_buf + p * k_msg;
    if (lane < 8) *reinterpret_cast<uint4*>(msg + (lane >> 2) * 320 + row * 64 + (lane & 3) * 16) = pk;
    if (lane == 8) *reinterpret_cast<uint32_t*>(msg + 640 + row * 4) = scale_down_bits(e);
  }
  __syncwarp();

  if (warp < k_rec_warps) {
    // =========================================================================================
    // Recurrent warps: product with the state, gates, exchange
    // =========================================================================================
    const int ug = warp >> 2;
    const int kq = warp & 3;
    const bool gate = warp < k_gate_warps;
    const int nt = tid - k_gate_warps * 32;  // of warps 5-7

    uint4 w_hi[3][4], w_lo[3][4];
    {
      const uint4* fr = block_frags + warp * k_rec_frags * 32;
#pragma unroll
      for (int m = 0; m < 3; ++m) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          w_hi[m][k] = ld_keep(fr + ((m * 4 + k) * 2) * 32);
          w_lo[m][k] = ld_keep(fr + ((m * 4 + k) * 2 + 1) * 32);
        }
      }
    }
    const float ws = scales[layer * 2];

    float h = 0.0f;
    uint32_t e = 127u;
    if (gate) {
      h = h0[(layer * k_batch + grp * k_rows + warp) * k_hidden + rank * 32 + lane];
      e = state_exponent(h);
    }

    // Gate warps: where this lane's words of h_t go for the next layer. Warps 5-7: own slice of x_{t-1}.
    unsigned char* gp;
    if (gate) {
      gp = reinterpret_cast<unsigned char*>(xg) +
           static_cast<size_t>(layer < k_layers - 1 ? layer * 2 + grp : 0) * k_steps * k_buf + rank * k_msg;
      gp += lane < 8 ? (lane >> 2) * 320 + warp * 64 + (lane & 3) * 16 : 640 + (warp + lane - 8) * 4;
    } else {
      gp = reinterpret_cast<unsigned char*>(xin) + rank * k_msg + nt * 16 - k_buf;
    }
    const int word_end = layer == k_layers - 1 ? 0 : (warp == k_gate_warps - 1 ? 12 : 9);

    const int poll_i = min(lane, 9);
    const int poll_p = poll_i >= 5 ? 1 : 0;
    const uint32_t poll_off = sb + k_off_h + (kq * 2 + poll_p) * k_msg + 640 + (poll_i - 5 * poll_p) * 4;
    const uint32_t frag_off = sb + k_off_h + kq * 2 * k_msg + min(g, 4) * 64 + tig * 16;
    const uint32_t scale_off = sb + k_off_h + kq * 2 * k_msg + 640 + tig * 8;
    const uint32_t mine_off = sb + k_off_part + (kq * k_part_kq + 2 * tig * 36 + ug * 16 + g) * 4;

    cluster_sync();

    float ar = 0.0f, az = 0.0f, an = 0.0f;

#pragma unroll 1
    for (int t = 0; t < k_steps; ++t) {
      const int buf = t & 1;

      // Input side of this step, while the state is under way.
      if (gate) {
        bar_sync<k_xfull_count>(k_bar_xfull + buf);
        const uint32_t xa = sb + k_off_xpart + (buf * k_part_buf + warp * 36 + lane) * 4;
        float q[12];
#pragma unroll
        for (int c = 0; c < 3; ++c)
#pragma unroll
          for (int k = 0; k < 4; ++k) q[c * 4 + k] = lds_float(xa + (k * k_part_kq + c * k_cat) * 4);
        const uint32_t ba = sb + k_off_bias + lane * 4;
        const float br = lds_float(ba);
        const float bz = lds_float(ba + 128);
        const float bin = lds_float(ba + 384);
        ar = fmaf(ws, (q[0] + q[1]) + (q[2] + q[3]), br);
        az = fmaf(ws, (q[4] + q[5]) + (q[6] + q[7]), bz);
        an = fmaf(ws, (q[8] + q[9]) + (q[10] + q[11]), bin);
      }

      // Wait for h_{t-1} of the two producers of this quarter.
      const uint32_t hb = static_cast<uint32_t>((t + 3) & 3) * k_buf;
      {
        uint32_t tries = 0;
        while (__any_sync(k_full, lds_poll(poll_off + hb) == k_sentinel)) {
          if (++tries > k_spin_shared) give_up<1>(report);
        }
      }
      __syncwarp();

      // Product: 16 units x 3 gates, two producers. The words are checked in its shadow; if one had
      // not come (scales and data are separate stores), all is done again.
      float acc[2][3][4];
      float2 s0, s1;
      {
        uint32_t tries = 0;
#pragma unroll 1
        for (;;) {
          uint4 b[2][2];
          b[0][0] = lds_poll4(frag_off + hb);
          b[1][0] = lds_poll4(frag_off + hb + k_msg);
          b[0][1] = lds_poll4(frag_off + hb + 320);
          b[1][1] = lds_poll4(frag_off + hb + k_msg + 320);
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int m = 0; m < 3; ++m) mma_zero(acc[p][m], w_lo[m][2 * p], b[p][0].x, b[p][0].y);
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[p][m], w_hi[m][2 * p], b[p][0].z, b[p][0].w);
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[p][m], w_hi[m][2 * p], b[p][0].x, b[p][0].y);
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[p][m], w_lo[m][2 * p + 1], b[p][1].x, b[p][1].y);
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[p][m], w_hi[m][2 * p + 1], b[p][1].z, b[p][1].w);
#pragma unroll
          for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[p][m], w_hi[m][2 * p + 1], b[p][1].x, b[p][1].y);
          s0 = lds_poll_f2(scale_off + hb);
          s1 = lds_poll_f2(scale_off + hb + k_msg);
          const uint32_t top =
              max(max(top_word(b[0][0]), top_word(b[1][0])), max(top_word(b[0][1]), top_word(b[1][1])));
          if (!__any_sync(k_full, top == k_sentinel)) break;
          if (++tries > k_spin_shared) give_up<1>(report);
        }
      }

      {
        const uint32_t dst = mine_off + static_cast<uint32_t>(buf * k_part_buf * 4);
#pragma unroll
        for (int m = 0; m < 3; ++m) {
          sts_float(dst + (m * k_cat) * 4, fmaf(s0.x, acc[0][m][0], s1.x * acc[1][m][0]));
          sts_float(dst + (m * k_cat + 36) * 4, fmaf(s0.y, acc[0][m][1], s1.y * acc[1][m][1]));
          sts_float(dst + (m * k_cat + 8) * 4, fmaf(s0.x, acc[0][m][2], s1.x * acc[1][m][2]));
          sts_float(dst + (m * k_cat + 44) * 4, fmaf(s0.y, acc[0][m][3], s1.y * acc[1][m][3]));
        }
      }
      __syncwarp();
      bar_sync<k_sum_count>(k_bar_sum);

      if (gate) {
        // Gates of batch row `warp`, unit `lane`.
        const uint32_t pa = sb + k_off_part + (buf * k_part_buf + warp * 36 + lane) * 4;
        float qr[4], qn[4], qz[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) qr[k] = lds_float(pa + (k * k_part_kq) * 4);
#pragma unroll
        for (int k = 0; k < 4; ++k) qn[k] = lds_float(pa + (k * k_part_kq + 2 * k_cat) * 4);
        const float bhn = lds_float(sb + k_off_bias + 256 + lane * 4);
#pragma unroll
        for (int k = 0; k < 4; ++k) qz[k] = lds_float(pa + (k * k_part_kq + k_cat) * 4);

        const uint32_t msg_addr = sb + k_off_h + static_cast<uint32_t>((t & 3) * k_buf + rank * k_msg);
        const uint32_t vec_addr = msg_addr + ((lane >> 2) & 1) * 320 + warp * 64 + (lane & 3) * 16;
        const uint32_t to0 = mapa(vec_addr, static_cast<uint32_t>(lane >> 3));
        const uint32_t to1 = mapa(vec_addr, static_cast<uint32_t>((lane >> 3) + 4));
        const uint32_t to2 = mapa(msg_addr + 640 + warp * 4, static_cast<uint32_t>(lane & 7));
        const float up = scale_up(e);
        const uint32_t inv = scale_down_bits(e);

        const float r = sigmoid(fmaf(ws, (qr[0] + qr[1]) + (qr[2] + qr[3]), ar));
        const float hn = fmaf(ws, (qn[0] + qn[1]) + (qn[2] + qn[3]), bhn);
        const float z = sigmoid(fmaf(ws, (qz[0] + qz[1]) + (qz[2] + qz[3]), az));
        const float n = tanh_both(fmaf(r, hn, an));
        h = fmaf(z, h - n, n);

        const uint4 pk = pack_units(h, up, lane);
        if (t < k_steps - 1) {
          st_cluster_v4(to0, pk);
          st_cluster_v4(to1, pk);
          if (lane < 8) st_cluster_word(to2, inv);
        } else {
          out[(layer * k_batch + grp * k_rows + warp) * k_hidden + rank * 32 + lane] = h;
        }
        if (layer < k_layers - 1 && lane < 8) st_relaxed(gp, pk);
        // Row 4 also writes the three words that fill the sector.
        if (lane >= 8 && lane < word_end) st_relaxed_word(gp, lane == 8 ? inv : 0u);
        __syncwarp();
        e = state_exponent(h);
      } else {
        if (t + 2 < k_steps) bar_arrive<k_xfree_count>(k_bar_xfree + buf);
        if (layer > 0 && t > 0 && nt < k_msg_vec)
          st_relaxed(gp, make_uint4(k_sentinel, k_sentinel, k_sentinel, k_sentinel));
        // h_{t-1} has been used: two messages at a time.
        if (nt < 2 * k_msg_vec) {
          const uint32_t w = (nt == k_msg_vec - 1 || nt == 2 * k_msg_vec - 1) ? 0u : k_sentinel;
          const uint32_t ra = sb + k_off_h + hb + nt * 16;
#pragma unroll
          for (int i = 0; i < 4; ++i) sts_vec(ra + i * 2 * k_msg, make_uint4(k_sentinel, w, w, w));
        }
        __syncwarp();
      }
      gp += k_buf;
    }
  } else {
    // =========================================================================================
    // Input warps: product with the input of the layer, up to two steps ahead
    // =========================================================================================
    const int xq = warp - k_rec_warps;
    const bool active = layer > 0 || xq < 2;  // the first layer has half the K; its sums stay zero elsewhere
    const uint32_t wlo = sb + k_off_wlo + (xq * 24 * 32 + lane) * 16;
    const uint32_t whi = sb + k_off_whi + (xq * 4 * 32 + lane) * 16;

    // High parts of five tiles in registers; of the sixth, and all low parts, in shared memory
    // (each lane reads what it has copied itself).
    uint4 w_hi[5][4];
    {
      const uint4* fr = block_frags + (k_rec_warps * k_rec_frags + xq * k_in_frags) * 32;
#pragma unroll
      for (int um = 0; um < 6; ++um) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          cp_async16(wlo + (um * 4 + k) * 512, fr + ((um * 4 + k) * 2 + 1) * 32);
          if (um < 5) {
            w_hi[um < 5 ? um : 0][k] = ld_keep(fr + ((um * 4 + k) * 2) * 32);
          } else {
            cp_async16(whi + k * 512, fr + ((um * 4 + k) * 2) * 32);
          }
        }
      }
    }
    const float ratio = scales[layer * 2 + 1];

    // Where this lane reads: data of row min(g, 4), scales of rows 2 * tig and 2 * tig + 1.
    const unsigned char* src;
    const unsigned char* ssrc;
    if (layer == 0) {
      src = reinterpret_cast<const unsigned char*>(x + (grp * k_rows + min(g, 4)) * k_in + (xq & 1) * 64 + 4 * tig);
      ssrc = src;
    } else {
      src = reinterpret_cast<const unsigned char*>(xin) + xq * 2 * k_msg + min(g, 4) * 64 + tig * 16;
      ssrc = reinterpret_cast<const unsigned char*>(xin) + xq * 2 * k_msg + 640 + tig * 8;
    }

    uint4 b[2][2];
    uint2 raw[2];
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      raw[p] = make_uint2(0u, 0u);
#pragma unroll
      for (int j = 0; j < 2; ++j) b[p][j] = make_uint4(0u, 0u, 0u, 0u);
    }
    if (active) {
      if (layer == 0) {
#pragma unroll
        for (int p = 0; p < 2; ++p)
#pragma unroll
          for (int j = 0; j < 2; ++j) b[p][j] = ld_keep(src + p * 128 + j * 64);
      } else {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
#pragma unroll
          for (int j = 0; j < 2; ++j) b[p][j] = ld_relaxed(src + p * k_msg + j * 320);
          raw[p] = ld_relaxed2(ssrc + p * k_msg);
        }
      }
    }
    const uint32_t mine_off = sb + k_off_xpart + (xq * k_part_kq + 2 * tig * 36 + g) * 4;

    cp_async_wait();
    cluster_sync();

#pragma unroll 1
    for (int t = 0; t < k_steps; ++t) {
      const int buf = t & 1;
      float2 sc[2];
      sc[0] = make_float2(0.0f, 0.0f);
      sc[1] = make_float2(0.0f, 0.0f);

      // Make the operands of this step ready.
      if (active) {
        if (layer == 0) {
#pragma unroll
          for (int p = 0; p < 2; ++p) {
            uint32_t top = 0u;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
              top = max(top, max(max(b[p][j].x & 0x7FFFFFFFu, b[p][j].y & 0x7FFFFFFFu),
                                 max(b[p][j].z & 0x7FFFFFFFu, b[p][j].w & 0x7FFFFFFFu)));
            }
            top = max(top, __shfl_xor_sync(k_full, top, 1));
            top = max(top, __shfl_xor_sync(k_full, top, 2));
            const uint32_t e = group_exponent(top);
            const float s = scale_up(e);
#pragma unroll
            for (int j = 0; j < 2; ++j) {
              b[p][j] = split4(__uint_as_float(b[p][j].x) * s, __uint_as_float(b[p][j].y) * s,
                               __uint_as_float(b[p][j].z) * s, __uint_as_float(b[p][j].w) * s);
            }
            const float inv = __uint_as_float(scale_down_bits(e)) * ratio;
            // Row r is held by the lanes 4 * r ...; rows 5 to 7 repeat row 4 and are never read.
            sc[p].x = __shfl_sync(k_full, inv, 8 * tig);
            sc[p].y = __shfl_sync(k_full, inv, 8 * tig + 4);
          }
        } else {
          uint32_t tries = 0;
#pragma unroll 1
          for (;;) {
            bool bad = false;
#pragma unroll
            for (int p = 0; p < 2; ++p) {
#pragma unroll
              for (int j = 0; j < 2; ++j) {
                if (top_word(b[p][j]) == k_sentinel) {
                  b[p][j] = ld_relaxed(src + p * k_msg + j * 320);
                  bad = true;
                }
              }
              if (max(raw[p].x, raw[p].y) == k_sentinel) {
                raw[p] = ld_relaxed2(ssrc + p * k_msg);
                bad = true;
              }
            }
            if (!__any_sync(k_full, bad)) break;
            if (++tries > k_spin_global) give_up<2>(report);
          }
          __syncwarp();
#pragma unroll
          for (int p = 0; p < 2; ++p)
            sc[p] = make_float2(__uint_as_float(raw[p].x) * ratio, __uint_as_float(raw[p].y) * ratio);
        }
      }

      // Released at the sum barrier of step t - 2: the product falls into the time of gates and transit.
      if (t >= 2) bar_sync<k_xfree_count>(k_bar_xfree + buf);

      if (active) {
        const uint32_t dst = mine_off + static_cast<uint32_t>(buf * k_part_buf * 4);
#pragma unroll
        for (int u = 0; u < 2; ++u) {
          float acc[2][3][4];
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            uint4 a0[3], a1[3], lo[3];
#pragma unroll
            for (int m = 0; m < 3; ++m) {
              const int um = u * 3 + m;
              if (um < 5) {
                a0[m] = w_hi[um < 5 ? um : 0][j];
                a1[m] = w_hi[um < 5 ? um : 0][2 + j];
              } else {
                a0[m] = lds_here(whi + j * 512);
                a1[m] = lds_here(whi + (2 + j) * 512);
              }
            }
#pragma unroll
            for (int m = 0; m < 3; ++m) lo[m] = lds_here(wlo + ((u * 3 + m) * 4 + j) * 512);
#pragma unroll
            for (int m = 0; m < 3; ++m) {
              if (j == 0)
                mma_zero(acc[0][m], a0[m], b[0][j].z, b[0][j].w);
              else
                mma(acc[0][m], a0[m], b[0][j].z, b[0][j].w);
            }
#pragma unroll
            for (int m = 0; m < 3; ++m) {
              if (j == 0)
                mma_zero(acc[1][m], a1[m], b[1][j].z, b[1][j].w);
              else
                mma(acc[1][m], a1[m], b[1][j].z, b[1][j].w);
            }
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[0][m], lo[m], b[0][j].x, b[0][j].y);
#pragma unroll
            for (int m = 0; m < 3; ++m) lo[m] = lds_here(wlo + ((u * 3 + m) * 4 + 2 + j) * 512);
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[1][m], a1[m], b[1][j].x, b[1][j].y);
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[0][m], a0[m], b[0][j].x, b[0][j].y);
#pragma unroll
            for (int m = 0; m < 3; ++m) mma(acc[1][m], lo[m], b[1][j].x, b[1][j].y);
          }

          // The operands of the next step are requested as soon as their registers are free.
          if (u == 1 && t + 1 < k_steps) {
            if (layer == 0) {
              src += k_batch * k_in * 4;
#pragma unroll
              for (int p = 0; p < 2; ++p)
#pragma unroll
                for (int j = 0; j < 2; ++j) b[p][j] = ld_keep(src + p * 128 + j * 64);
            } else {
              src += k_buf;
#pragma unroll
              for (int p = 0; p < 2; ++p)
#pragma unroll
                for (int j = 0; j < 2; ++j) b[p][j] = ld_relaxed(src + p * k_msg + j * 320);
            }
          }

#pragma unroll
          for (int m = 0; m < 3; ++m) {
            const uint32_t d = dst + (m * k_cat + u * 16) * 4;
            sts_float(d, fmaf(sc[0].x, acc[0][m][0], sc[1].x * acc[1][m][0]));
            sts_float(d + 36 * 4, fmaf(sc[0].y, acc[0][m][1], sc[1].y * acc[1][m][1]));
            sts_float(d + 8 * 4, fmaf(sc[0].x, acc[0][m][2], sc[1].x * acc[1][m][2]));
            sts_float(d + 44 * 4, fmaf(sc[0].y, acc[0][m][3], sc[1].y * acc[1][m][3]));
          }
        }
        __threadfence_block();
      }
      __syncwarp();
      bar_arrive<k_xfull_count>(k_bar_xfull + buf);

      if (active && layer > 0 && t + 1 < k_steps) {
        ssrc += k_buf;
        raw[0] = ld_relaxed2(ssrc);
        raw[1] = ld_relaxed2(ssrc + k_msg);
      }
      if (xq == 0 && t + 8 < k_steps) {
        const int line = lane * 8 + rank;
        if (layer > 0) {
          if (line < k_msg_vec)
            prefetch_l2(reinterpret_cast<const char*>(xin + (t + 8) * k_buf_vec) + line * 128);
        } else {
          if (line < 20)
            prefetch_l2(x + ((t + 8) * k_batch + grp * k_rows + (line >> 2)) * k_in + (line & 3) * 32);
        }
      }
      __syncwarp();
    }
  }

  // Nobody leaves before all have received everything; then the last words go back to the sentinel.
  __syncwarp();
  cluster_sync();
  if (layer > 0 && tid < k_msg_vec)
    st_relaxed(xin + (k_steps - 1) * k_buf_vec + rank * k_msg_vec + tid,
               make_uint4(k_sentinel, k_sentinel, k_sentinel, k_sentinel));
}

// ---------------------------------------------------------------------------------------------
// Preparation
// ---------------------------------------------------------------------------------------------
struct Weights {
  const float* w_ih[k_layers];
  const float* w_hh[k_layers];
  const float* b_ih[k_layers];
  const float* b_hh[k_layers];
};

// Block i: exponent of the largest weight of matrix i (layer = i / 2; even: ih, odd: hh).
__global__ void __launch_bounds__(1024) exponent_kernel(Weights w, uint32_t* exponents) {
  const int layer = static_cast<int>(blockIdx.x) >> 1;
  const bool hh = (blockIdx.x & 1) != 0;
  const float* m = hh ? w.w_hh[layer] : w.w_ih[layer];
  const int count = 3 * k_hidden * ((!hh && layer == 0) ? k_in : k_hidden);
  uint32_t top = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 1024) top = max(top, abs_bits(m[i]));
  top = __reduce_max_sync(0xFFFFFFFFu, top);
  __shared__ uint32_t tops[32];
  if ((threadIdx.x & 31) == 0) tops[threadIdx.x >> 5] = top;
  __syncthreads();
  if (threadIdx.x < 32) {
    top = __reduce_max_sync(0xFFFFFFFFu, tops[threadIdx.x]);
    if (threadIdx.x == 0) exponents[blockIdx.x] = min(max(top >> 23, 87u), 187u);
  }
}

__device__ __forceinline__ uint32_t pack_pair(float a, float b, int low) {
  const __half2 hi = __floats2half2_rn(a, b);
  if (low == 0) return half2_bits(hi);
  const float2 f = __half22float2(hi);
  return half2_bits(__floats2half2_rn(a - f.x, b - f.y));
}

// One 16-byte fragment register group per thread.
__global__ void __launch_bounds__(256) pack_kernel(Weights w, const uint32_t* __restrict__ exponents, uint4* frags) {
  const int i = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  const int total = k_layers * k_cluster * k_block_frags * 32;
  if (i >= total) return;
  const int lane = i & 31;
  const int f = (i >> 5) % k_block_frags;
  const int block = (i >> 5) / k_block_frags;
  const int rank = block % k_cluster;
  const int layer = block / k_cluster;
  const bool ih = f >= k_rec_warps * k_rec_frags;
  int u, q, m, idx;
  if (!ih) {
    const int warp = f / k_rec_frags;
    idx = f % k_rec_frags;
    u = warp >> 2;
    q = warp & 3;
    m = idx >> 3;
  } else {
    const int f2 = f - k_rec_warps * k_rec_frags;
    idx = f2 % k_in_frags;
    q = f2 / k_in_frags;
    u = (idx >> 3) / 3;
    m = (idx >> 3) % 3;
  }
  const int kt = (idx >> 1) & 3;
  const int low = idx & 1;
  const int g = lane >> 2;
  const int tig = lane & 3;
  const int producer = 2 * q + (kt >> 1);
  const int k0 = producer * 32 + (kt & 1) * 16 + 4 * tig;
  const int row = m * k_hidden + rank * 32 + u * 16 + g;
  const int K = (ih && layer == 0) ? k_in : k_hidden;
  const float* src = ih ? w.w_ih[layer] : w.w_hh[layer];
  const float s = scale_up(exponents[layer * 2 + (ih ? 0 : 1)]);
  uint4 v = make_uint4(0u, 0u, 0u, 0u);
  if (k0 + 3 < K) {
    const float* p0 = src + row * K + k0;
    const float* p1 = src + (row + 8) * K + k0;
    v.x = pack_pair(p0[0] * s, p0[1] * s, low);
    v.y = pack_pair(p1[0] * s, p1[1] * s, low);
    v.z = pack_pair(p0[2] * s, p0[3] * s, low);
    v.w = pack_pair(p1[2] * s, p1[3] * s, low);
  }
  frags[i] = v;
}

// Block = (layer, rank), 128 threads: biases of r, z (summed), hn, in; scales of the layer.
__global__ void __launch_bounds__(128)
    bias_kernel(Weights w, const uint32_t* __restrict__ exponents, float* biases, float* scales) {
  const int layer = static_cast<int>(blockIdx.x) / k_cluster;
  const int rank = static_cast<int>(blockIdx.x) % k_cluster;
  const int cat = static_cast<int>(threadIdx.x) >> 5;
  const int unit = rank * 32 + (static_cast<int>(threadIdx.x) & 31);
  const float* bi = w.b_ih[layer];
  const float* bh = w.b_hh[layer];
  float v;
  if (cat == 0)
    v = bi[unit] + bh[unit];
  else if (cat == 1)
    v = bi[k_hidden + unit] + bh[k_hidden + unit];
  else if (cat == 2)
    v = bh[2 * k_hidden + unit];
  else
    v = bi[2 * k_hidden + unit];
  biases[blockIdx.x * 128 + threadIdx.x] = v;
  if (rank == 0 && threadIdx.x == 0) {
    const uint32_t ei = exponents[layer * 2];
    const uint32_t eh = exponents[layer * 2 + 1];
    scales[layer * 2] = __uint_as_float(scale_down_bits(eh));
    scales[layer * 2 + 1] = __uint_as_float((127u + ei - eh) << 23);
  }
}

struct State {
  unsigned char* memory;
  uint4* frags;
  uint4* xg;
  float* biases;
  float* scales;
  uint32_t* exponents;
};

void fill_config(cudaLaunchConfig_t* config, cudaLaunchAttribute* attribute, cudaStream_t stream) {
  *config = cudaLaunchConfig_t{};
  config->gridDim = dim3(k_blocks, 1, 1);
  config->blockDim = dim3(k_threads, 1, 1);
  config->dynamicSmemBytes = k_smem;
  config->stream = stream;
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = k_cluster;
  attribute->val.clusterDim.y = 1;
  attribute->val.clusterDim.z = 1;
  config->attrs = attribute;
  config->numAttrs = 1;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* out = kgen_find(&args->outputs, "output");
  if (!kgen_is(x, KGEN_FLOAT32, 3) || kgen_dim(x, 0) != k_steps || kgen_dim(x, 1) != k_batch ||
      kgen_dim(x, 2) != k_in)
    return kgen_fail(&args->error, "x must be contiguous float32 (512, 10, 128)");
  if (!kgen_is(h0, KGEN_FLOAT32, 3) || kgen_dim(h0, 0) != k_layers || kgen_dim(h0, 1) != k_batch ||
      kgen_dim(h0, 2) != k_hidden)
    return kgen_fail(&args->error, "h0 must be contiguous float32 (6, 10, 256)");
  if (!kgen_is(out, KGEN_FLOAT32, 3) || kgen_dim(out, 0) != k_layers || kgen_dim(out, 1) != k_batch ||
      kgen_dim(out, 2) != k_hidden)
    return kgen_fail(&args->error, "output must be contiguous float32 (6, 10, 256)");

  Weights w;
  for (int l = 0; l < k_layers; ++l) {
    char name[64];
    const int in = l == 0 ? k_in : k_hidden;
    std::snprintf(name, sizeof(name), "gru.weight_ih_l%d", l);
    const kgen_tensor* wi = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "gru.weight_hh_l%d", l);
    const kgen_tensor* wh = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "gru.bias_ih_l%d", l);
    const kgen_tensor* bi = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "gru.bias_hh_l%d", l);
    const kgen_tensor* bh = kgen_find(&args->parameters, name);
    if (!kgen_is(wi, KGEN_FLOAT32, 2) || kgen_dim(wi, 0) != 3 * k_hidden || kgen_dim(wi, 1) != in ||
        !kgen_is(wh, KGEN_FLOAT32, 2) || kgen_dim(wh, 0) != 3 * k_hidden || kgen_dim(wh, 1) != k_hidden ||
        !kgen_is(bi, KGEN_FLOAT32, 1) || kgen_dim(bi, 0) != 3 * k_hidden || !kgen_is(bh, KGEN_FLOAT32, 1) ||
        kgen_dim(bh, 0) != 3 * k_hidden)
      return kgen_fail(&args->error, "the weights of a layer have another shape than expected");
    w.w_ih[l] = static_cast<const float*>(wi->data);
    w.w_hh[l] = static_cast<const float*>(wh->data);
    w.b_ih[l] = static_cast<const float*>(bi->data);
    w.b_hh[l] = static_cast<const float*>(bh->data);
  }

  cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  if (cudaFuncSetAttribute(gru_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_smem) != cudaSuccess)
    return kgen_fail(&args->error, "the kernel does not get its shared memory");
  {
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;
    fill_config(&config, &attribute, stream);
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, gru_kernel, &config) != cudaSuccess || clusters < 1)
      return kgen_fail(&args->error, "no cluster of 8 blocks fits on the device");
  }

  const size_t frag_bytes = static_cast<size_t>(k_layers) * k_cluster * k_block_frags * 32 * sizeof(uint4);
  const size_t xg_bytes = static_cast<size_t>(k_layers - 1) * 2 * k_steps * k_buf;
  const size_t bias_bytes = static_cast<size_t>(k_layers) * k_cluster * 128 * sizeof(float);
  const size_t scale_bytes = 256;
  const size_t exponent_bytes = 256;
  unsigned char* memory = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&memory),
                 frag_bytes + xg_bytes + bias_bytes + scale_bytes + exponent_bytes) != cudaSuccess)
    return kgen_fail(&args->error, "no memory for packed weights");
  State* state = new State;
  state->memory = memory;
  state->frags = reinterpret_cast<uint4*>(memory);
  state->xg = reinterpret_cast<uint4*>(memory + frag_bytes);
  state->biases = reinterpret_cast<float*>(memory + frag_bytes + xg_bytes);
  state->scales = reinterpret_cast<float*>(memory + frag_bytes + xg_bytes + bias_bytes);
  state->exponents = reinterpret_cast<uint32_t*>(memory + frag_bytes + xg_bytes + bias_bytes + scale_bytes);

  // The words between layers hold the sentinel before each call, and each call leaves them so.
  cudaError_t status = cudaMemsetAsync(state->xg, 0xFF, xg_bytes, stream);
  if (status == cudaSuccess) {
    exponent_kernel<<<2 * k_layers, 1024, 0, stream>>>(w, state->exponents);
    const int total = k_layers * k_cluster * k_block_frags * 32;
    pack_kernel<<<(total + 255) / 256, 256, 0, stream>>>(w, state->exponents, state->frags);
    bias_kernel<<<k_layers * k_cluster, 128, 0, stream>>>(w, state->exponents, state->biases, state->scales);
    status = cudaGetLastError();
  }
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) {
    cudaFree(memory);
    delete state;
    return kgen_fail(&args->error, cudaGetErrorString(status));
  }
  result->state = state;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* out = kgen_find(&args->outputs, "output");
  cudaLaunchConfig_t config;
  cudaLaunchAttribute attribute;
  fill_config(&config, &attribute, static_cast<cudaStream_t>(args->stream));
  const float* x_data = static_cast<const float*>(x->data);
  const float* h0_data = static_cast<const float*>(h0->data);
  float* out_data = static_cast<float*>(out->data);
  const uint4* frags = state->frags;
  const float* biases = state->biases;
  const float* scales = state->scales;
  uint4* xg = state->xg;
  uint64_t* report = args->report;
  cudaError_t status =
      cudaLaunchKernelEx(&config, gru_kernel, x_data, h0_data, out_data, frags, biases, scales, xg, report);
  if (status == cudaSuccess) status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  cudaFree(state->memory);
  delete state;
}
