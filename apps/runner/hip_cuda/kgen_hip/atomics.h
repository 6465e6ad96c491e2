/// \file
/// Atomic accesses: clang's functions with an order and a scope, and overloads that HIP has and CUDA lacks.
#pragma once

#include <cstring>

#include "device.h"

namespace kgen_hip {

template <class T>
struct Same {
  using type = std::remove_cv_t<T>;
};
/// A parameter that follows the type of the pointer: __hip_atomic_fetch_add(&unsigned, 1, ...).
template <class T>
using SameT = typename Same<T>::type;
/// The unsigned integer of a size.
template <std::size_t Bytes>
struct BitsOf {
  static_assert(Bytes == 0, "atomic accesses are of 1, 2, 4 or 8 bytes, and those that change a value of 2, 4 or 8");
};
template <>
struct BitsOf<1> {
  using type = unsigned char;
};
template <>
struct BitsOf<2> {
  using type = unsigned short;
};
template <>
struct BitsOf<4> {
  using type = unsigned;
};
template <>
struct BitsOf<8> {
  using type = unsigned long long;
};
template <class T>
using Bits = typename BitsOf<sizeof(T)>::type;

template <class To, class From>
__device__ __forceinline__ To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To result;
  memcpy(&result, &value, sizeof result);
  return result;
}
/// The address of the bits, without const and volatile.
template <class T>
__device__ __forceinline__ Bits<T>* bits_at(T* address) {
  return reinterpret_cast<Bits<T>*>(const_cast<std::remove_cv_t<T>*>(address));
}

// PTX has the order and the scope in the name of the instruction. "memory" keeps the compiler from moving others over
// it.
#define KGEN_HIP_LOAD(name, order, scope)                                                           \
  __device__ __forceinline__ void name(const unsigned char* address, unsigned char& to) {           \
    unsigned short wide;                                                                            \
    asm volatile("ld." order "." scope ".u8 %0, [%1];" : "=h"(wide) : "l"(address) : "memory");     \
    to = static_cast<unsigned char>(wide);                                                          \
  }                                                                                                 \
  __device__ __forceinline__ void name(const unsigned short* address, unsigned short& to) {         \
    asm volatile("ld." order "." scope ".u16 %0, [%1];" : "=h"(to) : "l"(address) : "memory");      \
  }                                                                                                 \
  __device__ __forceinline__ void name(const unsigned* address, unsigned& to) {                     \
    asm volatile("ld." order "." scope ".u32 %0, [%1];" : "=r"(to) : "l"(address) : "memory");      \
  }                                                                                                 \
  __device__ __forceinline__ void name(const unsigned long long* address, unsigned long long& to) { \
    asm volatile("ld." order "." scope ".u64 %0, [%1];" : "=l"(to) : "l"(address) : "memory");      \
  }
KGEN_HIP_LOAD(load_relaxed_block, "relaxed", "cta")
KGEN_HIP_LOAD(load_relaxed_device, "relaxed", "gpu")
KGEN_HIP_LOAD(load_relaxed_system, "relaxed", "sys")
KGEN_HIP_LOAD(load_acquire_block, "acquire", "cta")
KGEN_HIP_LOAD(load_acquire_device, "acquire", "gpu")
KGEN_HIP_LOAD(load_acquire_system, "acquire", "sys")
#undef KGEN_HIP_LOAD

#define KGEN_HIP_STORE(name, order, scope)                                                                     \
  __device__ __forceinline__ void name(unsigned char* address, unsigned char value) {                          \
    asm volatile("st." order "." scope ".u8 [%0], %1;" ::"l"(address), "h"(static_cast<unsigned short>(value)) \
                 : "memory");                                                                                  \
  }                                                                                                            \
  __device__ __forceinline__ void name(unsigned short* address, unsigned short value) {                        \
    asm volatile("st." order "." scope ".u16 [%0], %1;" ::"l"(address), "h"(value) : "memory");                \
  }                                                                                                            \
  __device__ __forceinline__ void name(unsigned* address, unsigned value) {                                    \
    asm volatile("st." order "." scope ".u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");                \
  }                                                                                                            \
  __device__ __forceinline__ void name(unsigned long long* address, unsigned long long value) {                \
    asm volatile("st." order "." scope ".u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");                \
  }
