/// \file
/// The functions of HIP's runtime that candidates call: each is the one of CUDA's runtime.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "device.h"

using hipError_t = cudaError_t;
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipMemcpyKind = cudaMemcpyKind;
using hipFuncAttribute = cudaFuncAttribute;
using hipFuncAttributes = cudaFuncAttributes;
using hipFuncCache_t = cudaFuncCache;
using hipDeviceAttribute_t = cudaDeviceAttr;
using hipPointerAttribute_t = cudaPointerAttributes;
using hipHostFn_t = cudaHostFn_t;
using hipGraph_t = cudaGraph_t;
using hipGraphNode_t = cudaGraphNode_t;
using hipGraphExec_t = cudaGraphExec_t;
using hipStreamCaptureMode = cudaStreamCaptureMode;
using hipStreamCaptureStatus = cudaStreamCaptureStatus;
using hipKernelNodeParams = cudaKernelNodeParams;
using hipMemsetParams = cudaMemsetParams;
using hipGraphNodeType = cudaGraphNodeType;

constexpr hipError_t hipSuccess = cudaSuccess;
constexpr hipError_t hipErrorInvalidValue = cudaErrorInvalidValue;
constexpr hipError_t hipErrorOutOfMemory = cudaErrorMemoryAllocation;
constexpr hipError_t hipErrorMemoryAllocation = cudaErrorMemoryAllocation;
constexpr hipError_t hipErrorNotInitialized = cudaErrorInitializationError;
constexpr hipError_t hipErrorInitializationError = cudaErrorInitializationError;
constexpr hipError_t hipErrorInvalidConfiguration = cudaErrorInvalidConfiguration;
constexpr hipError_t hipErrorInvalidSymbol = cudaErrorInvalidSymbol;
constexpr hipError_t hipErrorInvalidDevicePointer = cudaErrorInvalidDevicePointer;
constexpr hipError_t hipErrorInvalidMemcpyDirection = cudaErrorInvalidMemcpyDirection;
constexpr hipError_t hipErrorInvalidDeviceFunction = cudaErrorInvalidDeviceFunction;
constexpr hipError_t hipErrorNoDevice = cudaErrorNoDevice;
constexpr hipError_t hipErrorInvalidDevice = cudaErrorInvalidDevice;
constexpr hipError_t hipErrorInvalidHandle = cudaErrorInvalidResourceHandle;
constexpr hipError_t hipErrorInvalidResourceHandle = cudaErrorInvalidResourceHandle;
constexpr hipError_t hipErrorNotReady = cudaErrorNotReady;
constexpr hipError_t hipErrorIllegalAddress = cudaErrorIllegalAddress;
constexpr hipError_t hipErrorLaunchOutOfResources = cudaErrorLaunchOutOfResources;
constexpr hipError_t hipErrorLaunchTimeOut = cudaErrorLaunchTimeout;
constexpr hipError_t hipErrorLaunchFailure = cudaErrorLaunchFailure;
constexpr hipError_t hipErrorCooperativeLaunchTooLarge = cudaErrorCooperativeLaunchTooLarge;
constexpr hipError_t hipErrorNotSupported = cudaErrorNotSupported;
constexpr hipError_t hipErrorStreamCaptureUnsupported = cudaErrorStreamCaptureUnsupported;
constexpr hipError_t hipErrorUnknown = cudaErrorUnknown;

constexpr hipMemcpyKind hipMemcpyHostToHost = cudaMemcpyHostToHost;
constexpr hipMemcpyKind hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
constexpr hipMemcpyKind hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
constexpr hipMemcpyKind hipMemcpyDeviceToDevice = cudaMemcpyDeviceToDevice;
constexpr hipMemcpyKind hipMemcpyDefault = cudaMemcpyDefault;

constexpr hipFuncAttribute hipFuncAttributeMaxDynamicSharedMemorySize = cudaFuncAttributeMaxDynamicSharedMemorySize;
constexpr hipFuncAttribute hipFuncAttributePreferredSharedMemoryCarveout =
    cudaFuncAttributePreferredSharedMemoryCarveout;
constexpr hipFuncCache_t hipFuncCachePreferNone = cudaFuncCachePreferNone;
constexpr hipFuncCache_t hipFuncCachePreferShared = cudaFuncCachePreferShared;
constexpr hipFuncCache_t hipFuncCachePreferL1 = cudaFuncCachePreferL1;
constexpr hipFuncCache_t hipFuncCachePreferEqual = cudaFuncCachePreferEqual;

