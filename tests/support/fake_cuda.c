/* A libcuda.so.1 for machines without a GPU: device memory is host memory, work is done when it is queued, and the test
 * chooses the faults.
 *
 *   kgen_fake_cuda               its presence marks the driver as fake for gpu.h
 *   kgen_fake_cuda_fault(code)   breaks the device: every call that waits for it returns code
 *   kgen_fake_cuda_delay(ns)     makes the next wait for the device last at least this long: work beside the stream
 *
 * In the environment:
 *
 *   KGEN_FAKE_CUDA_NAME          name of the device
 *   KGEN_FAKE_CUDA_GPUS          names of several devices, "A GPU,Another,A GPU"; their UUIDs differ in the last byte
 *   KGEN_FAKE_CUDA_DRIVER        the newest CUDA that the driver supports, as in cuDriverGetVersion
 *   KGEN_FAKE_CUDA_STARTS        result of cuInit
 *   KGEN_FAKE_CUDA_CONTEXT       result of the first use of the device
 *   KGEN_FAKE_CUDA_HELD          bytes that another process holds
 *   KGEN_FAKE_CUDA_BUSY_US       microseconds that another process's kernel delays each wait for the device
 *
 * The last three may differ between devices: "0,0,46".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../apps/runner/gpu/cuda_attributes.h"
#include "../../apps/runner/gpu/driver.h"

#define API __attribute__((visibility("default")))

enum {
  k_out_of_memory = 2,
  k_invalid_value = 1,
  k_not_found = 500,
  k_not_supported = 801,
  k_capture_unsupported = 900,
  k_capture_invalid = 901,
  k_max_recorded = 256
};

static const size_t k_unit = 65536;

API const int kgen_fake_cuda = 1;

/* -- state -------------------------------------------------------------------------------------------------------- */

struct operation {
  void (*function)(void*);
  void* argument;
  void* to;
  const void* from;
  size_t bytes;
  int byte;
};

struct graph {
  size_t count;
  struct operation operations[k_max_recorded];
};

