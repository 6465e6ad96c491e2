/// \file
/// What kernels are written with: qualifiers, barriers, exchanges between lanes, launches.
#pragma once

#include <tuple>

#include "names.h"
#include "scheduler.h"

#define __global__
#define __device__
#define __host__
#define __managed__
#define __constant__
// A variable of a block. Blocks run one after another, so all of them use the same bytes; see lds.h.
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(x) x
#define HIP_DYNAMIC_SHARED(type, name) type* const name = kgen_hip::dynamic_lds<type>();
#if defined(__clang__)
#define KGEN_HIP_VECTOR_TYPE(count, ...) ext_vector_type(count)
#else
#define KGEN_HIP_VECTOR_TYPE(count, ...) vector_size((count) * sizeof(__VA_ARGS__))
#endif

namespace kgen_hip {

/// For built-in functions that no processor executes: they fail when they are called, with any arguments and for any
/// result.
template <class... Arguments>
constexpr bool k_never = false;
struct Anything {
  template <class T>
  operator T() const;
};

/// A kernel with its arguments, which live as long as the launch: each thread converts them to the kernel's parameters.
template <class Kernel, class... Arguments>
struct BoundKernel {
  Kernel kernel;
  std::tuple<Arguments...> arguments;

  static void call(void* self) {
    auto& bound = *static_cast<BoundKernel*>(self);
    std::apply(bound.kernel, bound.arguments);
  }
};

/// `kernel<<<grid, block, bytes, stream>>>(arguments)` becomes
/// kgen_kernel(...).kgen_on(grid, block, bytes, stream)(arguments). A macro of the source may have a parameter
/// `kernel`.
template <class Kernel>
class Launcher {
 public:
  explicit Launcher(Kernel kernel) : kernel_(kernel) {}

  template <class Stream = std::nullptr_t>
  Launcher& kgen_on(dim3 grid, dim3 block, std::size_t dynamic_lds = 0, Stream = {}) {
    options_ = {grid, block, dynamic_lds, false};
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments&&... arguments);

 private:
  Kernel kernel_;
  LaunchOptions options_;
};

template <class Kernel>
Launcher<Kernel> kgen_kernel(Kernel kernel) {
  return Launcher<Kernel>(kernel);
}

/// The array that `extern __shared__ T name[]` declares.
template <class T>
T* dynamic_lds() {
  return reinterpret_cast<T*>(scheduler().dynamic_lds());
}

/// The same at the scope of a file, for all its kernels.
template <class T>
struct DynamicArray {
  operator T*() const { return dynamic_lds<T>(); }
};

/// Tells how much static LDS the kernel has. Follows each declaration.
template <class... T>
inline void note_lds(const T&... variables) {
  if (scheduler().in_kernel() && scheduler().notes_static_lds())
    (scheduler().note_static_lds(const_cast<const void*>(static_cast<const volatile void*>(&variables)),
                                 sizeof(variables)),
     ...);
}

inline unsigned lane() { return scheduler().thread().flat % k_wave; }

/// The value of another lane at this place of the program. A lane that does not take part has none: poison.
template <class T>
inline T value_of_lane(const Wave& wave, unsigned source) {
  static_assert(sizeof(T) <= k_lane_bytes && std::is_trivially_copyable_v<T>, "lanes exchange up to 16 bytes");
  T result;
  std::memcpy(&result, wave.values[source % k_wave], sizeof result);
  return result;
}

template <class T>
inline T shuffle(T value, unsigned source, int line) {
  return value_of_lane<T>(scheduler().exchange(line, &value, sizeof value), source);
}

/// Fails if the mask of a _sync function names a lane that is not here.
inline void check_mask(unsigned long long mask, int line) {
  const auto& here = scheduler().block().wave[scheduler().thread().flat / k_wave];
  const unsigned first = scheduler().thread().flat / k_wave * k_wave;
  for (unsigned i = 0; i < k_wave && first + i < scheduler().block().threads; ++i)
    if ((mask >> i & 1) != 0 && (here.active >> i & 1) == 0 &&
        scheduler().block().thread[first + i].status != Status::Done)
      scheduler().fail("line " + std::to_string(line) + ": the mask names lane " + std::to_string(i) +
                       " of a wavefront, which does not come here");
}

}  // namespace kgen_hip

