#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("h_full", "input_ready", "gates_full", "gates_empty");

namespace {

// ---------------------------------------------------------------------------------------------
// Layout of the work
//   cluster (8 blocks) = one layer and 5 rows of the batch; block = 32 hidden units (128 gate rows).
//   Warps 0..7: recurrent product (weights in registers), gates, sends. Warp = (mg = warp & 3, kg = warp >> 2):
//     8 units with their 4 gates, one half of K.
//   Warps 8..11: input product for groups of 3 steps (weights in shared memory), written to a ring.
//   A chunk (16 bytes) = 4 consecutive units of one row: hi(u0,u1), hi(u2,u3), lo(u0,u1), lo(u2,u3), which is just
//   what one lane needs as B fragments of m16n8k16 for both parts. A step of a layer has 320 chunks.
// ---------------------------------------------------------------------------------------------
constexpr int k_layers = 6;
constexpr int k_hidden = 256;
constexpr int k_steps = 512;
constexpr int k_in = 128;
constexpr int k_batch = 10;
constexpr int k_rows = 5;
constexpr int k_outputs = 10;
constexpr int k_threads = 384;
constexpr int k_group = 3;
constexpr int k_groups = (k_steps + k_group - 1) / k_group;
constexpr int k_ring = 3;
constexpr int k_chunks = 320;
constexpr int k_cells = 160;
constexpr int k_rec_regs = 200;
constexpr int k_in_regs = 104;
constexpr float k_lo_scale = 2048.0f;
constexpr float k_lo_unscale = 1.0f / 2048.0f;
constexpr long long k_spin_limit = 2000000000LL;

constexpr int k_off_w = 0;
constexpr int k_off_stage = k_off_w + 131072;
constexpr int k_off_x = k_off_stage + k_group * k_chunks * 16;
constexpr int k_off_h = k_off_x + k_group * k_chunks * 16;
constexpr int k_off_part = k_off_h + 2 * k_chunks * 16;
constexpr int k_off_xg = k_off_part + 2 * 2 * k_cells * 16;
constexpr int k_off_fin = k_off_xg + k_ring * k_group * k_cells * 16;
constexpr int k_off_fc = k_off_fin + k_rows * k_hidden * 4;
constexpr int k_off_scale = k_off_fc + k_outputs * k_hidden * 4;
constexpr int k_off_bar = k_off_scale + 32;
constexpr int k_smem = k_off_bar + 96;

constexpr int k_bar_h = 0;       // [buffer][kg], 4 of them
constexpr int k_bar_xfull = 4;   // 3
constexpr int k_bar_xempty = 7;  // 3
constexpr int k_bar_w = 10;

struct Args {
  const float* x;
  const float* h0;
  const float* c0;
  const uint4* rec;
  const uint4* inp;
  const float4* bias;
  const float* scale;
  const float* fcw;
  const float* fcb;
  float* out;
  uint4* slots;
  unsigned int* flags;
  uint64_t* report;
};

// ------------------------------------------------------------------------------------ primitives

__device__ __forceinline__ uint32_t smem_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void bar_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void bar_arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

__device__ __forceinline__ void bar_expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ bool bar_try(uint32_t bar, uint32_t parity) {
  uint32_t ok;
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

template <int kCode>
__device__ __forceinline__ void bar_wait(uint32_t bar, uint32_t parity, uint64_t* report) {
  if (!bar_try(bar, parity)) {
    const long long start = clock64();
    while (!bar_try(bar, parity)) {
      if (clock64() - start > k_spin_limit) {
        KGEN_REPORT(report, kCode);
        __trap();
      }
    }
  }
  __syncwarp();
}

__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ uint32_t map_rank(uint32_t address, uint32_t rank) {
  uint32_t result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

__device__ __forceinline__ void send_chunk(uint32_t address, const uint4& v, uint32_t bar) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   address),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(bar)
               : "memory");
}

__device__ __forceinline__ uint4 load_relaxed(const uint4* p) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}

