/// \file
/// The functions of HIP's runtime that candidates call: memory, streams, events, launches, facts of the device. All
/// work is done when a function returns.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>

#include "device.h"

enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorMemoryAllocation = 2,
  hipErrorNotInitialized = 3,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidSymbol = 13,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidHandle = 400,
  hipErrorInvalidResourceHandle = 400,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorLaunchFailure = 719,
  hipErrorCooperativeLaunchTooLarge = 720,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorUnknown = 999,
};

enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum hipFuncCache_t { hipFuncCachePreferNone, hipFuncCachePreferShared, hipFuncCachePreferL1, hipFuncCachePreferEqual };

enum hipDeviceAttribute_t {
  hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxBlockDimX,
  hipDeviceAttributeMaxBlockDimY,
  hipDeviceAttributeMaxBlockDimZ,
  hipDeviceAttributeMaxGridDimX,
  hipDeviceAttributeMaxGridDimY,
  hipDeviceAttributeMaxGridDimZ,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeSharedMemPerBlockOptin,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor,
  hipDeviceAttributeTotalConstantMemory,
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeMaxRegistersPerBlock,
  hipDeviceAttributeClockRate,
  hipDeviceAttributeMemoryClockRate,
  hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeL2CacheSize,
  hipDeviceAttributeMaxThreadsPerMultiProcessor,
  hipDeviceAttributeComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeConcurrentKernels,
  hipDeviceAttributeCooperativeLaunch,
  hipDeviceAttributeIntegrated,
};

