#include <cstdint>
#include <cstdio>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_EXPORT_REPORTS("h_full", "y_ready")

namespace {

constexpr int k_steps = 512;
constexpr int k_batch = 10;
constexpr int k_input = 128;
constexpr int k_hidden = 256;
constexpr int k_layers = 6;
constexpr int k_gates = 3 * k_hidden;       // 768
constexpr int k_columns = 2 * k_gates;      // 1536: both directions
constexpr int k_rows = k_steps * k_batch;   // 5120
constexpr int k_whh = k_gates * k_hidden;   // 196608

constexpr int k_chunk = 16;                       // steps a chunk of y
constexpr int k_chunks = k_steps / k_chunk;       // 32
constexpr int k_counters = (k_layers - 1) * 2 * k_chunks;

// ---------------------------------------------------------------------------------------------
// Small helpers
// ---------------------------------------------------------------------------------------------

__device__ __forceinline__ uint32_t smem_u32(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void cp_async16(uint32_t dst, const float* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
}

__device__ __forceinline__ void cp_async4(uint32_t dst, const float* src) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(dst), "l"(src) : "memory");
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ void dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ __forceinline__ void dependency_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ __forceinline__ void split_tf32(float v, uint32_t& hi, uint32_t& lo) {
  hi = (__float_as_uint(v) + 0x1000u) & 0xffffe000u;
  lo = __float_as_uint(v - __uint_as_float(hi)) + 0x1000u;  // the low 13 bits are not read
}

__device__ __forceinline__ void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ---------------------------------------------------------------------------------------------
// Input-side gates of layer 0: out (5120, 1536) = a (5120, K) * w (1536, K)^T + bias, split TF32.
// It also clears the chunk counters of this call.
// ---------------------------------------------------------------------------------------------

constexpr int g_bm = 128;
constexpr int g_bn = 96;
constexpr int g_bk = 32;
constexpr int g_ld = 40;  // padded row: 8-byte fragment reads touch every bank once
constexpr int g_stages = 4;
constexpr int g_threads = 256;
constexpr int g_stage_floats = (g_bm + g_bn) * g_ld;
constexpr int g_smem_bytes = g_stages * g_stage_floats * 4;

template <int K>
__global__ void __launch_bounds__(g_threads, 1)
    gate_product(const float* __restrict__ a, const float* __restrict__ w, const float* __restrict__ bias,
                 float* __restrict__ out, uint32_t* __restrict__ counters) {
  extern __shared__ float4 g_shared[];
  float* const shared = reinterpret_cast<float*>(g_shared);
  constexpr int tiles = K / g_bk;

  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int wm = warp >> 1;  // 4 warps along M, 32 rows each
  const int wn = warp & 1;   // 2 warps along N, 48 columns each
  const int n0 = blockIdx.x * g_bn;
  const int m0 = blockIdx.y * g_bm;

  if (blockIdx.x == 0 && blockIdx.y == 0) {
    for (int i = tid; i < k_counters; i += g_threads) counters[i] = 0u;
  }

  const int load_row = tid >> 3;
  const int load_col = (tid & 7) * 4;
  const float* const a_src = a + (m0 + load_row) * K + load_col;
  const float* const w_src = w + (n0 + load_row) * K + load_col;
  const uint32_t load_dst = smem_u32(shared) + (load_row * g_ld + load_col) * 4;

  auto load_stage = [&](int stage, int kt) {
    const uint32_t dst = load_dst + stage * (g_stage_floats * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) cp_async16(dst + i * (32 * g_ld * 4), a_src + kt * g_bk + i * (32 * K));
#pragma unroll
    for (int i = 0; i < 3; ++i)
      cp_async16(dst + (g_bm + i * 32) * (g_ld * 4), w_src + kt * g_bk + i * (32 * K));
  };

#pragma unroll
  for (int i = 0; i < g_stages - 1; ++i) {
    if (i < tiles) load_stage(i, i);
    cp_async_commit();
  }

  float sum[2][6][4];
#pragma unroll
  for (int mt = 0; mt < 2; ++mt)
#pragma unroll
    for (int nt = 0; nt < 6; ++nt)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[mt][nt][i] = 0.0f;

#pragma unroll 1
  for (int kt = 0; kt < tiles; ++kt) {
    cp_async_wait<g_stages - 2>();
    __syncthreads();
    {
      const int next = kt + g_stages - 1;
      if (next < tiles) load_stage(next % g_stages, next);
      cp_async_commit();
    }
    const float* const as =
        shared + (kt % g_stages) * g_stage_floats + (wm * 32 + g) * g_ld + 2 * t;
    const float* const bs =
        shared + (kt % g_stages) * g_stage_floats + (g_bm + wn * 48 + g) * g_ld + 2 * t;

    float acc[2][6][4];
#pragma unroll
    for (int mt = 0; mt < 2; ++mt)
#pragma unroll
      for (int nt = 0; nt < 6; ++nt)
#pragma unroll
        for (int i = 0; i < 4; ++i) acc[mt][nt][i] = 0.0f;

#pragma unroll
    for (int ks = 0; ks < g_bk / 8; ++ks) {
      // The order of k within a group of 8 is free as long as both operands use the same one.
      uint32_t ah[2][4], al[2][4], bh[6][2], bl[6][2];
#pragma unroll
      for (int mt = 0; mt < 2; ++mt) {
        const float2 p = *reinterpret_cast<const float2*>(as + mt * 16 * g_ld + ks * 8);
        const float2 q = *reinterpret_cast<const float2*>(as + (mt * 16 + 8) * g_ld + ks * 8);
        split_tf32(p.x, ah[mt][0], al[mt][0]);
        split_tf32(q.x, ah[mt][1], al[mt][1]);
        split_tf32(p.y, ah[mt][2], al[mt][2]);
        split_tf32(q.y, ah[mt][3], al[mt][3]);
      }
#pragma unroll
      for (int nt = 0; nt < 6; ++nt) {
        const float2 p = *reinterpret_cast<const float2*>(bs + nt * 8 * g_ld + ks * 8);
        split_tf32(p.x, bh[nt][0], bl[nt][0]);
        split_tf32(p.y, bh[nt][1], bl[nt][1]);
      }
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int nt = 0; nt < 6; ++nt) mma_tf32(acc[mt][nt], al[mt], bh[nt]);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int nt = 0; nt < 6; ++nt) mma_tf32(acc[mt][nt], ah[mt], bl[nt]);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int nt = 0; nt < 6; ++nt) mma_tf32(acc[mt][nt], ah[mt], bh[nt]);
    }