__device__ __forceinline__ void store_relaxed(uint4* p, const uint4& v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

// Volatile, so that the weights stay in registers and are not loaded again inside the loop.
__device__ __forceinline__ uint4 load_weight(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

__device__ __forceinline__ void copy_async(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void mma_f16(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_tf32(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

template <bool kTf32>
__device__ __forceinline__ void mma_any(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  if (kTf32)
    mma_tf32(d, a, b0, b1);
  else
    mma_f16(d, a, b0, b1);
}

__device__ __forceinline__ uint32_t to_tf32(float x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

// hi in the low half of the word, (x - hi) * 2048 in the high half
__device__ __forceinline__ uint32_t split_half(float x) {
  const __half hi = __float2half_rn(x);
  const __half lo = __float2half_rn((x - __half2float(hi)) * k_lo_scale);
  return static_cast<uint32_t>(__half_as_ushort(hi)) | (static_cast<uint32_t>(__half_as_ushort(lo)) << 16);
}

__device__ __forceinline__ uint4 make_chunk(uint32_t v0, uint32_t v1, uint32_t v2, uint32_t v3) {
  uint4 c;
  c.x = __byte_perm(v0, v1, 0x5410);
  c.y = __byte_perm(v2, v3, 0x5410);
  c.z = __byte_perm(v0, v1, 0x7632);
  c.w = __byte_perm(v2, v3, 0x7632);
  return c;
}

__device__ __forceinline__ bool chunk_valid(const uint4& v) {
  return v.x != 0xffffffffu && v.y != 0xffffffffu && v.z != 0xffffffffu && v.w != 0xffffffffu;
}

__device__ __forceinline__ float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

__device__ __forceinline__ float sigmoid(float x) { return reciprocal(1.0f + expf(-x)); }

__device__ __forceinline__ float tanh_exact(float x) {
  const float a = fabsf(x);
  const float e = expf(a + a);
  const float big = copysignf(fmaf(-2.0f, reciprocal(e + 1.0f), 1.0f), x);
  const float s = x * x;
  float p = 1.57394409e-2f;
  p = fmaf(p, s, -5.23039624e-2f);
  p = fmaf(p, s, 1.33152977e-1f);
  p = fmaf(p, s, -3.33327681e-1f);
  const float small = fmaf(p * s, x, x);
  return a >= 0.55f ? big : small;
}

// --------------------------------------------------------------------------------- recurrent role

__device__ __forceinline__ void recurrent_role(const Args& a, unsigned char* smem, int layer, int half, int rank) {
  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int mg = warp & 3;
  const int kg = warp >> 2;
  const int g = lane >> 2;
  const int q = lane & 3;
  const uint32_t base = smem_address(smem);
  const uint32_t bars = base + k_off_bar;

  uint4 whi[2][8];
  uint4 wlo[2][8];
  {
    const uint4* src = a.rec + ((layer * 8 + rank) * 8 + warp) * 1024 + lane;
#pragma unroll
    for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        whi[mt][i] = load_weight(src + (mt * 8 + i) * 64);
        wlo[mt][i] = load_weight(src + (mt * 8 + i) * 64 + 32);
      }
    }
  }

  // The cell of this lane: lanes 0..19 own one each, the others repeat some and store nothing.
  const int col = g < 4 ? g : 4;
  const bool active = lane < 20;
  const int unit = mg * 8 + kg * 4 + q;
  const int cell = unit * k_rows + col;
  const int chunk = (rank * 2 + (mg >> 1)) * 20 + col * 4 + (mg & 1) * 2 + kg;
  float c = a.c0[(layer * k_batch + half * k_rows + col) * k_hidden + rank * 32 + unit];
  const float scale = a.scale[layer];
  float rs = scale * reinterpret_cast<const float*>(smem + k_off_scale)[col];

  const uint32_t remote0 = map_rank(base, 2 * q);
  const uint32_t remote1 = map_rank(base, 2 * q + 1);
  const uint32_t send_data = k_off_h + chunk * 16;
  const uint32_t send_bar = k_off_bar + (k_bar_h + (rank >> 2)) * 8;
  uint4* slot_out = a.slots + static_cast<int64_t>(layer * 2 + half) * k_steps * k_chunks + chunk;
  const bool store_out = layer < k_layers - 1 && active && q == 0;

  const uint4* h_read = reinterpret_cast<const uint4*>(smem + k_off_h) + kg * 160 + (lane < 20 ? lane : 19);
  float4* part = reinterpret_cast<float4*>(smem + k_off_part);
  float4* part_write = part + kg * k_cells + (mg * 8 + g) * k_rows + 2 * q;
  const float4* part_read = part + cell;
  const float4* xg_read = reinterpret_cast<const float4*>(smem + k_off_xg) + cell;

  int slot = 0;
  int ph = 0;
  uint32_t xparity = 0;

#pragma unroll 1
  for (int t = 0; t < k_steps; ++t) {
    const int buf = t & 1;
    if (ph == 0) bar_wait<3>(bars + (k_bar_xfull + slot) * 8, xparity, a.report);
    const float4 xg = xg_read[(slot * k_group + ph) * k_cells];
    if (t > 0) {
      const uint32_t bar = bars + (k_bar_h + buf * 2 + kg) * 8;
      bar_wait<1>(bar, ((t - 1) >> 1) & 1, a.report);
      if (mg == 0 && lane == 0 && t + 2 < k_steps) bar_expect(bar, 2560);
      __syncwarp();
    }

    float ha[2][4];
    float hb[2][4];
    float cr[2][4];
#pragma unroll
    for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        ha[mt][r] = 0.0f;
        hb[mt][r] = 0.0f;
        cr[mt][r] = 0.0f;
      }
    }
    const uint4* hp = h_read + buf * k_chunks;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 b0 = hp[i * 20];
      const uint4 b1 = hp[(i + 4) * 20];
      mma_f16(cr[0], wlo[0][i], b0.x, b0.y);
      mma_f16(cr[1], wlo[1][i], b0.x, b0.y);
      mma_f16(ha[0], whi[0][i], b0.x, b0.y);
      mma_f16(cr[0], whi[0][i], b0.z, b0.w);
      mma_f16(cr[1], whi[1][i], b0.z, b0.w);
      mma_f16(ha[1], whi[1][i], b0.x, b0.y);
      mma_f16(cr[0], wlo[0][i + 4], b1.x, b1.y);
      mma_f16(cr[1], wlo[1][i + 4], b1.x, b1.y);
      mma_f16(hb[0], whi[0][i + 4], b1.x, b1.y);
      mma_f16(cr[0], whi[0][i + 4], b1.z, b1.w);
      mma_f16(cr[1], whi[1][i + 4], b1.z, b1.w);
      mma_f16(hb[1], whi[1][i + 4], b1.x, b1.y);
    }
#pragma unroll
    for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
      for (int r = 0; r < 4; ++r) ha[mt][r] = fmaf(cr[mt][r], k_lo_unscale, ha[mt][r] + hb[mt][r]);
    }

    // This lane has the four gates of unit g in columns 2q and 2q + 1.
    float4* pw = part_write + buf * 2 * k_cells;
    if (q < 3) pw[0] = make_float4(ha[0][0], ha[0][2], ha[1][0], ha[1][2]);
    if (q < 2) pw[1] = make_float4(ha[0][1], ha[0][3], ha[1][1], ha[1][3]);
    __syncwarp();
    named_sync(1 + mg, 64);

    const float4 p0 = part_read[buf * 2 * k_cells];
    const float4 p1 = part_read[(buf * 2 + 1) * k_cells];
    const float gi = sigmoid(fmaf(rs, p0.x + p1.x, xg.x));
    const float gf = sigmoid(fmaf(rs, p0.y + p1.y, xg.y));
    const float gg = tanh_exact(fmaf(rs, p0.z + p1.z, xg.z));
    const float go = sigmoid(fmaf(rs, p0.w + p1.w, xg.w));
    c = fmaf(gf, c, gi * gg);
    const float h = go * tanh_exact(c);
    rs = scale;

    const uint32_t packed = split_half(h);
    const uint32_t v0 = __shfl_sync(0xffffffffu, packed, 0, 4);
    const uint32_t v1 = __shfl_sync(0xffffffffu, packed, 1, 4);
    const uint32_t v2 = __shfl_sync(0xffffffffu, packed, 2, 4);
    const uint32_t v3 = __shfl_sync(0xffffffffu, packed, 3, 4);
    const uint4 out = make_chunk(v0, v1, v2, v3);

    if (t + 1 < k_steps) {
      if (active) {
        const uint32_t d = send_data + (buf ^ 1) * (k_chunks * 16);
        const uint32_t b = send_bar + (buf ^ 1) * 16;
        send_chunk(remote0 + d, out, remote0 + b);
        send_chunk(remote1 + d, out, remote1 + b);
      }
    } else if (layer == k_layers - 1 && active) {
      const uint32_t to = map_rank(base + k_off_fin + (col * k_hidden + rank * 32 + unit) * 4, 0);
      asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(h) : "memory");
    }
    if (store_out) store_relaxed(slot_out + t * k_chunks, out);

    // All lanes have read their part of the ring before the barrier above.
    if (ph == k_group - 1 && lane == 0) bar_arrive(bars + (k_bar_xempty + slot) * 8);
    __syncwarp();
    if (++ph == k_group) {
      ph = 0;
      if (++slot == k_ring) {
        slot = 0;
        xparity ^= 1;
      }
    }
  }

  __syncwarp();
  cluster_sync();

  if (layer == k_layers - 1 && rank == 0) {
    const float* fin = reinterpret_cast<const float*>(smem + k_off_fin);
    const float* fcw = reinterpret_cast<const float*>(smem + k_off_fc);
    for (int o = warp; o < k_rows * k_outputs; o += 8) {
      const int row = o / k_outputs;
      const int oc = o - row * k_outputs;
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < 8; ++i) sum = fmaf(fin[row * k_hidden + i * 32 + lane], fcw[oc * k_hidden + i * 32 + lane], sum);
#pragma unroll
      for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
      if (lane == 0) a.out[(half * k_rows + row) * k_outputs + oc] = sum + a.fcb[oc];
    }
  }
  // Left as it was found: all eight blocks have seen the flag by now.
  if (layer > 0 && rank == 0 && tid == 0) a.flags[(layer - 1) * 2 + half] = 0;
}

