#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("h_full", "input_ready")

namespace {

constexpr int k_steps = 512;
constexpr int k_batch = 10;
constexpr int k_input = 128;
constexpr int k_hidden = 256;
constexpr int k_layers = 6;
constexpr int k_rows = 5;       // rows of the batch for each cluster
constexpr int k_cluster = 8;    // blocks of a cluster, 32 units each
constexpr int k_threads = 384;  // 12 warps = 3 gates x 4 quarters of K; warps 0 to 4 also combine the gates
constexpr int k_gate_threads = k_rows * 32;
constexpr int k_copiers = k_threads - k_gate_threads;
constexpr int k_clusters = k_layers * 2;

// One state of a cluster (5 rows of 256 values) as split fp16, in shared memory and in the workspace alike:
// [producer 8][k-tile 2][row 5][quad 4] x 16 bytes {hi(u0,u1), hi(u2,u3), lo(u0,u1), lo(u2,u3)},
// then the inverse scales [row 5][producer 8] as fp32.
constexpr int k_scales = 5120;                   // where the inverse scales begin, in bytes
constexpr int k_slot = k_scales + 160;           // bytes
constexpr int k_pieces = k_slot / 16;            // 330
constexpr int k_second = k_pieces - k_copiers;   // threads that own a second piece

constexpr int k_row_stride = 36;                 // floats of a row of partial sums, free of bank conflicts
constexpr int k_part = k_rows * k_row_stride;    // floats of one kind of partial sums
constexpr int k_lo_shared = 4;                   // low fragments of the input weights kept in shared memory

// Shared memory, in bytes.
constexpr int k_at_h = 0;                                   // [2] states
constexpr int k_at_x = k_at_h + 2 * k_slot;                 // [2] inputs
constexpr int k_at_part = k_at_x + 2 * k_slot;              // [quarter 4][r, z, hn][5][36]
constexpr int k_at_part_in = k_at_part + 12 * k_part * 4;   // [2][quarter 4][5][36]: input part of n
constexpr int k_at_bias = k_at_part_in + 8 * k_part * 4;    // [7][32]
constexpr int k_at_lo = k_at_bias + 7 * 32 * 4;             // [warp 12][4][lane 32] x 16 bytes
constexpr int k_at_mbar = k_at_lo + 12 * k_lo_shared * 512; // [2]
constexpr int k_shared = k_at_mbar + 16;

static_assert(k_at_part % 16 == 0 && k_at_part_in % 16 == 0 && k_at_bias % 16 == 0 && k_at_lo % 16 == 0 &&
                  k_at_mbar % 16 == 0,
              "alignment");
static_assert(k_second > 0 && k_second <= k_copiers, "at most two pieces a thread");

constexpr unsigned k_empty = 0xFFFFFFFFu;  // a word that was not written yet; no written word has these bits
constexpr uint64_t k_patience = 2000000000ull;

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void bar_sync(int id, int count) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}

__device__ __forceinline__ uint64_t timer_ns() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__device__ __forceinline__ bool mbar_try(unsigned bar, unsigned parity) {
  unsigned ok;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(ok)
      : "r"(bar), "r"(parity)
      : "memory");
  return ok != 0;
}

__device__ __forceinline__ void mbar_arm(unsigned bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait_state(unsigned bar, unsigned parity, uint64_t* report) {
  if (!mbar_try(bar, parity)) {
    const uint64_t begin = timer_ns();
    while (!mbar_try(bar, parity)) {
      if (timer_ns() - begin > k_patience) {
        KGEN_REPORT(report, 1);
        __trap();
      }
    }
  }
}

__device__ __forceinline__ unsigned map_to(unsigned address, unsigned rank) {
  unsigned r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}

__device__ __forceinline__ void send4(unsigned address, unsigned bar, const uint4& v) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   address),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(bar)
               : "memory");
}

__device__ __forceinline__ void send1(unsigned address, unsigned bar, unsigned v) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address), "r"(v),
               "r"(bar)
               : "memory");
}

__device__ __forceinline__ void copy16(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from)) : "memory");
}

__device__ __forceinline__ uint4 load_relaxed(const void* p) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(__cvta_generic_to_global(p))
               : "memory");
  return v;
}

__device__ __forceinline__ void store_relaxed4(void* p, const uint4& v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void store_relaxed1(void* p, unsigned v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}

__device__ __forceinline__ uint4 load_weights(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(__cvta_generic_to_global(p)));
  return v;
}