#pragma unroll
    for (int mt = 0; mt < 2; ++mt)
#pragma unroll
      for (int nt = 0; nt < 6; ++nt)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[mt][nt][i] += acc[mt][nt][i];
  }

#pragma unroll
  for (int nt = 0; nt < 6; ++nt) {
    const int n = n0 + wn * 48 + nt * 8 + 2 * t;
    const float b0 = bias[n];
    const float b1 = bias[n + 1];
#pragma unroll
    for (int mt = 0; mt < 2; ++mt) {
      const int m = m0 + wm * 32 + mt * 16 + g;
      *reinterpret_cast<float2*>(out + m * k_columns + n) =
          make_float2(sum[mt][nt][0] + b0, sum[mt][nt][1] + b1);
      *reinterpret_cast<float2*>(out + (m + 8) * k_columns + n) =
          make_float2(sum[mt][nt][2] + b0, sum[mt][nt][3] + b1);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Input-side gates of layers 1..5, computed while the recurrence of the layer before still runs.
// partial d (5120, 1536) = y[:, 256 d : 256 d + 256] * w[:, 256 d : 256 d + 256]^T (+ bias in partial 0).
// Item = 16 steps (160 rows) x 96 columns x one direction of y; items come in the order in which the
// recurrence makes their rows, and wait for the counter of their chunk.
// ---------------------------------------------------------------------------------------------

constexpr int p_bm = k_chunk * k_batch;  // 160
constexpr int p_bn = 96;
constexpr int p_bk = 32;
constexpr int p_ld = 40;
constexpr int p_stages = 4;
constexpr int p_threads = 256;
constexpr int p_tiles = k_hidden / p_bk;  // 8
constexpr int p_width = 2 * k_hidden;     // 512: row stride of y and of the weights
constexpr int p_stage_floats = (p_bm + p_bn) * p_ld;
constexpr int p_smem_bytes = p_stages * p_stage_floats * 4;
constexpr int p_items = k_chunks * 2 * (k_columns / p_bn);  // 1024
constexpr int p_mt = 5;  // 80 rows a warp
constexpr int p_nt = 3;  // 24 columns a warp
constexpr uint32_t p_ready = 10 * 4 * 8;  // every warp of the 10 clusters of a direction
constexpr int k_partial = k_rows * k_columns;

static_assert(k_columns / p_bn == 16, "16 column tiles");

__device__ __forceinline__ uint32_t load_acquire(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

__device__ __forceinline__ void wait_ready(const uint32_t* counter, uint64_t* report) {
  if (load_acquire(counter) >= p_ready) return;
  const long long start = clock64();
  while (load_acquire(counter) < p_ready) {
    __nanosleep(50);
    if (clock64() - start > 2000000000LL) {
      KGEN_REPORT(report, 2);
      __trap();
    }
  }
}

__global__ void __launch_bounds__(p_threads, 1)
    overlapped_product(const float* y, const float* __restrict__ w, const float* __restrict__ bias, float* out,
                       const uint32_t* counters, uint64_t* report) {
  extern __shared__ float4 g_shared[];
  float* const shared = reinterpret_cast<float*>(g_shared);

  // The next recurrence may take the SMs that the running one leaves; it waits for the end of this kernel.
  dependency_launch();

  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int wm = warp >> 2;  // 2 warps along M, 80 rows each
  const int wn = warp & 3;   // 4 warps along N, 24 columns each

  const int load_row = tid >> 3;
  const int load_col = (tid & 7) * 4;
  const uint32_t load_dst = smem_u32(shared) + (load_row * p_ld + load_col) * 4;
  const float* a_src = y;
  const float* w_src = w;

  auto load_a = [&](int stage, int kt) {
    const uint32_t dst = load_dst + stage * (p_stage_floats * 4);
#pragma unroll
    for (int i = 0; i < p_bm / 32; ++i)
      cp_async16(dst + i * (32 * p_ld * 4), a_src + kt * p_bk + i * (32 * p_width));
  };
  auto load_w = [&](int stage, int kt) {
    const uint32_t dst = load_dst + stage * (p_stage_floats * 4) + p_bm * (p_ld * 4);
#pragma unroll
    for (int i = 0; i < p_bn / 32; ++i)
      cp_async16(dst + i * (32 * p_ld * 4), w_src + kt * p_bk + i * (32 * p_width));
  };
  // The weights of an item do not wait for y: their first stages are requested ahead. They are committed
  // together with the first stage of y.
  auto begin_item = [&](int item) {
    const int d = (item >> 4) & 1;
    w_src = w + ((item & 15) * p_bn + load_row) * p_width + d * k_hidden + load_col;
#pragma unroll
    for (int i = 0; i < p_stages - 1; ++i) load_w(i, i);
  };

  if (blockIdx.x < p_items) begin_item(blockIdx.x);

#pragma unroll 1
  for (int item = blockIdx.x; item < p_items; item += gridDim.x) {
    const int period = item >> 5;
    const int d = (item >> 4) & 1;
    const int n0 = (item & 15) * p_bn;
    const int chunk = d == 0 ? period : k_chunks - 1 - period;
    const int m0 = chunk * p_bm;

    if (tid == 0) wait_ready(counters + d * k_chunks + chunk, report);
    __syncthreads();

    a_src = y + (m0 + load_row) * p_width + d * k_hidden + load_col;
#pragma unroll
    for (int i = 0; i < p_stages - 1; ++i) {
      load_a(i, i);
      cp_async_commit();
    }

    float sum[p_mt][p_nt][4];
#pragma unroll
    for (int mt = 0; mt < p_mt; ++mt)
#pragma unroll
      for (int nt = 0; nt < p_nt; ++nt)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[mt][nt][i] = 0.0f;

#pragma unroll 1
    for (int kt = 0; kt < p_tiles; ++kt) {
      cp_async_wait<p_stages - 2>();
      __syncthreads();
      {
        const int next = kt + p_stages - 1;
        if (next < p_tiles) {
          load_a(next % p_stages, next);
          load_w(next % p_stages, next);
        }
        cp_async_commit();
      }
      const float* const as =
          shared + (kt % p_stages) * p_stage_floats + (wm * (p_mt * 16) + g) * p_ld + 2 * t;
      const float* const bs =
          shared + (kt % p_stages) * p_stage_floats + (p_bm + wn * (p_nt * 8) + g) * p_ld + 2 * t;

      float acc[p_mt][p_nt][4];
#pragma unroll
      for (int mt = 0; mt < p_mt; ++mt)
#pragma unroll
        for (int nt = 0; nt < p_nt; ++nt)
#pragma unroll
          for (int i = 0; i < 4; ++i) acc[mt][nt][i] = 0.0f;

#pragma unroll
      for (int ks = 0; ks < p_bk / 8; ++ks) {
        uint32_t ah[p_mt][4], al[p_mt][4], bh[p_nt][2], bl[p_nt][2];
#pragma unroll
        for (int nt = 0; nt < p_nt; ++nt) {
          const float2 p = *reinterpret_cast<const float2*>(bs + nt * 8 * p_ld + ks * 8);
          split_tf32(p.x, bh[nt][0], bl[nt][0]);
          split_tf32(p.y, bh[nt][1], bl[nt][1]);
        }
#pragma unroll
        for (int mt = 0; mt < p_mt; ++mt) {
          const float2 p = *reinterpret_cast<const float2*>(as + mt * 16 * p_ld + ks * 8);
          const float2 q = *reinterpret_cast<const float2*>(as + (mt * 16 + 8) * p_ld + ks * 8);
          split_tf32(p.x, ah[mt][0], al[mt][0]);
          split_tf32(q.x, ah[mt][1], al[mt][1]);
          split_tf32(p.y, ah[mt][2], al[mt][2]);
          split_tf32(q.y, ah[mt][3], al[mt][3]);
        }
#pragma unroll
        for (int mt = 0; mt < p_mt; ++mt)
#pragma unroll
          for (int nt = 0; nt < p_nt; ++nt) mma_tf32(acc[mt][nt], al[mt], bh[nt]);
#pragma unroll
        for (int mt = 0; mt < p_mt; ++mt)
#pragma unroll
          for (int nt = 0; nt < p_nt; ++nt) mma_tf32(acc[mt][nt], ah[mt], bl[nt]);
#pragma unroll
        for (int mt = 0; mt < p_mt; ++mt)
#pragma unroll
          for (int nt = 0; nt < p_nt; ++nt) mma_tf32(acc[mt][nt], ah[mt], bh[nt]);
      }

#pragma unroll
      for (int mt = 0; mt < p_mt; ++mt)
#pragma unroll
        for (int nt = 0; nt < p_nt; ++nt)
#pragma unroll
          for (int i = 0; i < 4; ++i) sum[mt][nt][i] += acc[mt][nt][i];
    }

    // Stages 0..2 were read for the last time before the barrier of the last tile (which lies in stage 3).
    if (item + static_cast<int>(gridDim.x) < p_items) begin_item(item + static_cast<int>(gridDim.x));

    float* const target = out + d * k_partial;
#pragma unroll
    for (int nt = 0; nt < p_nt; ++nt) {
      const int n = n0 + wn * (p_nt * 8) + nt * 8 + 2 * t;
      const float b0 = d == 0 ? bias[n] : 0.0f;
      const float b1 = d == 0 ? bias[n + 1] : 0.0f;
#pragma unroll
      for (int mt = 0; mt < p_mt; ++mt) {
        const int m = m0 + wm * (p_mt * 16) + mt * 16 + g;
        *reinterpret_cast<float2*>(target + m * k_columns + n) =
            make_float2(sum[mt][nt][0] + b0, sum[mt][nt][1] + b1);
        *reinterpret_cast<float2*>(target + (m + 8) * k_columns + n) =
            make_float2(sum[mt][nt][2] + b0, sum[mt][nt][3] + b1);
      }
    }
  }

  cp_async_wait<0>();
  dependency_wait();  // the end of this kernel implies the end of the recurrence before it
}

// ---------------------------------------------------------------------------------------------
// Recurrence of one layer, both directions
//
// Cluster of 4 blocks = direction x one batch row; block = 64 hidden units with their three gates, all
// weights in registers. A warp owns 8 units. Lane: u = lane & 3, slice = lane >> 2 (8 slices of K).
// A thread multiplies for two units: the one that it keeps, 4 * (lane >> 4) + u, and the other one, whose
// sums it gives to lane ^ 16. After that, sums over lane ^ 8 and lane ^ 4: four lanes (copy 0..3) have bitwise
// the same sums of their unit, compute the gates alike, and lane `copy` hands the state to block `copy`.
//
// State buffers: h[b][q * 64 + unit], b = step & 1, q = block relative to this one: (rank + q) & 3.
// Write h_t for the state before step t; step t makes h_{t+1}.
// - own[b]: 8 arrivals, one a warp of this block, after its ordinary stores. remote[b]: one arrival with
//   expect_tx of 768 bytes, made ahead by warp 0, and the bytes of the three other blocks.
//   Phase n of buffer b belongs to h_{2n+b}; h_0 counts as arrived from the start.
// - Overwriting: a warp writes h_{t+1} over h_{t-1} (here or in block D) only after it waited for h_t of all
//   four blocks; these phases complete only when all 8 warps of each block delivered h_t, which each does
//   after its last read of h_{t-1}.
// - Arming: warp 0 arms remote[b] for h_{t+2} before it sends its h_{t+1}, without which no other block can
//   make h_{t+2}.
// - Parity: the phase of h_{t+2} cannot complete before every warp of this block delivered h_{t+1}, which a
//   warp does after its own wait for h_t. So a waiting warp is never two phases behind.
// ---------------------------------------------------------------------------------------------

constexpr int r_cluster = 4;
constexpr int r_units = k_hidden / r_cluster;  // 64
constexpr int r_threads = 256;
constexpr int r_blocks = 2 * k_batch * r_cluster;  // 80
constexpr uint32_t r_remote_bytes = 3 * r_units * 4;

struct alignas(16) Shared {
  float h[2][k_hidden];
  float ring[4][3][r_threads];
  uint64_t own[2];
  uint64_t remote[2];
};

__device__ __forceinline__ bool mbar_try(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t"
      "}"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done != 0;
}

__device__ __forceinline__ void mbar_wait(uint32_t bar, uint32_t parity, uint64_t* report) {
  uint32_t polls = 0;
  long long start = 0;
  while (!mbar_try(bar, parity)) {
    if ((++polls & 0xfffu) == 0) {
      const long long now = clock64();
      if (start == 0) {
        start = now;
      } else if (now - start > 2000000000LL) {
        KGEN_REPORT(report, 1);
        __trap();
      }
    }
  }
}

__device__ __forceinline__ void mbar_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void mbar_arm(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void mbar_arrive(uint32_t bar) {
  asm volatile(
      "{\n\t"
      ".reg .b64 state;\n\t"
      "mbarrier.arrive.shared::cta.b64 state, [%0];\n\t"
      "}" ::"r"(bar)
      : "memory");
}

__device__ __forceinline__ uint32_t map_rank(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

// local != 0: an ordinary store into this block; else an asynchronous one into another block.
__device__ __forceinline__ void deliver(uint32_t address, float value, uint32_t bar, uint32_t local) {
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %3, 0;\n\t"
      "@!p st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];\n\t"
      "@p st.shared.b32 [%0], %1;\n\t"
      "}" ::"r"(address),
      "r"(__float_as_uint(value)), "r"(bar), "r"(local)
      : "memory");
}

__device__ __forceinline__ void publish(uint32_t* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(1u) : "memory");
}

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ float4 load_weights(const float4* p) {
  float4 v;
  asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}

// Within 1 ulp; 0 for infinity and for what would give a subnormal.
__device__ __forceinline__ float reciprocal(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

__device__ __forceinline__ float sigmoid(float v) { return reciprocal(1.0f + expf(-v)); }

__device__ __forceinline__ float tanh_select(float v) {
  const float a = fabsf(v);
  const float large = fmaf(-2.0f, reciprocal(1.0f + expf(2.0f * a)), 1.0f);
  const float s = v * v;
  float p = 1.643758066599993e-2f;
  p = fmaf(p, s, -5.267181327760551e-2f);
  p = fmaf(p, s, 1.332072505223051e-1f);
  p = fmaf(p, s, -3.333294663641083e-1f);
  const float small = fmaf(p * s, v, v);
  return a < 0.55f ? small : copysignf(large, v);
}

__device__ __forceinline__ float sum_xor(float v, int mask) {
  return v + __shfl_xor_sync(0xffffffffu, v, mask);
}

__global__ void __cluster_dims__(r_cluster, 1, 1) __launch_bounds__(r_threads, 1)
    recurrence(const float* gates0,               // (5120, 1536)
               const float* gates1,               // (5120, 1536), to be added, or null
               const float4* __restrict__ whh,    // packed, of this layer: both directions
               const float* __restrict__ bhn,     // (2, 256) of this layer
               const float* __restrict__ h0,      // (2, 10, 256) of this layer
               float* hn,                         // (2, 10, 256) of this layer
               float* y,                          // (5120, 512) or null
               uint32_t* counters,                // (2, 32) of this layer; not used if y is null
               uint64_t* report) {
  __shared__ Shared sm;

  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  uint32_t rank_u;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank_u));
  const int rank = static_cast<int>(rank_u);
  const int cluster = blockIdx.x / r_cluster;
  const int dir = cluster / k_batch;
  const int batch = cluster % k_batch;
  const int slice = lane >> 2;
  const int copy = slice & 3;
  const int unit = warp * 8 + (lane >> 4) * 4 + (lane & 3);
  const int column = rank * r_units + unit;

  const uint32_t own_base = smem_u32(&sm.own[0]);
  const uint32_t remote_base = smem_u32(&sm.remote[0]);

  if (tid == 0) {
    for (int b = 0; b < 2; ++b) {
      mbar_init(own_base + b * 8, 8);
      mbar_init(remote_base + b * 8, 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int i = 0; i < 8; ++i) mbar_arrive(own_base);  // h_0 is there from the start
    mbar_arrive(remote_base);
    mbar_arm(remote_base + 8, r_remote_bytes);
  }

  const bool active = copy == 0 || (copy == 1 && gates1 != nullptr);
  if (!active) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j) sm.ring[i][j][tid] = 0.0f;
  }

  const float* const h0_row = h0 + (dir * k_batch + batch) * k_hidden;
  sm.h[0][tid] = h0_row[((rank + (tid >> 6)) & 3) * r_units + (tid & 63)];
  float h = h0_row[column];
  const float bias_n = copy == 2 ? bhn[dir * k_hidden + column] : 0.0f;

  // Weights: [gate][(q * 2 + i) * 4 + element]; kept unit and given unit
  float wk[3][32], wg[3][32];
  {
    const float4* const src = whh + ((dir * r_cluster + rank) * 8 + warp) * (48 * 32) + lane;
#pragma unroll
    for (int gate = 0; gate < 3; ++gate) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float4 a = load_weights(src + (gate * 16 + j) * 32);
        const float4 b = load_weights(src + (gate * 16 + 8 + j) * 32);
        wk[gate][4 * j] = a.x, wk[gate][4 * j + 1] = a.y, wk[gate][4 * j + 2] = a.z, wk[gate][4 * j + 3] = a.w;
        wg[gate][4 * j] = b.x, wg[gate][4 * j + 1] = b.y, wg[gate][4 * j + 2] = b.z, wg[gate][4 * j + 3] = b.w;
      }
    }
  }

  __syncthreads();
  cluster_barrier();

  // Everything before this kernel in the stream is complete from here on; the next product may start.
  dependency_wait();
  dependency_launch();

  const int time0 = dir == 0 ? 0 : k_steps - 1;
  const int gate_step = dir == 0 ? k_batch * k_columns : -(k_batch * k_columns);
  const int y_step = dir == 0 ? k_batch * 2 * k_hidden : -(k_batch * 2 * k_hidden);
  const float* gate_src =
      (copy == 1 && active ? gates1 : gates0) + (time0 * k_batch + batch) * k_columns + dir * k_gates + column;
  const bool store_y = y != nullptr && copy == 0;
  float* y_dst = store_y ? y + (time0 * k_batch + batch) * (2 * k_hidden) + dir * k_hidden + column : nullptr;

  const uint32_t ring_base = smem_u32(&sm.ring[0][0][tid]);
  // Each thread reads only what it copied (or cleared) itself: no barrier belongs to the ring.
  auto fetch = [&](int s) {
    if (active && s < k_steps) {
      const uint32_t dst = ring_base + (s & 3) * (3 * r_threads * 4);
      cp_async4(dst, gate_src);
      cp_async4(dst + r_threads * 4, gate_src + k_hidden);
      cp_async4(dst + 2 * r_threads * 4, gate_src + 2 * k_hidden);
      gate_src += gate_step;
    }
    cp_async_commit();
  };
  fetch(0);
  fetch(1);
  fetch(2);

  const uint32_t local = copy == rank ? 1u : 0u;
  uint32_t target = smem_u32(&sm.h[0][((rank - copy) & 3) * r_units + unit]);
  if (local == 0u) target = map_rank(target, static_cast<uint32_t>(copy));
  const uint32_t target_bar = map_rank(remote_base, static_cast<uint32_t>(copy));