struct event {
  int64_t at_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fault;
static int64_t late_ns;
static uint64_t allocated;
static struct graph* capturing;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t told(const char* name, uint64_t otherwise) {
  const char* value = getenv(name);
  return value != NULL ? strtoull(value, NULL, 10) : otherwise;
}

static uint64_t memory_bytes(void) { return told("KGEN_FAKE_CUDA_MEMORY", UINT64_C(4) << 30); }

/* The value of one device in a list, 0 after its end; a single value counts for all devices. */
static uint64_t value_for_device(const char* name, int device) {
  const char* value = getenv(name);
  if (value == NULL) return 0;
  if (strchr(value, ',') == NULL) device = 0;
  for (; device > 0 && value != NULL; --device) {
    value = strchr(value, ',');
    if (value != NULL) ++value;
  }
  return value != NULL ? strtoull(value, NULL, 10) : 0;
}

/* The device of this process; no process uses two. */
static int used_device;

static uint64_t free_bytes(void) {
  const uint64_t taken = allocated + value_for_device("KGEN_FAKE_CUDA_HELD", used_device);
  return taken < memory_bytes() ? memory_bytes() - taken : 0;
}

API void kgen_fake_cuda_fault(int code) { fault = code; }
API void kgen_fake_cuda_delay(int64_t nanoseconds) { late_ns = nanoseconds; }

static void perform(const struct operation* operation) {
  if (operation->function != NULL) {
    operation->function(operation->argument);
  } else if (operation->from != NULL) {
    memmove(operation->to, operation->from, operation->bytes);
  } else {
    memset(operation->to, operation->byte, operation->bytes);
  }
}

static int submit(struct operation operation) {
  if (fault != 0) return fault;
  if (capturing == NULL) {
    perform(&operation);
    return 0;
  }
  if (capturing->count == k_max_recorded) return k_capture_invalid;
  capturing->operations[capturing->count++] = operation;
  return 0;
}

/* -- device ------------------------------------------------------------------------------------------------------- */

API int cuInit(unsigned flags) { return flags == 0 ? (int)told("KGEN_FAKE_CUDA_STARTS", 0) : k_invalid_value; }

API int cuGetErrorString(int error, const char** text) {
  switch (error) {
    case k_out_of_memory:
      *text = "out of memory";
      return 0;
    case 46:
      *text = "CUDA-capable device(s) is/are busy or unavailable";
      return 0;
    case 100:
      *text = "no CUDA-capable device is detected";
      return 0;
    case 700:
      *text = "an illegal memory access was encountered";
      return 0;
    default:
      *text = "a fake error";
      return 0;
  }
}

API int cuDriverGetVersion(int* version) { return *version = (int)told("KGEN_FAKE_CUDA_DRIVER", 13000), 0; }

/* The name of a device up to the next comma; NULL where there is no such device. */
static const char* name_of(int device, size_t* length) {
  const char* name = getenv("KGEN_FAKE_CUDA_GPUS");
  if (name == NULL) {
    const char* only = getenv("KGEN_FAKE_CUDA_NAME");
    name = only != NULL ? only : "Fake GPU";
    *length = strlen(name);
    return device == 0 ? name : NULL;
  }
  for (; device > 0 && name != NULL; --device) {
    name = strchr(name, ',');
    if (name != NULL) ++name;
  }
  if (device == 0 && name != NULL) *length = strcspn(name, ",");
  return device == 0 ? name : NULL;
}

static int is_there(int device) {
  size_t length;
  return name_of(device, &length) != NULL;
}

API int cuDeviceGetCount(int* count) {
  for (*count = 0; is_there(*count);) ++*count;
  return 0;
}
API int cuDeviceGet(int* device, int index) { return *device = index, is_there(index) ? 0 : k_invalid_value; }

API int cuDeviceGetName(char* name, int capacity, int device) {
  size_t length = 0;
  const char* chosen = name_of(device, &length);
  if (chosen == NULL || capacity <= 0) return k_invalid_value;
  if (length >= (size_t)capacity) length = (size_t)capacity - 1;
  memcpy(name, chosen, length);
  name[length] = '\0';
  return 0;
}

API int cuDeviceGetUuid_v2(struct cu_uuid* uuid, int device) {
  memset(uuid->bytes, 0xFA, sizeof uuid->bytes);
  uuid->bytes[sizeof uuid->bytes - 1] = (unsigned char)(0xFA + device);
  return is_there(device) ? 0 : k_invalid_value;
}

API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  static const int values[][2] = {{CU_MAX_THREADS_PER_BLOCK, 1024},
                                  {CU_SHARED_PER_BLOCK, 49152},
                                  {CU_WARP_SIZE, 32},
                                  {CU_REGISTERS_PER_BLOCK, 65536},
                                  {CU_CLOCK_KHZ, 1000000},
                                  {CU_MULTIPROCESSORS, 4},
                                  {CU_MEMORY_CLOCK_KHZ, 1000000},
                                  {CU_MEMORY_BUS_BITS, 128},
                                  {CU_L2_BYTES, 1 << 20},
                                  {CU_THREADS_PER_MULTIPROCESSOR, 2048},
                                  {CU_COMPUTE_MAJOR, 9},
                                  {CU_COMPUTE_MINOR, 0},
                                  {CU_SHARED_PER_MULTIPROCESSOR, 102400},
                                  {CU_REGISTERS_PER_MULTIPROCESSOR, 65536},
                                  {CU_COOPERATIVE_LAUNCH, 1},
                                  {CU_SHARED_PER_BLOCK_OPTIN, 101376}};
  *value = 0;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
    if (values[i][0] == attribute) *value = values[i][1];
  }
  return is_there(device) ? 0 : k_invalid_value;
}

API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return *bytes = memory_bytes(), is_there(device) ? 0 : k_invalid_value;
}

static int context;
API int cuDevicePrimaryCtxRetain(void** answer, int device) {
  if (!is_there(device)) return k_invalid_value;
  used_device = device;
  return *answer = &context, (int)value_for_device("KGEN_FAKE_CUDA_CONTEXT", device);
}
API int cuDevicePrimaryCtxRelease_v2(int device) { return is_there(device) ? 0 : k_invalid_value; }
API int cuCtxSetCurrent(void* given) { return given == &context ? 0 : k_invalid_value; }
API int cuCtxResetPersistingL2Cache(void) { return 0; }

API int cuCtxSynchronize(void) {
  const int64_t others_ns = (int64_t)value_for_device("KGEN_FAKE_CUDA_BUSY_US", used_device) * 1000;
  const int64_t until_ns = now_ns() + (late_ns > others_ns ? late_ns : others_ns);
  late_ns = 0;
  while (now_ns() < until_ns) {
  }
  return fault;
}