__device__ __forceinline__ bool missing(const uint4& v) {
  return v.x == k_empty || v.y == k_empty || v.z == k_empty || v.w == k_empty;
}

// The copy that was begun a step ago may have come too early: then ask until the producer has written.
__device__ __forceinline__ void settle(unsigned char* mine, const unsigned char* source, uint64_t* report) {
  uint4 v = *reinterpret_cast<const uint4*>(mine);
  if (missing(v)) {
    const uint64_t begin = timer_ns();
    while (true) {
      v = load_relaxed(source);
      if (!missing(v)) break;
      if (timer_ns() - begin > k_patience) {
        KGEN_REPORT(report, 2);
        __trap();
      }
    }
    *reinterpret_cast<uint4*>(mine) = v;
  }
}

__device__ __forceinline__ float sigmoid(float v) {
  const float d = 1.0f + expf(-v);
  float r;
  asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(d));
  return r;
}

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// Scale of a group whose largest magnitude has these bits: that magnitude comes to lie in [2^14, 2^15).
__device__ __forceinline__ unsigned group_exponent(unsigned magnitude) { return max(magnitude >> 23, 100u); }
__device__ __forceinline__ float group_scale(unsigned e) { return __uint_as_float((268u - e) << 23); }
__device__ __forceinline__ unsigned group_inverse(unsigned e) { return (e - 14u) << 23; }

// hi in the lower half, lo in the upper half.
__device__ __forceinline__ unsigned split(float scaled) {
  const __half hi = __float2half_rn(scaled);
  const __half lo = __float2half_rn(scaled - __half2float(hi));
  return static_cast<unsigned>(__half_as_ushort(hi)) | (static_cast<unsigned>(__half_as_ushort(lo)) << 16);
}

__device__ __forceinline__ uint4 join(unsigned a, unsigned b, unsigned c, unsigned d) {
  return make_uint4(__byte_perm(a, b, 0x5410), __byte_perm(c, d, 0x5410), __byte_perm(a, b, 0x7632),
                    __byte_perm(c, d, 0x7632));
}

// 32 units of one row, one for each lane: every lane gets the 16 bytes of its aligned group of 4.
__device__ __forceinline__ uint4 split_warp(float h, int lane, unsigned& inverse) {
  const unsigned m = __reduce_max_sync(0xFFFFFFFFu, __float_as_uint(h) & 0x7FFFFFFFu);
  const unsigned e = group_exponent(m);
  inverse = group_inverse(e);
  const unsigned word = split(h * group_scale(e));
  const int base = lane & 28;
  const unsigned a = __shfl_sync(0xFFFFFFFFu, word, base);
  const unsigned b = __shfl_sync(0xFFFFFFFFu, word, base + 1);
  const unsigned c = __shfl_sync(0xFFFFFFFFu, word, base + 2);
  const unsigned d = __shfl_sync(0xFFFFFFFFu, word, base + 3);
  return join(a, b, c, d);
}