#pragma unroll 1
  for (int t = 0; t < k_steps; ++t) {
    fetch(t + 3);
    cp_async_wait<3>();
    const int b = t & 1;
    const uint32_t parity = static_cast<uint32_t>(t >> 1) & 1u;

    // The partial input gates and b_hn enter as initial values of single lanes; the reduction adds them up.
    const float* const ring = &sm.ring[t & 3][0][tid];
    float rk = ring[0];
    float zk = ring[r_threads];
    float xn = ring[2 * r_threads];
    float nk = bias_n;
    float rg = 0.0f, zg = 0.0f, ng = 0.0f;

    const float4* const hp = reinterpret_cast<const float4*>(&sm.h[b][0]) + slice;

    mbar_wait(own_base + b * 8, parity, report);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float4 v = hp[j * 8];
      const float e[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        rk = fmaf(wk[0][4 * j + c], e[c], rk);
        rg = fmaf(wg[0][4 * j + c], e[c], rg);
        nk = fmaf(wk[2][4 * j + c], e[c], nk);
        ng = fmaf(wg[2][4 * j + c], e[c], ng);
        zk = fmaf(wk[1][4 * j + c], e[c], zk);
        zg = fmaf(wg[1][4 * j + c], e[c], zg);
      }
    }

    mbar_wait(remote_base + b * 8, parity, report);
    __syncwarp();
    if (tid == 0) mbar_arm(remote_base + b * 8, r_remote_bytes);
