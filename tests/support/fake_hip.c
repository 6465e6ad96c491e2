/* A libamdhip64 for machines without an AMD GPU, for apps/runner/gpu/driver_hip.c: device memory is host memory, and
 * work is done when it is queued. Memory of hipMalloc can be opened by other processes.
 *
 * With FAKE_HIP_5 it is ROCm 5.2's: an older struct of properties, and no virtual memory that can be shared.
 *
 *   KGEN_FAKE_HIP_STARTS   result of hipInit
 *   KGEN_FAKE_HIP_UUID     the 16 characters that the driver gives as the UUID
 *   KGEN_FAKE_HIP_INTEGRATED  set: the device is a part of a processor
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { k_invalid_value = 1, k_out_of_memory = 2, k_not_supported = 801, k_most_blocks = 64, k_most_recorded = 64 };

struct handle {
  char reserved[64];
};

/* -- memory that other processes can open ---------------------------------------------------------------------------
 */

static struct {
  void* address;
  size_t bytes;
  int fd;
} blocks[k_most_blocks];

static int map_file(void** address, int fd, size_t bytes) {
  for (int i = 0; i < k_most_blocks; ++i) {
    if (blocks[i].address != NULL) continue;
    void* place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (place == MAP_FAILED) return k_out_of_memory;
    blocks[i].address = *address = place;
    blocks[i].bytes = bytes;
    blocks[i].fd = fd;
    return 0;
  }
  return k_out_of_memory;
}

static int block_of(const void* address) {
  for (int i = 0; i < k_most_blocks; ++i) {
    if (blocks[i].address != NULL && blocks[i].address == address) return i;
  }
  return -1;
}

API int hipMalloc(void** address, size_t bytes) {
  if (bytes > (UINT64_C(4) << 30)) return k_out_of_memory;
  const int fd = memfd_create("fake-hip", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return k_out_of_memory;
  return map_file(address, fd, bytes);
}

API int hipFree(void* address) {
  const int block = block_of(address);
  if (block < 0) return k_invalid_value;
  munmap(address, blocks[block].bytes);
  close(blocks[block].fd);
  blocks[block].address = NULL;
  return 0;
}

API int hipIpcGetMemHandle(struct handle* handle, void* address) {
  const int block = block_of(address);
  if (block < 0) return k_invalid_value;
  memset(handle, 0, sizeof *handle);
  snprintf(handle->reserved, sizeof handle->reserved, "/proc/%d/fd/%d", (int)getpid(), blocks[block].fd);
  return 0;
}

API int hipIpcOpenMemHandle(void** address, struct handle handle, unsigned flags) {
  struct stat file;
  const int fd = open(handle.reserved, O_RDWR | O_CLOEXEC);
  if (flags != 1 || fd < 0 || fstat(fd, &file) != 0) return k_invalid_value;
  return map_file(address, fd, (size_t)file.st_size);
}

API int hipIpcCloseMemHandle(void* address) { return hipFree(address); }

#ifndef FAKE_HIP_5
/* It has the functions, and its device does not: as on devices without virtual memory management. */
API int hipMemGetAllocationGranularity(size_t* unit, const void* properties, int option) {
  (void)properties, (void)option;
  return *unit = 4096, 0;
}
API int hipMemCreate(void** memory, size_t bytes, const void* properties, unsigned long long flags) {
  (void)memory, (void)bytes, (void)properties, (void)flags;
  return k_not_supported;
}
API int hipMemRelease(void* memory) { return (void)memory, k_not_supported; }
API int hipMemExportToShareableHandle(void* handle, void* memory, int type, unsigned long long flags) {
  (void)handle, (void)memory, (void)type, (void)flags;
  return k_not_supported;
}
API int hipMemImportFromShareableHandle(void** memory, void* handle, int type) {
  (void)memory, (void)handle, (void)type;
  return k_not_supported;
}
API int hipMemAddressReserve(void** address, size_t bytes, size_t alignment, void* wanted, unsigned long long flags) {
  (void)address, (void)bytes, (void)alignment, (void)wanted, (void)flags;
  return k_not_supported;
}
API int hipMemAddressFree(void* address, size_t bytes) { return (void)address, (void)bytes, k_not_supported; }
API int hipMemMap(void* address, size_t bytes, size_t offset, void* memory, unsigned long long flags) {
  (void)address, (void)bytes, (void)offset, (void)memory, (void)flags;
  return k_not_supported;
}
API int hipMemUnmap(void* address, size_t bytes) { return (void)address, (void)bytes, k_not_supported; }
API int hipMemSetAccess(void* address, size_t bytes, const void* access, size_t count) {
  (void)address, (void)bytes, (void)access, (void)count;
  return k_not_supported;
}
#endif

/* -- device ------------------------------------------------------------------------------------------------------- */

API int hipInit(unsigned flags) {
  const char* result = getenv("KGEN_FAKE_HIP_STARTS");
  return flags != 0 ? k_invalid_value : result != NULL ? atoi(result) : 0;
}

API const char* hipGetErrorString(int error) {
  return error == k_out_of_memory ? "out of memory"
         : error == 100           ? "no ROCm-capable device is detected"
                                  : "a fake error";
}

#ifdef FAKE_HIP_5
enum { k_version = 50221153, k_architecture_offset = 396, k_properties_bytes = 792 };
#define PROPERTIES hipGetDeviceProperties
#else
enum { k_version = 60342131, k_architecture_offset = 1160, k_properties_bytes = 1472 };
#define PROPERTIES hipGetDevicePropertiesR0600
/* The function of older programs is still there, with their struct. */
API int hipGetDeviceProperties(void* properties, int device) { return memset(properties, 'x', 792), device; }
#endif

API int PROPERTIES(char* properties, int device) {
  memset(properties, 0, k_properties_bytes);
  strcpy(properties + k_architecture_offset, "gfx90a:sramecc+:xnack-");
  return device == 0 ? 0 : k_invalid_value;
}

API int hipDriverGetVersion(int* version) { return *version = k_version, 0; }
API int hipGetDeviceCount(int* count) { return *count = 1, 0; }
API int hipDeviceGet(int* device, int index) { return *device = index, index == 0 ? 0 : k_invalid_value; }
API int hipSetDevice(int device) { return device == 0 ? 0 : k_invalid_value; }
API int hipDeviceSynchronize(void) { return 0; }
API int hipMemGetInfo(size_t* available, size_t* total) { return *available = *total = (size_t)4 << 30, 0; }
API int hipDeviceTotalMem(size_t* bytes, int device) { return *bytes = (size_t)64 << 30, device; }

API int hipDeviceGetName(char* name, int capacity, int device) {
  snprintf(name, (size_t)capacity, "AMD Instinct MI210");
  return device;
}

API int hipDeviceGetUuid(char bytes[16], int device) {
  const char* text = getenv("KGEN_FAKE_HIP_UUID");
  memcpy(bytes, text != NULL ? text : "5d1ce9a3b2f40617", 16);
  return device;
}

API int hipDeviceGetAttribute(int* value, int attribute, int device) {
  static const int values[][2] = {{5, 1700000},  {10, 1},     {19, 8 << 20}, {56, 1024}, {57, 2048}, {59, 4096},
                                  {60, 1600000}, {63, 104},   {67, 0x83},    {68, 0},    {69, 0},    {71, 65536},
                                  {72, 131072},  {74, 65536}, {76, 65536},   {87, 64}};
  *value = attribute == 16 && getenv("KGEN_FAKE_HIP_INTEGRATED") != NULL;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
    if (values[i][0] == attribute) *value = values[i][1];
  }
  return device;
}