__device__ __forceinline__ void mma(float (&d)[4], const uint4& a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// 32 gate rows by 64 k (2 producers) for 5 rows of the batch. Fragments: tile * 4 + chunk * 2 + m.
// One chain for each (chunk, m): K = 32, the small terms first; then folded into fp32 with the scale of the state.
template <bool k_add, int k_lo>
__device__ __forceinline__ void product(float (&acc)[8], const unsigned char* region, unsigned id,
                                        const uint4 (&hi)[8], const uint4 (&lo)[k_lo], const uint4* lo_shared) {
  const int g = (id >> 2) & 7;
  const int q = id & 3;
  const int quarter = (id >> 5) & 3;
  const unsigned char* data = region + quarter * 1280 + min(g, 4) * 64 + q * 16;

  float chain[4][4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) chain[j][i] = 0.0f;
  }

  uint4 b0[2];
  uint4 b1[2];
  b0[0] = *reinterpret_cast<const uint4*>(data);
  b0[1] = *reinterpret_cast<const uint4*>(data + 640);
#pragma unroll
  for (int j = 0; j < 4; ++j) mma(chain[j], lo[j], b0[j >> 1].x, b0[j >> 1].y);
  b1[0] = *reinterpret_cast<const uint4*>(data + 320);
  b1[1] = *reinterpret_cast<const uint4*>(data + 960);
#pragma unroll
  for (int j = 0; j < 4; ++j) mma(chain[j], hi[j], b0[j >> 1].z, b0[j >> 1].w);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (k_lo == 8) {
      mma(chain[j], lo[(4 + j) % k_lo], b1[j >> 1].x, b1[j >> 1].y);
    } else {
      const uint4 a = lo_shared[j * 32];
      mma(chain[j], a, b1[j >> 1].x, b1[j >> 1].y);
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) mma(chain[j], hi[4 + j], b1[j >> 1].z, b1[j >> 1].w);
#pragma unroll
  for (int j = 0; j < 4; ++j) mma(chain[j], hi[j], b0[j >> 1].x, b0[j >> 1].y);
  const unsigned char* scales = region + k_scales + quarter * 8;
  const float2 even = *reinterpret_cast<const float2*>(scales + min(2 * q, 4) * 32);
  const float2 odd = *reinterpret_cast<const float2*>(scales + min(2 * q + 1, 4) * 32);
#pragma unroll
  for (int j = 0; j < 4; ++j) mma(chain[j], hi[4 + j], b1[j >> 1].x, b1[j >> 1].y);

#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float first = (i & 1) ? odd.x : even.x;
      const float second = (i & 1) ? odd.y : even.y;
      const float sum = k_add ? fmaf(chain[m][i], first, acc[m * 4 + i]) : chain[m][i] * first;
      acc[m * 4 + i] = fmaf(chain[2 + m][i], second, sum);
    }
  }
}

// Columns 0 to 4 of the fragments, as [row of the batch][unit].
__device__ __forceinline__ void store_sums(float* part, const float (&acc)[8], unsigned id) {
  const int g = (id >> 2) & 7;
  const int q = id & 3;
  float* at = part + q * (2 * k_row_stride) + g;
  if (q < 3) {
    at[0] = acc[0];
    at[8] = acc[2];
    at[16] = acc[4];
    at[24] = acc[6];
  }
  if (q < 2) {
    at[k_row_stride] = acc[1];
    at[k_row_stride + 8] = acc[3];
    at[k_row_stride + 16] = acc[5];
    at[k_row_stride + 24] = acc[7];
  }
}

// Input of step t for the cluster, this thread's pieces. Only threads from 160 on come here.
__device__ __forceinline__ const unsigned char* source_of(const unsigned char* slots, unsigned id, int t) {
  const unsigned sequence = ((id >> 13) & 7u) * 2u + ((id >> 12) & 1u);
  return slots + (sequence * k_steps + static_cast<unsigned>(t)) * k_slot + ((id & 511u) - k_gate_threads) * 16u;
}

__device__ __forceinline__ void begin_copy(unsigned char* region, const unsigned char* slots, unsigned id, int t) {
  const int i = static_cast<int>(id & 511u) - k_gate_threads;
  const unsigned char* source = source_of(slots, id, t);
  const unsigned to = shared_address(region) + i * 16;
  copy16(to, source);
  if (i < k_second) copy16(to + k_copiers * 16, source + k_copiers * 16);
}

__device__ __forceinline__ void settle_copy(unsigned char* region, const unsigned char* slots, unsigned id, int t,
                                            uint64_t* report) {
  const int i = static_cast<int>(id & 511u) - k_gate_threads;
  const unsigned char* source = source_of(slots, id, t);
  asm volatile("cp.async.wait_all;" ::: "memory");
  settle(region + i * 16, source, report);
  if (i < k_second) settle(region + i * 16 + k_copiers * 16, source + k_copiers * 16, report);
}