// Each function takes the line of its call, for messages.
#define KGEN_HIP_LINE int line = __builtin_LINE()

inline void __syncthreads(KGEN_HIP_LINE) { kgen_hip::scheduler().barrier(kgen_hip::BarrierKind::Plain, false, line); }
inline int __syncthreads_count(int predicate, KGEN_HIP_LINE) {
  return kgen_hip::scheduler().barrier(kgen_hip::BarrierKind::Count, predicate != 0, line);
}
inline int __syncthreads_and(int predicate, KGEN_HIP_LINE) {
  return kgen_hip::scheduler().barrier(kgen_hip::BarrierKind::And, predicate != 0, line);
}
inline int __syncthreads_or(int predicate, KGEN_HIP_LINE) {
  return kgen_hip::scheduler().barrier(kgen_hip::BarrierKind::Or, predicate != 0, line);
}
inline void __builtin_amdgcn_s_barrier(KGEN_HIP_LINE) { __syncthreads(line); }

inline void __threadfence() { kgen_hip::scheduler().count_poll(); }
inline void __threadfence_block() { kgen_hip::scheduler().count_poll(); }
inline void __threadfence_system() { kgen_hip::scheduler().count_poll(); }
template <class... T>
inline void __builtin_amdgcn_fence(T...) {}
inline void __builtin_amdgcn_s_sleep(int) { kgen_hip::scheduler().yield(); }
inline void __nanosleep(unsigned) { kgen_hip::scheduler().yield(); }
inline void __builtin_amdgcn_s_waitcnt(int) {}
inline void __builtin_amdgcn_sched_barrier(int) {}
inline void __builtin_amdgcn_s_setprio(int) {}

inline unsigned __lane_id() { return kgen_hip::lane(); }
inline unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned base) {
  const unsigned lane = kgen_hip::lane();
  return base + static_cast<unsigned>(__builtin_popcount(lane >= 32 ? mask : mask & ((1u << lane) - 1)));
}
inline unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned base) {
  const unsigned lane = kgen_hip::lane();
  return base + static_cast<unsigned>(lane < 32 ? 0 : __builtin_popcount(mask & ((1u << (lane - 32)) - 1)));
}
inline int __builtin_amdgcn_wavefrontsize() { return warpSize; }

template <class T>
inline T __shfl(T value, int source, int width = warpSize, KGEN_HIP_LINE) {
  const unsigned w = static_cast<unsigned>(width), self = kgen_hip::lane();
  return kgen_hip::shuffle(value, (static_cast<unsigned>(source) & (w - 1)) + (self & ~(w - 1)), line);
}
template <class T>
inline T __shfl_up(T value, unsigned delta, int width = warpSize, KGEN_HIP_LINE) {
  const unsigned self = kgen_hip::lane(), place = self & (static_cast<unsigned>(width) - 1);
  return kgen_hip::shuffle(value, place < delta ? self : self - delta, line);
}
template <class T>
inline T __shfl_down(T value, unsigned delta, int width = warpSize, KGEN_HIP_LINE) {
  const unsigned self = kgen_hip::lane(), place = self & (static_cast<unsigned>(width) - 1);
  return kgen_hip::shuffle(value, place + delta >= static_cast<unsigned>(width) ? self : self + delta, line);
}
template <class T>
inline T __shfl_xor(T value, int mask, int width = warpSize, KGEN_HIP_LINE) {
  const unsigned w = static_cast<unsigned>(width), self = kgen_hip::lane();
  const unsigned source = self ^ static_cast<unsigned>(mask);
  return kgen_hip::shuffle(value, source >= ((self + w) & ~(w - 1)) ? self : source, line);
}
inline unsigned long long __ballot(int predicate, KGEN_HIP_LINE) {
  const unsigned char vote = predicate != 0 ? 1 : 0;
  const auto& wave = kgen_hip::scheduler().exchange(line, &vote, 1);
  unsigned long long answer = 0;
  for (int i = 0; i < warpSize; ++i)
    if ((wave.active >> i & 1) != 0 && wave.values[i][0] == 1) answer |= 1ull << i;
  return answer;
}
inline unsigned long long __activemask(KGEN_HIP_LINE) {
  const unsigned char unused = 0;
  return kgen_hip::scheduler().exchange(line, &unused, 1).active;
}
inline int __any(int predicate, KGEN_HIP_LINE) { return __ballot(predicate, line) != 0 ? 1 : 0; }
inline int __all(int predicate, KGEN_HIP_LINE) { return __ballot(predicate == 0 ? 1 : 0, line) == 0 ? 1 : 0; }
inline void __builtin_amdgcn_wave_barrier(KGEN_HIP_LINE) { (void)__activemask(line); }
inline void __syncwarp(unsigned long long mask = ~0ull, KGEN_HIP_LINE) {
  (void)__activemask(line);
  if (mask != ~0ull) kgen_hip::check_mask(mask, line);
}