struct hipDeviceProp_t {
  char name[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  std::size_t sharedMemPerBlockOptin;
  std::size_t sharedMemPerMultiprocessor;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  int memoryClockRate;
  int memoryBusWidth;
  std::size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int maxBlocksPerMultiProcessor;
  int computeMode;
  int concurrentKernels;
  int cooperativeLaunch;
  int integrated;
  char gcnArchName[256];
};
using hipDeviceProp_tR0600 = hipDeviceProp_t;

struct hipFuncAttributes {
  int binaryVersion;
  std::size_t constSizeBytes;
  std::size_t localSizeBytes;
  int maxDynamicSharedSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  std::size_t sharedSizeBytes;
};

struct ihipStream_t {};
using hipStream_t = ihipStream_t*;
struct ihipEvent_t {
  double seconds;
};
using hipEvent_t = ihipEvent_t*;
using hipDevice_t = int;

// A macro, because it is passed as a stream, too.
#define hipStreamDefault 0x00
constexpr unsigned hipStreamNonBlocking = 1;
constexpr unsigned hipEventDefault = 0, hipEventBlockingSync = 1, hipEventDisableTiming = 2;
constexpr unsigned hipHostMallocDefault = 0, hipHostMallocPortable = 1, hipHostMallocMapped = 2;
constexpr unsigned hipMemAttachGlobal = 1;

namespace kgen_hip {

/// A small device, so that kernels which fill it with blocks end soon.
constexpr int k_multiprocessors = 16;
constexpr int k_multiprocessor_threads = 2048;

/// What the runtime remembers.
struct Runtime {
  hipError_t last = hipSuccess;
  std::string detail;
  /// By the address that the candidate has: what to unmap.
  std::map<void*, std::pair<void*, std::size_t>> allocations;
};
inline Runtime& runtime() {
  static Runtime* const one = new Runtime;
  return *one;
}

inline hipError_t report(hipError_t error, std::string detail = {}) {
  if (error == hipSuccess) return error;
  runtime().last = error;
  runtime().detail = std::move(detail);
  return error;
}

inline const char* name_of(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "no error";
    case hipErrorInvalidValue:
      return "invalid argument";
    case hipErrorOutOfMemory:
      return "out of memory";
    case hipErrorInvalidConfiguration:
      return "invalid configuration argument";
    case hipErrorInvalidDevice:
      return "invalid device ordinal";
    case hipErrorInvalidDevicePointer:
      return "invalid device pointer";
    case hipErrorInvalidHandle:
      return "invalid resource handle";
    case hipErrorCooperativeLaunchTooLarge:
      return "too many blocks in cooperative launch";
    case hipErrorNotSupported:
      return "operation not supported";
    case hipErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "unknown error";
  }
}

inline hipError_t check_launch(const LaunchOptions& options) {
  const auto& block = options.block;
  const auto& grid = options.grid;
  const std::uint64_t threads = static_cast<std::uint64_t>(block.x) * block.y * block.z;
  if (threads == 0 || block.x > k_max_block_threads || block.y > k_max_block_threads || threads > k_max_block_threads)
    return report(hipErrorInvalidConfiguration, "a block of " + std::to_string(threads) + " threads; it has 1 to " +
                                                    std::to_string(k_max_block_threads));
  const std::uint64_t plane = static_cast<std::uint64_t>(grid.x) * grid.y;
  if (plane == 0 || grid.z == 0 || grid.x > 0x7FFFFFFFu || grid.y > 65535 || grid.z > 65535 ||
      plane > 0xFFFFFFFFull / grid.z)
    return report(hipErrorInvalidConfiguration, "a grid of (" + std::to_string(grid.x) + ", " + std::to_string(grid.y) +
                                                    ", " + std::to_string(grid.z) + ") blocks");
  if (options.dynamic_lds > k_lds_bytes)
    return report(hipErrorInvalidConfiguration, std::to_string(options.dynamic_lds) +
                                                    " bytes of dynamic LDS, and a workgroup has " +
                                                    std::to_string(k_lds_bytes));
  if (options.cooperative && plane * grid.z * threads > k_max_fibers)
    return report(hipErrorCooperativeLaunchTooLarge,
                  std::to_string(plane * grid.z) + " blocks of " + std::to_string(threads) + " threads");
  return hipSuccess;
}

template <class Bound>
hipError_t launch(const LaunchOptions& options, Bound& bound) {
  if (scheduler().in_kernel()) scheduler().fail("a kernel cannot launch a kernel");
  const hipError_t checked = check_launch(options);
  if (checked == hipSuccess) scheduler().launch(options, &Bound::call, &bound);
  return checked;
}

template <class Kernel>
template <class... Arguments>
void Launcher<Kernel>::operator()(Arguments&&... arguments) {
  BoundKernel<Kernel, Arguments&...> bound{kernel_, std::tuple<Arguments&...>(arguments...)};
  (void)launch(options_, bound);
}

/// A launch with the addresses of its arguments.
template <class... Parameters, std::size_t... I>
hipError_t launch_packed(void (*kernel)(Parameters...), LaunchOptions options, void** arguments,
                         std::index_sequence<I...>) {
  BoundKernel<void (*)(Parameters...), std::remove_cv_t<std::remove_reference_t<Parameters>>...> bound{
      kernel, {*static_cast<std::remove_cv_t<std::remove_reference_t<Parameters>>*>(arguments[I])...}};
  return launch(options, bound);
}
template <class... Parameters>
hipError_t launch_packed(void (*kernel)(Parameters...), LaunchOptions options, void** arguments) {
  return launch_packed(kernel, options, arguments, std::index_sequence_for<Parameters...>{});
}
template <class T>
hipError_t launch_packed(T*, LaunchOptions, void**) {
  static_assert(!std::is_void_v<T>,
                "on the CPU a launch needs the kernel itself, not a void pointer: it has to know its parameters");
  return hipErrorInvalidDeviceFunction;
}

inline int attribute(hipDeviceAttribute_t which) {
  switch (which) {
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      return k_max_block_threads;
    case hipDeviceAttributeMaxGridDimX:
      return 0x7FFFFFFF;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      return 65535;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      return k_lds_bytes;
    case hipDeviceAttributeTotalConstantMemory:
      return 0x7FFFFFFF;
    case hipDeviceAttributeWarpSize:
      return k_wave;
    case hipDeviceAttributeMaxRegistersPerBlock:
      return 65536;
    case hipDeviceAttributeClockRate:
      return 1'700'000;
    case hipDeviceAttributeMemoryClockRate:
      return 1'600'000;
    case hipDeviceAttributeMemoryBusWidth:
      return 4096;
    case hipDeviceAttributeMultiprocessorCount:
      return k_multiprocessors;
    case hipDeviceAttributeL2CacheSize:
      return 8 << 20;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return k_multiprocessor_threads;
    case hipDeviceAttributeComputeCapabilityMajor:
      return k_wave == 64 ? 9 : 10;
    case hipDeviceAttributeComputeCapabilityMinor:
      return k_wave == 64 ? 0 : 3;
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeCooperativeLaunch:
      return 1;
    case hipDeviceAttributeIntegrated:
      return 0;
  }
  return 0;
}

/// Blocks of a kernel that a multiprocessor holds: two at most, so that kernels with blocks that wait for each other
/// stay small.
inline int blocks_of_a_multiprocessor(int threads, std::size_t dynamic_lds) {
  if (threads <= 0 || threads > static_cast<int>(k_max_block_threads) || dynamic_lds > k_lds_bytes) return 0;
  const int by_lds = dynamic_lds == 0 ? 2 : static_cast<int>(k_lds_bytes / dynamic_lds);
  return std::min({2, k_multiprocessor_threads / threads, by_lds});
}

/// Memory that ends where nothing may be touched, as far as alignment allows, and holds no numbers.
inline void* allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t used = (bytes + 255) / 256 * 256;
  const std::size_t pages = (used + k_guard_bytes - 1) / k_guard_bytes * k_guard_bytes;
  void* memory = mmap(nullptr, pages + k_guard_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(static_cast<char*>(memory) + pages, k_guard_bytes, PROT_NONE);
  std::memset(memory, k_poison, pages);
  char* begin = static_cast<char*>(memory) + (pages - used);
  runtime().allocations[begin] = {memory, pages + k_guard_bytes};
  return begin;
}
inline bool release(void* begin) {
  const auto found = runtime().allocations.find(begin);
  if (found == runtime().allocations.end()) return false;
  munmap(found->second.first, found->second.second);
  runtime().allocations.erase(found);
  return true;
}

}  // namespace kgen_hip