/* -- memory ------------------------------------------------------------------------------------------------------- */

API int cuMemGetInfo_v2(size_t* available, size_t* total) {
  *total = memory_bytes();
  *available = free_bytes();
  return 0;
}

/* The driver promises this alignment. */
enum { k_alignment = 256 };

struct block {
  size_t bytes;
  char pad[k_alignment - sizeof(size_t)];
};

API int cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  (void)flags;
  *address = calloc(1, bytes);
  return *address == NULL ? k_out_of_memory : 0;
}

API int cuMemFreeHost(void* address) {
  free(address);
  return 0;
}

API int cuMemAlloc_v2(cu_address* address, size_t bytes) {
  if (fault != 0) return fault;
  pthread_mutex_lock(&lock);
  struct block* block =
      bytes > free_bytes()
          ? NULL
          : aligned_alloc(k_alignment, sizeof *block + (bytes + k_alignment - 1) / k_alignment * k_alignment);
  if (block != NULL) {
    allocated += bytes;
    block->bytes = bytes;
  }
  pthread_mutex_unlock(&lock);
  *address = block == NULL ? 0 : (cu_address)(uintptr_t)(block + 1);
  return block == NULL ? k_out_of_memory : 0;
}

API int cuMemFree_v2(cu_address address) {
  if (address == 0) return 0;
  struct block* block = (struct block*)(uintptr_t)address - 1;
  pthread_mutex_lock(&lock);
  allocated -= block->bytes;
  pthread_mutex_unlock(&lock);
  free(block);
  return 0;
}

API int cuMemcpyAsync(cu_address to, cu_address from, size_t bytes, void* stream) {
  (void)stream;
  return submit((struct operation){.to = (void*)(uintptr_t)to, .from = (const void*)(uintptr_t)from, .bytes = bytes});
}

API int cuMemcpyDtoH_v2(void* to, cu_address from, size_t bytes) {
  if (fault == 0) memcpy(to, (const void*)(uintptr_t)from, bytes);
  return fault;
}

API int cuMemsetD8Async(cu_address to, unsigned char byte, size_t bytes, void* stream) {
  (void)stream;
  return submit((struct operation){.to = (void*)(uintptr_t)to, .byte = byte, .bytes = bytes});
}

/* Shareable memory is a memory file; its handle is the descriptor plus one, so that 0 means none. */
API int cuMemGetAllocationGranularity(size_t* unit, const struct cu_memory_properties* properties, int option) {
  (void)option;
  return *unit = k_unit, properties->handle_types == CU_HANDLE_FILE_DESCRIPTOR ? 0 : k_invalid_value;
}

API int cuMemCreate(cu_memory* memory, size_t bytes, const struct cu_memory_properties* properties,
                    unsigned long long flags) {
  (void)properties;
  if (flags != 0 || bytes % k_unit != 0) return k_invalid_value;
  if (bytes > free_bytes()) return k_out_of_memory;
  const int fd = memfd_create("fake-device-memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return k_out_of_memory;
  *memory = (cu_memory)fd + 1;
  return 0;
}

API int cuMemRelease(cu_memory memory) { return close((int)memory - 1) == 0 ? 0 : k_invalid_value; }

API int cuMemExportToShareableHandle(void* handle, cu_memory memory, int type, unsigned long long flags) {
  if (type != CU_HANDLE_FILE_DESCRIPTOR || flags != 0) return k_invalid_value;
  const int fd = fcntl((int)memory - 1, F_DUPFD_CLOEXEC, 0);
  memcpy(handle, &fd, sizeof fd);
  return fd < 0 ? k_invalid_value : 0;
}

API int cuMemImportFromShareableHandle(cu_memory* memory, void* handle, int type) {
  const int fd = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
  if (type != CU_HANDLE_FILE_DESCRIPTOR || fd < 0) return k_invalid_value;
  *memory = (cu_memory)fd + 1;
  return 0;
}

API int cuMemAddressReserve(cu_address* address, size_t bytes, size_t alignment, cu_address wanted,
                            unsigned long long flags) {
  (void)alignment;
  (void)wanted;
  (void)flags;
  void* place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = (cu_address)(uintptr_t)place;
  return place == MAP_FAILED ? k_out_of_memory : 0;
}

API int cuMemAddressFree(cu_address address, size_t bytes) {
  return munmap((void*)(uintptr_t)address, bytes) == 0 ? 0 : k_invalid_value;
}

static void count_mapped(int64_t bytes) {
  pthread_mutex_lock(&lock);
  allocated += (uint64_t)bytes;
  pthread_mutex_unlock(&lock);
}

API int cuMemMap(cu_address address, size_t bytes, size_t offset, cu_memory memory, unsigned long long flags) {
  (void)flags;
  void* place =
      mmap((void*)(uintptr_t)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)memory - 1, (off_t)offset);
  if (place == MAP_FAILED) return k_invalid_value;
  count_mapped((int64_t)bytes);
  return 0;
}