KGEN_HIP_STORE(store_relaxed_block, "relaxed", "cta")
KGEN_HIP_STORE(store_relaxed_device, "relaxed", "gpu")
KGEN_HIP_STORE(store_relaxed_system, "relaxed", "sys")
KGEN_HIP_STORE(store_release_block, "release", "cta")
KGEN_HIP_STORE(store_release_device, "release", "gpu")
KGEN_HIP_STORE(store_release_system, "release", "sys")
#undef KGEN_HIP_STORE

/// Calls one of three functions, as the scope says, which is a constant.
#define KGEN_HIP_BY_SCOPE(scope, block, device, system, ...)     \
  ((scope) <= __HIP_MEMORY_SCOPE_WORKGROUP ? block(__VA_ARGS__)  \
   : (scope) == __HIP_MEMORY_SCOPE_AGENT   ? device(__VA_ARGS__) \
                                           : system(__VA_ARGS__))

__device__ __forceinline__ constexpr bool acquires(int order) {
  return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}
__device__ __forceinline__ constexpr bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}
/// An access that changes a value is a relaxed one between fences. This is as strong as its order, which PTX proves by
/// its patterns of a release and of an acquire.
__device__ __forceinline__ void fence_before(int order, int scope) {
  if (releases(order)) fence(order, scope);
}
__device__ __forceinline__ void fence_behind(int order, int scope) {
  if (acquires(order)) fence(__ATOMIC_ACQ_REL, scope);
}

// CUDA has this for the device only.
__device__ __forceinline__ unsigned short swap_if_equal(unsigned short* address, unsigned short expected,
                                                        unsigned short value, int) {
  unsigned short old;
  asm volatile("atom.relaxed.sys.cas.b16 %0, [%1], %2, %3;"
               : "=h"(old)
               : "l"(address), "h"(expected), "h"(value)
               : "memory");
  return old;
}
__device__ __forceinline__ unsigned swap_if_equal(unsigned* address, unsigned expected, unsigned value, int scope) {
  return KGEN_HIP_BY_SCOPE(scope, atomicCAS_block, atomicCAS, atomicCAS_system, address, expected, value);
}
__device__ __forceinline__ unsigned long long swap_if_equal(unsigned long long* address, unsigned long long expected,
                                                            unsigned long long value, int scope) {
  return KGEN_HIP_BY_SCOPE(scope, atomicCAS_block, atomicCAS, atomicCAS_system, address, expected, value);
}

/// Changes a value by a function, for types and operations without an instruction.
template <class T, class F>
__device__ __forceinline__ std::remove_cv_t<T> change_by_swaps(T* address, int scope, F change) {
  using Value = std::remove_cv_t<T>;
  Bits<T> seen;
  KGEN_HIP_BY_SCOPE(scope, load_relaxed_block, load_relaxed_device, load_relaxed_system, bits_at(address), seen);
  for (;;) {
    const Value old = bits_as<Value>(seen);
    const Bits<T> found =
        swap_if_equal(bits_at(address), seen, bits_as<Bits<T>>(static_cast<Value>(change(old))), scope);
    if (found == seen) return old;
    seen = found;
  }
}

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Least {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Most {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct And {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

/// The type of CUDA's functions that has the same values: long is int or long long.
template <class T>
using Native =
    std::conditional_t<std::is_integral_v<T> && sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                       std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8,
                                          std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>, T>>;
template <class T>
constexpr bool k_is_word = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

template <class T>
__device__ __forceinline__ T add(T* address, T value, int scope) {
  if constexpr (k_is_word<T>)  // The sum of two's complements does not depend on the sign.
    return static_cast<T>(KGEN_HIP_BY_SCOPE(scope, atomicAdd_block, atomicAdd, atomicAdd_system, bits_at(address),
                                            static_cast<Bits<T>>(value)));
  else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return KGEN_HIP_BY_SCOPE(scope, atomicAdd_block, atomicAdd, atomicAdd_system, address, value);
  else
    return change_by_swaps(address, scope, [value](T old) { return Sum{}(old, value); });
}
#define KGEN_HIP_CHANGE(name, function, operation)                                                                    \
  template <class T>                                                                                                  \
  __device__ __forceinline__ T name(T* address, T value, int scope) {                                                 \
    if constexpr (k_is_word<T>)                                                                                       \
      return static_cast<T>(KGEN_HIP_BY_SCOPE(scope, function##_block, function, function##_system,                   \
                                              reinterpret_cast<Native<T>*>(address), static_cast<Native<T>>(value))); \
    else                                                                                                              \
      return change_by_swaps(address, scope, [value](T old) { return operation{}(old, value); });                     \
  }
KGEN_HIP_CHANGE(least, atomicMin, Least)
KGEN_HIP_CHANGE(most, atomicMax, Most)
#undef KGEN_HIP_CHANGE
#define KGEN_HIP_CHANGE(name, function, operation)                                                                    \
  template <class T>                                                                                                  \
  __device__ __forceinline__ T name(T* address, T value, int scope) {                                                 \
    if constexpr (k_is_word<T>)                                                                                       \
      return static_cast<T>(KGEN_HIP_BY_SCOPE(scope, function##_block, function, function##_system, bits_at(address), \
                                              static_cast<Bits<T>>(value)));                                          \
    else                                                                                                              \
      return change_by_swaps(address, scope, [value](T old) { return operation{}(old, value); });                     \
  }
KGEN_HIP_CHANGE(and_with, atomicAnd, And)
KGEN_HIP_CHANGE(or_with, atomicOr, Or)
KGEN_HIP_CHANGE(xor_with, atomicXor, Xor)
#undef KGEN_HIP_CHANGE
template <class T>
__device__ __forceinline__ T exchange(T* address, T value, int scope) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8)
    return bits_as<T>(KGEN_HIP_BY_SCOPE(scope, atomicExch_block, atomicExch, atomicExch_system, bits_at(address),
                                        bits_as<Bits<T>>(value)));
  else
    return change_by_swaps(address, scope, [value](T) { return value; });
}

}  // namespace kgen_hip