// Cluster c: layer c / 2, rows (c % 2) * 5 to + 5. Block of rank r owns units r * 32 to + 32 with all their gates.
//
// Why nobody overwrites a state buffer too early: h_t goes into buffer (t + 1) % 2, which held h_{t-2}, read in
// step t - 1. A block sends h_t only after it has all of h_{t-1}, and each block sends its part of h_{t-1} behind its
// block barrier of step t - 1, after all its reads of h_{t-2}. For the same reason a barrier of a buffer is at most
// one phase ahead of any waiting warp; thread 0 arms the next phase before the block barrier of its step, without
// which nobody can send into that phase.
// Partial sums: written in step t after all of h_{t-1} came, also what this block sent itself after reading those of
// step t - 1. The input part of n has two buffers: written in step t behind the block barrier for step t + 1, while
// its last readers finished step t - 1 before they came to that barrier.
// Inputs: x_{t+2} is copied behind the block barrier of step t over x_t, which was read in step t - 1.
__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(k_threads, 1)
    gru_kernel(const uint4* packed, const float* bias, const float* h0, unsigned char* slots, float* output,
               uint64_t* report) {
  extern __shared__ __align__(128) unsigned char smem[];

  unsigned id;  // thread | rank << 9 | half << 12 | layer << 13
  float before = 0.0f;
  uint4 rec_hi[8];
  uint4 rec_lo[8];
  uint4 in_hi[8];
  uint4 in_lo[4];
  float acc[8];
  {
    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const int rank = blockIdx.x & 7;
    const int half = (blockIdx.x >> 3) & 1;
    const int layer = blockIdx.x >> 4;
    id = static_cast<unsigned>(tid) | (static_cast<unsigned>(rank) << 9) | (static_cast<unsigned>(half) << 12) |
         (static_cast<unsigned>(layer) << 13);

    if (tid == 0) {
      const unsigned bar = shared_address(smem + k_at_mbar);
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar + 8) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      mbar_arm(bar, k_slot);
      mbar_arm(bar + 8, k_slot);
    }

    // See pack_kernel: slot product * 16 + (lo ? 8 : 0) + tile * 4 + chunk * 2 + m.
    const uint4* wp = packed + static_cast<size_t>((layer * k_cluster + rank) * 12 + warp) * 1024 + lane;
#pragma unroll
    for (int j = 0; j < 8; ++j) rec_hi[j] = load_weights(wp + j * 32);
#pragma unroll
    for (int j = 0; j < 8; ++j) rec_lo[j] = load_weights(wp + (8 + j) * 32);
#pragma unroll
    for (int j = 0; j < 8; ++j) in_hi[j] = load_weights(wp + (16 + j) * 32);
#pragma unroll
    for (int j = 0; j < 4; ++j) in_lo[j] = load_weights(wp + (24 + j) * 32);
    {
      uint4* to = reinterpret_cast<uint4*>(smem + k_at_lo) + warp * (k_lo_shared * 32) + lane;
#pragma unroll
      for (int j = 0; j < k_lo_shared; ++j) to[j * 32] = load_weights(wp + (28 + j) * 32);
    }

    if (tid < 224) reinterpret_cast<float*>(smem + k_at_bias)[tid] = bias[(layer * k_cluster + rank) * 224 + tid];

    const float* first = h0 + (layer * k_batch + half * k_rows) * k_hidden;
#pragma unroll 1
    for (int group = warp; group < k_rows * 8; group += 12) {
      const int row = group % k_rows;
      const int producer = group / k_rows;
      unsigned inverse;
      const uint4 piece = split_warp(first[row * k_hidden + producer * 32 + lane], lane, inverse);
      unsigned char* region = smem + k_at_h;
      if ((lane & 3) == 0)
        *reinterpret_cast<uint4*>(region + producer * 640 + (lane >> 4) * 320 + row * 64 + ((lane >> 2) & 3) * 16) =
            piece;
      if (lane == 0) *reinterpret_cast<unsigned*>(region + k_scales + row * 32 + producer * 4) = inverse;
    }
    if (warp < k_rows) before = first[warp * k_hidden + rank * 32 + lane];

    __syncthreads();
    cluster_barrier();

    if (tid >= k_gate_threads) {
      begin_copy(smem + k_at_x, slots, id, 0);
      settle_copy(smem + k_at_x, slots, id, 0, report);
    }
    __syncthreads();
    product<false, 4>(acc, smem + k_at_x, id, in_hi, in_lo,
                      reinterpret_cast<const uint4*>(smem + k_at_lo) + warp * (k_lo_shared * 32) + lane);
    if (warp >= 8) {
      store_sums(reinterpret_cast<float*>(smem + k_at_part_in) + (warp & 3) * k_part, acc, id);
#pragma unroll
      for (int i = 0; i < 8; ++i) acc[i] = 0.0f;
    }
    if (tid >= k_gate_threads) begin_copy(smem + k_at_x + k_slot, slots, id, 1);
    __syncwarp();
  }