constexpr hipDeviceAttribute_t hipDeviceAttributeMaxThreadsPerBlock = cudaDevAttrMaxThreadsPerBlock;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxBlockDimX = cudaDevAttrMaxBlockDimX;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxBlockDimY = cudaDevAttrMaxBlockDimY;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxBlockDimZ = cudaDevAttrMaxBlockDimZ;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxGridDimX = cudaDevAttrMaxGridDimX;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxGridDimY = cudaDevAttrMaxGridDimY;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxGridDimZ = cudaDevAttrMaxGridDimZ;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxSharedMemoryPerBlock = cudaDevAttrMaxSharedMemoryPerBlock;
constexpr hipDeviceAttribute_t hipDeviceAttributeSharedMemPerBlockOptin = cudaDevAttrMaxSharedMemoryPerBlockOptin;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxSharedMemoryPerMultiprocessor =
    cudaDevAttrMaxSharedMemoryPerMultiprocessor;
constexpr hipDeviceAttribute_t hipDeviceAttributeSharedMemPerMultiprocessor =
    cudaDevAttrMaxSharedMemoryPerMultiprocessor;
constexpr hipDeviceAttribute_t hipDeviceAttributeTotalConstantMemory = cudaDevAttrTotalConstantMemory;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxRegistersPerBlock = cudaDevAttrMaxRegistersPerBlock;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxRegistersPerMultiprocessor =
    cudaDevAttrMaxRegistersPerMultiprocessor;
constexpr hipDeviceAttribute_t hipDeviceAttributeClockRate = cudaDevAttrClockRate;
constexpr hipDeviceAttribute_t hipDeviceAttributeMemoryClockRate = cudaDevAttrMemoryClockRate;
constexpr hipDeviceAttribute_t hipDeviceAttributeMemoryBusWidth = cudaDevAttrGlobalMemoryBusWidth;
constexpr hipDeviceAttribute_t hipDeviceAttributeMultiprocessorCount = cudaDevAttrMultiProcessorCount;
constexpr hipDeviceAttribute_t hipDeviceAttributeL2CacheSize = cudaDevAttrL2CacheSize;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxThreadsPerMultiProcessor = cudaDevAttrMaxThreadsPerMultiProcessor;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxBlocksPerMultiprocessor = cudaDevAttrMaxBlocksPerMultiprocessor;
constexpr hipDeviceAttribute_t hipDeviceAttributeMaxBlocksPerMultiProcessor = cudaDevAttrMaxBlocksPerMultiprocessor;
constexpr hipDeviceAttribute_t hipDeviceAttributeComputeCapabilityMajor = cudaDevAttrComputeCapabilityMajor;
constexpr hipDeviceAttribute_t hipDeviceAttributeComputeCapabilityMinor = cudaDevAttrComputeCapabilityMinor;
constexpr hipDeviceAttribute_t hipDeviceAttributeConcurrentKernels = cudaDevAttrConcurrentKernels;
constexpr hipDeviceAttribute_t hipDeviceAttributeCooperativeLaunch = cudaDevAttrCooperativeLaunch;
constexpr hipDeviceAttribute_t hipDeviceAttributeIntegrated = cudaDevAttrIntegrated;
constexpr hipDeviceAttribute_t hipDeviceAttributeManagedMemory = cudaDevAttrManagedMemory;
constexpr hipDeviceAttribute_t hipDeviceAttributeConcurrentManagedAccess = cudaDevAttrConcurrentManagedAccess;
constexpr hipDeviceAttribute_t hipDeviceAttributeCanMapHostMemory = cudaDevAttrCanMapHostMemory;
constexpr hipDeviceAttribute_t hipDeviceAttributeMemoryPoolsSupported = cudaDevAttrMemoryPoolsSupported;

constexpr hipStreamCaptureMode hipStreamCaptureModeGlobal = cudaStreamCaptureModeGlobal;
constexpr hipStreamCaptureMode hipStreamCaptureModeThreadLocal = cudaStreamCaptureModeThreadLocal;
constexpr hipStreamCaptureMode hipStreamCaptureModeRelaxed = cudaStreamCaptureModeRelaxed;
constexpr hipStreamCaptureStatus hipStreamCaptureStatusNone = cudaStreamCaptureStatusNone;
constexpr hipStreamCaptureStatus hipStreamCaptureStatusActive = cudaStreamCaptureStatusActive;
constexpr hipStreamCaptureStatus hipStreamCaptureStatusInvalidated = cudaStreamCaptureStatusInvalidated;

