/* A libamdhip64 for machines without an AMD GPU, for apps/runner/gpu/driver_hip.c: device memory is host memory, and
 * work is done when it is queued. Memory of hipMalloc can be opened by other processes.
 *
 * FAKE_HIP is its version. 5 is ROCm 5.2: an older struct of properties, and no virtual memory. 6 is ROCm 6.3 with a
 * device that has no virtual memory. 7 is ROCm 7.1, where virtual memory is shared as file descriptors.
 *
 *   KGEN_FAKE_HIP_STARTS   result of hipInit
 *   KGEN_FAKE_HIP_UUID     the 16 characters that the driver gives as the UUID
 *   KGEN_FAKE_HIP_ARCHITECTURE  the name of its architecture
 *   KGEN_FAKE_HIP_INTEGRATED  set: the device is a part of a processor
 *   KGEN_FAKE_HIP_REFUSES  what does not work of virtual memory: "export", "import", "map"; "contents": what is
 *                          imported is other memory; "answer": an import ends the process
 *   KGEN_FAKE_HIP_POOL     memory is in a pool that forked processes share, as in a device. Otherwise a handle is a
 * path in /proc, which means nothing to a process in another PID namespace. The library must be loaded before the fork
 * (LD_PRELOAD)
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

/* Begins with the number of bytes that are taken. */
static char* pool;
enum { k_pool_bytes = 1 << 30, k_page_bytes = 4096 };

__attribute__((constructor)) static void make_pool(void) {
  if (getenv("KGEN_FAKE_HIP_POOL") == NULL) return;
  pool = mmap(NULL, k_pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pool == MAP_FAILED) abort();
  *(size_t*)pool = k_page_bytes;
}

static int is_in_pool(const void* address) {
  return pool != NULL && (const char*)address >= pool && (const char*)address < pool + k_pool_bytes;
}

static int take_of_pool(void** address, size_t bytes) {
  bytes = (bytes + k_page_bytes - 1) / k_page_bytes * k_page_bytes;
  const size_t at = __atomic_fetch_add((size_t*)pool, bytes, __ATOMIC_RELAXED);
  if (at + bytes > k_pool_bytes) return k_out_of_memory;
  *address = pool + at;
  return 0;
}

API int hipHostMalloc(void** address, size_t bytes, unsigned flags) {
  (void)flags;
  *address = calloc(1, bytes);
  return *address == NULL ? k_out_of_memory : 0;
}

API int hipHostFree(void* address) {
  free(address);
  return 0;
}

