/**
 * \file
 * The part of the CUDA driver API that gpu.h needs, declared here so that building needs no CUDA toolkit. Names and
 * layouts are those of cuda.h; the ABI of each function (its _v2 suffix) is fixed by the driver for good.
 */
#ifndef KERNELGEN_RUNNER_CUDA_DRIVER_H
#define KERNELGEN_RUNNER_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long cu_address;
typedef unsigned long long cu_memory; /* CUmemGenericAllocationHandle */

struct cu_uuid {
  unsigned char bytes[16];
};

struct cu_location {
  int type; /* CU_LOCATION_DEVICE */
  int id;
};

struct cu_memory_properties {
  int type;         /* CU_MEMORY_PINNED */
  int handle_types; /* CU_HANDLE_FILE_DESCRIPTOR */
  struct cu_location location;
  void* unused;
  unsigned char flags[8];
};

struct cu_memory_access {
  struct cu_location location;
  int flags; /* CU_ACCESS_READ_WRITE */
};

enum {
  CU_OK = 0,
  CU_OUT_OF_MEMORY = 2,
  CU_DEVICE_UNAVAILABLE = 46,
  CU_LOCATION_DEVICE = 1,
  CU_MEMORY_PINNED = 1,
  CU_HANDLE_FILE_DESCRIPTOR = 1,
  CU_ACCESS_READ_WRITE = 3,
  CU_CAPTURE_RELAXED = 2,
  CU_EVENT_RECORD_EXTERNAL = 1
};

/* CUdevice_attribute */
enum {
  CU_MAX_THREADS_PER_BLOCK = 1,
  CU_SHARED_PER_BLOCK = 8,
  CU_WARP_SIZE = 10,
  CU_REGISTERS_PER_BLOCK = 12,
  CU_CLOCK_KHZ = 13,
  CU_MULTIPROCESSORS = 16,
  CU_MEMORY_CLOCK_KHZ = 36,
  CU_MEMORY_BUS_BITS = 37,
  CU_L2_BYTES = 38,
  CU_THREADS_PER_MULTIPROCESSOR = 39,
  CU_COMPUTE_MAJOR = 75,
  CU_COMPUTE_MINOR = 76,
  CU_SHARED_PER_MULTIPROCESSOR = 81,
  CU_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_COOPERATIVE_LAUNCH = 95,
  CU_SHARED_PER_BLOCK_OPTIN = 97
};

/* X(member, symbol, parameters). Streams, events, contexts and graphs are pointers. */
#define KGEN_CUDA_FUNCTIONS(X)                                                                                  \
  X(get_error_string, "cuGetErrorString", (int, const char**))                                                  \
  X(driver_get_version, "cuDriverGetVersion", (int*))                                                           \
  X(device_get_count, "cuDeviceGetCount", (int*))                                                               \
  X(device_get, "cuDeviceGet", (int*, int))                                                                     \
  X(device_get_name, "cuDeviceGetName", (char*, int, int))                                                      \
  X(device_get_uuid, "cuDeviceGetUuid_v2", (struct cu_uuid*, int))                                              \
  X(device_get_attribute, "cuDeviceGetAttribute", (int*, int, int))                                             \
  X(device_total_memory, "cuDeviceTotalMem_v2", (size_t*, int))                                                 \
  X(context_retain, "cuDevicePrimaryCtxRetain", (void**, int))                                                  \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (int))                                                     \
  X(context_set_current, "cuCtxSetCurrent", (void*))                                                            \
  X(context_synchronize, "cuCtxSynchronize", (void))                                                            \
  X(context_reset_persisting_l2, "cuCtxResetPersistingL2Cache", (void))                                         \
  X(memory_get_info, "cuMemGetInfo_v2", (size_t*, size_t*))                                                     \
  X(memory_allocate, "cuMemAlloc_v2", (cu_address*, size_t))                                                    \
  X(memory_free, "cuMemFree_v2", (cu_address))                                                                  \
  X(memory_copy, "cuMemcpyAsync", (cu_address, cu_address, size_t, void*))                                      \
  X(memory_set, "cuMemsetD8Async", (cu_address, unsigned char, size_t, void*))                                  \
  X(granularity, "cuMemGetAllocationGranularity", (size_t*, const struct cu_memory_properties*, int))           \
  X(memory_create, "cuMemCreate", (cu_memory*, size_t, const struct cu_memory_properties*, unsigned long long)) \
  X(memory_release, "cuMemRelease", (cu_memory))                                                                \
  X(memory_export, "cuMemExportToShareableHandle", (void*, cu_memory, int, unsigned long long))                 \
  X(memory_import, "cuMemImportFromShareableHandle", (cu_memory*, void*, int))                                  \
  X(address_reserve, "cuMemAddressReserve", (cu_address*, size_t, size_t, cu_address, unsigned long long))      \
  X(address_free, "cuMemAddressFree", (cu_address, size_t))                                                     \
  X(memory_map, "cuMemMap", (cu_address, size_t, size_t, cu_memory, unsigned long long))                        \
  X(memory_unmap, "cuMemUnmap", (cu_address, size_t))                                                           \
  X(memory_set_access, "cuMemSetAccess", (cu_address, size_t, const struct cu_memory_access*, size_t))          \
  X(stream_create, "cuStreamCreate", (void**, unsigned))                                                        \
  X(stream_destroy, "cuStreamDestroy_v2", (void*))                                                              \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", (void*, int))                                              \
  X(stream_end_capture, "cuStreamEndCapture", (void*, void**))                                                  \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (void**, void*, unsigned long long))                      \
  X(graph_launch, "cuGraphLaunch", (void*, void*))                                                              \
  X(graph_executable_destroy, "cuGraphExecDestroy", (void*))                                                    \
  X(graph_destroy, "cuGraphDestroy", (void*))                                                                   \
  X(event_create, "cuEventCreate", (void**, unsigned))                                                          \
  X(event_destroy, "cuEventDestroy_v2", (void*))                                                                \
  X(event_record, "cuEventRecord", (void*, void*))                                                              \
  X(event_record_with_flags, "cuEventRecordWithFlags", (void*, void*, unsigned))                                \
  X(event_synchronize, "cuEventSynchronize", (void*))                                                           \
  X(event_elapsed, "cuEventElapsedTime", (float*, void*, void*))

struct kgen_cuda_driver {
#define KGEN_DECLARE(member, symbol, parameters) int(*member) parameters;
  KGEN_CUDA_FUNCTIONS(KGEN_DECLARE)
#undef KGEN_DECLARE
  int is_fake;
};

/* Loads and initializes the driver and resolves its functions, so that a candidate that is loaded later cannot
 * intercept them. \return NULL with a reason in error. */
const struct kgen_cuda_driver* kgen_cuda_driver_load(char* error, size_t capacity);

#endif