#pragma unroll
    for (int j = 2; j < 8; ++j) {
      const float4 v = hp[j * 8];
      const float e[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        rk = fmaf(wk[0][4 * j + c], e[c], rk);
        rg = fmaf(wg[0][4 * j + c], e[c], rg);
        nk = fmaf(wk[2][4 * j + c], e[c], nk);
        ng = fmaf(wg[2][4 * j + c], e[c], ng);
        zk = fmaf(wk[1][4 * j + c], e[c], zk);
        zg = fmaf(wg[1][4 * j + c], e[c], zg);
      }
    }

    __syncwarp();
    rk += __shfl_xor_sync(0xffffffffu, rg, 16);
    nk += __shfl_xor_sync(0xffffffffu, ng, 16);
    zk += __shfl_xor_sync(0xffffffffu, zg, 16);
    rk = sum_xor(rk, 8);
    nk = sum_xor(nk, 8);
    xn = sum_xor(xn, 8);
    zk = sum_xor(zk, 8);
    rk = sum_xor(rk, 4);
    nk = sum_xor(nk, 4);
    xn = sum_xor(xn, 4);
    zk = sum_xor(zk, 4);

    const float r = sigmoid(rk);
    const float z = sigmoid(zk);
    const float n = tanh_select(fmaf(r, nk, xn));
    h = fmaf(1.0f - z, n, z * h);

    if (t + 1 < k_steps) {
      const uint32_t next = static_cast<uint32_t>(t + 1) & 1u;
      deliver(target + next * (k_hidden * 4), h, target_bar + next * 8, local);
      __syncwarp();
      if (lane == 0) mbar_arrive(own_base + next * 8);
    } else {
      __syncwarp();
    }

    if (y != nullptr) {
      // The chunk that the step before completed: its stores are a step old, so the release is cheap, and
      // the __syncwarp above puts those of all lanes before it.
      if ((t & (k_chunk - 1)) == 0 && t > 0 && lane == 0) {
        const int period = (t >> 4) - 1;
        publish(counters + (dir == 0 ? period : 2 * k_chunks - 1 - period));
      }
      if (store_y) {
        *y_dst = h;
        y_dst += y_step;
      }
    }
  }

  cp_async_wait<0>();
  __syncwarp();
  if (y != nullptr && lane == 0) {
    const int period = k_chunks - 1;
    publish(counters + (dir == 0 ? period : 2 * k_chunks - 1 - period));
  }
  if (copy == 0) hn[(dir * k_batch + batch) * k_hidden + column] = h;

  __syncwarp();
  cluster_barrier();  // no block leaves while another may still write to it
}

