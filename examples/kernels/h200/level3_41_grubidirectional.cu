#include <cstdint>
#include <cstdio>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("h_full");

namespace {

// ---------------------------------------------------------------------------------------------
// The shapes of the task
// ---------------------------------------------------------------------------------------------

constexpr int k_steps = 512;
constexpr int k_batch = 10;
constexpr int k_input = 128;
constexpr int k_hidden = 256;
constexpr int k_layers = 6;
constexpr int k_gate_rows = 3 * k_hidden;       // 768, of one direction
constexpr int k_gates = 2 * k_gate_rows;        // 1536, of both directions
constexpr int k_sequence = 2 * k_hidden;        // 512
constexpr int k_rows = k_steps * k_batch;       // 5120

constexpr size_t k_wih_first = static_cast<size_t>(k_gates) * k_input;
constexpr size_t k_wih_other = static_cast<size_t>(k_gates) * k_sequence;
constexpr size_t k_wih_total = k_wih_first + (k_layers - 1) * k_wih_other;
constexpr size_t k_whh_one = static_cast<size_t>(k_gate_rows) * k_hidden;
constexpr size_t k_whh_total = 2 * k_layers * k_whh_one;
constexpr size_t k_bias_total = static_cast<size_t>(k_layers) * k_gates;
constexpr size_t k_bhn_total = static_cast<size_t>(k_layers) * 2 * k_hidden;

// ---------------------------------------------------------------------------------------------
// Input-side gates: C (5120, 1536) = A (5120, K) * W (1536, K)^T + bias, as 3xTF32
// ---------------------------------------------------------------------------------------------

constexpr int k_bm = 128;
constexpr int k_bn = 128;
constexpr int k_bk = 32;
constexpr int k_pitch = 36;  // floats of a row in shared memory: no bank conflicts for ldmatrix
constexpr int k_stages = 3;
constexpr int k_stage_floats = (k_bm + k_bn) * k_pitch;
constexpr int k_product_smem = k_stages * k_stage_floats * 4;
constexpr int k_product_threads = 256;

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void copy_async16(uint32_t to, const float* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void load_matrices(uint32_t address, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void split(uint32_t raw, uint32_t& hi, uint32_t& lo) {
  const float value = __uint_as_float(raw);
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  hi = rounded & 0xffffe000u;
  const float rest = value - __uint_as_float(hi);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(lo) : "f"(rest));
}

__device__ __forceinline__ void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void load_stage(uint32_t stage, const float* a, const float* w, int depth, int k0,
                                           int tid) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int i = tid + j * k_product_threads;
    const int row = i >> 3;
    const int column = (i & 7) * 4;
    const uint32_t to = stage + static_cast<uint32_t>(row * k_pitch + column) * 4u;
    copy_async16(to, a + static_cast<int64_t>(row) * depth + k0 + column);
    copy_async16(to + k_bm * k_pitch * 4, w + static_cast<int64_t>(row) * depth + k0 + column);
  }
}