#pragma unroll 1
  for (int t = 0; t < k_steps; ++t) {
    asm volatile("" : "+r"(id));
    const int buf = t & 1;

    if ((id & 511u) >= k_gate_threads && t + 1 < k_steps)
      settle_copy(smem + k_at_x + (buf ^ 1) * k_slot, slots, id, t + 1, report);
    __syncwarp();
    if (t > 0) {
      const unsigned bar = shared_address(smem + k_at_mbar) + buf * 8;
      wait_state(bar, ((t - 1) >> 1) & 1, report);
      if ((id & 511u) == 0) mbar_arm(bar, k_slot);
    }
    __syncwarp();

    // acc holds the input sums of r and z, and zero for n.
    product<true, 8>(acc, smem + k_at_h + buf * k_slot, id, rec_hi, rec_lo, nullptr);

    asm volatile("" : "+r"(id));
    {
      const int warp = (id >> 5) & 15;
      store_sums(reinterpret_cast<float*>(smem + k_at_part) + ((warp & 3) * 3 + (warp >> 2)) * k_part, acc, id);
    }
    __syncwarp();

    if ((id & 511u) < k_gate_threads) {
      const int lane = id & 31;
      const int row = (id >> 5) & 15;
      const int rank = (id >> 9) & 7;
      const int half = (id >> 12) & 1;
      const int layer = (id >> 13) & 7;
      const float* bs = reinterpret_cast<const float*>(smem + k_at_bias) + lane;
      const float bias_r = bs[0];
      const float bias_z = bs[32];
      const float bias_in = bs[64];
      const float bias_hn = bs[96];
      const float inv_r = bs[128];
      const float inv_z = bs[160];
      const float inv_n = bs[192];
      const unsigned own = shared_address(smem);
      const unsigned peer_low = map_to(own, lane & 3);
      const unsigned peer_high = map_to(own, (lane & 3) + 4);

      bar_sync(1, k_threads);

      const float* p = reinterpret_cast<const float*>(smem + k_at_part) + row * k_row_stride + lane;
      const float* u = reinterpret_cast<const float*>(smem + k_at_part_in) + buf * (4 * k_part) +
                       row * k_row_stride + lane;
      const float sum_r = (p[0] + p[3 * k_part]) + (p[6 * k_part] + p[9 * k_part]);
      const float sum_hn =
          (p[2 * k_part] + p[5 * k_part]) + (p[8 * k_part] + p[11 * k_part]);
      const float sum_in = (u[0] + u[k_part]) + (u[2 * k_part] + u[3 * k_part]);
      const float sum_z =
          (p[k_part] + p[4 * k_part]) + (p[7 * k_part] + p[10 * k_part]);
      const float r = sigmoid(fmaf(sum_r, inv_r, bias_r));
      const float z = sigmoid(fmaf(sum_z, inv_z, bias_z));
      const float n = tanhf(fmaf(r, fmaf(sum_hn, inv_n, bias_hn), fmaf(sum_in, inv_n, bias_in)));
      const float h = fmaf(z, before - n, n);
      before = h;
      __syncwarp();

      if (t + 1 < k_steps || layer < k_layers - 1) {
        unsigned inverse;
        const uint4 piece = split_warp(h, lane, inverse);
        const unsigned at_piece = rank * 640 + (lane >> 4) * 320 + row * 64 + ((lane >> 2) & 3) * 16;
        const unsigned at_scale = k_scales + row * 32 + rank * 4;
        if (t + 1 < k_steps) {
          const unsigned region = k_at_h + (buf ^ 1) * k_slot;
          const unsigned bar = k_at_mbar + (buf ^ 1) * 8;
          send4(peer_low + region + at_piece, peer_low + bar, piece);
          send4(peer_high + region + at_piece, peer_high + bar, piece);
          if (lane < 8) {
            const unsigned peer = lane < 4 ? peer_low : peer_high;  // the block of rank lane
            send1(peer + region + at_scale, peer + bar, inverse);
          }
        }
        if (layer < k_layers - 1) {
          unsigned char* to =
              slots + (static_cast<unsigned>((layer + 1) * 2 + half) * k_steps + static_cast<unsigned>(t)) * k_slot;
          if ((lane & 3) == 0) store_relaxed4(to + at_piece, piece);
          if (lane == 0) store_relaxed1(to + at_scale, inverse);
        }
      }
      if (layer == k_layers - 1)
        output[(t * k_batch + half * k_rows + row) * k_hidden + rank * 32 + lane] = h;
    } else {
      bar_sync(1, k_threads);
      if (t + 2 < k_steps) begin_copy(smem + k_at_x + buf * k_slot, slots, id, t + 2);
    }
    __syncwarp();

    if (t + 1 < k_steps) {
      asm volatile("" : "+r"(id));
      const int warp = (id >> 5) & 15;
      product<false, 4>(acc, smem + k_at_x + (buf ^ 1) * k_slot, id, in_hi, in_lo,
                        reinterpret_cast<const uint4*>(smem + k_at_lo) + warp * (k_lo_shared * 32) + (id & 31));
      if (warp >= 8) {
        store_sums(reinterpret_cast<float*>(smem + k_at_part_in) + ((buf ^ 1) * 4 + (warp & 3)) * k_part, acc, id);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i] = 0.0f;
      }
    }
    __syncwarp();
  }

  cluster_barrier();
}