// ------------------------------------------------------------------------------------- input role

template <bool kFirst>
__device__ __forceinline__ void prefetch_group(const Args& a, uint32_t stage, int tid, int half, const uint4* src, int t0) {
  if (kFirst) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int i = tid + 128 * k;
      const int s = i / 160;
      const int rem = i - s * 160;
      const int row = rem >> 5;
      const int k4 = rem & 31;
      if (i < 480 && t0 + s < k_steps)
        copy_async(stage + i * 16, a.x + ((half * k_rows + row) * k_steps + t0 + s) * k_in + k4 * 4);
    }
  } else {
    const int left = k_steps - t0;
    const int n = (left < k_group ? left : k_group) * k_chunks;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int i = tid + 128 * k;
      if (i < n) copy_async(stage + i * 16, src + t0 * k_chunks + i);
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <bool kFirst>
__device__ __forceinline__ void input_role(const Args& a, unsigned char* smem, int layer, int half, int rank) {
  const int tid = threadIdx.x - 256;
  const int lane = tid & 31;
  const int mg = tid >> 5;
  const int g = lane >> 2;
  const int q = lane & 3;
  const uint32_t base = smem_address(smem);
  const uint32_t bars = base + k_off_bar;
  const uint32_t stage_address = base + k_off_stage;
  const uint4* stage = reinterpret_cast<const uint4*>(smem + k_off_stage);
  uint4* xbuf = reinterpret_cast<uint4*>(smem + k_off_x);

  const uint4* src = nullptr;
  if (!kFirst) {
    src = a.slots + static_cast<int64_t>((layer - 1) * 2 + half) * k_steps * k_chunks;
    // The slots of the layer below have been cleared.
    const unsigned int* flag = a.flags + (layer - 1) * 2 + half;
    const long long start = clock64();
    while (true) {
      unsigned int seen;
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      if (seen >= 8) break;
      if (clock64() - start > k_spin_limit) {
        KGEN_REPORT(a.report, 2);
        __trap();
      }
    }
    __syncwarp();
  }
  prefetch_group<kFirst>(a, stage_address, tid, half, src, 0);

  // Columns of the product: c = step * 5 + row, 15 of 16 in use.
  int b_offset[2];
#pragma unroll
  for (int nt = 0; nt < 2; ++nt) {
    int cc = nt * 8 + g;
    if (cc > 14) cc = 14;
    b_offset[nt] = (cc / 5) * k_chunks + (cc % 5) * 4 + q;
  }
  int o_offset[2][2];
#pragma unroll
  for (int nt = 0; nt < 2; ++nt) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      int cc = nt * 8 + 2 * q + e;
      if (cc > 14) cc = 14;
      o_offset[nt][e] = (cc / 5) * k_cells + (mg * 8 + g) * k_rows + cc % 5;
    }
  }
  const float4 bias = a.bias[layer * k_hidden + rank * 32 + mg * 8 + g];
  const float scale = a.scale[layer];
  const float cross_scale = kFirst ? 1.0f : k_lo_unscale;
  const uint4* weights = reinterpret_cast<const uint4*>(smem + k_off_w) + mg * 2048 + lane;
  float4* xg = reinterpret_cast<float4*>(smem + k_off_xg);

  bar_wait<2>(bars + k_bar_w * 8, 0, a.report);

  int slot = 0;
  uint32_t eparity = 1;