#define hipLaunchKernelGGL(kernel_, grid_, block_, bytes_, stream_, ...) \
  kgen_hip::kgen_kernel([&](auto&... kgen_a) {                           \
    kernel_(kgen_a...);                                                  \
  }).kgen_on(grid_, block_, bytes_, stream_)(__VA_ARGS__)

template <class F>
hipError_t hipLaunchCooperativeKernel(F* kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_lds = 0,
                                      hipStream_t = nullptr) {
  return kgen_hip::launch_packed(kernel, {grid, block, dynamic_lds, true}, arguments);
}
template <class F>
hipError_t hipLaunchKernel(F* kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_lds = 0,
                           hipStream_t = nullptr) {
  return kgen_hip::launch_packed(kernel, {grid, block, dynamic_lds, false}, arguments);
}

// ---- Errors ----
inline hipError_t hipPeekAtLastError() { return kgen_hip::runtime().last; }
inline hipError_t hipGetLastError() { return std::exchange(kgen_hip::runtime().last, hipSuccess); }
inline const char* hipGetErrorName(hipError_t error) { return kgen_hip::name_of(error); }
inline const char* hipGetErrorString(hipError_t error) {
  static std::string text;
  const auto& detail = kgen_hip::runtime().detail;
  text = kgen_hip::name_of(error);
  if (error != hipSuccess && !detail.empty()) text += ": " + detail;
  return text.c_str();
}