__global__ void __launch_bounds__(k_product_threads, 1)
    input_gates(const float* a, const float* __restrict__ w, const float* __restrict__ bias, float* __restrict__ c,
                int depth) {
  extern __shared__ __align__(128) float product_smem[];
  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int n0 = blockIdx.x * k_bn;
  const int m0 = blockIdx.y * k_bm;
  const float* a_tile = a + static_cast<int64_t>(m0) * depth;
  const float* w_tile = w + static_cast<int64_t>(n0) * depth;
  const uint32_t base = shared_address(product_smem);
  const int wm = (warp & 1) * 64;
  const int wn = (warp >> 1) * 32;

  // Where this lane's row of the matrices lies, for ldmatrix.
  const int a_row = wm + (lane & 7) + ((lane >> 3) & 1) * 8;
  const int a_column = (lane >> 4) * 4;
  const int b_row = wn + (lane & 7) + (lane >> 4) * 8;
  const int b_column = ((lane >> 3) & 1) * 4;
  const uint32_t a_offset = static_cast<uint32_t>(a_row * k_pitch + a_column) * 4u;
  const uint32_t b_offset = static_cast<uint32_t>(k_bm * k_pitch + b_row * k_pitch + b_column) * 4u;

  float total[4][4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) total[i][j][e] = 0.0f;

  const int chunks = depth / k_bk;
  load_stage(base, a_tile, w_tile, depth, 0, tid);
  asm volatile("cp.async.commit_group;" ::: "memory");
  load_stage(base + k_stage_floats * 4, a_tile, w_tile, depth, k_bk, tid);
  asm volatile("cp.async.commit_group;" ::: "memory");

  int stage = 0;
  int stage_to_fill = 2;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (chunk + 2 < chunks)
      load_stage(base + static_cast<uint32_t>(stage_to_fill) * (k_stage_floats * 4), a_tile, w_tile, depth,
                 (chunk + 2) * k_bk, tid);
    asm volatile("cp.async.commit_group;" ::: "memory");

    const uint32_t stage_base = base + static_cast<uint32_t>(stage) * (k_stage_floats * 4);
    float part[4][4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) part[i][j][e] = 0.0f;

#pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
      uint32_t b_hi[4][2];
      uint32_t b_lo[4][2];
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        uint32_t raw[4];
        load_matrices(stage_base + b_offset + static_cast<uint32_t>(p * 16 * k_pitch + kk * 8) * 4u, raw);
        split(raw[0], b_hi[2 * p][0], b_lo[2 * p][0]);
        split(raw[1], b_hi[2 * p][1], b_lo[2 * p][1]);
        split(raw[2], b_hi[2 * p + 1][0], b_lo[2 * p + 1][0]);
        split(raw[3], b_hi[2 * p + 1][1], b_lo[2 * p + 1][1]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t raw[4];
        uint32_t a_hi[4];
        uint32_t a_lo[4];
        load_matrices(stage_base + a_offset + static_cast<uint32_t>(i * 16 * k_pitch + kk * 8) * 4u, raw);
#pragma unroll
        for (int e = 0; e < 4; ++e) split(raw[e], a_hi[e], a_lo[e]);
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_tf32(part[i][j], a_lo, b_hi[j]);
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_tf32(part[i][j], a_hi, b_lo[j]);
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_tf32(part[i][j], a_hi, b_hi[j]);
      }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) total[i][j][e] += part[i][j][e];

    stage = stage == k_stages - 1 ? 0 : stage + 1;
    stage_to_fill = stage_to_fill == k_stages - 1 ? 0 : stage_to_fill + 1;
  }

  const int row = m0 + wm + (lane >> 2);
  const int column = n0 + wn + (lane & 3) * 2;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float2 add = *reinterpret_cast<const float2*>(bias + column + j * 8);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float* to = c + static_cast<int64_t>(row + i * 16) * k_gates + column + j * 8;
      *reinterpret_cast<float2*>(to) = make_float2(total[i][j][0] + add.x, total[i][j][1] + add.y);
      *reinterpret_cast<float2*>(to + 8 * k_gates) = make_float2(total[i][j][2] + add.x, total[i][j][3] + add.y);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Recurrence. A cluster of 8 blocks owns one direction and two rows of the batch; a block owns 32 units with
// all their gates. Product warp w multiplies the 32 units of the state that block w of the cluster makes, and
// waits for that block alone. Two gate warps, one for each row, sum the 8 parts, and send the new units.
//
// slot = (step & 1) * 2 + row names the buffers of a step: the state that it reads, its parts, its barriers.
//  - State: block P sends h(s+1) into the buffer that block Q read in step s-1. P has h(s) of Q by then, and Q
//    sent that after all its product warps had delivered their parts of step s-1, for which they had read h(s-1).
//  - Parts and named barriers: a product warp writes the parts of step s+2 with h(s+2) of a block that had h(s+1)
//    of this block, which this block's gate warp sent after it had read the parts of step s.
//  - Barrier phases: armed again by the warp that waits, before it delivers its parts; the next bytes for this
//    phase depend on these parts. The waiting warp itself arms, thus no phase runs ahead of it.
//  - Step s waits for phase s / 2 of its barrier. Phase 0 of the first buffer has no bytes: the initial state is
//    there before the cluster meets, and one plain arrival completes the phase. For the second row the gate warp
//    makes this arrival half a step late: the product of one row then runs while the other row is on its way
//    between the blocks, and not while that row's gate warp needs the issue slots.
// ---------------------------------------------------------------------------------------------