#pragma unroll 1
  for (int j = 0; j < k_groups; ++j) {
    const int t0 = j * k_group;
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (kFirst) {
      float4 v[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int i = tid + 128 * k;
        v[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (i < 480) v[k] = reinterpret_cast<const float4*>(stage)[i];
      }
      named_sync(5, 128);  // all warps are done with the group before
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int i = tid + 128 * k;
        if (i < 480) {
          const int s = i / 160;
          const int rem = i - s * 160;
          const int row = rem >> 5;
          const int k4 = rem & 31;
          uint4* to = xbuf + (s * 16 + (k4 >> 1)) * 20 + row * 4 + (k4 & 1) * 2;
          uint4 w;
          w.x = to_tf32(v[k].x);
          w.y = to_tf32(v[k].y);
          w.z = to_tf32(v[k].x - __uint_as_float(w.x));
          w.w = to_tf32(v[k].y - __uint_as_float(w.y));
          to[0] = w;
          w.x = to_tf32(v[k].z);
          w.y = to_tf32(v[k].w);
          w.z = to_tf32(v[k].z - __uint_as_float(w.x));
          w.w = to_tf32(v[k].w - __uint_as_float(w.y));
          to[1] = w;
        }
      }
    } else {
      const int left = k_steps - t0;
      const int n = (left < k_group ? left : k_group) * k_chunks;
      uint4 v[8];
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int i = tid + 128 * k;
        v[k] = make_uint4(0u, 0u, 0u, 0u);
        if (i < n) v[k] = stage[i];
      }
      bool ok = true;
#pragma unroll
      for (int k = 0; k < 8; ++k) ok = ok && chunk_valid(v[k]);
      if (!ok) {
        const long long start = clock64();
        do {
#pragma unroll
          for (int k = 0; k < 8; ++k) {
            if (!chunk_valid(v[k])) v[k] = load_relaxed(src + t0 * k_chunks + tid + 128 * k);
          }
          ok = true;
#pragma unroll
          for (int k = 0; k < 8; ++k) ok = ok && chunk_valid(v[k]);
          if (!ok && clock64() - start > k_spin_limit) {
            KGEN_REPORT(a.report, 2);
            __trap();
          }
        } while (!ok);
      }
      __syncwarp();
      named_sync(5, 128);  // all warps are done with the group before
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int i = tid + 128 * k;
        if (i < n) xbuf[i] = v[k];
      }
    }
    if (j + 1 < k_groups) prefetch_group<kFirst>(a, stage_address, tid, half, src, t0 + k_group);
    __syncwarp();
    named_sync(5, 128);

    float sum[2][2][4];
    float cr[2][2][4];