template <class T>
__device__ __forceinline__ kgen_hip::SameT<T> __hip_atomic_load(T* address, int order, int scope) {
  using namespace kgen_hip;
  Bits<T> bits;
  if (order == __ATOMIC_SEQ_CST) fence(order, scope);
  if (acquires(order))
    KGEN_HIP_BY_SCOPE(scope, load_acquire_block, load_acquire_device, load_acquire_system, bits_at(address), bits);
  else
    KGEN_HIP_BY_SCOPE(scope, load_relaxed_block, load_relaxed_device, load_relaxed_system, bits_at(address), bits);
  return bits_as<SameT<T>>(bits);
}
template <class T>
__device__ __forceinline__ void __hip_atomic_store(T* address, kgen_hip::SameT<T> value, int order, int scope) {
  using namespace kgen_hip;
  const auto bits = bits_as<Bits<T>>(value);
  if (order == __ATOMIC_SEQ_CST) fence(order, scope);
  if (releases(order))
    KGEN_HIP_BY_SCOPE(scope, store_release_block, store_release_device, store_release_system, bits_at(address), bits);
  else
    KGEN_HIP_BY_SCOPE(scope, store_relaxed_block, store_relaxed_device, store_relaxed_system, bits_at(address), bits);
}
#define KGEN_HIP_FETCH(name, operation)                                                                            \
  template <class T>                                                                                               \
  __device__ __forceinline__ kgen_hip::SameT<T> name(T* address, kgen_hip::SameT<T> value, int order, int scope) { \
    kgen_hip::fence_before(order, scope);                                                                          \
    const auto old = kgen_hip::operation(const_cast<kgen_hip::SameT<T>*>(address), value, scope);                  \
    kgen_hip::fence_behind(order, scope);                                                                          \
    return old;                                                                                                    \
  }