constexpr int k_cluster = 8;
constexpr int k_units = k_hidden / k_cluster;  // 32, of a block
constexpr int k_pairs = k_batch / 2;           // 5
constexpr int k_recur_blocks = 2 * k_pairs * k_cluster;
constexpr int k_recur_threads = 10 * 32;
constexpr int k_meet = 9 * 32;  // 8 product warps and one gate warp
constexpr uint32_t k_bytes = k_units * 4;
constexpr long long k_row_delay = 640;  // cycles, about half a step

struct RecurSmem {
  float h[2][2][k_hidden];
  float4 part[2][2][8][32];  // gates r, z, n of a unit; the fourth value is not used
  uint64_t full[2][2][8];
};

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_arm(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Lane 0 arms, by a predicate: no branch, the warp stays together.
__device__ __forceinline__ void barrier_arm_by_first(uint32_t barrier, uint32_t bytes, int lane) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.eq.s32 p, %2, 0;\n"
      "@p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n"
      "}\n" ::"r"(barrier),
      "r"(bytes), "r"(lane)
      : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ bool barrier_try(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity, uint64_t* report) {
  if (barrier_try(barrier, parity)) return;
  long long start = 0;
  uint32_t spins = 0;
  while (!barrier_try(barrier, parity)) {
    if ((++spins & 1023u) == 0) {
      const long long now = clock64();
      if (start == 0) {
        start = now;
      } else if (now - start > 3000000000LL) {
        KGEN_REPORT(report, 1);
        __trap();
      }
    }
  }
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ uint32_t remote_address(uint32_t local, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(local), "r"(rank));
  return address;
}

__device__ __forceinline__ void send(uint32_t to, float x, float y, float z, float w, uint32_t barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   to),
               "r"(__float_as_uint(x)), "r"(__float_as_uint(y)), "r"(__float_as_uint(z)), "r"(__float_as_uint(w)),
               "r"(barrier)
               : "memory");
}

__device__ __forceinline__ float4 load_once(const float4* from) {
  float4 v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from));
  return v;
}

__device__ __forceinline__ void load_shared4(uint32_t from, float& x, float& y, float& z, float& w) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
               : "r"(from)
               : "memory");
}

__device__ __forceinline__ void store_shared4(uint32_t to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}