// ---- Devices ----
inline hipError_t hipInit(unsigned) { return hipSuccess; }
inline hipError_t hipGetDeviceCount(int* count) { return *count = 1, hipSuccess; }
inline hipError_t hipGetDevice(int* device) { return *device = 0, hipSuccess; }
inline hipError_t hipSetDevice(int device) {
  return device == 0 ? hipSuccess : kgen_hip::report(hipErrorInvalidDevice);
}
inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
inline hipError_t hipDeviceReset() { return hipSuccess; }
inline hipError_t hipRuntimeGetVersion(int* version) { return *version = 50'200'000, hipSuccess; }
inline hipError_t hipDriverGetVersion(int* version) { return *version = 50'200'000, hipSuccess; }
inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int device) {
  if (device != 0) return kgen_hip::report(hipErrorInvalidDevice);
  return *value = kgen_hip::attribute(which), hipSuccess;
}
inline hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return *free = std::size_t{6} << 30, *total = std::size_t{8} << 30, hipSuccess;
}
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* facts, int device) {
  if (device != 0) return kgen_hip::report(hipErrorInvalidDevice);
  const auto number = [](hipDeviceAttribute_t which) { return kgen_hip::attribute(which); };
  *facts = {};
  std::strcpy(facts->name, "HIP executed on the CPU");
  std::strcpy(facts->gcnArchName, kgen_hip::k_wave == 64 ? "gfx900" : "gfx1030");
  facts->totalGlobalMem = std::size_t{8} << 30;
  facts->sharedMemPerBlock = facts->sharedMemPerBlockOptin = kgen_hip::k_lds_bytes;
  facts->sharedMemPerMultiprocessor = facts->maxSharedMemoryPerMultiProcessor = kgen_hip::k_lds_bytes;
  facts->regsPerBlock = number(hipDeviceAttributeMaxRegistersPerBlock);
  facts->warpSize = warpSize;
  facts->maxThreadsPerBlock = number(hipDeviceAttributeMaxThreadsPerBlock);
  for (int& most : facts->maxThreadsDim) most = facts->maxThreadsPerBlock;
  facts->maxGridSize[0] = number(hipDeviceAttributeMaxGridDimX);
  facts->maxGridSize[1] = facts->maxGridSize[2] = number(hipDeviceAttributeMaxGridDimY);
  facts->clockRate = number(hipDeviceAttributeClockRate);
  facts->memoryClockRate = number(hipDeviceAttributeMemoryClockRate);
  facts->memoryBusWidth = number(hipDeviceAttributeMemoryBusWidth);
  facts->totalConstMem = 0x7FFFFFFF;
  facts->major = number(hipDeviceAttributeComputeCapabilityMajor);
  facts->minor = number(hipDeviceAttributeComputeCapabilityMinor);
  facts->multiProcessorCount = kgen_hip::k_multiprocessors;
  facts->l2CacheSize = number(hipDeviceAttributeL2CacheSize);
  facts->maxThreadsPerMultiProcessor = kgen_hip::k_multiprocessor_threads;
  facts->maxBlocksPerMultiProcessor = 2;
  facts->concurrentKernels = facts->cooperativeLaunch = 1;
  return hipSuccess;
}

// ---- Memory ----
inline hipError_t hipMalloc(void** memory, std::size_t bytes) {
  if (memory == nullptr) return kgen_hip::report(hipErrorInvalidValue);
  *memory = bytes == 0 ? nullptr : kgen_hip::allocate(bytes);
  return bytes != 0 && *memory == nullptr ? kgen_hip::report(hipErrorOutOfMemory) : hipSuccess;
}
template <class T>
hipError_t hipMalloc(T** memory, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(memory), bytes);
}
template <class T>
hipError_t hipMallocAsync(T** memory, std::size_t bytes, hipStream_t = nullptr) {
  return hipMalloc(memory, bytes);
}
template <class T>
hipError_t hipMallocManaged(T** memory, std::size_t bytes, unsigned = hipMemAttachGlobal) {
  return hipMalloc(memory, bytes);
}
template <class T>
hipError_t hipHostMalloc(T** memory, std::size_t bytes, unsigned = hipHostMallocDefault) {
  return hipMalloc(memory, bytes);
}
template <class T>
hipError_t hipExtMallocWithFlags(T** memory, std::size_t bytes, unsigned) {
  return hipMalloc(memory, bytes);
}
inline hipError_t hipFree(void* memory) {
  return memory == nullptr || kgen_hip::release(memory) ? hipSuccess : kgen_hip::report(hipErrorInvalidValue);
}
inline hipError_t hipFreeAsync(void* memory, hipStream_t) { return hipFree(memory); }
inline hipError_t hipHostFree(void* memory) { return hipFree(memory); }
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return hipSuccess;
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t = nullptr) {
  return hipMemcpy(to, from, bytes, kind);
}
inline hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t) {
  return hipMemcpy(to, from, bytes, kind);
}
inline hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, hipMemcpyKind kind) {
  for (std::size_t i = 0; i < height; ++i)
    (void)hipMemcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width,
                    kind);
  return hipSuccess;
}
inline hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                   std::size_t width, std::size_t height, hipMemcpyKind kind, hipStream_t = nullptr) {
  return hipMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
inline hipError_t hipMemset(void* memory, int value, std::size_t bytes) {
  if (bytes != 0) std::memset(memory, value, bytes);
  return hipSuccess;
}
inline hipError_t hipMemsetAsync(void* memory, int value, std::size_t bytes, hipStream_t = nullptr) {
  return hipMemset(memory, value, bytes);
}
inline hipError_t hipMemsetD32(void* memory, int value, std::size_t count) {
  std::fill_n(static_cast<int*>(memory), count, value);
  return hipSuccess;
}
inline hipError_t hipMemsetD32Async(void* memory, int value, std::size_t count, hipStream_t = nullptr) {
  return hipMemsetD32(memory, value, count);
}
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                             hipMemcpyKind = hipMemcpyHostToDevice) {
  if (offset + bytes > sizeof(T)) return kgen_hip::report(hipErrorInvalidValue);
  std::memcpy(reinterpret_cast<char*>(&const_cast<std::remove_const_t<T>&>(symbol)) + offset, from, bytes);
  return hipSuccess;
}
template <class T>
hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                                  hipMemcpyKind kind, hipStream_t = nullptr) {
  return hipMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                               hipMemcpyKind = hipMemcpyDeviceToHost) {
  if (offset + bytes > sizeof(T)) return kgen_hip::report(hipErrorInvalidValue);
  std::memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes);
  return hipSuccess;
}
template <class T>
hipError_t hipGetSymbolAddress(void** address, const T& symbol) {
  return *address = const_cast<std::remove_const_t<T>*>(&symbol), hipSuccess;
}