/* -- work --------------------------------------------------------------------------------------------------------- */

struct graph {
  size_t count;
  struct {
    void* to;
    const void* from;
    int byte;
    size_t bytes;
  } steps[k_most_recorded];
};

static struct graph* capturing;

static int submit(void* to, const void* from, int byte, size_t bytes) {
  if (capturing != NULL) {
    if (capturing->count == k_most_recorded) return k_invalid_value;
    capturing->steps[capturing->count].to = to;
    capturing->steps[capturing->count].from = from;
    capturing->steps[capturing->count].byte = byte;
    capturing->steps[capturing->count++].bytes = bytes;
  } else if (from != NULL) {
    memmove(to, from, bytes);
  } else {
    memset(to, byte, bytes);
  }
  return 0;
}

API int hipMemcpyDtoDAsync(void* to, void* from, size_t bytes, void* stream) {
  (void)stream;
  return submit(to, from, 0, bytes);
}
API int hipMemsetD8Async(void* to, unsigned char byte, size_t bytes, void* stream) {
  (void)stream;
  return submit(to, NULL, byte, bytes);
}
API int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  *stream = malloc(1);
  return flags != 0 || *stream == NULL ? k_invalid_value : 0;
}
API int hipStreamDestroy(void* stream) { return free(stream), 0; }
API int hipStreamBeginCapture(void* stream, int mode) {
  capturing = calloc(1, sizeof *capturing);
  return stream == NULL || mode != 2 || capturing == NULL ? k_invalid_value : 0;
}
API int hipStreamEndCapture(void* stream, void** graph) {
  (void)stream;
  *graph = capturing;
  capturing = NULL;
  return *graph != NULL ? 0 : k_invalid_value;
}
API int hipGraphInstantiate(void** executable, void* graph, void* node, char* log, size_t bytes) {
  if (node != NULL || log != NULL || bytes != 0) return k_invalid_value;
  *executable = malloc(sizeof(struct graph));
  if (*executable == NULL) return k_out_of_memory;
  memcpy(*executable, graph, sizeof(struct graph));
  return 0;
}
API int hipGraphLaunch(void* executable, void* stream) {
  const struct graph* graph = executable;
  (void)stream;
  for (size_t i = 0; i < graph->count; ++i)
    submit(graph->steps[i].to, graph->steps[i].from, graph->steps[i].byte, graph->steps[i].bytes);
  return 0;
}
API int hipGraphExecDestroy(void* executable) { return free(executable), 0; }
API int hipGraphDestroy(void* graph) { return free(graph), 0; }

API int hipEventCreateWithFlags(void** event, unsigned flags) {
  *event = calloc(1, sizeof(struct timespec));
  return flags != 0 || *event == NULL ? k_invalid_value : 0;
}
API int hipEventDestroy(void* event) { return free(event), 0; }
API int hipEventRecord(void* event, void* stream) {
  (void)stream;
  return clock_gettime(CLOCK_MONOTONIC, event);
}
API int hipEventSynchronize(void* event) { return event == NULL ? k_invalid_value : 0; }
API int hipEventElapsedTime(float* milliseconds, void* start, void* end) {
  const struct timespec* from = start;
  const struct timespec* to = end;
  *milliseconds = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 + (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
  return 0;
}