#pragma unroll
    for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
      for (int nt = 0; nt < 2; ++nt) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          sum[mt][nt][r] = 0.0f;
          cr[mt][nt][r] = 0.0f;
        }
      }
    }
#pragma unroll 1
    for (int seg = 0; seg < 4; ++seg) {
      float hi[2][2][4];
#pragma unroll
      for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
        for (int nt = 0; nt < 2; ++nt) {
#pragma unroll
          for (int r = 0; r < 4; ++r) hi[mt][nt][r] = 0.0f;
        }
      }
      const uint4* wp = weights + seg * 512;
      const uint4* xp = xbuf + seg * 80;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint4 ah0 = wp[i * 128];
        const uint4 al0 = wp[i * 128 + 32];
        const uint4 ah1 = wp[i * 128 + 64];
        const uint4 al1 = wp[i * 128 + 96];
        const uint4 b0 = xp[b_offset[0] + i * 20];
        const uint4 b1 = xp[b_offset[1] + i * 20];
        mma_any<kFirst>(cr[0][0], al0, b0.x, b0.y);
        mma_any<kFirst>(cr[1][0], al1, b0.x, b0.y);
        mma_any<kFirst>(cr[0][1], al0, b1.x, b1.y);
        mma_any<kFirst>(cr[1][1], al1, b1.x, b1.y);
        mma_any<kFirst>(hi[0][0], ah0, b0.x, b0.y);
        mma_any<kFirst>(hi[1][0], ah1, b0.x, b0.y);
        mma_any<kFirst>(hi[0][1], ah0, b1.x, b1.y);
        mma_any<kFirst>(hi[1][1], ah1, b1.x, b1.y);
        mma_any<kFirst>(cr[0][0], ah0, b0.z, b0.w);
        mma_any<kFirst>(cr[1][0], ah1, b0.z, b0.w);
        mma_any<kFirst>(cr[0][1], ah0, b1.z, b1.w);
        mma_any<kFirst>(cr[1][1], ah1, b1.z, b1.w);
      }
#pragma unroll
      for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
        for (int nt = 0; nt < 2; ++nt) {
#pragma unroll
          for (int r = 0; r < 4; ++r) sum[mt][nt][r] += hi[mt][nt][r];
        }
      }
    }
#pragma unroll
    for (int mt = 0; mt < 2; ++mt) {
#pragma unroll
      for (int nt = 0; nt < 2; ++nt) {
#pragma unroll
        for (int r = 0; r < 4; ++r) sum[mt][nt][r] = fmaf(cr[mt][nt][r], cross_scale, sum[mt][nt][r]);
      }
    }

    if (j >= k_ring) bar_wait<4>(bars + (k_bar_xempty + slot) * 8, eparity, a.report);
    float4* to = xg + slot * k_group * k_cells;
#pragma unroll
    for (int nt = 0; nt < 2; ++nt) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (nt * 8 + 2 * q + e < 15) {
          float4 v;
          v.x = fmaf(sum[0][nt][e], scale, bias.x);
          v.y = fmaf(sum[0][nt][2 + e], scale, bias.y);
          v.z = fmaf(sum[1][nt][e], scale, bias.z);
          v.w = fmaf(sum[1][nt][2 + e], scale, bias.w);
          to[o_offset[nt][e]] = v;
        }
      }
    }
    __syncwarp();
    if (lane == 0) bar_arrive(bars + (k_bar_xfull + slot) * 8);
    __syncwarp();
    if (++slot == k_ring) {
      slot = 0;
      eparity ^= 1;  // groups 3..5 wait for parity 0, 6..8 for parity 1, and so on
    }
  }

  __syncwarp();
  cluster_sync();
}

// ----------------------------------------------------------------------------------------- kernel