// Macros, because they are passed as streams, too.
#define hipStreamDefault 0x00
#define hipStreamPerThread kgen_hip::stream_of_this_thread()
#define hipStreamLegacy kgen_hip::legacy_stream()
constexpr unsigned hipStreamNonBlocking = cudaStreamNonBlocking;
constexpr unsigned hipEventDefault = cudaEventDefault, hipEventBlockingSync = cudaEventBlockingSync;
constexpr unsigned hipEventDisableTiming = cudaEventDisableTiming;
constexpr unsigned hipHostMallocDefault = cudaHostAllocDefault, hipHostMallocPortable = cudaHostAllocPortable;
constexpr unsigned hipHostMallocMapped = cudaHostAllocMapped, hipHostMallocWriteCombined = cudaHostAllocWriteCombined;
// Mapped memory of the host is coherent on NVIDIA in any case.
constexpr unsigned hipHostMallocCoherent = cudaHostAllocMapped, hipHostMallocNonCoherent = cudaHostAllocDefault;
constexpr unsigned hipHostRegisterDefault = cudaHostRegisterDefault, hipHostRegisterMapped = cudaHostRegisterMapped;
constexpr unsigned hipMemAttachGlobal = cudaMemAttachGlobal, hipMemAttachHost = cudaMemAttachHost;
constexpr unsigned hipDeviceMallocDefault = 0, hipDeviceMallocFinegrained = 1, hipDeviceMallocUncached = 3;
constexpr unsigned hipOccupancyDefault = cudaOccupancyDefault;
constexpr unsigned hipDeviceScheduleAuto = cudaDeviceScheduleAuto, hipDeviceScheduleSpin = cudaDeviceScheduleSpin;

/// The facts of a device that candidates ask for. A struct of its own, because CUDA's has lost members over the years.
struct hipDeviceProp_t {
  char name[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  std::size_t sharedMemPerBlockOptin;
  std::size_t sharedMemPerMultiprocessor;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int regsPerBlock;
  int regsPerMultiprocessor;
  int warpSize;  ///< a source that names it is refused
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
  int concurrentKernels;
  int cooperativeLaunch;
  int managedMemory;
  int concurrentManagedAccess;
  int canMapHostMemory;
  int integrated;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  char gcnArchName[256];
};
using hipDeviceProp_tR0600 = hipDeviceProp_t;

namespace kgen_hip {

inline cudaStream_t stream_of_this_thread() { return cudaStreamPerThread; }
inline cudaStream_t legacy_stream() { return cudaStreamLegacy; }
/// CUDA takes kernels as addresses of any type; HIP's functions are called with the kernel or with a void pointer.
template <class F>
const void* address_of(F* kernel) {
  return reinterpret_cast<const void*>(kernel);
}

template <class T>
__global__ void fill(T* memory, T value, std::size_t count) {
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    memory[i] = value;
}
/// Fills by a kernel, because only CUDA's driver, which is not linked, has a memset of wider values.
template <class T>
cudaError_t fill_on(cudaStream_t stream, void* memory, T value, std::size_t count) {
  if (count == 0) return cudaSuccess;
  const std::size_t blocks = (count + 255) / 256;
  fill<<<static_cast<unsigned>(blocks < 4096 ? blocks : 4096), 256, 0, stream>>>(static_cast<T*>(memory), value, count);
  return cudaPeekAtLastError();
}

}  // namespace kgen_hip

// ---- Launches ----
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel_, grid_, block_, bytes_, stream_, ...) \
  kernel_<<<grid_, block_, bytes_, stream_>>>(__VA_ARGS__)
template <class F>
hipError_t hipLaunchKernel(F* kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_lds = 0,
                           hipStream_t stream = nullptr) {
  return cudaLaunchKernel(kgen_hip::address_of(kernel), grid, block, arguments, dynamic_lds, stream);
}
template <class F>
hipError_t hipLaunchCooperativeKernel(F* kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_lds = 0,
                                      hipStream_t stream = nullptr) {
  return cudaLaunchCooperativeKernel(kgen_hip::address_of(kernel), grid, block, arguments, dynamic_lds, stream);
}
inline hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return cudaLaunchHostFunc(stream, function, data);
}

