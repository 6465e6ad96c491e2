/* HIP's runtime, from ROCm 5.2 on, behind the functions of CUDA's driver. Most have the same parameters under other
 * names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "hip_attributes.h"
#include "symbols.h"

/* hipDeviceProp_t differs between versions, and there is room for later ones. gcnArchName lies at these offsets: of the
 * struct of ROCm 5, and of the one of ROCm 6 and 7, which has a function of its own. */
enum { k_properties_bytes = 8192, k_architecture_in_5 = 396, k_architecture_in_6 = 1160, k_architecture_bytes = 256 };

/* Versions as hipDriverGetVersion has them: 60342131 is 6.3. From these on, virtual memory has CUDA's structs, and a
 * descriptor is given as itself and not by its address. */
enum { k_version_of_virtual_memory = 60000000, k_version_of_descriptor_itself = 70100000 };

static struct {
  int (*initialize)(unsigned);
  int (*version)(int*);
  const char* (*error_string)(int);
  int (*set_device)(int);
  int (*name)(char*, int, int);
  int (*uuid)(char[16], int);
  int (*attribute)(int*, int, int);
  int (*properties)(void*, int);
  int (*total_memory)(size_t*, int);
  int (*stream_create)(void**, unsigned);
  int (*graph_instantiate)(void**, void*, void*, char*, size_t);
  int (*memory_import)(cu_memory*, void*, int);
} hip;

static int hip_version;
/* Records must not take the times of a stand-in for those of a device. */
static int is_stand_in;
static const char k_stand_in[] = " (stand-in)";
static size_t architecture_offset;

static int attribute(int device, int which) {
  int value = 0;
  return hip.attribute(&value, which, device) == CU_OK && value > 0 ? value : 0;
}

static uint64_t size_attribute(int device, int which, uint64_t otherwise) {
  const int value = attribute(device, which);
  return value > 0 ? (uint64_t)value : otherwise;
}

/* "gfx90a" of "gfx90a:sramecc+:xnack-". */
static void read_architecture(int device, char* text, size_t capacity) {
  /* static: several kilobytes, and one thread at a time uses this. */
  static char properties[k_properties_bytes];
  memset(properties, 0, sizeof properties);
  text[0] = '\0';
  if (hip.properties(properties, device) != CU_OK) return;
  const char* name = properties + architecture_offset;
  const size_t length = strnlen(name, k_architecture_bytes);
  size_t end = 0;
  while (end < length && name[end] != ':') ++end;
  if (end >= capacity || strncmp(name, "gfx", 3) != 0) return;
  memcpy(text, name, end);
  text[end] = '\0';
}

/* A device that was made without a number of its own is known by its place on the bus. */
static void read_uuid(int device, char text[48]) {
  char bytes[17] = "";
  int is_number = hip.uuid != NULL && hip.uuid(bytes, device) == CU_OK;
  int is_zero = 1;
  for (int i = 0; i < 16; ++i) {
    const int is_digit = (bytes[i] >= '0' && bytes[i] <= '9') || (bytes[i] >= 'a' && bytes[i] <= 'f') ||
                         (bytes[i] >= 'A' && bytes[i] <= 'F');
    if (!is_digit) is_number = 0;
    if (bytes[i] != '0') is_zero = 0;
  }
  bytes[16] = '\0';
  if (is_number && !is_zero) {
    snprintf(text, 48, "GPU-%s", bytes);
  } else {
    snprintf(text, 48, "PCI-%04x:%02x:%02x", (unsigned)attribute(device, HIP_PCI_DOMAIN),
             (unsigned)attribute(device, HIP_PCI_BUS), (unsigned)attribute(device, HIP_PCI_DEVICE));
  }
}

/* The largest Infinity Cache of each family (AMD's data sheets); the driver's API does not tell it. */
static uint64_t memory_cache_bytes(int device) {
  static const struct {
    const char* family;
    unsigned megabytes;
  } k_families[] = {{"gfx94", 256}, {"gfx95", 256}, {"gfx103", 128}, {"gfx110", 96}, {"gfx115", 32}, {"gfx120", 64}};
  char architecture[16];
  read_architecture(device, architecture, sizeof architecture);
  for (size_t i = 0; i < sizeof k_families / sizeof *k_families; ++i) {
    if (strncmp(architecture, k_families[i].family, strlen(k_families[i].family)) == 0)
      return (uint64_t)k_families[i].megabytes << 20;
  }
  return 0;
}