// ---------------------------------------------------------------------------------------------
// Packing
// ---------------------------------------------------------------------------------------------

// dst float4 index: ((rank * 8 + warp) * 48 + gate * 16 + given * 8 + q * 2 + i) * 32 + lane
__global__ void pack_whh(const float* __restrict__ src, float4* __restrict__ dst) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= k_whh / 4) return;
  const int lane = index & 31;
  const int j = (index >> 5) % 48;
  const int rest = (index >> 5) / 48;
  const int warp = rest & 7;
  const int rank = rest >> 3;
  const int gate = j >> 4;
  const int given = (j >> 3) & 1;
  const int q = (j >> 1) & 3;
  const int i = j & 1;
  const int half = (lane >> 4) ^ given;
  const int unit = rank * r_units + warp * 8 + half * 4 + (lane & 3);
  const int row = gate * k_hidden + unit;
  const int column = ((rank + q) & 3) * r_units + i * 32 + (lane >> 2) * 4;
  const float* const p = src + row * k_hidden + column;
  dst[index] = make_float4(p[0], p[1], p[2], p[3]);
}

__global__ void pack_bias(const float* __restrict__ bih, const float* __restrict__ bhh, float* __restrict__ bias,
                          float* __restrict__ bhn) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= k_gates) return;
  if (i < 2 * k_hidden) {
    bias[i] = bih[i] + bhh[i];
  } else {
    bias[i] = bih[i];
    bhn[i - 2 * k_hidden] = bhh[i];
  }
}