// Before the recurrence: x in the format of the slots (one warp for each step and row of the batch), and the slots
// between the layers empty.
constexpr int k_fill_threads = 256;
constexpr int k_fill_blocks = k_steps * k_batch / (k_fill_threads / 32);
static_assert(k_fill_blocks * (k_fill_threads / 32) == k_steps * k_batch, "one warp for each row of x");

__global__ void __launch_bounds__(k_fill_threads) fill_kernel(const float4* __restrict__ x, unsigned char* slots) {
  const int index = blockIdx.x * k_fill_threads + threadIdx.x;
  const int lane = index & 31;
  const int line = index >> 5;
  const float4 v = x[line * (k_input / 4) + lane];

  uint4* empty = reinterpret_cast<uint4*>(slots + static_cast<size_t>(2) * k_steps * k_slot);
  for (int i = index; i < (k_layers - 1) * 2 * k_steps * k_pieces; i += k_fill_blocks * k_fill_threads)
    empty[i] = make_uint4(k_empty, k_empty, k_empty, k_empty);

  unsigned m = max(max(__float_as_uint(v.x) & 0x7FFFFFFFu, __float_as_uint(v.y) & 0x7FFFFFFFu),
                   max(__float_as_uint(v.z) & 0x7FFFFFFFu, __float_as_uint(v.w) & 0x7FFFFFFFu));
  m = max(m, __shfl_xor_sync(0xFFFFFFFFu, m, 1));
  m = max(m, __shfl_xor_sync(0xFFFFFFFFu, m, 2));
  m = max(m, __shfl_xor_sync(0xFFFFFFFFu, m, 4));
  const unsigned e = group_exponent(m);
  const float scale = group_scale(e);
  const uint4 piece = join(split(v.x * scale), split(v.y * scale), split(v.z * scale), split(v.w * scale));

  const int t = line / k_batch;
  const int b = line % k_batch;
  const int half = b / k_rows;
  const int row = b % k_rows;
  const int producer = lane >> 3;
  unsigned char* to = slots + static_cast<size_t>(half * k_steps + t) * k_slot;
  unsigned char* at = to + producer * 640 + ((lane >> 2) & 1) * 320 + row * 64 + (lane & 3) * 16;
  *reinterpret_cast<uint4*>(at) = piece;
  *reinterpret_cast<uint4*>(at + 4 * 640) = make_uint4(0u, 0u, 0u, 0u);
  if ((lane & 7) == 0) {
    unsigned* inverse = reinterpret_cast<unsigned*>(to + k_scales + row * 32 + producer * 4);
    inverse[0] = group_inverse(e);
    inverse[4] = 0x3F800000u;
  }
}

struct Sources {
  const float* ih[k_layers];
  const float* hh[k_layers];
  const float* bias_ih[k_layers];
  const float* bias_hh[k_layers];
};

constexpr int k_packed = k_layers * k_cluster * 12 * 32 * 32;  // uint4
constexpr int k_packed_bias = k_layers * k_cluster * 224;      // floats
constexpr int k_gate_rows = k_layers * 3 * k_hidden;

// One warp for each gate row of each layer: the inverse of the scale that W_ih and W_hh have in common.
__global__ void scale_kernel(Sources sources, unsigned* inverse) {
  const int index = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int lane = threadIdx.x & 31;
  if (index >= k_gate_rows) return;
  const int layer = index / (3 * k_hidden);
  const int row = index % (3 * k_hidden);
  const int length = layer == 0 ? k_input : k_hidden;
  unsigned m = 0;
  for (int k = lane; k < length; k += 32)
    m = max(m, __float_as_uint(sources.ih[layer][static_cast<size_t>(row) * length + k]) & 0x7FFFFFFFu);
  for (int k = lane; k < k_hidden; k += 32)
    m = max(m, __float_as_uint(sources.hh[layer][static_cast<size_t>(row) * k_hidden + k]) & 0x7FFFFFFFu);
  m = __reduce_max_sync(0xFFFFFFFFu, m);
  if (lane == 0) inverse[index] = group_inverse(group_exponent(m));
}