// ---- Errors ----
inline hipError_t hipPeekAtLastError() { return cudaPeekAtLastError(); }
inline hipError_t hipGetLastError() { return cudaGetLastError(); }
inline const char* hipGetErrorName(hipError_t error) { return cudaGetErrorName(error); }
inline const char* hipGetErrorString(hipError_t error) { return cudaGetErrorString(error); }

// ---- Devices ----
inline hipError_t hipInit(unsigned) { return cudaFree(nullptr); }
inline hipError_t hipGetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
inline hipError_t hipGetDevice(int* device) { return cudaGetDevice(device); }
inline hipError_t hipSetDevice(int device) { return cudaSetDevice(device); }
inline hipError_t hipSetDeviceFlags(unsigned flags) { return cudaSetDeviceFlags(flags); }
inline hipError_t hipDeviceSynchronize() { return cudaDeviceSynchronize(); }
inline hipError_t hipDeviceReset() { return cudaDeviceReset(); }
inline hipError_t hipRuntimeGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
inline hipError_t hipDriverGetVersion(int* version) { return cudaDriverGetVersion(version); }
inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int device) {
  return cudaDeviceGetAttribute(value, which, device);
}
inline hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return cudaDeviceGetStreamPriorityRange(least, greatest);
}
inline hipError_t hipDeviceSetCacheConfig(hipFuncCache_t preferred) { return cudaDeviceSetCacheConfig(preferred); }
inline hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) { return cudaMemGetInfo(free, total); }
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* facts, int device) {
  cudaDeviceProp known;
  const cudaError_t status = cudaGetDeviceProperties(&known, device);
  if (status != cudaSuccess) return status;
  const auto number = [&](cudaDeviceAttr which) {
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, which, device);
    return value;
  };
  *facts = {};
  std::memcpy(facts->name, known.name, sizeof facts->name);
  facts->totalGlobalMem = known.totalGlobalMem;
  facts->sharedMemPerBlock = known.sharedMemPerBlock;
  facts->sharedMemPerBlockOptin = known.sharedMemPerBlockOptin;
  facts->sharedMemPerMultiprocessor = known.sharedMemPerMultiprocessor;
  facts->maxSharedMemoryPerMultiProcessor = known.sharedMemPerMultiprocessor;
  facts->regsPerBlock = known.regsPerBlock;
  facts->regsPerMultiprocessor = known.regsPerMultiprocessor;
  facts->warpSize = known.warpSize;
  facts->maxThreadsPerBlock = known.maxThreadsPerBlock;
  std::memcpy(facts->maxThreadsDim, known.maxThreadsDim, sizeof facts->maxThreadsDim);
  std::memcpy(facts->maxGridSize, known.maxGridSize, sizeof facts->maxGridSize);
  facts->clockRate = number(cudaDevAttrClockRate);
  facts->memoryClockRate = number(cudaDevAttrMemoryClockRate);
  facts->memoryBusWidth = known.memoryBusWidth;
  facts->totalConstMem = known.totalConstMem;
  facts->major = known.major;
  facts->minor = known.minor;
  facts->multiProcessorCount = known.multiProcessorCount;
  facts->l2CacheSize = known.l2CacheSize;
  facts->maxThreadsPerMultiProcessor = known.maxThreadsPerMultiProcessor;
  facts->maxBlocksPerMultiProcessor = known.maxBlocksPerMultiProcessor;
  facts->concurrentKernels = known.concurrentKernels;
  facts->cooperativeLaunch = known.cooperativeLaunch;
  facts->managedMemory = known.managedMemory;
  facts->concurrentManagedAccess = known.concurrentManagedAccess;
  facts->canMapHostMemory = known.canMapHostMemory;
  facts->integrated = known.integrated;
  facts->pciBusID = known.pciBusID;
  facts->pciDeviceID = known.pciDeviceID;
  facts->pciDomainID = known.pciDomainID;
  std::snprintf(facts->gcnArchName, sizeof facts->gcnArchName, "sm_%d%d", known.major, known.minor);
  return cudaSuccess;
}