API int hipMalloc(void** address, size_t bytes) {
  if (bytes > (UINT64_C(4) << 30)) return k_out_of_memory;
  if (pool != NULL) return take_of_pool(address, bytes);
  const int fd = memfd_create("fake-hip", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return k_out_of_memory;
  return map_file(address, fd, bytes);
}

API int hipFree(void* address) {
  if (is_in_pool(address)) return 0;
  const int block = block_of(address);
  if (block < 0) return k_invalid_value;
  munmap(address, blocks[block].bytes);
  close(blocks[block].fd);
  blocks[block].address = NULL;
  return 0;
}

API int hipIpcGetMemHandle(struct handle* handle, void* address) {
  const int block = block_of(address);
  memset(handle, 0, sizeof *handle);
  if (is_in_pool(address)) {
    snprintf(handle->reserved, sizeof handle->reserved, "%zu", (size_t)((char*)address - pool));
    return 0;
  }
  if (block < 0) return k_invalid_value;
  snprintf(handle->reserved, sizeof handle->reserved, "/proc/%d/fd/%d", (int)getpid(), blocks[block].fd);
  return 0;
}

API int hipIpcOpenMemHandle(void** address, struct handle handle, unsigned flags) {
  struct stat file;
  if (pool != NULL) return *address = pool + strtoull(handle.reserved, NULL, 10), 0;
  const int fd = open(handle.reserved, O_RDWR | O_CLOEXEC);
  if (flags != 1 || fd < 0 || fstat(fd, &file) != 0) return k_invalid_value;
  return map_file(address, fd, (size_t)file.st_size);
}

API int hipIpcCloseMemHandle(void* address) { return hipFree(address); }

/* -- virtual memory: of a device that has it, memory is a file and its handle the descriptor plus one ----------------
 */

#if FAKE_HIP == 7
static int refuses(const char* what) {
  const char* told = getenv("KGEN_FAKE_HIP_REFUSES");
  return told != NULL && strstr(told, what) != NULL;
}

static int number_of(const void* memory) { return (int)(intptr_t)memory - 1; }

API int hipMemGetAllocationGranularity(size_t* unit, const void* properties, int option) {
  (void)properties, (void)option;
  return *unit = 2 << 20, 0;
}
API int hipMemCreate(void** memory, size_t bytes, const void* properties, unsigned long long flags) {
  (void)properties;
  if (flags != 0 || bytes % (2 << 20) != 0) return k_invalid_value;
  if (bytes > (UINT64_C(4) << 30)) return k_out_of_memory;
  const int fd = memfd_create("fake-hip", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return k_out_of_memory;
  *memory = (void*)(intptr_t)(fd + 1);
  return 0;
}
API int hipMemRelease(void* memory) { return close(number_of(memory)) == 0 ? 0 : k_invalid_value; }
API int hipMemExportToShareableHandle(void* handle, void* memory, int type, unsigned long long flags) {
  const int fd = fcntl(number_of(memory), F_DUPFD_CLOEXEC, 0);
  memcpy(handle, &fd, sizeof fd);
  return refuses("export") || type != 1 || flags != 0 || fd < 0 ? k_invalid_value : 0;
}
/* From 7.1 on, the handle is the descriptor itself and not its address. */
API int hipMemImportFromShareableHandle(void** memory, void* handle, int type) {
  struct stat file;
  const int given = (int)(intptr_t)handle;
  if (refuses("answer")) abort();
  if (refuses("import") || type != 1 || fstat(given, &file) != 0 || !S_ISREG(file.st_mode)) return k_invalid_value;
  int fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (refuses("contents")) {
    close(fd);
    fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (ftruncate(fd, file.st_size) != 0) return k_out_of_memory;
  }
  *memory = (void*)(intptr_t)(fd + 1);
  return fd < 0 ? k_invalid_value : 0;
}
API int hipMemAddressReserve(void** address, size_t bytes, size_t alignment, void* wanted, unsigned long long flags) {
  (void)alignment, (void)wanted, (void)flags;
  *address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return *address == MAP_FAILED ? k_out_of_memory : 0;
}
API int hipMemAddressFree(void* address, size_t bytes) { return munmap(address, bytes) == 0 ? 0 : k_invalid_value; }
API int hipMemMap(void* address, size_t bytes, size_t offset, void* memory, unsigned long long flags) {
  if (refuses("map") || flags != 0) return k_invalid_value;
  void* place = mmap(address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, number_of(memory), (off_t)offset);
  return place == MAP_FAILED ? k_invalid_value : 0;
}
API int hipMemUnmap(void* address, size_t bytes) {
  void* place = mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return place == MAP_FAILED ? k_invalid_value : 0;
}
API int hipMemSetAccess(void* address, size_t bytes, const void* access, size_t count) {
  (void)access;
  return count == 1 && mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : k_invalid_value;
}
#elif FAKE_HIP == 6
/* The functions are there, and the device has no virtual memory. */
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

#if FAKE_HIP == 5
enum { k_version = 50221153, k_architecture_offset = 396, k_properties_bytes = 792 };
#define PROPERTIES hipGetDeviceProperties
#else
enum { k_version = FAKE_HIP == 6 ? 60342131 : 70125424, k_architecture_offset = 1160, k_properties_bytes = 1472 };
#define PROPERTIES hipGetDevicePropertiesR0600
/* The function of older programs is still there, with their struct. */
API int hipGetDeviceProperties(void* properties, int device) { return memset(properties, 'x', 792), device; }
#endif

API int PROPERTIES(char* properties, int device) {
  memset(properties, 0, k_properties_bytes);
  const char* told = getenv("KGEN_FAKE_HIP_ARCHITECTURE");
  snprintf(properties + k_architecture_offset, 256, "%s", told != NULL ? told : "gfx90a:sramecc+:xnack-");
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

/* The largest number of bytes that were filled at once. */
API size_t kgen_fake_hip_filled;

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
API int hipMemcpyDtoH(void* to, void* from, size_t bytes) { return memcpy(to, from, bytes), 0; }
API int hipMemsetD8Async(void* to, unsigned char byte, size_t bytes, void* stream) {
  (void)stream;
  if (bytes > kgen_fake_hip_filled) kgen_fake_hip_filled = bytes;
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