__global__ void pack_kernel(Sources sources, const unsigned* inverse, uint4* packed, float* bias) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < k_packed) {
    const int lane = index & 31;
    const int slot = (index >> 5) & 31;
    const int rest = index >> 10;
    const int warp = rest % 12;
    const int rank = rest / 12 % k_cluster;
    const int layer = rest / 12 / k_cluster;
    const bool input = (slot >> 4) != 0;
    const bool low = ((slot >> 3) & 1) != 0;
    const int tile = (slot >> 2) & 1;
    const int chunk = (slot >> 1) & 1;
    const int m = slot & 1;
    const int gate = warp >> 2;
    const int quarter = warp & 3;
    const int k0 = (2 * quarter + chunk) * 32 + tile * 16 + (lane & 3) * 4;
    const int row0 = gate * k_hidden + rank * 32 + m * 16 + (lane >> 2);
    const int length = (input && layer == 0) ? k_input : k_hidden;
    const float* from = input ? sources.ih[layer] : sources.hh[layer];
    unsigned words[4];
    for (int i = 0; i < 4; ++i) {
      const int row = row0 + (i & 1) * 8;
      const int k = k0 + (i >> 1) * 2;
      unsigned a = 0;
      unsigned b = 0;
      if (k < length) {
        const float scale = __uint_as_float((254u << 23) - inverse[layer * 3 * k_hidden + row]);
        const float* at = from + static_cast<size_t>(row) * length + k;
        a = split(at[0] * scale);
        b = split(at[1] * scale);
      }
      words[i] = low ? __byte_perm(a, b, 0x7632) : __byte_perm(a, b, 0x5410);
    }
    packed[index] = make_uint4(words[0], words[1], words[2], words[3]);
  }
  if (index < k_packed_bias) {
    const int unit = index & 31;
    const int kind = (index >> 5) % 7;
    const int rank = (index / 224) % k_cluster;
    const int layer = index / 224 / k_cluster;
    const int row = rank * 32 + unit;
    const float* bi = sources.bias_ih[layer];
    const float* bh = sources.bias_hh[layer];
    float v;
    if (kind == 0)
      v = bi[row] + bh[row];
    else if (kind == 1)
      v = bi[k_hidden + row] + bh[k_hidden + row];
    else if (kind == 2)
      v = bi[2 * k_hidden + row];
    else if (kind == 3)
      v = bh[2 * k_hidden + row];
    else
      v = __uint_as_float(inverse[layer * 3 * k_hidden + (kind - 4) * k_hidden + row]);
    bias[index] = v;
  }
}

struct State {
  uint4* packed;
  float* bias;
  unsigned* inverse;
};

constexpr uint64_t k_workspace = static_cast<uint64_t>(k_clusters) * k_steps * k_slot;

}  // namespace

