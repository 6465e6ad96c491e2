/// \file
/// Atomic accesses. Threads take turns only where they wait, so plain accesses are atomic; each counts as a look at
/// memory, after many of which other threads have their turn.
#pragma once

#include <cstdint>

#include "device.h"

namespace kgen_hip {

template <class T, class F>
inline T atomic_change(T* address, F change) {
  scheduler().count_poll();
  const T old = *static_cast<volatile T*>(address);
  *static_cast<volatile T*>(address) = change(old);
  return old;
}
template <class T>
struct Same {
  using type = T;
};
/// A parameter that follows the type of the pointer: atomicAdd(&unsigned, 1).
template <class T>
using SameT = typename Same<T>::type;
/// Numbers, also those of hip_fp16.h.
template <class T>
using IfNoVector = std::enable_if_t<!IsVector<T>::value, T>;

}  // namespace kgen_hip

template <class T>
inline kgen_hip::IfNoVector<T> atomicAdd(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return static_cast<T>(old + value); });
}
template <class T>
inline T atomicSub(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return static_cast<T>(old - value); });
}
template <class T>
inline T atomicExch(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T) { return value; });
}
template <class T>
inline T atomicMin(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return value < old ? value : old; });
}
template <class T>
inline T atomicMax(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return old < value ? value : old; });
}
template <class T>
inline T atomicAnd(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return static_cast<T>(old & value); });
}
template <class T>
inline T atomicOr(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return static_cast<T>(old | value); });
}
template <class T>
inline T atomicXor(T* address, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return static_cast<T>(old ^ value); });
}
template <class T>
inline T atomicCAS(T* address, kgen_hip::SameT<T> expected, kgen_hip::SameT<T> value) {
  return kgen_hip::atomic_change(address, [&](T old) { return old == expected ? value : old; });
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return kgen_hip::atomic_change(address, [&](unsigned old) { return old >= limit ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return kgen_hip::atomic_change(address, [&](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

#define KGEN_HIP_SCOPES(name)                                    \
  template <class T>                                             \
  inline T name##_system(T* address, kgen_hip::SameT<T> value) { \
    return name(address, value);                                 \
  }                                                              \
  template <class T>                                             \
  inline T name##_block(T* address, kgen_hip::SameT<T> value) {  \
    return name(address, value);                                 \
  }
KGEN_HIP_SCOPES(atomicAdd)
KGEN_HIP_SCOPES(atomicSub)
KGEN_HIP_SCOPES(atomicExch)
KGEN_HIP_SCOPES(atomicMin)
KGEN_HIP_SCOPES(atomicMax)
KGEN_HIP_SCOPES(atomicAnd)
KGEN_HIP_SCOPES(atomicOr)
KGEN_HIP_SCOPES(atomicXor)
#undef KGEN_HIP_SCOPES

template <class T>
inline T atomicAddNoRet(T* address, kgen_hip::SameT<T> value) {
  return atomicAdd(address, value);
}
template <class T>
inline T unsafeAtomicAdd(T* address, kgen_hip::SameT<T> value) {
  return atomicAdd(address, value);
}
template <class T>
inline T safeAtomicAdd(T* address, kgen_hip::SameT<T> value) {
  return atomicAdd(address, value);
}

template <class T>
inline std::remove_cv_t<T> __hip_atomic_load(T* address, int, int) {
  kgen_hip::scheduler().count_poll();
  return *static_cast<const volatile T*>(address);
}
template <class T>
inline void __hip_atomic_store(T* address, kgen_hip::SameT<T> value, int, int) {
  (void)kgen_hip::atomic_change(address, [&](std::remove_cv_t<T>) { return value; });
}
template <class T>
inline T __hip_atomic_exchange(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicExch(address, value);
}
template <class T>
inline T __hip_atomic_fetch_add(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicAdd(address, value);
}
template <class T>
inline T __hip_atomic_fetch_sub(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicSub(address, value);
}
template <class T>
inline T __hip_atomic_fetch_min(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicMin(address, value);
}
template <class T>
inline T __hip_atomic_fetch_max(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicMax(address, value);
}
template <class T>
inline T __hip_atomic_fetch_and(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicAnd(address, value);
}
template <class T>
inline T __hip_atomic_fetch_or(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicOr(address, value);
}
template <class T>
inline T __hip_atomic_fetch_xor(T* address, kgen_hip::SameT<T> value, int, int) {
  return atomicXor(address, value);
}
template <class T>
inline bool __hip_atomic_compare_exchange_strong(T* address, T* expected, kgen_hip::SameT<T> value, int, int, int) {
  const T old = atomicCAS(address, *expected, value);
  const bool changed = old == *expected;
  *expected = old;
  return changed;
}
template <class T>
inline bool __hip_atomic_compare_exchange_weak(T* address, T* expected, kgen_hip::SameT<T> value, int success,
                                               int failure, int scope) {
  return __hip_atomic_compare_exchange_strong(address, expected, value, success, failure, scope);
}

#if !defined(__clang__)
template <class T>
inline std::remove_cv_t<T> __builtin_nontemporal_load(T* address) {
  return *address;
}
template <class T>
inline void __builtin_nontemporal_store(kgen_hip::SameT<T> value, T* address) {
  *address = value;
}
#define __builtin_assume(condition) ((void)0)
#endif
template <class T>
inline T __ldg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcg(const T* address) {
  return __hip_atomic_load(const_cast<T*>(address), 0, 0);
}
template <class T>
inline T __ldcs(const T* address) {
  return *address;
}
template <class T>
inline void __stcg(T* address, kgen_hip::SameT<T> value) {
  *address = value;
}