__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(k_threads, 1)
    lstm_kernel(const __grid_constant__ Args a) {
  extern __shared__ __align__(128) unsigned char smem[];
  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = tid >> 5;
  const int cluster = blockIdx.x >> 3;
  const int rank = blockIdx.x & 7;
  const int layer = cluster >> 1;
  const int half = cluster & 1;
  const uint32_t base = smem_address(smem);
  const uint32_t bars = base + k_off_bar;

  if (tid == 0) {
    for (int i = 0; i < 4; ++i) bar_init(bars + (k_bar_h + i) * 8, 1);
    for (int i = 0; i < k_ring; ++i) {
      bar_init(bars + (k_bar_xfull + i) * 8, 4);
      bar_init(bars + (k_bar_xempty + i) * 8, 8);
    }
    bar_init(bars + k_bar_w * 8, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    bar_expect(bars + k_bar_w * 8, 131072);
    const uint4* src = a.inp + (layer * 8 + rank) * 8192;
    for (int i = 0; i < 4; ++i) {
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       base + k_off_w + i * 32768),
                   "l"(src + i * 2048), "r"(32768), "r"(bars + k_bar_w * 8)
                   : "memory");
    }
    for (int i = 0; i < 4; ++i) bar_expect(bars + (k_bar_h + i) * 8, 2560);
  }
  __syncwarp();

  // Clear the slots that this block writes: a word of ones is what no state packs to.
  if (layer < k_layers - 1) {
    uint4* p = a.slots + static_cast<int64_t>(layer * 2 + half) * k_steps * k_chunks + rank * 40;
    const uint4 ones = make_uint4(0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu);
    for (int i = tid; i < k_steps * 40; i += k_threads) {
      const int t = i / 40;
      store_relaxed(p + t * k_chunks + (i - t * 40), ones);
    }
  }

  // A power of two for each row of the initial state, so that it fits the range of fp16.
  float* row_scale = reinterpret_cast<float*>(smem + k_off_scale);
  const float* h0 = a.h0 + (layer * k_batch + half * k_rows) * k_hidden;
  if (warp < k_rows) {
    float m = 0.0f;
    for (int i = 0; i < 8; ++i) m = fmaxf(m, fabsf(h0[warp * k_hidden + i * 32 + lane]));
    for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    if (lane == 0) {
      float s = 1.0f;
      if (m > 1.0f && m < 1e37f) {
        // 2^(exponent + 1)
        const int e = static_cast<int>((__float_as_uint(m) >> 23) & 255u) + 1;
        s = __uint_as_float(static_cast<uint32_t>(e) << 23);
      }
      row_scale[warp] = s;
    }
  }
  if (layer == k_layers - 1 && rank == 0) {
    float* fcw = reinterpret_cast<float*>(smem + k_off_fc);
    for (int i = tid; i < k_outputs * k_hidden; i += k_threads) fcw[i] = a.fcw[i];
  }
  __syncthreads();

  if (tid == 0 && layer < k_layers - 1) {
    __threadfence();
    atomicAdd(a.flags + layer * 2 + half, 1u);
  }
  __syncwarp();
  if (tid < k_chunks) {
    const int kt = tid / 20;
    const int rem = tid - kt * 20;
    const int row = rem >> 2;
    const int q = rem & 3;
    const float inverse = 1.0f / row_scale[row];
    const float* p = h0 + row * k_hidden + kt * 16 + q * 4;
    const uint4 v =
        make_chunk(split_half(p[0] * inverse), split_half(p[1] * inverse), split_half(p[2] * inverse), split_half(p[3] * inverse));
    reinterpret_cast<uint4*>(smem + k_off_h)[tid] = v;
  }
  __syncthreads();
  cluster_sync();

  if (warp < 8) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(k_rec_regs));
    recurrent_role(a, smem, layer, half, rank);
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(k_in_regs));
    if (layer == 0)
      input_role<true>(a, smem, layer, half, rank);
    else
      input_role<false>(a, smem, layer, half, rank);
  }
}

// ---------------------------------------------------------------------------------------- packing

struct Weights {
  const float* wih[k_layers];
  const float* whh[k_layers];
  const float* bih[k_layers];
  const float* bhh[k_layers];
};

// One power of two for each layer, not below its largest weight.
__global__ void __launch_bounds__(1024) scale_kernel(Weights w, float* scale) {
  __shared__ float shared[32];
  const int layer = blockIdx.x;
  const float* wih = w.wih[layer];
  const float* whh = w.whh[layer];
  const int nih = 1024 * (layer == 0 ? k_in : k_hidden);
  const int nhh = 1024 * k_hidden;
  float m = 0.0f;
  for (int i = threadIdx.x; i < nih; i += 1024) m = fmaxf(m, fabsf(wih[i]));
  for (int i = threadIdx.x; i < nhh; i += 1024) m = fmaxf(m, fabsf(whh[i]));
  for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = m;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 32; ++i) m = fmaxf(m, shared[i]);
    float s = 1.0f;
    if (m > 1e-30f && m < 1e30f) {
      const int e = static_cast<int>((__float_as_uint(m) >> 23) & 255u) + 1;
      s = __uint_as_float(static_cast<uint32_t>(e) << 23);
    }
    scale[layer] = s;
  }
}