__device__ __forceinline__ float exp2_unit(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float reciprocal_unit(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The error of the exponent's rounding, |x| * 6e-8, meets the slope s * (1 - s): below 2e-8 everywhere.
__device__ __forceinline__ float sigmoid(float x) {
  return reciprocal_unit(1.0f + exp2_unit(-1.44269504f * x));
}

// A polynomial near zero, 1 - 2 / (1 + exp(2x)) elsewhere: as tanhf does, but without a branch.
__device__ __forceinline__ float hyperbolic(float x) {
  const float e = exp2_unit(2.88539008f * x);
  const float t = x * x;
  float p = fmaf(1.57394409e-2f, t, -5.23039624e-2f);
  p = fmaf(p, t, 1.33152977e-1f);
  p = fmaf(p, t, -3.33327681e-1f);
  const float near_zero = fmaf(p * t, x, x);
  const float elsewhere = fmaf(-2.0f, reciprocal_unit(1.0f + e), 1.0f);
  return fabsf(x) < 0.55f ? near_zero : elsewhere;
}

// weights: packed, of this layer. gates: (512, 10, 1536). b_hn: (2, 256). h0: (2, 10, 256) of this layer.
__global__ void __cluster_dims__(k_cluster, 1, 1) __launch_bounds__(k_recur_threads, 1)
    recur(const float4* __restrict__ weights, const float* __restrict__ gates, const float* __restrict__ b_hn,
          const float* __restrict__ h0, float* __restrict__ out, uint64_t* report) {
  __shared__ __align__(128) RecurSmem sm;
  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int rank = static_cast<int>(blockIdx.x) % k_cluster;
  const int cluster = static_cast<int>(blockIdx.x) / k_cluster;
  const int direction = cluster & 1;
  const int row0 = (cluster >> 1) * 2;

  if (tid == 0) {
    const uint32_t first = shared_address(&sm.full[0][0][0]);
    for (int i = 0; i < 32; ++i) barrier_init(first + i * 8, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // First buffer: row 0 is complete at once, row 1 when its gate warp says so. Second buffer: bytes.
    for (int i = 0; i < 8; ++i) barrier_arrive(first + i * 8);
    for (int i = 16; i < 32; ++i) barrier_arm(first + i * 8, k_bytes);
  }
  __syncwarp();
  for (int i = tid; i < 2 * k_hidden; i += k_recur_threads)
    sm.h[0][i >> 8][i & 255] = h0[(direction * k_batch + row0 + (i >> 8)) * k_hidden + (i & 255)];
  __syncwarp();

  if (warp < 8) {
    // Product: gates 0..2 of unit `lane`, then of unit `lane ^ 1`, over 16 of the 32 values of block `warp`.
    float w[6][16];
    const float4* from = weights + (((direction * k_cluster + rank) * 8 + warp) * 24) * 32 + lane;
#pragma unroll
    for (int j = 0; j < 6; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const float4 v = load_once(from + (j * 4 + q) * 32);
        w[j][4 * q + 0] = v.x;
        w[j][4 * q + 1] = v.y;
        w[j][4 * q + 2] = v.z;
        w[j][4 * q + 3] = v.w;
      }
    cluster_sync();

    const uint32_t state_base = shared_address(&sm.h[0][0][warp * 32 + (lane & 1) * 16]);
    const uint32_t part_base = shared_address(&sm.part[0][0][warp][lane]);
    const uint32_t full_base = shared_address(&sm.full[0][0][warp]);

    // Carried from iteration to iteration, so that nothing is left to compute after the wait.
    uint32_t state = state_base;
    uint32_t part = part_base;
    uint32_t full = full_base;
    uint32_t parity = 0;
    int name = 1;

#pragma unroll 1
    for (int it = 0; it < 2 * k_steps; ++it) {
      barrier_wait(full, parity, report);
      __syncwarp();
      float v[16];
#pragma unroll
      for (int q = 0; q < 4; ++q)
        load_shared4(state + q * 16, v[4 * q + 0], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
      barrier_arm_by_first(full, k_bytes, lane);

      // The sums for the other lane come first, each of them every fourth instruction, and a third of the own
      // ones in between; the shuffles then return while the rest is multiplied, in six independent sums.
      float other[3];
      float own[3];
      float late[3];
#pragma unroll
      for (int k = 0; k < 16; ++k) {
#pragma unroll
        for (int j = 0; j < 3; ++j)
          other[j] = k == 0 ? w[3 + j][0] * v[0] : fmaf(w[3 + j][k], v[k], other[j]);
        own[k % 3] = k < 3 ? w[k % 3][0] * v[0] : fmaf(w[k % 3][k / 3], v[k / 3], own[k % 3]);
      }
      // By now own[0] has the values 0..5, own[1] and own[2] have 0..4.
      float given[3];
#pragma unroll
      for (int j = 0; j < 3; ++j) given[j] = __shfl_xor_sync(0xffffffffu, other[j], 1);
#pragma unroll
      for (int t = 0; t < 6; ++t) {
        if (t < 5) {
#pragma unroll
          for (int j = 0; j < 3; ++j)
            late[j] = t == 0 ? w[j][11] * v[11] : fmaf(w[j][11 + t], v[11 + t], late[j]);
        }
#pragma unroll
        for (int j = 0; j < 3; ++j)
          if (t > 0 || j > 0) own[j] = fmaf(w[j][5 + t], v[5 + t], own[j]);
      }

      store_shared4(part, (late[0] + given[0]) + own[0], (late[1] + given[1]) + own[1],
                    (late[2] + given[2]) + own[2], 0.0f);
      asm volatile("bar.arrive %0, %1;" ::"r"(name), "n"(k_meet) : "memory");

      const uint32_t next = static_cast<uint32_t>(it + 1) & 3u;
      state = state_base + next * (k_hidden * 4);
      part = part_base + next * (8 * 32 * 16);
      full = full_base + next * (8 * 8);
      parity = (static_cast<uint32_t>(it + 1) >> 2) & 1u;
      name = static_cast<int>(next) + 1;
    }
  } else {
    // Gates: lane = unit of this block, one row of the batch for each warp.
    const int row = warp - 8;
    const int b = row0 + row;
    const int unit = rank * k_units + lane;
    const float bias_n = b_hn[direction * k_hidden + unit];
    float h = h0[(direction * k_batch + b) * k_hidden + unit];

    const int first_step = direction ? k_steps - 1 : 0;
    const int gate_stride = (direction ? -1 : 1) * (k_batch * k_gates);
    const int out_stride = (direction ? -1 : 1) * (k_batch * k_sequence);
    const float* gate = gates + (first_step * k_batch + b) * k_gates + direction * k_gate_rows + unit;
    float* to = out + (first_step * k_batch + b) * k_sequence + direction * k_hidden + unit;

    // This lane sends four units (4 * quad and on) to two of the blocks.
    const int quad = lane & 7;
    const uint32_t local_h = shared_address(&sm.h[0][row][rank * k_units + quad * 4]);
    const uint32_t local_full = shared_address(&sm.full[0][row][rank]);
    const uint32_t target0 = static_cast<uint32_t>(lane >> 3);
    const uint32_t target1 = target0 + 4;
    const uint32_t h_to0 = remote_address(local_h, target0);
    const uint32_t h_to1 = remote_address(local_h, target1);
    const uint32_t full_to0 = remote_address(local_full, target0);
    const uint32_t full_to1 = remote_address(local_full, target1);

    float in[2][3];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int g = 0; g < 3; ++g) in[i][g] = __ldg(gate + i * gate_stride + g * k_hidden);
    gate += 2 * gate_stride;
    cluster_sync();

    if (row == 1) {
      // The second row starts half a step later than the first.
      const long long start = clock64();
      while (clock64() - start < k_row_delay) {
      }
      __syncwarp();
      if (lane < 8) barrier_arrive(shared_address(&sm.full[0][1][lane]));
    }
    __syncwarp();

#pragma unroll 1
    for (int s0 = 0; s0 < k_steps; s0 += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int s = s0 + i;
        const float4* part = &sm.part[i][row][0][lane];
        asm volatile("bar.sync %0, %1;" ::"r"(i * 2 + row + 1), "n"(k_meet) : "memory");
        float sum[3];
        float4 p[8];
#pragma unroll
        for (int q = 0; q < 8; ++q) p[q] = part[q * 32];
        sum[0] = ((p[0].x + p[1].x) + (p[2].x + p[3].x)) + ((p[4].x + p[5].x) + (p[6].x + p[7].x));
        sum[1] = ((p[0].y + p[1].y) + (p[2].y + p[3].y)) + ((p[4].y + p[5].y) + (p[6].y + p[7].y));
        sum[2] = ((p[0].z + p[1].z) + (p[2].z + p[3].z)) + ((p[4].z + p[5].z) + (p[6].z + p[7].z));

        const float r = sigmoid(in[i][0] + sum[0]);
        const float z = sigmoid(in[i][1] + sum[1]);
        const float n = hyperbolic(fmaf(r, sum[2] + bias_n, in[i][2]));
        h = fmaf(z, h - n, n);

        if (s + 1 < k_steps) {
          const float x0 = __shfl_sync(0xffffffffu, h, quad * 4 + 0);
          const float x1 = __shfl_sync(0xffffffffu, h, quad * 4 + 1);
          const float x2 = __shfl_sync(0xffffffffu, h, quad * 4 + 2);
          const float x3 = __shfl_sync(0xffffffffu, h, quad * 4 + 3);
          const uint32_t h_offset = (i ^ 1) * (2 * k_hidden * 4);
          const uint32_t full_offset = (i ^ 1) * (2 * 8 * 8);
          send(h_to0 + h_offset, x0, x1, x2, x3, full_to0 + full_offset);
          send(h_to1 + h_offset, x0, x1, x2, x3, full_to1 + full_offset);
        }
        *to = h;
        to += out_stride;
        if (s + 2 < k_steps) {
#pragma unroll
          for (int g = 0; g < 3; ++g) in[i][g] = __ldg(gate + g * k_hidden);
          gate += gate_stride;
        }
      }
    }
  }

  __syncwarp();
  cluster_sync();
}

// ---------------------------------------------------------------------------------------------
// Packing, once per set of weights
// ---------------------------------------------------------------------------------------------

constexpr int k_packed_quads = k_cluster * 8 * 24 * 32;  // float4 of one layer and direction

__global__ void pack_recurrent(const float* __restrict__ weight, float4* __restrict__ packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= k_packed_quads) return;
  const int lane = i & 31;
  const int rest = i >> 5;
  const int which = rest % 24;
  const int warp = (rest / 24) & 7;
  const int rank = (rest / 24) >> 3;
  const int j = which >> 2;
  const int q = which & 3;
  const int gate = j % 3;
  const int unit = rank * k_units + (j < 3 ? lane : (lane ^ 1));
  const int k = warp * 32 + (lane & 1) * 16 + q * 4;
  const float* from = weight + (gate * k_hidden + unit) * k_hidden + k;
  packed[i] = make_float4(from[0], from[1], from[2], from[3]);
}

__global__ void pack_bias(const float* __restrict__ b_ih, const float* __restrict__ b_hh, float* __restrict__ bias,
                          float* __restrict__ b_hn) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= k_gate_rows) return;
  if (i < 2 * k_hidden) {
    bias[i] = b_ih[i] + b_hh[i];
  } else {
    bias[i] = b_ih[i];
    b_hn[i - 2 * k_hidden] = b_hh[i];
  }
}