KGEN_API void kgen_destroy(void* opaque);

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* output = kgen_find(&args->outputs, "output");
  if (!kgen_is(x, KGEN_FLOAT32, 3) || kgen_dim(x, 0) != k_steps || kgen_dim(x, 1) != k_batch ||
      kgen_dim(x, 2) != k_input)
    return kgen_fail(&args->error, "x must be contiguous float32 (512, 10, 128)");
  if (!kgen_is(h0, KGEN_FLOAT32, 3) || kgen_dim(h0, 0) != k_layers || kgen_dim(h0, 1) != k_batch ||
      kgen_dim(h0, 2) != k_hidden)
    return kgen_fail(&args->error, "h0 must be contiguous float32 (6, 10, 256)");
  if (!kgen_is(output, KGEN_FLOAT32, 3) || kgen_dim(output, 0) != k_steps || kgen_dim(output, 1) != k_batch ||
      kgen_dim(output, 2) != k_hidden)
    return kgen_fail(&args->error, "output must be contiguous float32 (512, 10, 256)");

  Sources sources;
  for (int layer = 0; layer < k_layers; ++layer) {
    char name[64];
    const int length = layer == 0 ? k_input : k_hidden;
    std::snprintf(name, sizeof(name), "gru.weight_ih_l%d", layer);
    const kgen_tensor* ih = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "gru.weight_hh_l%d", layer);
    const kgen_tensor* hh = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "gru.bias_ih_l%d", layer);
    const kgen_tensor* bi = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "gru.bias_hh_l%d", layer);
    const kgen_tensor* bh = kgen_find(&args->parameters, name);
    if (!kgen_is(ih, KGEN_FLOAT32, 2) || kgen_dim(ih, 0) != 3 * k_hidden || kgen_dim(ih, 1) != length ||
        !kgen_is(hh, KGEN_FLOAT32, 2) || kgen_dim(hh, 0) != 3 * k_hidden || kgen_dim(hh, 1) != k_hidden)
      return kgen_fail(&args->error, "weights must be contiguous float32 (768, 128 or 256)");
    if (!kgen_is(bi, KGEN_FLOAT32, 1) || kgen_dim(bi, 0) != 3 * k_hidden || !kgen_is(bh, KGEN_FLOAT32, 1) ||
        kgen_dim(bh, 0) != 3 * k_hidden)
      return kgen_fail(&args->error, "biases must be contiguous float32 (768)");
    sources.ih[layer] = static_cast<const float*>(ih->data);
    sources.hh[layer] = static_cast<const float*>(hh->data);
    sources.bias_ih[layer] = static_cast<const float*>(bi->data);
    sources.bias_hh[layer] = static_cast<const float*>(bh->data);
  }

  if (cudaFuncSetAttribute(reinterpret_cast<const void*>(gru_kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                           k_shared) != cudaSuccess)
    return kgen_fail(&args->error, "the shared memory of a block is too small on this device");

  // Layers wait only for lower layers, whose clusters come first in the grid: any number that fits is right.
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(k_clusters * k_cluster);
  config.blockDim = dim3(k_threads);
  config.dynamicSmemBytes = k_shared;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = k_cluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int resident = 0;
  if (cudaOccupancyMaxActiveClusters(&resident, reinterpret_cast<const void*>(gru_kernel), &config) != cudaSuccess ||
      resident < 1)
    return kgen_fail(&args->error, "clusters of 8 blocks do not fit on this device");

  State* state = new State{nullptr, nullptr, nullptr};
  if (cudaMalloc(reinterpret_cast<void**>(&state->packed), static_cast<size_t>(k_packed) * sizeof(uint4)) !=
          cudaSuccess ||
      cudaMalloc(reinterpret_cast<void**>(&state->bias), static_cast<size_t>(k_packed_bias) * sizeof(float)) !=
          cudaSuccess ||
      cudaMalloc(reinterpret_cast<void**>(&state->inverse), static_cast<size_t>(k_gate_rows) * sizeof(unsigned)) !=
          cudaSuccess) {
    kgen_destroy(state);
    return kgen_fail(&args->error, "no memory for the packed weights");
  }
  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  scale_kernel<<<(k_gate_rows * 32 + 255) / 256, 256, 0, stream>>>(sources, state->inverse);
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) {
    pack_kernel<<<(k_packed + 255) / 256, 256, 0, stream>>>(sources, state->inverse, state->packed, state->bias);
    status = cudaGetLastError();
  }
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) {
    kgen_destroy(state);
    return kgen_fail(&args->error, cudaGetErrorString(status));
  }
  result->state = state;
  result->workspace_bytes = k_workspace;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* output = kgen_find(&args->outputs, "output");
  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  if (args->workspace_bytes < k_workspace) return kgen_fail(&args->error, "the workspace is too small");
  unsigned char* slots = static_cast<unsigned char*>(args->workspace);
  fill_kernel<<<k_fill_blocks, k_fill_threads, 0, stream>>>(static_cast<const float4*>(x->data), slots);
  cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) return kgen_fail(&args->error, cudaGetErrorString(status));
  gru_kernel<<<k_clusters * k_cluster, k_threads, k_shared, stream>>>(
      state->packed, state->bias, static_cast<const float*>(h0->data), slots, static_cast<float*>(output->data),
      args->report);
  status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  if (state->packed != nullptr) cudaFree(state->packed);
  if (state->bias != nullptr) cudaFree(state->bias);
  if (state->inverse != nullptr) cudaFree(state->inverse);
  delete state;
}