static void read_facts(const struct kgen_driver* driver, int device, struct kgen_gpu_facts* facts) {
  size_t bytes = 0;
  snprintf(facts->vendor, sizeof facts->vendor, "%s", driver->vendor);
  if (hip.name(facts->name, sizeof facts->name - sizeof k_stand_in, device) != CU_OK) facts->name[0] = '\0';
  if (is_stand_in) strcat(facts->name, k_stand_in);
  read_uuid(device, facts->uuid);
  read_architecture(device, facts->architecture, sizeof facts->architecture);
  /* As CUDA counts: 6030 is 6.3. */
  facts->driver_version = hip_version / 10000000 * 1000 + hip_version / 100000 % 100 * 10;
  facts->multiprocessors = attribute(device, HIP_MULTIPROCESSORS);
  facts->warp_threads = attribute(device, HIP_WARP_SIZE);
  facts->threads_per_block = attribute(device, HIP_MAX_THREADS_PER_BLOCK);
  facts->threads_per_multiprocessor = attribute(device, HIP_THREADS_PER_MULTIPROCESSOR);
  facts->registers_per_block = attribute(device, HIP_REGISTERS_PER_BLOCK);
  facts->registers_per_multiprocessor = attribute(device, HIP_REGISTERS_PER_MULTIPROCESSOR);
  facts->clock_khz = attribute(device, HIP_CLOCK_KHZ);
  facts->memory_clock_khz = attribute(device, HIP_MEMORY_CLOCK_KHZ);
  facts->memory_bus_bits = attribute(device, HIP_MEMORY_BUS_BITS);
  facts->cooperative_launch = attribute(device, HIP_COOPERATIVE_LAUNCH);
  facts->integrated = attribute(device, HIP_INTEGRATED);
  facts->shared_bytes_per_block = size_attribute(device, HIP_SHARED_PER_BLOCK, 0);
  facts->shared_bytes_per_block_optin =
      size_attribute(device, HIP_SHARED_PER_BLOCK_OPTIN, facts->shared_bytes_per_block);
  facts->shared_bytes_per_multiprocessor =
      size_attribute(device, HIP_SHARED_PER_MULTIPROCESSOR, facts->shared_bytes_per_block);
  facts->l2_bytes = size_attribute(device, HIP_L2_BYTES, 0);
  if (hip.total_memory(&bytes, device) == CU_OK) facts->memory_bytes = bytes;
}

/* -- functions with other parameters than CUDA's ------------------------------------------------------------------ */

static int get_error_string(int error, const char** text) {
  *text = hip.error_string(error);
  return CU_OK;
}

/* A device of HIP has one context, which it makes at its first use. */
static int context_retain(void** context, int device) {
  *context = (void*)(uintptr_t)(device + 1);
  return CU_OK;
}

static int context_release(int device) {
  (void)device;
  return CU_OK;
}

static int context_set_current(void* context) { return hip.set_device((int)(uintptr_t)context - 1); }

static int stream_create(void** stream, unsigned flags) { return hip.stream_create(stream, flags); }

static int graph_instantiate(void** executable, void* graph, unsigned long long flags) {
  /* ROCm knows the flags from 6 on, and the other function always. */
  (void)flags;
  return hip.graph_instantiate(executable, graph, NULL, NULL, 0);
}

static int memory_import(cu_memory* memory, void* descriptor, int type) {
  int number = (int)(uintptr_t)descriptor;
  return hip.memory_import(memory, hip_version >= k_version_of_descriptor_itself ? descriptor : (void*)&number, type);
}

/* -- loading ------------------------------------------------------------------------------------------------------- */

static int refuse(const char* symbol, char* error, size_t capacity) {
  snprintf(error, capacity, "ROCm is too old: its HIP has no %s; 5.2 or newer is needed", symbol);
  return -1;
}

