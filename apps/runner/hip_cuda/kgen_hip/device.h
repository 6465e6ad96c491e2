/// \file
/// What kernels are written with: barriers, fences, hints for the compiler.
#pragma once

#include <cuda_runtime.h>

#include <cstdlib>
#include <type_traits>

#include "names.h"

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// HIP's second number is of wavefronts per execution unit, CUDA's is of blocks per multiprocessor. As CUDA's it would
// take registers from the kernel, so it is left out.
#undef __launch_bounds__
#define __launch_bounds__(...) __annotate__(launch_bounds(kgen_hip::threads_of_bounds(__VA_ARGS__)))

namespace kgen_hip {

/// Refuses a template in the moment of its use.
template <class T>
struct AlwaysFalse : std::false_type {};

constexpr __host__ __device__ unsigned threads_of_bounds(long long threads, long long = 0, long long = 0) {
  return static_cast<unsigned>(threads);
}

/// Orders memory accesses at a scope of HIP. The scopes below a block are those of a block. An acquire or a release
/// alone is a fence of both, because NVIDIA has no smaller one.
__device__ __forceinline__ void fence(int order, int scope) {
  if (order == __ATOMIC_RELAXED) return;
  if (order == __ATOMIC_SEQ_CST) {
    if (scope <= __HIP_MEMORY_SCOPE_WORKGROUP)
      asm volatile("fence.sc.cta;" ::: "memory");
    else if (scope == __HIP_MEMORY_SCOPE_AGENT)
      asm volatile("fence.sc.gpu;" ::: "memory");
    else
      asm volatile("fence.sc.sys;" ::: "memory");
  } else {
    if (scope <= __HIP_MEMORY_SCOPE_WORKGROUP)
      asm volatile("fence.acq_rel.cta;" ::: "memory");
    else if (scope == __HIP_MEMORY_SCOPE_AGENT)
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    else
      asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
}

[[noreturn]] __host__ __device__ __forceinline__ void trap() {
#if defined(__CUDA_ARCH__)
  __trap();
  for (;;) {
  }
#else
  std::abort();
#endif
}

}  // namespace kgen_hip

// clang's built-in functions, of which nvcc has none in kernels. They are macros, because a clang that compiles for the
// host has functions of these names, which cannot be declared.
#define __builtin_trap() kgen_hip::trap()
#define __builtin_nontemporal_load kgen_hip_nontemporal_load
#define __builtin_nontemporal_store kgen_hip_nontemporal_store

__device__ __forceinline__ void __builtin_amdgcn_s_barrier() { __syncthreads(); }
/// The scope is a text of LLVM: "workgroup", "agent", "" for the whole system, and these with "-one-as".
template <std::size_t N>
__device__ __forceinline__ void __builtin_amdgcn_fence(unsigned order, const char (&scope)[N], ...) {
  const char first = scope[0];
  kgen_hip::fence(static_cast<int>(order), first == 'a'                   ? __HIP_MEMORY_SCOPE_AGENT
                                           : first == 'w' || first == 's' ? __HIP_MEMORY_SCOPE_WORKGROUP
                                                                          : __HIP_MEMORY_SCOPE_SYSTEM);
}
/// AMD's unit is 64 clocks, about 40 ns.
__device__ __forceinline__ void __builtin_amdgcn_s_sleep(int units) { __nanosleep(static_cast<unsigned>(units) * 40u); }
/// Waits for memory accesses of the thread; what they wrote is visible to its block.
__device__ __forceinline__ void __builtin_amdgcn_s_waitcnt(int) { __threadfence_block(); }
// Hints for AMD's scheduler of instructions.
__device__ __forceinline__ void __builtin_amdgcn_sched_barrier(int) {}
__device__ __forceinline__ void __builtin_amdgcn_sched_group_barrier(int, int, int) {}
__device__ __forceinline__ void __builtin_amdgcn_iglp_opt(int) {}
__device__ __forceinline__ void __builtin_amdgcn_s_setprio(int) {}

__device__ __forceinline__ unsigned __builtin_amdgcn_workitem_id_x() { return threadIdx.x; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workitem_id_y() { return threadIdx.y; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workitem_id_z() { return threadIdx.z; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workgroup_id_x() { return blockIdx.x; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workgroup_id_y() { return blockIdx.y; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workgroup_id_z() { return blockIdx.z; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workgroup_size_x() { return blockDim.x; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workgroup_size_y() { return blockDim.y; }
__device__ __forceinline__ unsigned __builtin_amdgcn_workgroup_size_z() { return blockDim.z; }

/// Nanoseconds; AMD's clock has a constant rate, too.
__device__ __forceinline__ long long wall_clock64() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return static_cast<long long>(now);
}
__device__ __forceinline__ unsigned long long __builtin_amdgcn_s_memtime() {
  return static_cast<unsigned long long>(clock64());
}
__device__ __forceinline__ unsigned long long __builtin_amdgcn_s_memrealtime() {
  return static_cast<unsigned long long>(wall_clock64());
}

namespace kgen_hip {

template <class T>
__device__ __forceinline__ auto load_once(const T* address, int) -> decltype(__ldcs(address)) {
  return __ldcs(address);
}
template <class T>
__device__ __forceinline__ T load_once(const T* address, long) {
  return *address;
}
template <class T, class V>
__device__ __forceinline__ auto store_once(T* address, V value, int) -> decltype(__stcs(address, value)) {
  __stcs(address, value);
}
template <class T, class V>
__device__ __forceinline__ void store_once(T* address, V value, long) {
  *address = value;
}

}  // namespace kgen_hip

template <class T>
__device__ __forceinline__ T __builtin_nontemporal_load(const T* address) {
  return kgen_hip::load_once(address, 0);
}
template <class V, class T>
__device__ __forceinline__ void __builtin_nontemporal_store(V value, T* address) {
  kgen_hip::store_once(address, static_cast<T>(value), 0);
}
