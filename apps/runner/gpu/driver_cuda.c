#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda_attributes.h"
#include "driver.h"
#include "symbols.h"

/* The functions for facts, which nothing else calls. */
static struct {
  int (*version)(int*);
  int (*name)(char*, int, int);
  int (*uuid)(struct cu_uuid*, int);
  int (*attribute)(int*, int, int);
  int (*total_memory)(size_t*, int);
} facts_of;

static int attribute(int device, int which) {
  int value = 0;
  return facts_of.attribute(&value, which, device) == CU_OK ? value : 0;
}

static void format_uuid(const struct cu_uuid* uuid, char text[48]) {
  const unsigned char* b = uuid->bytes;
  snprintf(text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
           b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void read_facts(const struct kgen_driver* driver, int device, struct kgen_gpu_facts* facts) {
  struct cu_uuid uuid;
  size_t bytes = 0;
  snprintf(facts->vendor, sizeof facts->vendor, "%s", driver->vendor);
  if (facts_of.name(facts->name, sizeof facts->name, device) != CU_OK) facts->name[0] = '\0';
  if (facts_of.uuid(&uuid, device) == CU_OK) format_uuid(&uuid, facts->uuid);
  snprintf(facts->architecture, sizeof facts->architecture, "sm_%d%d", attribute(device, CU_COMPUTE_MAJOR),
           attribute(device, CU_COMPUTE_MINOR));
  facts_of.version(&facts->driver_version);
  facts->multiprocessors = attribute(device, CU_MULTIPROCESSORS);
  facts->warp_threads = attribute(device, CU_WARP_SIZE);
  facts->threads_per_block = attribute(device, CU_MAX_THREADS_PER_BLOCK);
  facts->threads_per_multiprocessor = attribute(device, CU_THREADS_PER_MULTIPROCESSOR);
  facts->registers_per_block = attribute(device, CU_REGISTERS_PER_BLOCK);
  facts->registers_per_multiprocessor = attribute(device, CU_REGISTERS_PER_MULTIPROCESSOR);
  facts->clock_khz = attribute(device, CU_CLOCK_KHZ);
  facts->memory_clock_khz = attribute(device, CU_MEMORY_CLOCK_KHZ);
  facts->memory_bus_bits = attribute(device, CU_MEMORY_BUS_BITS);
  facts->cooperative_launch = attribute(device, CU_COOPERATIVE_LAUNCH);
  facts->integrated = attribute(device, CU_INTEGRATED);
  facts->shared_bytes_per_block = (uint64_t)attribute(device, CU_SHARED_PER_BLOCK);
  facts->shared_bytes_per_block_optin = (uint64_t)attribute(device, CU_SHARED_PER_BLOCK_OPTIN);
  facts->shared_bytes_per_multiprocessor = (uint64_t)attribute(device, CU_SHARED_PER_MULTIPROCESSOR);
  facts->l2_bytes = (uint64_t)attribute(device, CU_L2_BYTES);
  if (facts_of.total_memory(&bytes, device) == CU_OK) facts->memory_bytes = bytes;
}

static int refuse(const char* symbol, char* error, size_t capacity) {
  snprintf(error, capacity, "the CUDA driver is too old: no %s", symbol);
  return -1;
}

static int resolve(void* library, struct kgen_driver* driver, char* error, size_t capacity) {
#define KGEN_RESOLVE(member, symbol, parameters) \
  if (kgen_find_symbol(library, symbol, &driver->member) != 0) return refuse(symbol, error, capacity);
#define KGEN_TRY(member, symbol, parameters) kgen_find_symbol(library, symbol, &driver->member);
  KGEN_DRIVER_FUNCTIONS(KGEN_RESOLVE)
  KGEN_OPTIONAL_DRIVER_FUNCTIONS(KGEN_TRY)
#undef KGEN_RESOLVE
#undef KGEN_TRY
  if (kgen_find_symbol(library, "cuDriverGetVersion", &facts_of.version) != 0 ||
      kgen_find_symbol(library, "cuDeviceGetName", &facts_of.name) != 0 ||
      kgen_find_symbol(library, "cuDeviceGetUuid_v2", &facts_of.uuid) != 0 ||
      kgen_find_symbol(library, "cuDeviceGetAttribute", &facts_of.attribute) != 0 ||
      kgen_find_symbol(library, "cuDeviceTotalMem_v2", &facts_of.total_memory) != 0) {
    return refuse("cuDeviceGetUuid_v2", error, capacity);
  }
  driver->read_facts = read_facts;
  driver->sharing_remedy = "install a driver of CUDA 11.2 or newer, or run outside of WSL and of virtual GPUs";
  driver->unavailable_remedy = "; if it is in exclusive mode: sudo nvidia-smi -c DEFAULT";
  /* Only the tests' fake driver exports this symbol. */
  driver->vendor = dlsym(library, "kgen_fake_cuda") != NULL ? "fake" : "nvidia";
  return 0;
}

const struct kgen_driver* kgen_load_cuda(char* error, size_t capacity) {
  static struct kgen_driver driver;
  static int loaded;
  int (*initialize)(unsigned) = NULL;
  error[0] = '\0';
  if (loaded) return &driver;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return NULL;
  if (kgen_find_symbol(library, "cuInit", &initialize) != 0) {
    snprintf(error, capacity, "libcuda.so.1 is no CUDA driver: no cuInit");
    dlclose(library);
    return NULL;
  }
  if (resolve(library, &driver, error, capacity) != 0) {
    dlclose(library);
    return NULL;
  }
  const int status = initialize(0);
  if (status != CU_OK) {
    const char* text = NULL;
    driver.get_error_string(status, &text);
    snprintf(error, capacity, "the CUDA driver does not start: %s (%d)", text != NULL ? text : "unknown error", status);
    return NULL;
  }
  loaded = 1;
  return &driver;
}