// ---- Memory ----
template <class T>
hipError_t hipMalloc(T** memory, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
template <class T>
hipError_t hipMallocAsync(T** memory, std::size_t bytes, hipStream_t stream = nullptr) {
  return cudaMallocAsync(reinterpret_cast<void**>(memory), bytes, stream);
}
template <class T>
hipError_t hipMallocManaged(T** memory, std::size_t bytes, unsigned flags = hipMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(memory), bytes, flags);
}
template <class T>
hipError_t hipHostMalloc(T** memory, std::size_t bytes, unsigned flags = hipHostMallocDefault) {
  return cudaHostAlloc(reinterpret_cast<void**>(memory), bytes, flags);
}
/// The flags choose how AMD's caches treat the memory; NVIDIA's keep it coherent in any case.
template <class T>
hipError_t hipExtMallocWithFlags(T** memory, std::size_t bytes, unsigned) {
  return hipMalloc(memory, bytes);
}
template <class T>
hipError_t hipMallocPitch(T** memory, std::size_t* pitch, std::size_t width, std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(memory), pitch, width, height);
}
template <class T>
hipError_t hipHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}
inline hipError_t hipHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return cudaHostRegister(memory, bytes, flags);
}
inline hipError_t hipHostUnregister(void* memory) { return cudaHostUnregister(memory); }
inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t* facts, const void* memory) {
  return cudaPointerGetAttributes(facts, memory);
}
inline hipError_t hipFree(void* memory) { return cudaFree(memory); }
inline hipError_t hipFreeAsync(void* memory, hipStream_t stream) { return cudaFreeAsync(memory, stream); }
inline hipError_t hipHostFree(void* memory) { return cudaFreeHost(memory); }
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, kind, stream);
}
inline hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream) {
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, stream);
  return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}
inline hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
inline hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes, hipStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
inline hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, hipMemcpyKind kind) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
inline hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                   std::size_t width, std::size_t height, hipMemcpyKind kind,
                                   hipStream_t stream = nullptr) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
}
inline hipError_t hipMemset(void* memory, int value, std::size_t bytes) { return cudaMemset(memory, value, bytes); }
inline hipError_t hipMemsetAsync(void* memory, int value, std::size_t bytes, hipStream_t stream = nullptr) {
  return cudaMemsetAsync(memory, value, bytes, stream);
}
inline hipError_t hipMemset2D(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return cudaMemset2D(memory, pitch, value, width, height);
}
inline hipError_t hipMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                   hipStream_t stream = nullptr) {
  return cudaMemset2DAsync(memory, pitch, value, width, height, stream);
}
inline hipError_t hipMemsetD8Async(void* memory, unsigned char value, std::size_t count, hipStream_t stream = nullptr) {
  return cudaMemsetAsync(memory, value, count, stream);
}
inline hipError_t hipMemsetD8(void* memory, unsigned char value, std::size_t count) {
  return cudaMemset(memory, value, count);
}
// Templates, because a kernel that a source does not use must not be compiled with it.
template <class Value>
hipError_t hipMemsetD16Async(void* memory, Value value, std::size_t count, hipStream_t stream = nullptr) {
  return kgen_hip::fill_on(stream, memory, static_cast<unsigned short>(value), count);
}
template <class Value>
hipError_t hipMemsetD16(void* memory, Value value, std::size_t count) {
  return hipMemsetD16Async(memory, value, count);
}
template <class Value>
hipError_t hipMemsetD32Async(void* memory, Value value, std::size_t count, hipStream_t stream = nullptr) {
  return kgen_hip::fill_on(stream, memory, static_cast<int>(value), count);
}
template <class Value>
hipError_t hipMemsetD32(void* memory, Value value, std::size_t count) {
  return hipMemsetD32Async(memory, value, count);
}

#define HIP_SYMBOL(x) x
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream = nullptr) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, stream);
}
template <class T>
hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class T>
hipError_t hipMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset,
                                    hipMemcpyKind kind, hipStream_t stream = nullptr) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, stream);
}
template <class T>
hipError_t hipGetSymbolAddress(void** address, const T& symbol) {
  return cudaGetSymbolAddress(address, symbol);
}
template <class T>
hipError_t hipGetSymbolSize(std::size_t* bytes, const T& symbol) {
  return cudaGetSymbolSize(bytes, symbol);
}