KGEN_HIP_FETCH(__hip_atomic_exchange, exchange)
KGEN_HIP_FETCH(__hip_atomic_fetch_add, add)
KGEN_HIP_FETCH(__hip_atomic_fetch_min, least)
KGEN_HIP_FETCH(__hip_atomic_fetch_max, most)
KGEN_HIP_FETCH(__hip_atomic_fetch_and, and_with)
KGEN_HIP_FETCH(__hip_atomic_fetch_or, or_with)
KGEN_HIP_FETCH(__hip_atomic_fetch_xor, xor_with)
#undef KGEN_HIP_FETCH
template <class T>
__device__ __forceinline__ kgen_hip::SameT<T> __hip_atomic_fetch_sub(T* address, kgen_hip::SameT<T> value, int order,
                                                                     int scope) {
  return __hip_atomic_fetch_add(address, static_cast<kgen_hip::SameT<T>>(-value), order, scope);
}
template <class T>
__device__ __forceinline__ bool __hip_atomic_compare_exchange_strong(T* address, kgen_hip::SameT<T>* expected,
                                                                     kgen_hip::SameT<T> value, int success, int failure,
                                                                     int scope) {
  using namespace kgen_hip;
  // The order of a failure is at most that of a success in nearly all sources; both are respected.
  const bool sequential = success == __ATOMIC_SEQ_CST || failure == __ATOMIC_SEQ_CST;
  fence_before(sequential ? __ATOMIC_SEQ_CST : success, scope);
  const auto wanted = bits_as<Bits<T>>(*expected);
  const auto found = swap_if_equal(bits_at(address), wanted, bits_as<Bits<T>>(value), scope);
  if (acquires(success) || acquires(failure)) fence(__ATOMIC_ACQ_REL, scope);
  *expected = bits_as<SameT<T>>(found);
  return found == wanted;
}
template <class T>
__device__ __forceinline__ bool __hip_atomic_compare_exchange_weak(T* address, kgen_hip::SameT<T>* expected,
                                                                   kgen_hip::SameT<T> value, int success, int failure,
                                                                   int scope) {
  return __hip_atomic_compare_exchange_strong(address, expected, value, success, failure, scope);
}

// Overloads of HIP's atomicX() for types that CUDA's lack. Both are relaxed, and of the device.
#define KGEN_HIP_OVERLOAD(name, operation, type)                          \
  __device__ __forceinline__ type name(type* address, type value) {       \
    return kgen_hip::operation(address, value, __HIP_MEMORY_SCOPE_AGENT); \
  }
KGEN_HIP_OVERLOAD(atomicAdd, add, unsigned long)
KGEN_HIP_OVERLOAD(atomicMin, least, unsigned long)
KGEN_HIP_OVERLOAD(atomicMax, most, unsigned long)
KGEN_HIP_OVERLOAD(atomicMin, least, float)
KGEN_HIP_OVERLOAD(atomicMax, most, float)
KGEN_HIP_OVERLOAD(atomicMin, least, double)
KGEN_HIP_OVERLOAD(atomicMax, most, double)
KGEN_HIP_OVERLOAD(atomicAnd, and_with, unsigned long)
KGEN_HIP_OVERLOAD(atomicOr, or_with, unsigned long)
KGEN_HIP_OVERLOAD(atomicXor, xor_with, unsigned long)
KGEN_HIP_OVERLOAD(atomicExch, exchange, unsigned long)
KGEN_HIP_OVERLOAD(atomicExch, exchange, double)
#undef KGEN_HIP_OVERLOAD
#define KGEN_HIP_OVERLOAD(type)                                                                                     \
  __device__ __forceinline__ type atomicSub(type* address, type value) {                                            \
    return kgen_hip::add(address, static_cast<type>(-value), __HIP_MEMORY_SCOPE_AGENT);                             \
  }                                                                                                                 \
  __device__ __forceinline__ type atomicCAS(type* address, type expected, type value) {                             \
    using namespace kgen_hip;                                                                                       \
    return bits_as<type>(swap_if_equal(bits_at(address), bits_as<Bits<type>>(expected), bits_as<Bits<type>>(value), \
                                       __HIP_MEMORY_SCOPE_AGENT));                                                  \
  }
KGEN_HIP_OVERLOAD(unsigned long)
KGEN_HIP_OVERLOAD(float)
KGEN_HIP_OVERLOAD(double)
#undef KGEN_HIP_OVERLOAD
__device__ __forceinline__ unsigned long long atomicSub(unsigned long long* address, unsigned long long value) {
  return atomicAdd(address, 0ull - value);
}

// AMD's choices between an instruction of the memory and a loop; here there is the instruction.
template <class T>
__device__ __forceinline__ T unsafeAtomicAdd(T* address, kgen_hip::SameT<T> value) {
  return atomicAdd(address, value);
}
template <class T>
__device__ __forceinline__ T safeAtomicAdd(T* address, kgen_hip::SameT<T> value) {
  return atomicAdd(address, value);
}
template <class T>
__device__ __forceinline__ void atomicAddNoRet(T* address, kgen_hip::SameT<T> value) {
  (void)atomicAdd(address, value);
}
template <class T>
__device__ __forceinline__ T unsafeAtomicMin(T* address, kgen_hip::SameT<T> value) {
  return atomicMin(address, value);
}
template <class T>
__device__ __forceinline__ T unsafeAtomicMax(T* address, kgen_hip::SameT<T> value) {
  return atomicMax(address, value);
}