template <class T>
inline T __shfl_sync(unsigned long long mask, T value, int source, int width = warpSize, KGEN_HIP_LINE) {
  const T result = __shfl(value, source, width, line);
  kgen_hip::check_mask(mask, line);
  return result;
}
template <class T>
inline T __shfl_up_sync(unsigned long long mask, T value, unsigned delta, int width = warpSize, KGEN_HIP_LINE) {
  const T result = __shfl_up(value, delta, width, line);
  kgen_hip::check_mask(mask, line);
  return result;
}
template <class T>
inline T __shfl_down_sync(unsigned long long mask, T value, unsigned delta, int width = warpSize, KGEN_HIP_LINE) {
  const T result = __shfl_down(value, delta, width, line);
  kgen_hip::check_mask(mask, line);
  return result;
}
template <class T>
inline T __shfl_xor_sync(unsigned long long mask, T value, int lane_mask, int width = warpSize, KGEN_HIP_LINE) {
  const T result = __shfl_xor(value, lane_mask, width, line);
  kgen_hip::check_mask(mask, line);
  return result;
}
inline unsigned long long __ballot_sync(unsigned long long mask, int predicate, KGEN_HIP_LINE) {
  const auto result = __ballot(predicate, line);
  kgen_hip::check_mask(mask, line);
  return result & mask;
}
inline int __any_sync(unsigned long long mask, int predicate, KGEN_HIP_LINE) {
  return __ballot_sync(mask, predicate, line) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned long long mask, int predicate, KGEN_HIP_LINE) {
  return __ballot_sync(mask, predicate == 0 ? 1 : 0, line) == 0 ? 1 : 0;
}

inline int __builtin_amdgcn_readfirstlane(int value, KGEN_HIP_LINE) {
  const auto& wave = kgen_hip::scheduler().exchange(line, &value, sizeof value);
  return kgen_hip::value_of_lane<int>(wave, static_cast<unsigned>(__builtin_ctzll(wave.active)));
}
inline int __builtin_amdgcn_readlane(int value, int source, KGEN_HIP_LINE) {
  return kgen_hip::shuffle(value, static_cast<unsigned>(source), line);
}
inline int __builtin_amdgcn_ds_bpermute(int address, int value, KGEN_HIP_LINE) {
  return kgen_hip::shuffle(value, static_cast<unsigned>(address) / 4, line);
}

inline int __builtin_amdgcn_ds_permute(int address, int value, KGEN_HIP_LINE) {
  const int pushed[2] = {address, value};
  const auto& wave = kgen_hip::scheduler().exchange(line, pushed, sizeof pushed);
  int result = 0;
  // Where several lanes push to one, the last wins.
  for (int i = 0; i < warpSize; ++i) {
    int from[2];
    std::memcpy(from, wave.values[i], sizeof from);
    if ((wave.active >> i & 1) != 0 && static_cast<unsigned>(from[0]) / 4 % warpSize == kgen_hip::lane())
      result = from[1];
  }
  return result;
}