// ---- Streams and events ----
inline hipError_t hipStreamCreate(hipStream_t* stream) { return cudaStreamCreate(stream); }
inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithFlags(stream, flags);
}
inline hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return cudaStreamCreateWithPriority(stream, flags, priority);
}
inline hipError_t hipStreamDestroy(hipStream_t stream) { return cudaStreamDestroy(stream); }
inline hipError_t hipStreamSynchronize(hipStream_t stream) { return cudaStreamSynchronize(stream); }
inline hipError_t hipStreamQuery(hipStream_t stream) { return cudaStreamQuery(stream); }
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0) {
  return cudaStreamWaitEvent(stream, event, flags);
}
inline hipError_t hipEventCreate(hipEvent_t* event) { return cudaEventCreate(event); }
inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
inline hipError_t hipEventDestroy(hipEvent_t event) { return cudaEventDestroy(event); }
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr) {
  return cudaEventRecord(event, stream);
}
inline hipError_t hipEventSynchronize(hipEvent_t event) { return cudaEventSynchronize(event); }
inline hipError_t hipEventQuery(hipEvent_t event) { return cudaEventQuery(event); }
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  return cudaEventElapsedTime(milliseconds, begin, end);
}

// ---- Graphs ----
inline hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return cudaStreamBeginCapture(stream, mode);
}
inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return cudaStreamEndCapture(stream, graph);
}
inline hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return cudaStreamIsCapturing(stream, status);
}
inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return cudaThreadExchangeStreamCaptureMode(mode);
}
inline hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) { return cudaGraphCreate(graph, flags); }
inline hipError_t hipGraphDestroy(hipGraph_t graph) { return cudaGraphDestroy(graph); }
inline hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
/// The node and the text of a failure stay empty: CUDA 12 has dropped them from this function.
inline hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* node, char* text,
                                      std::size_t text_bytes) {
  if (node != nullptr) *node = nullptr;
  if (text != nullptr && text_bytes != 0) text[0] = '\0';
  return cudaGraphInstantiateWithFlags(executable, graph, 0);
}
inline hipError_t hipGraphUpload(hipGraphExec_t executable, hipStream_t stream) {
  return cudaGraphUpload(executable, stream);
}
inline hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return cudaGraphLaunch(executable, stream);
}
inline hipError_t hipGraphExecDestroy(hipGraphExec_t executable) { return cudaGraphExecDestroy(executable); }
inline hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  return cudaGraphGetNodes(graph, nodes, count);
}
inline hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                        std::size_t count, const hipKernelNodeParams* parameters) {
  return cudaGraphAddKernelNode(node, graph, before, count, parameters);
}
inline hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                                  const hipKernelNodeParams* parameters) {
  return cudaGraphExecKernelNodeSetParams(executable, node, parameters);
}
inline hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                        std::size_t count, const hipMemsetParams* parameters) {
  return cudaGraphAddMemsetNode(node, graph, before, count, parameters);
}
inline hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                          std::size_t count, void* to, const void* from, std::size_t bytes,
                                          hipMemcpyKind kind) {
  return cudaGraphAddMemcpyNode1D(node, graph, before, count, to, from, bytes, kind);
}
inline hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                       std::size_t count) {
  return cudaGraphAddEmptyNode(node, graph, before, count);
}

// ---- Kernels ----
template <class F>
hipError_t hipFuncSetAttribute(F* kernel, hipFuncAttribute which, int value) {
  return cudaFuncSetAttribute(kgen_hip::address_of(kernel), which, value);
}
template <class F>
hipError_t hipFuncSetCacheConfig(F* kernel, hipFuncCache_t preferred) {
  return cudaFuncSetCacheConfig(kgen_hip::address_of(kernel), preferred);
}
template <class F>
hipError_t hipFuncGetAttributes(hipFuncAttributes* facts, F* kernel) {
  return cudaFuncGetAttributes(facts, kgen_hip::address_of(kernel));
}
template <class F>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F* kernel, int threads, std::size_t dynamic_lds) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kgen_hip::address_of(kernel), threads, dynamic_lds);
}
template <class F>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F* kernel, int threads,
                                                                 std::size_t dynamic_lds, unsigned flags) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kgen_hip::address_of(kernel), threads,
                                                                dynamic_lds, flags);
}
template <class F>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, F* kernel, std::size_t dynamic_lds = 0,
                                             int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kgen_hip::address_of(kernel), dynamic_lds, limit);
}