/* The functions with the parameters of CUDA's. */
static int resolve_alike(void* library, struct kgen_driver* driver, char* error, size_t capacity) {
#define KGEN_TAKE(member, symbol) \
  if (kgen_find_symbol(library, symbol, &driver->member) != 0) return refuse(symbol, error, capacity);
  KGEN_TAKE(device_get_count, "hipGetDeviceCount")
  KGEN_TAKE(device_get, "hipDeviceGet")
  KGEN_TAKE(context_synchronize, "hipDeviceSynchronize")
  KGEN_TAKE(memory_get_info, "hipMemGetInfo")
  KGEN_TAKE(memory_allocate, "hipMalloc")
  KGEN_TAKE(memory_free, "hipFree")
  KGEN_TAKE(memory_copy, "hipMemcpyDtoDAsync")
  KGEN_TAKE(memory_read, "hipMemcpyDtoH")
  KGEN_TAKE(memory_set, "hipMemsetD8Async")
  KGEN_TAKE(stream_destroy, "hipStreamDestroy")
  KGEN_TAKE(stream_begin_capture, "hipStreamBeginCapture")
  KGEN_TAKE(stream_end_capture, "hipStreamEndCapture")
  KGEN_TAKE(graph_launch, "hipGraphLaunch")
  KGEN_TAKE(graph_executable_destroy, "hipGraphExecDestroy")
  KGEN_TAKE(graph_destroy, "hipGraphDestroy")
  KGEN_TAKE(event_create, "hipEventCreateWithFlags")
  KGEN_TAKE(event_destroy, "hipEventDestroy")
  KGEN_TAKE(event_record, "hipEventRecord")
  KGEN_TAKE(event_synchronize, "hipEventSynchronize")
  KGEN_TAKE(event_elapsed, "hipEventElapsedTime")
#undef KGEN_TAKE
  kgen_find_symbol(library, "hipEventRecordWithFlags", &driver->event_record_with_flags);
  kgen_find_symbol(library, "hipIpcGetMemHandle", &driver->ipc_get_handle);
  kgen_find_symbol(library, "hipIpcOpenMemHandle", &driver->ipc_open_handle);
  kgen_find_symbol(library, "hipIpcCloseMemHandle", &driver->ipc_close_handle);
  kgen_find_symbol(library, "hipHostMalloc", &driver->host_allocate);
  kgen_find_symbol(library, "hipHostFree", &driver->host_free);
  return 0;
}

static int resolve_own(void* library, char* error, size_t capacity) {
#define KGEN_TAKE(member, symbol) \
  if (kgen_find_symbol(library, symbol, &hip.member) != 0) return refuse(symbol, error, capacity);
  KGEN_TAKE(initialize, "hipInit")
  KGEN_TAKE(version, "hipDriverGetVersion")
  KGEN_TAKE(error_string, "hipGetErrorString")
  KGEN_TAKE(set_device, "hipSetDevice")
  KGEN_TAKE(name, "hipDeviceGetName")
  KGEN_TAKE(attribute, "hipDeviceGetAttribute")
  KGEN_TAKE(total_memory, "hipDeviceTotalMem")
  KGEN_TAKE(stream_create, "hipStreamCreateWithFlags")
  KGEN_TAKE(graph_instantiate, "hipGraphInstantiate")
#undef KGEN_TAKE
  kgen_find_symbol(library, "hipDeviceGetUuid", &hip.uuid);
  architecture_offset = k_architecture_in_6;
  if (kgen_find_symbol(library, "hipGetDevicePropertiesR0600", &hip.properties) == 0) return 0;
  architecture_offset = k_architecture_in_5;
  if (kgen_find_symbol(library, "hipGetDeviceProperties", &hip.properties) == 0) return 0;
  return refuse("hipGetDeviceProperties", error, capacity);
}