API int cuMemUnmap(cu_address address, size_t bytes) {
  void* place = mmap((void*)(uintptr_t)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (place == MAP_FAILED) return k_invalid_value;
  count_mapped(-(int64_t)bytes);
  return 0;
}

API int cuMemSetAccess(cu_address address, size_t bytes, const struct cu_memory_access* access, size_t count) {
  if (count != 1 || access->flags != CU_ACCESS_READ_WRITE) return k_invalid_value;
  return mprotect((void*)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : k_invalid_value;
}

/* -- streams, graphs, events -------------------------------------------------------------------------------------- */

API int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  return (*stream = malloc(1)) == NULL ? k_out_of_memory : 0;
}
API int cuStreamDestroy_v2(void* stream) { return free(stream), 0; }
API int cuStreamSynchronize(void* stream) { return (void)stream, fault; }

/* Replaces a kernel launch in candidates for this device. */
API int cuLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  (void)stream;
  return submit((struct operation){.function = function, .argument = argument});
}

API int cuStreamBeginCapture_v2(void* stream, int mode) {
  (void)stream;
  (void)mode;
  if (capturing != NULL) return k_capture_invalid;
  return (capturing = calloc(1, sizeof *capturing)) == NULL ? k_out_of_memory : 0;
}

API int cuStreamEndCapture(void* stream, void** graph) {
  (void)stream;
  *graph = capturing;
  capturing = NULL;
  return *graph == NULL ? k_capture_invalid : fault;
}

API int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  (void)flags;
  struct graph* copy = malloc(sizeof *copy);
  if (copy == NULL) return k_out_of_memory;
  memcpy(copy, graph, sizeof *copy);
  *executable = copy;
  return 0;
}

API int cuGraphLaunch(void* executable, void* stream) {
  (void)stream;
  const struct graph* graph = executable;
  for (size_t i = 0; i < graph->count && fault == 0; ++i) perform(&graph->operations[i]);
  return fault;
}

API int cuGraphExecDestroy(void* executable) { return free(executable), 0; }
API int cuGraphDestroy(void* graph) { return free(graph), 0; }

API int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  return (*event = calloc(1, sizeof(struct event))) == NULL ? k_out_of_memory : 0;
}
API int cuEventDestroy_v2(void* event) { return free(event), 0; }

static void stamp(void* event) { ((struct event*)event)->at_ns = now_ns(); }

API int cuEventRecord(void* event, void* stream) {
  (void)stream;
  stamp(event);
  return fault;
}

static int has_context_events(void) {
  enum { k_cuda_12_5 = 12050 };
  return told("KGEN_FAKE_CUDA_DRIVER", k_cuda_12_5) >= k_cuda_12_5;
}

API int cuCtxRecordEvent(void* of, void* event) {
  (void)of;
  if (!has_context_events()) return k_not_supported;
  stamp(event);
  ((struct event*)event)->at_ns += late_ns;
  return fault;
}

API int cuCtxWaitEvent(void* of, void* event) {
  (void)of, (void)event;
  return capturing != NULL ? k_capture_unsupported : fault;
}

API int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  (void)stream;
  return flags == CU_EVENT_RECORD_EXTERNAL ? submit((struct operation){.function = stamp, .argument = event})
                                           : k_invalid_value;
}

API int cuEventSynchronize(void* event) { return (void)event, fault; }

API int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = (float)((double)(((struct event*)end)->at_ns - ((struct event*)start)->at_ns) * 1e-6);
  return fault;
}