struct State {
  float* memory;
  float* w_ih;
  float* w_hh;
  float* bias;
  float* b_hn;
};

size_t input_weight_offset(int layer) {
  return layer == 0 ? 0 : k_wih_first + static_cast<size_t>(layer - 1) * k_wih_other;
}

bool is_matrix(const kgen_tensor* tensor, int rows, int columns) {
  return kgen_is(tensor, KGEN_FLOAT32, 2) && kgen_dim(tensor, 0) == rows && kgen_dim(tensor, 1) == columns;
}

bool is_vector(const kgen_tensor* tensor, int length) {
  return kgen_is(tensor, KGEN_FLOAT32, 1) && kgen_dim(tensor, 0) == length;
}

bool is_cube(const kgen_tensor* tensor, int d0, int d1, int d2) {
  return kgen_is(tensor, KGEN_FLOAT32, 3) && kgen_dim(tensor, 0) == d0 && kgen_dim(tensor, 1) == d1 &&
         kgen_dim(tensor, 2) == d2;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (!is_cube(kgen_find(&args->inputs, "x"), k_steps, k_batch, k_input) ||
      !is_cube(kgen_find(&args->inputs, "h0"), 2 * k_layers, k_batch, k_hidden) ||
      !is_cube(kgen_find(&args->outputs, "output"), k_steps, k_batch, k_sequence))
    return kgen_fail(&args->error, "x must be (512, 10, 128), h0 (12, 10, 256), output (512, 10, 512), float32");

  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  if (cudaFuncSetAttribute(input_gates, cudaFuncAttributeMaxDynamicSharedMemorySize, k_product_smem) != cudaSuccess)
    return kgen_fail(&args->error, "the product kernel does not get its shared memory");

  float* memory = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&memory),
                 (k_wih_total + k_whh_total + k_bias_total + k_bhn_total) * sizeof(float)) != cudaSuccess)
    return kgen_fail(&args->error, "no memory for the packed weights");

  State* state = new State;
  state->memory = memory;
  state->w_ih = memory;
  state->w_hh = state->w_ih + k_wih_total;
  state->bias = state->w_hh + k_whh_total;
  state->b_hn = state->bias + k_bias_total;

  bool good = true;
  for (int layer = 0; layer < k_layers && good; ++layer) {
    const int depth = layer == 0 ? k_input : k_sequence;
    for (int direction = 0; direction < 2 && good; ++direction) {
      const char* suffix = direction ? "_reverse" : "";
      char name[64];
      snprintf(name, sizeof(name), "gru.weight_ih_l%d%s", layer, suffix);
      const kgen_tensor* w_ih = kgen_find(&args->parameters, name);
      snprintf(name, sizeof(name), "gru.weight_hh_l%d%s", layer, suffix);
      const kgen_tensor* w_hh = kgen_find(&args->parameters, name);
      snprintf(name, sizeof(name), "gru.bias_ih_l%d%s", layer, suffix);
      const kgen_tensor* b_ih = kgen_find(&args->parameters, name);
      snprintf(name, sizeof(name), "gru.bias_hh_l%d%s", layer, suffix);
      const kgen_tensor* b_hh = kgen_find(&args->parameters, name);
      if (!is_matrix(w_ih, k_gate_rows, depth) || !is_matrix(w_hh, k_gate_rows, k_hidden) ||
          !is_vector(b_ih, k_gate_rows) || !is_vector(b_hh, k_gate_rows)) {
        good = false;
        break;
      }
      const size_t count = static_cast<size_t>(k_gate_rows) * depth;
      if (cudaMemcpyAsync(state->w_ih + input_weight_offset(layer) + direction * count, w_ih->data,
                          count * sizeof(float), cudaMemcpyDeviceToDevice, stream) != cudaSuccess)
        good = false;
      pack_recurrent<<<(k_packed_quads + 255) / 256, 256, 0, stream>>>(
          static_cast<const float*>(w_hh->data),
          reinterpret_cast<float4*>(state->w_hh + static_cast<size_t>(layer * 2 + direction) * k_whh_one));
      pack_bias<<<(k_gate_rows + 255) / 256, 256, 0, stream>>>(
          static_cast<const float*>(b_ih->data), static_cast<const float*>(b_hh->data),
          state->bias + layer * k_gates + direction * k_gate_rows,
          state->b_hn + (layer * 2 + direction) * k_hidden);
      if (cudaGetLastError() != cudaSuccess) good = false;
    }
  }
  const cudaError_t waited = cudaStreamSynchronize(stream);
  if (!good || waited != cudaSuccess) {
    cudaFree(memory);
    delete state;
    return kgen_fail(&args->error, "the weights have other shapes than expected, or packing them failed");
  }

  result->state = state;
  result->workspace_bytes = static_cast<uint64_t>(k_rows) * k_gates * sizeof(float);
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  const kgen_tensor* output = kgen_find(&args->outputs, "output");
  float* gates = static_cast<float*>(args->workspace);
  float* sequence = static_cast<float*>(output->data);  // of every layer: read by a product, then written again
  const float* initial = static_cast<const float*>(h0->data);

  for (int layer = 0; layer < k_layers; ++layer) {
    const float* in = layer == 0 ? static_cast<const float*>(x->data) : sequence;
    const int depth = layer == 0 ? k_input : k_sequence;
    input_gates<<<dim3(k_gates / k_bn, k_rows / k_bm), k_product_threads, k_product_smem, stream>>>(
        in, state->w_ih + input_weight_offset(layer), state->bias + layer * k_gates, gates, depth);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) return kgen_fail(&args->error, cudaGetErrorString(status));
    recur<<<k_recur_blocks, k_recur_threads, 0, stream>>>(
        reinterpret_cast<const float4*>(state->w_hh + static_cast<size_t>(layer) * 2 * k_whh_one), gates,
        state->b_hn + layer * 2 * k_hidden, initial + layer * 2 * k_batch * k_hidden, sequence, args->report);
    status = cudaGetLastError();
    if (status != cudaSuccess) return kgen_fail(&args->error, cudaGetErrorString(status));
  }
  return 0;
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  cudaFree(state->memory);
  delete state;
}
