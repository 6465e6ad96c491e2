/**
 * \file
 * A GPU driver as a table of functions, with the signatures of CUDA's driver API, declared here so that building needs
 * no toolkit. Names and layouts are those of cuda.h; the ABI of each function (its _v2 suffix) is fixed by the driver
 * for good. HIP's runtime has nearly the same functions; driver_hip.c adapts the rest.
 */
#ifndef KERNELGEN_RUNNER_GPU_DRIVER_H
#define KERNELGEN_RUNNER_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "gpu.h"

typedef unsigned long long cu_address;
typedef unsigned long long cu_memory; /* CUmemGenericAllocationHandle */

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

/* CUipcMemHandle */
struct kgen_ipc_handle {
  char reserved[64];
};

struct cu_memory_access {
  struct cu_location location;
  int flags; /* CU_ACCESS_READ_WRITE */
};

enum {
  CU_OK = 0,
  CU_OUT_OF_MEMORY = 2,
  CU_DEVICE_UNAVAILABLE = 46,
  CU_NOT_SUPPORTED = 801,
  CU_IPC_LAZY_PEER_ACCESS = 1,
  CU_LOCATION_DEVICE = 1,
  CU_MEMORY_PINNED = 1,
  CU_HANDLE_FILE_DESCRIPTOR = 1,
  CU_ACCESS_READ_WRITE = 3,
  CU_HOST_PORTABLE_AND_MAPPED = 3,
  CU_CAPTURE_RELAXED = 2,
  CU_EVENT_RECORD_EXTERNAL = 1
};

/* X(member, CUDA's symbol, parameters). Streams, events, contexts and graphs are pointers. */
#define KGEN_DRIVER_FUNCTIONS(X)                                                           \
  X(get_error_string, "cuGetErrorString", (int, const char**))                             \
  X(device_get_count, "cuDeviceGetCount", (int*))                                          \
  X(device_get, "cuDeviceGet", (int*, int))                                                \
  X(context_retain, "cuDevicePrimaryCtxRetain", (void**, int))                             \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (int))                                \
  X(context_set_current, "cuCtxSetCurrent", (void*))                                       \
  X(context_synchronize, "cuCtxSynchronize", (void))                                       \
  X(memory_get_info, "cuMemGetInfo_v2", (size_t*, size_t*))                                \
  X(memory_allocate, "cuMemAlloc_v2", (cu_address*, size_t))                               \
  X(memory_free, "cuMemFree_v2", (cu_address))                                             \
  X(memory_copy, "cuMemcpyAsync", (cu_address, cu_address, size_t, void*))                 \
  X(memory_read, "cuMemcpyDtoH_v2", (void*, cu_address, size_t))                           \
  X(memory_set, "cuMemsetD8Async", (cu_address, unsigned char, size_t, void*))             \
  X(stream_create, "cuStreamCreate", (void**, unsigned))                                   \
  X(stream_destroy, "cuStreamDestroy_v2", (void*))                                         \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", (void*, int))                         \
  X(stream_end_capture, "cuStreamEndCapture", (void*, void**))                             \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (void**, void*, unsigned long long)) \
  X(graph_launch, "cuGraphLaunch", (void*, void*))                                         \
  X(graph_executable_destroy, "cuGraphExecDestroy", (void*))                               \
  X(graph_destroy, "cuGraphDestroy", (void*))                                              \
  X(event_create, "cuEventCreate", (void**, unsigned))                                     \
  X(event_destroy, "cuEventDestroy_v2", (void*))                                           \
  X(event_record, "cuEventRecord", (void*, void*))                                         \
  X(event_synchronize, "cuEventSynchronize", (void*))                                      \
  X(event_elapsed, "cuEventElapsedTime", (float*, void*, void*))

/* Functions that older drivers do not have, or that have no like in HIP: they may be NULL. Memory is shared as
 * descriptors of virtual memory, or by the older handles of memory that was allocated as usual. */
#define KGEN_OPTIONAL_DRIVER_FUNCTIONS(X)                                                                       \
  X(context_reset_persisting_l2, "cuCtxResetPersistingL2Cache", (void))                                         \
  X(context_record_event, "cuCtxRecordEvent", (void*, void*))                                                   \
  X(context_wait_event, "cuCtxWaitEvent", (void*, void*))                                                       \
  X(event_record_with_flags, "cuEventRecordWithFlags", (void*, void*, unsigned))                                \
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
  X(ipc_get_handle, "cuIpcGetMemHandle", (struct kgen_ipc_handle*, cu_address))                                 \
  X(ipc_open_handle, "cuIpcOpenMemHandle_v2", (cu_address*, struct kgen_ipc_handle, unsigned))                  \
  X(ipc_close_handle, "cuIpcCloseMemHandle", (cu_address))                                                      \
  X(host_allocate, "cuMemHostAlloc", (void**, size_t, unsigned))                                                \
  X(host_free, "cuMemFreeHost", (void*))

struct kgen_driver {
#define KGEN_DECLARE(member, symbol, parameters) int(*member) parameters;
  KGEN_DRIVER_FUNCTIONS(KGEN_DECLARE)
  KGEN_OPTIONAL_DRIVER_FUNCTIONS(KGEN_DECLARE)
#undef KGEN_DECLARE
  /* The vendor of its devices, as Platform::vendor has it. */
  const char* vendor;
  /* Fills in everything but the index. */
  void (*read_facts)(const struct kgen_driver* driver, int device, struct kgen_gpu_facts* facts);
  /* The size of a cache between L2 and the memory, which a flush has to empty as well; NULL: there is none. */
  uint64_t (*memory_cache_bytes)(int device);
  /* What an administrator can do about a device that is not available; may be "". */
  const char* unavailable_remedy;
  /* What helps where no way of sharing memory works. */
  const char* sharing_remedy;
};

/* Each loads and initializes a driver once, and resolves its functions, so that a candidate that is loaded later cannot
 * intercept them. NULL with a reason in error; "" as the reason where the driver is not installed. */
const struct kgen_driver* kgen_load_cuda(char* error, size_t capacity);
const struct kgen_driver* kgen_load_hip(char* error, size_t capacity);

/* A device of any vendor. */
struct kgen_gpu_place {
  const struct kgen_driver* driver;
  int device;
};

/* The device of that number, or of that UUID where `uuid` is not NULL. Returns 0, or -1 with a reason. */
int kgen_find_device(int index, const char* uuid, struct kgen_gpu_place* place, char* error, size_t capacity);

#endif