namespace kgen_hip {

[[noreturn]] inline void fail_unknown(const char* what, int number, int line) {
  scheduler().fail("line " + std::to_string(line) + ": " + what + ' ' + std::to_string(number) +
                   " is not known to the CPU's execution of HIP");
}

/// The lane from which `self` reads with a control of DPP ("data parallel primitives" in AMD's ISA documents); -1:
/// none.
inline int dpp_source(int control, int self, int line) {
  const int row = self / 16 * 16, place = self % 16, low = control & 15;
  const auto in_row = [&](int other) { return other >= 0 && other < 16 ? row + other : -1; };
  if (control >= 0 && control <= 0xff) return self / 4 * 4 + (control >> 2 * (self % 4) & 3);  // quad_perm
  if (low != 0 && control < 0x110) return in_row(place + low);                                 // row_shl
  if (low != 0 && control < 0x120) return in_row(place - low);                                 // row_shr
  if (low != 0 && control < 0x130) return row + (place - low + 16) % 16;                       // row_ror
  const int size = static_cast<int>(k_wave);
  switch (control) {
    case 0x130:  // wave_shl
      return self + 1 < size ? self + 1 : -1;
    case 0x134:  // wave_rol
      return (self + 1) % size;
    case 0x138:  // wave_shr
      return self - 1;
    case 0x13c:  // wave_ror
      return (self + size - 1) % size;
    case 0x140:  // row_mirror
      return row + 15 - place;
    case 0x141:  // row_half_mirror
      return self / 8 * 8 + 7 - self % 8;
    case 0x142:  // row_bcast:15
      return row - 1;
    case 0x143:  // row_bcast:31
      return self < 32 ? -1 : self / 32 * 32 - 1;
    default:
      break;
  }
  if (control >= 0x150 && control < 0x160) return row + low;            // row_share, row_newbcast
  if (control >= 0x160 && control < 0x170) return row + (place ^ low);  // row_xmask
  fail_unknown("DPP's control", control, line);
}

}  // namespace kgen_hip

inline int __builtin_amdgcn_update_dpp(int old, int value, int control, int row_mask, int bank_mask, bool bound_control,
                                       KGEN_HIP_LINE) {
  const auto& wave = kgen_hip::scheduler().exchange(line, &value, sizeof value);
  const int self = static_cast<int>(kgen_hip::lane());
  const int source = kgen_hip::dpp_source(control, self, line);
  if ((row_mask >> self / 16 & 1) == 0 || (bank_mask >> self % 16 / 4 & 1) == 0) return old;
  if (source < 0 || source >= warpSize || (wave.active >> source & 1) == 0) return bound_control ? 0 : old;
  return kgen_hip::value_of_lane<int>(wave, static_cast<unsigned>(source));
}
/// A lane that gets nothing keeps what its register held, which is unknown.
inline int __builtin_amdgcn_mov_dpp(int value, int control, int row_mask, int bank_mask, bool bound_control,
                                    KGEN_HIP_LINE) {
  return __builtin_amdgcn_update_dpp(-1, value, control, row_mask, bank_mask, bound_control, line);
}
inline int __builtin_amdgcn_ds_swizzle(int value, int pattern, KGEN_HIP_LINE) {
  const unsigned self = kgen_hip::lane(), bits = static_cast<unsigned>(pattern);
  if (bits >= 0xc000) kgen_hip::fail_unknown("ds_swizzle's pattern", pattern, line);
  const unsigned in_quad = self / 4 * 4 + (bits >> 2 * (self % 4) & 3);
  const unsigned in_half = self / 32 * 32 + (((self & bits & 31) | (bits >> 5 & 31)) ^ (bits >> 10 & 31));
  const unsigned source = bits >= 0x8000 ? in_quad : in_half;
  const auto& wave = kgen_hip::scheduler().exchange(line, &value, sizeof value);
  return (wave.active >> source & 1) != 0 ? kgen_hip::value_of_lane<int>(wave, source) : 0;
}

[[noreturn]] inline void kgen_hip_trap(int line = __builtin_LINE()) {
  kgen_hip::scheduler().fail("line " + std::to_string(line) + ": the kernel called a trap");
}
#define __trap() kgen_hip_trap()