constexpr int64_t k_whh_floats = static_cast<int64_t>(k_layers) * 2 * k_whh;
constexpr int64_t k_wih0_floats = static_cast<int64_t>(k_columns) * k_input;
constexpr int64_t k_wih_floats = static_cast<int64_t>(k_columns) * 2 * k_hidden;
constexpr int64_t k_bias_floats = static_cast<int64_t>(k_layers) * k_columns;
constexpr int64_t k_bhn_floats = static_cast<int64_t>(k_layers) * 2 * k_hidden;
constexpr int64_t k_all_floats =
    k_whh_floats + k_wih0_floats + (k_layers - 1) * k_wih_floats + k_bias_floats + k_bhn_floats;

constexpr int64_t k_gate_floats = static_cast<int64_t>(k_rows) * k_columns;
constexpr int64_t k_y_floats = static_cast<int64_t>(k_rows) * 2 * k_hidden;

struct State {
  float* memory;
  float* whh;
  float* wih[k_layers];
  float* bias;
  float* bhn;
  int product_blocks;
};

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* output = kgen_find(&args->outputs, "output");
  if (!kgen_is(x, KGEN_FLOAT32, 3) || kgen_dim(x, 0) != k_steps || kgen_dim(x, 1) != k_batch ||
      kgen_dim(x, 2) != k_input)
    return kgen_fail(&args->error, "x must be contiguous float32 (512, 10, 128)");
  if (!kgen_is(h0, KGEN_FLOAT32, 3) || kgen_dim(h0, 0) != 2 * k_layers || kgen_dim(h0, 1) != k_batch ||
      kgen_dim(h0, 2) != k_hidden)
    return kgen_fail(&args->error, "h0 must be contiguous float32 (12, 10, 256)");
  if (!kgen_is(output, KGEN_FLOAT32, 3) || kgen_dim(output, 0) != 2 * k_layers ||
      kgen_dim(output, 1) != k_batch || kgen_dim(output, 2) != k_hidden)
    return kgen_fail(&args->error, "output must be contiguous float32 (12, 10, 256)");

  int device = 0;
  int sms = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return kgen_fail(&args->error, "no answer from the device");

  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  float* memory = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&memory), static_cast<size_t>(k_all_floats) * 4) != cudaSuccess)
    return kgen_fail(&args->error, "no memory for the packed weights");

  State* state = new State;
  state->memory = memory;
  // The SMs that the recurrence leaves free. Nothing but speed depends on the number.
  state->product_blocks = sms >= r_blocks + 16 ? sms - r_blocks : (sms > 0 ? sms : 1);
  float* p = memory;
  state->whh = p;
  p += k_whh_floats;
  for (int layer = 0; layer < k_layers; ++layer) {
    state->wih[layer] = p;
    p += layer == 0 ? k_wih0_floats : k_wih_floats;
  }
  state->bias = p;
  p += k_bias_floats;
  state->bhn = p;

  for (int layer = 0; layer < k_layers; ++layer) {
    const int width = layer == 0 ? k_input : 2 * k_hidden;
    for (int dir = 0; dir < 2; ++dir) {
      const char* const suffix = dir == 0 ? "" : "_reverse";
      char name[64];
      snprintf(name, sizeof(name), "gru.weight_ih_l%d%s", layer, suffix);
      const kgen_tensor* wih = kgen_find(&args->parameters, name);
      snprintf(name, sizeof(name), "gru.weight_hh_l%d%s", layer, suffix);
      const kgen_tensor* whh = kgen_find(&args->parameters, name);
      snprintf(name, sizeof(name), "gru.bias_ih_l%d%s", layer, suffix);
      const kgen_tensor* bih = kgen_find(&args->parameters, name);
      snprintf(name, sizeof(name), "gru.bias_hh_l%d%s", layer, suffix);
      const kgen_tensor* bhh = kgen_find(&args->parameters, name);
      if (!kgen_is(wih, KGEN_FLOAT32, 2) || kgen_dim(wih, 0) != k_gates || kgen_dim(wih, 1) != width ||
          !kgen_is(whh, KGEN_FLOAT32, 2) || kgen_dim(whh, 0) != k_gates || kgen_dim(whh, 1) != k_hidden ||
          !kgen_is(bih, KGEN_FLOAT32, 1) || kgen_dim(bih, 0) != k_gates || !kgen_is(bhh, KGEN_FLOAT32, 1) ||
          kgen_dim(bhh, 0) != k_gates) {
        cudaStreamSynchronize(stream);
        cudaFree(memory);
        delete state;
        return kgen_fail(&args->error, "the weights must be those of a bidirectional GRU (128, 256, 6 layers, bias)");
      }
      cudaMemcpyAsync(state->wih[layer] + static_cast<int64_t>(dir) * k_gates * width, wih->data,
                      static_cast<size_t>(k_gates) * width * 4, cudaMemcpyDeviceToDevice, stream);
      pack_whh<<<k_whh / 4 / 256, 256, 0, stream>>>(
          static_cast<const float*>(whh->data),
          reinterpret_cast<float4*>(state->whh + static_cast<int64_t>(layer * 2 + dir) * k_whh));
      pack_bias<<<3, 256, 0, stream>>>(static_cast<const float*>(bih->data), static_cast<const float*>(bhh->data),
                                       state->bias + layer * k_columns + dir * k_gates,
                                       state->bhn + (layer * 2 + dir) * k_hidden);
    }
  }

  cudaError_t status = cudaFuncSetAttribute(gate_product<k_input>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            g_smem_bytes);
  if (status == cudaSuccess)
    status = cudaFuncSetAttribute(overlapped_product, cudaFuncAttributeMaxDynamicSharedMemorySize, p_smem_bytes);
  const cudaError_t finished = cudaStreamSynchronize(stream);
  if (status == cudaSuccess) status = finished;
  if (status == cudaSuccess) status = cudaGetLastError();
  if (status != cudaSuccess) {
    cudaFree(memory);
    delete state;
    return kgen_fail(&args->error, cudaGetErrorString(status));
  }

  result->state = state;
  result->workspace_bytes =
      static_cast<uint64_t>(4 * k_gate_floats + k_y_floats) * 4 + static_cast<uint64_t>(k_counters) * 4;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* const state = static_cast<const State*>(opaque);
  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  const float* const x = static_cast<const float*>(kgen_find(&args->inputs, "x")->data);
  const float* const h0 = static_cast<const float*>(kgen_find(&args->inputs, "h0")->data);
  float* const output = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  // Workspace: input gates, twice (by parity of the layer) two partial arrays; y; counters
  float* const gates = static_cast<float*>(args->workspace);
  float* const y = gates + 4 * k_gate_floats;
  uint32_t* const counters = reinterpret_cast<uint32_t*>(y + k_y_floats);
  uint64_t* const report = args->report;

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;

  const dim3 grid(k_columns / g_bn, k_rows / g_bm);
  gate_product<k_input><<<grid, g_threads, g_smem_bytes, stream>>>(x, state->wih[0], state->bias, gates, counters);

  cudaError_t status = cudaSuccess;
  for (int layer = 0; layer < k_layers && status == cudaSuccess; ++layer) {
    const int64_t slice = static_cast<int64_t>(layer) * 2 * k_batch * k_hidden;
    const bool last = layer + 1 == k_layers;
    const float* const gates0 = gates + static_cast<int64_t>(layer & 1) * 2 * k_gate_floats;
    const float* const gates1 = layer == 0 ? nullptr : gates0 + k_gate_floats;
    const float4* const whh =
        reinterpret_cast<const float4*>(state->whh + static_cast<int64_t>(layer) * 2 * k_whh);
    const float* const bhn = state->bhn + layer * 2 * k_hidden;
    const float* const h0_layer = h0 + slice;
    float* const hn_layer = output + slice;
    float* const y_layer = last ? nullptr : y;
    uint32_t* const counters_layer = last ? counters : counters + layer * 2 * k_chunks;

    cudaLaunchConfig_t config{};
    config.gridDim = dim3(r_blocks);
    config.blockDim = dim3(r_threads);
    config.dynamicSmemBytes = 0;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = layer == 0 ? 0 : 1;  // behind the product of this layer: loads its weights ahead
    status = cudaLaunchKernelEx(&config, recurrence, gates0, gates1, whh, bhn, h0_layer, hn_layer, y_layer,
                                counters_layer, report);
    if (status != cudaSuccess || last) continue;

    const float* const y_read = y;
    const float* const w = state->wih[layer + 1];
    const float* const bias = state->bias + (layer + 1) * k_columns;
    float* const out = gates + static_cast<int64_t>((layer + 1) & 1) * 2 * k_gate_floats;
    const uint32_t* const counters_read = counters_layer;

    cudaLaunchConfig_t product{};
    product.gridDim = dim3(static_cast<unsigned>(state->product_blocks));
    product.blockDim = dim3(p_threads);
    product.dynamicSmemBytes = p_smem_bytes;
    product.stream = stream;
    product.attrs = &attribute;
    product.numAttrs = 1;
    status = cudaLaunchKernelEx(&product, overlapped_product, y_read, w, bias, out, counters_read, report);
  }
  const cudaError_t pending = cudaGetLastError();
  if (status == cudaSuccess) status = pending;
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* const state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  cudaFree(state->memory);
  delete state;
}