constexpr int k_pack_items = k_layers * 8 * 8 * 16 * 32;

__global__ void __launch_bounds__(256) pack_kernel(Weights w, const float* scale, uint4* rec, uint4* inp, float4* bias) {
  const int index = blockIdx.x * 256 + threadIdx.x;
  if (index < k_layers * k_hidden) {
    const int layer = index / k_hidden;
    const int unit = index - layer * k_hidden;
    const float* bi = w.bih[layer];
    const float* bh = w.bhh[layer];
    bias[index] = make_float4(bi[unit] + bh[unit], bi[256 + unit] + bh[256 + unit], bi[512 + unit] + bh[512 + unit],
                              bi[768 + unit] + bh[768 + unit]);
  }
  if (index >= 2 * k_pack_items) return;
  const bool recurrent = index < k_pack_items;
  const int i = recurrent ? index : index - k_pack_items;
  const int lane = i & 31;
  const int g = lane >> 2;
  const int q = lane & 3;
  const int rank = (i >> 12) & 7;
  const int layer = i >> 15;
  const float inverse = 1.0f / scale[layer];
  int mt;
  int kt;
  int mg;
  if (recurrent) {
    const int tile = (i >> 5) & 15;
    const int warp = (i >> 9) & 7;
    mt = tile >> 3;
    mg = warp & 3;
    kt = (warp >> 2) * 8 + (tile & 7);
  } else {
    mt = (i >> 5) & 1;
    kt = (i >> 6) & 15;
    mg = (i >> 10) & 3;
  }
  const int unit = rank * 32 + mg * 8 + g;
  uint32_t hi[4];
  uint32_t lo[4];
  if (!recurrent && layer == 0) {
    const float* p = w.wih[0];
    for (int r = 0; r < 4; ++r) {
      const int row = (mt * 2 + (r & 1)) * k_hidden + unit;
      const float v = p[row * k_in + kt * 8 + 2 * q + (r >> 1)] * inverse;
      hi[r] = to_tf32(v);
      lo[r] = to_tf32(v - __uint_as_float(hi[r]));
    }
  } else {
    const float* p = recurrent ? w.whh[layer] : w.wih[layer];
    for (int r = 0; r < 4; ++r) {
      const int row = (mt * 2 + (r & 1)) * k_hidden + unit;
      const int k = kt * 16 + 4 * q + (r >> 1) * 2;
      const uint32_t v0 = split_half(p[row * k_hidden + k] * inverse);
      const uint32_t v1 = split_half(p[row * k_hidden + k + 1] * inverse);
      hi[r] = __byte_perm(v0, v1, 0x5410);
      lo[r] = __byte_perm(v0, v1, 0x7632);
    }
  }
  uint4* to = (recurrent ? rec : inp) + (i >> 5) * 64 + lane;
  to[0] = make_uint4(hi[0], hi[1], hi[2], hi[3]);
  to[32] = make_uint4(lo[0], lo[1], lo[2], lo[3]);
}

struct State {
  unsigned char* memory;
  uint4* rec;
  uint4* inp;
  float4* bias;
  float* scale;
  unsigned int* flags;
};

constexpr size_t k_pack_bytes = static_cast<size_t>(k_pack_items) * 32;
constexpr size_t k_bias_bytes = static_cast<size_t>(k_layers) * k_hidden * 16;
constexpr size_t k_slot_bytes = static_cast<size_t>(k_layers - 1) * 2 * k_steps * k_chunks * 16;

bool matrix_is(const kgen_tensor* t, int64_t rows, int64_t columns) {
  return kgen_is(t, KGEN_FLOAT32, 2) && kgen_dim(t, 0) == rows && kgen_dim(t, 1) == columns;
}

bool vector_is(const kgen_tensor* t, int64_t n) { return kgen_is(t, KGEN_FLOAT32, 1) && kgen_dim(t, 0) == n; }