/* Virtual memory, where it has CUDA's structs. */
static void resolve_virtual_memory(void* library, struct kgen_driver* driver) {
  if (hip_version < k_version_of_virtual_memory) return;
  if (kgen_find_symbol(library, "hipMemGetAllocationGranularity", &driver->granularity) != 0 ||
      kgen_find_symbol(library, "hipMemRelease", &driver->memory_release) != 0 ||
      kgen_find_symbol(library, "hipMemExportToShareableHandle", &driver->memory_export) != 0 ||
      kgen_find_symbol(library, "hipMemImportFromShareableHandle", &hip.memory_import) != 0 ||
      kgen_find_symbol(library, "hipMemAddressReserve", &driver->address_reserve) != 0 ||
      kgen_find_symbol(library, "hipMemAddressFree", &driver->address_free) != 0 ||
      kgen_find_symbol(library, "hipMemMap", &driver->memory_map) != 0 ||
      kgen_find_symbol(library, "hipMemUnmap", &driver->memory_unmap) != 0 ||
      kgen_find_symbol(library, "hipMemSetAccess", &driver->memory_set_access) != 0) {
    return;
  }
  driver->memory_import = memory_import;
  kgen_find_symbol(library, "hipMemCreate", &driver->memory_create);
}

/* Finds a copy of the library that is loaded already, such as torch's own: a second one would have a state of its own.
 */
static int find_loaded(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libamdhip64") == NULL) return 0;
  snprintf(path, 4096, "%s", info->dlpi_name);
  return 1;
}

static void* open_library(void) {
  static const char* const k_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                                        "/opt/rocm/lib/libamdhip64.so"};
  char loaded[4096] = "";
  /* The chosen device is then the only one, and has the number 0: another choice among several would miss it. */
  const char* chosen = getenv("ROCR_VISIBLE_DEVICES");
  if (chosen != NULL && strncmp(chosen, "GPU-", 4) == 0 && strchr(chosen, ',') == NULL) {
    unsetenv("HIP_VISIBLE_DEVICES");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("GPU_DEVICE_ORDINAL");
  }
  /* A stand-in for the driver needs no device node; neither does one that talks to an emulator of devices. */
  const char* named = getenv("KGEN_HIP_LIBRARY");
  const int is_named = named != NULL && named[0] != '\0';
  const int is_emulated = getenv("ROCJITSU_RUNTIME_DIR") != NULL;
  is_stand_in = is_named || is_emulated;
  if (is_named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  /* The library takes a compiler with it. Without a device that would be a tenth of a second for nothing. */
  if (!is_emulated && access("/dev/kfd", F_OK) != 0) return NULL;
  if (dl_iterate_phdr(find_loaded, loaded) != 0) return dlopen(loaded, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; i < sizeof k_names / sizeof *k_names; ++i) {
    void* library = dlopen(k_names[i], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return library;
  }
  return NULL;
}

const struct kgen_driver* kgen_load_hip(char* error, size_t capacity) {
  static struct kgen_driver driver = {
      .vendor = "amd",
      .unavailable_remedy = "",
      .sharing_remedy = "install ROCm 7.1 or newer, which shares virtual memory as file descriptors"};
  static int loaded;
  error[0] = '\0';
  if (loaded) return &driver;
  void* library = open_library();
  if (library == NULL) {
    if (access("/dev/kfd", F_OK) == 0)
      snprintf(error, capacity,
               "there is a device node of AMD's driver (/dev/kfd), and no libamdhip64.so: install ROCm");
    return NULL;
  }
  if (resolve_own(library, error, capacity) != 0 || resolve_alike(library, &driver, error, capacity) != 0) return NULL;
  driver.get_error_string = get_error_string;
  driver.context_retain = context_retain;
  driver.context_release = context_release;
  driver.context_set_current = context_set_current;
  driver.stream_create = stream_create;
  driver.graph_instantiate = graph_instantiate;
  driver.read_facts = read_facts;
  driver.memory_cache_bytes = memory_cache_bytes;
  const int status = hip.initialize(0);
  if (status != CU_OK) {
    const int is_closed = access("/dev/kfd", F_OK) == 0 && access("/dev/kfd", R_OK | W_OK) != 0;
    snprintf(error, capacity, "ROCm does not start: %s (%d)%s", hip.error_string(status), status,
             !is_closed ? "" : "; /dev/kfd is not open to this user: sudo usermod -aG render,video $USER");
    return NULL;
  }
  hip.version(&hip_version);
  resolve_virtual_memory(library, &driver);
  loaded = 1;
  return &driver;
}