// ---- Streams and events ----
inline hipError_t hipStreamCreate(hipStream_t* stream) { return *stream = new ihipStream_t, hipSuccess; }
inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) { return hipStreamCreate(stream); }
inline hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned, int) { return hipStreamCreate(stream); }
inline hipError_t hipStreamDestroy(hipStream_t stream) { return delete stream, hipSuccess; }
inline hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
inline hipError_t hipStreamQuery(hipStream_t) { return hipSuccess; }
inline hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned = 0) { return hipSuccess; }
inline hipError_t hipEventCreate(hipEvent_t* event) { return *event = new ihipEvent_t, hipSuccess; }
inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) { return hipEventCreate(event); }
inline hipError_t hipEventDestroy(hipEvent_t event) { return delete event, hipSuccess; }
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t = nullptr) {
  return event->seconds = kgen_hip::now_seconds(), hipSuccess;
}
inline hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
inline hipError_t hipEventQuery(hipEvent_t) { return hipSuccess; }
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  *milliseconds = static_cast<float>(1e3 * (end->seconds - begin->seconds));
  return hipSuccess;
}

// ---- Kernels ----
template <class F>
hipError_t hipFuncSetAttribute(F*, hipFuncAttribute which, int value) {
  if (which == hipFuncAttributeMaxDynamicSharedMemorySize && value > static_cast<int>(kgen_hip::k_lds_bytes))
    return kgen_hip::report(
        hipErrorInvalidValue,
        std::to_string(value) + " bytes of dynamic LDS, and a workgroup has " + std::to_string(kgen_hip::k_lds_bytes));
  return hipSuccess;
}
template <class F>
hipError_t hipFuncSetCacheConfig(F*, hipFuncCache_t) {
  return hipSuccess;
}
template <class F>
hipError_t hipFuncGetAttributes(hipFuncAttributes* facts, F*) {
  *facts = {};
  facts->maxThreadsPerBlock = kgen_hip::k_max_block_threads;
  facts->maxDynamicSharedSizeBytes = kgen_hip::k_lds_bytes;
  return hipSuccess;
}
template <class F>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F*, int threads, std::size_t dynamic_lds) {
  return *blocks = kgen_hip::blocks_of_a_multiprocessor(threads, dynamic_lds), hipSuccess;
}
template <class F>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F*, int threads, std::size_t dynamic_lds,
                                                                 unsigned) {
  return *blocks = kgen_hip::blocks_of_a_multiprocessor(threads, dynamic_lds), hipSuccess;
}
template <class F>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, F*, std::size_t dynamic_lds = 0, int limit = 0) {
  *block = limit > 0 && limit < 256 ? limit : 256;
  *grid = kgen_hip::k_multiprocessors * kgen_hip::blocks_of_a_multiprocessor(*block, dynamic_lds);
  return hipSuccess;
}