bool cube_is(const kgen_tensor* t, int64_t d0, int64_t d1, int64_t d2) {
  return kgen_is(t, KGEN_FLOAT32, 3) && kgen_dim(t, 0) == d0 && kgen_dim(t, 1) == d1 && kgen_dim(t, 2) == d2;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (!cube_is(kgen_find(&args->inputs, "x"), k_batch, k_steps, k_in))
    return kgen_fail(&args->error, "x must be contiguous float32 (10, 512, 128)");
  if (!cube_is(kgen_find(&args->draws, "draws[0]"), k_layers, k_batch, k_hidden) ||
      !cube_is(kgen_find(&args->draws, "draws[1]"), k_layers, k_batch, k_hidden))
    return kgen_fail(&args->error, "the draws must be contiguous float32 (6, 10, 256)");
  if (!matrix_is(kgen_find(&args->parameters, "fc.weight"), k_outputs, k_hidden) ||
      !vector_is(kgen_find(&args->parameters, "fc.bias"), k_outputs))
    return kgen_fail(&args->error, "fc must be contiguous float32 (10, 256) and (10)");
  if (!matrix_is(kgen_find(&args->outputs, "output"), k_batch, k_outputs))
    return kgen_fail(&args->error, "output must be float32 (10, 10)");

  Weights weights;
  for (int layer = 0; layer < k_layers; ++layer) {
    char name[64];
    std::snprintf(name, sizeof(name), "lstm.weight_ih_l%d", layer);
    const kgen_tensor* wih = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.weight_hh_l%d", layer);
    const kgen_tensor* whh = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.bias_ih_l%d", layer);
    const kgen_tensor* bih = kgen_find(&args->parameters, name);
    std::snprintf(name, sizeof(name), "lstm.bias_hh_l%d", layer);
    const kgen_tensor* bhh = kgen_find(&args->parameters, name);
    if (!matrix_is(wih, 4 * k_hidden, layer == 0 ? k_in : k_hidden) || !matrix_is(whh, 4 * k_hidden, k_hidden) ||
        !vector_is(bih, 4 * k_hidden) || !vector_is(bhh, 4 * k_hidden))
      return kgen_fail(&args->error, "the LSTM must have 6 layers of 256 units with biases, contiguous float32");
    weights.wih[layer] = static_cast<const float*>(wih->data);
    weights.whh[layer] = static_cast<const float*>(whh->data);
    weights.bih[layer] = static_cast<const float*>(bih->data);
    weights.bhh[layer] = static_cast<const float*>(bhh->data);
  }

  if (cudaFuncSetAttribute(lstm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k_smem) != cudaSuccess)
    return kgen_fail(&args->error, "the shared memory was refused");
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, lstm_kernel) != cudaSuccess)
    return kgen_fail(&args->error, "the kernel does not tell its attributes");
  if (attributes.numRegs * k_threads < 256 * k_rec_regs + 128 * k_in_regs)
    return kgen_fail(&args->error, "the kernel starts with fewer registers than setmaxnreg hands out");

  State* state = new State;
  const size_t bytes = 2 * k_pack_bytes + k_bias_bytes + 256;
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) {
    delete state;
    return kgen_fail(&args->error, "no memory for the packed weights");
  }
  state->memory = static_cast<unsigned char*>(memory);
  state->rec = reinterpret_cast<uint4*>(state->memory);
  state->inp = reinterpret_cast<uint4*>(state->memory + k_pack_bytes);
  state->bias = reinterpret_cast<float4*>(state->memory + 2 * k_pack_bytes);
  state->scale = reinterpret_cast<float*>(state->memory + 2 * k_pack_bytes + k_bias_bytes);
  state->flags = reinterpret_cast<unsigned int*>(state->memory + 2 * k_pack_bytes + k_bias_bytes + 128);

  const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  cudaMemsetAsync(state->flags, 0, 128, stream);
  scale_kernel<<<k_layers, 1024, 0, stream>>>(weights, state->scale);
  pack_kernel<<<2 * k_pack_items / 256, 256, 0, stream>>>(weights, state->scale, state->rec, state->inp, state->bias);
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) {
    cudaFree(memory);
    delete state;
    return kgen_fail(&args->error, cudaGetErrorString(status));
  }
  result->state = state;
  result->workspace_bytes = k_slot_bytes;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State* state = static_cast<const State*>(opaque);
  Args a;
  a.x = static_cast<const float*>(kgen_find(&args->inputs, "x")->data);
  a.h0 = static_cast<const float*>(kgen_find(&args->draws, "draws[0]")->data);
  a.c0 = static_cast<const float*>(kgen_find(&args->draws, "draws[1]")->data);
  a.rec = state->rec;
  a.inp = state->inp;
  a.bias = state->bias;
  a.scale = state->scale;
  a.fcw = static_cast<const float*>(kgen_find(&args->parameters, "fc.weight")->data);
  a.fcb = static_cast<const float*>(kgen_find(&args->parameters, "fc.bias")->data);
  a.out = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  a.slots = static_cast<uint4*>(args->workspace);
  a.flags = state->flags;
  a.report = args->report;
  lstm_kernel<<<k_layers * 2 * 8, k_threads, k_smem, static_cast<cudaStream_t>(args->stream)>>>(a);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void* opaque) {
  State* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  cudaFree(state->memory);
  delete state;
}
