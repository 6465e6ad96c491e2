#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu_parts.h"

static struct cu_memory_properties shareable(const struct kgen_gpu* gpu) {
  struct cu_memory_properties properties;
  memset(&properties, 0, sizeof properties);
  properties.type = CU_MEMORY_PINNED;
  properties.handle_types = CU_HANDLE_FILE_DESCRIPTOR;
  properties.location.type = CU_LOCATION_DEVICE;
  properties.location.id = gpu->device;
  return properties;
}

static int rounded(struct kgen_gpu* gpu, uint64_t bytes, size_t* answer) {
  const struct cu_memory_properties properties = shareable(gpu);
  size_t unit = 0;
  const int status = gpu->driver->granularity(&unit, &properties, 0);
  if (status != CU_OK) return kgen_gpu_checked(gpu, status, "asking how memory is shared");
  *answer = (size_t)((bytes + unit - 1) / unit * unit);
  if (*answer == 0) *answer = unit;
  return 0;
}

static struct kgen_gpu_shared* free_slot(struct kgen_gpu* gpu) {
  for (int i = 0; i < KGEN_GPU_MAX_SHARED; ++i) {
    if (gpu->shared[i].bytes == 0) return &gpu->shared[i];
  }
  return NULL;
}

static void keep(struct kgen_gpu_shared* slot, cu_address address, size_t bytes, enum kgen_gpu_sharing how) {
  slot->address = address;
  slot->bytes = bytes;
  slot->how = how;
}

/* A mapping keeps the memory alive, so the handle is released either way. */
static int map(struct kgen_gpu* gpu, cu_memory memory, size_t bytes, void** address) {
  const struct kgen_driver* driver = gpu->driver;
  const struct cu_memory_access access = {{CU_LOCATION_DEVICE, gpu->device}, CU_ACCESS_READ_WRITE};
  struct kgen_gpu_shared* slot = free_slot(gpu);
  cu_address place = 0;
  int status = slot == NULL ? CU_OUT_OF_MEMORY : driver->address_reserve(&place, bytes, 0, 0, 0);
  if (status == CU_OK) {
    status = driver->memory_map(place, bytes, 0, memory, 0);
    if (status == CU_OK) {
      status = driver->memory_set_access(place, bytes, &access, 1);
      if (status != CU_OK) driver->memory_unmap(place, bytes);
    }
    if (status != CU_OK) driver->address_free(place, bytes);
  }
  driver->memory_release(memory);
  if (status != CU_OK) return kgen_gpu_checked(gpu, status, "mapping shared memory");
  keep(slot, place, bytes, KGEN_GPU_MAPPED);
  *address = (void*)(uintptr_t)place;
  return 0;
}

/* -- by handles: for drivers that do not share virtual memory ------------------------------------------------------ */

/* What a descriptor of such memory holds. */
struct handle_file {
  char magic[8];
  struct kgen_ipc_handle handle;
};
static const char k_handle_magic[8] = "KGENIPC";
enum { k_block_bytes = 2 << 20 };

static int has_handles(const struct kgen_driver* driver) {
  return driver->ipc_get_handle != NULL && driver->ipc_open_handle != NULL && driver->ipc_close_handle != NULL;
}

static int write_handle(struct kgen_gpu* gpu, const struct kgen_ipc_handle* handle, int* fd) {
  struct handle_file file;
  memcpy(file.magic, k_handle_magic, sizeof file.magic);
  file.handle = *handle;
  *fd = memfd_create("kernelgen-handle", MFD_CLOEXEC);
  if (*fd >= 0 && write(*fd, &file, sizeof file) == (ssize_t)sizeof file) return 0;
  snprintf(gpu->error, sizeof gpu->error, "sharing memory: %s", strerror(errno));
  if (*fd >= 0) close(*fd);
  return 1;
}

static int allocate_with_handle(struct kgen_gpu* gpu, uint64_t bytes, void** address, int* fd) {
  struct kgen_gpu_shared* slot = free_slot(gpu);
  struct kgen_ipc_handle handle;
  cu_address place = 0;
  if (slot == NULL) return kgen_gpu_checked(gpu, CU_OUT_OF_MEMORY, "allocating shared memory");
  /* A handle opens the whole block behind an allocation: of this size it has a block of its own. */
  const uint64_t whole = (bytes + k_block_bytes - 1) / k_block_bytes * k_block_bytes;
  int status = kgen_gpu_checked(gpu, gpu->driver->memory_allocate(&place, whole), "allocating shared memory");
  if (status != 0) return status;
  status = kgen_gpu_checked(gpu, gpu->driver->ipc_get_handle(&handle, place), "sharing memory");
  if (status == 0) status = write_handle(gpu, &handle, fd);
  if (status != 0) {
    gpu->driver->memory_free(place);
    return status;
  }
  keep(slot, place, bytes, KGEN_GPU_ALLOCATED);
  *address = (void*)(uintptr_t)place;
  return 0;
}

/* Nothing is done, and -1 is the answer, for a descriptor that holds no handle. */
static int import_handle(struct kgen_gpu* gpu, int fd, uint64_t bytes, void** address) {
  struct handle_file file;
  cu_address place = 0;
  if (!has_handles(gpu->driver) || pread(fd, &file, sizeof file, 0) != (ssize_t)sizeof file ||
      memcmp(file.magic, k_handle_magic, sizeof file.magic) != 0) {
    return -1;
  }
  struct kgen_gpu_shared* slot = free_slot(gpu);
  if (slot == NULL) return kgen_gpu_checked(gpu, CU_OUT_OF_MEMORY, "mapping shared memory");
  const int status = gpu->driver->ipc_open_handle(&place, file.handle, CU_IPC_LAZY_PEER_ACCESS);
  if (status != CU_OK) return kgen_gpu_checked(gpu, status, "mapping shared memory");
  keep(slot, place, bytes, KGEN_GPU_OPENED);
  *address = (void*)(uintptr_t)place;
  return 0;
}

/* -- either way ---------------------------------------------------------------------------------------------------- */

static int allocate_virtual(struct kgen_gpu* gpu, uint64_t bytes, void** address, int* fd) {
  const struct cu_memory_properties properties = shareable(gpu);
  size_t size = 0;
  cu_memory memory = 0;
  int status = rounded(gpu, bytes, &size);
  if (status != 0) return status;
  status = gpu->driver->memory_create(&memory, size, &properties, 0);
  if (status != CU_OK) return kgen_gpu_checked(gpu, status, "allocating shared memory");
  status = gpu->driver->memory_export(fd, memory, CU_HANDLE_FILE_DESCRIPTOR, 0);
  if (status != CU_OK) {
    gpu->driver->memory_release(memory);
    return kgen_gpu_checked(gpu, status, "exporting shared memory");
  }
  status = map(gpu, memory, size, address);
  if (status != 0) close(*fd);
  return status;
}

int kgen_gpu_choose_sharing(struct kgen_gpu* gpu, const char* way) {
  static const char* const k_names[] = {"", "virtual_memory", "ipc_handle"};
  if (way == NULL) way = "";
  for (size_t i = 0; i < sizeof k_names / sizeof *k_names; ++i) {
    if (strcmp(way, k_names[i]) != 0) continue;
    gpu->way = (enum kgen_gpu_way)i;
    return 0;
  }
  snprintf(gpu->error, sizeof gpu->error, "memory is not shared by '%s'", way);
  return 1;
}

int kgen_gpu_allocate_shared(struct kgen_gpu* gpu, uint64_t bytes, void** address, int* fd) {
  const int may_map = gpu->way != KGEN_GPU_IPC_HANDLE && gpu->driver->memory_create != NULL;
  const int may_open = gpu->way != KGEN_GPU_VIRTUAL_MEMORY && has_handles(gpu->driver);
  int status = CU_NOT_SUPPORTED;
  if (may_map) status = allocate_virtual(gpu, bytes, address, fd);
  if (status == CU_NOT_SUPPORTED && may_open) return allocate_with_handle(gpu, bytes, address, fd);
  return may_map ? status : kgen_gpu_checked(gpu, status, "sharing memory");
}

int kgen_gpu_import_shared(struct kgen_gpu* gpu, int fd, uint64_t bytes, void** address) {
  size_t size = 0;
  cu_memory memory = 0;
  int status = import_handle(gpu, fd, bytes, address);
  if (status >= 0) return status;
  if (gpu->driver->memory_import == NULL) return kgen_gpu_checked(gpu, CU_NOT_SUPPORTED, "importing shared memory");
  status = rounded(gpu, bytes, &size);
  if (status != 0) return status;
  status = gpu->driver->memory_import(&memory, (void*)(uintptr_t)fd, CU_HANDLE_FILE_DESCRIPTOR);
  if (status != CU_OK) return kgen_gpu_checked(gpu, status, "importing shared memory");
  return map(gpu, memory, size, address);
}

static int release(const struct kgen_driver* driver, const struct kgen_gpu_shared* slot) {
  if (slot->how == KGEN_GPU_ALLOCATED) return driver->memory_free(slot->address);
  if (slot->how == KGEN_GPU_OPENED) return driver->ipc_close_handle(slot->address);
  const int status = driver->memory_unmap(slot->address, slot->bytes);
  if (status == CU_OK) driver->address_free(slot->address, slot->bytes);
  return status;
}

int kgen_gpu_free_shared(struct kgen_gpu* gpu, void* address) {
  for (int i = 0; i < KGEN_GPU_MAX_SHARED; ++i) {
    struct kgen_gpu_shared* slot = &gpu->shared[i];
    if (slot->bytes == 0 || slot->address != (cu_address)(uintptr_t)address) continue;
    const int status = release(gpu->driver, slot);
    slot->bytes = 0;
    return kgen_gpu_checked(gpu, status, "unmapping shared memory");
  }
  snprintf(gpu->error, sizeof gpu->error, "no shared memory lies there");
  return 1;
}

int kgen_gpu_memory(struct kgen_gpu* gpu, uint64_t* free_bytes, uint64_t* total_bytes) {
  size_t unused = 0;
  size_t total = 0;
  const int status = gpu->driver->memory_get_info(&unused, &total);
  *free_bytes = unused;
  *total_bytes = total;
  return kgen_gpu_checked(gpu, status, "asking for free memory");
}

int kgen_gpu_allocate(struct kgen_gpu* gpu, uint64_t bytes, void** address) {
  cu_address place = 0;
  const int status = gpu->driver->memory_allocate(&place, bytes);
  *address = (void*)(uintptr_t)place;
  return kgen_gpu_checked(gpu, status, "allocating memory");
}

int kgen_gpu_free(struct kgen_gpu* gpu, void* address) {
  return kgen_gpu_checked(gpu, gpu->driver->memory_free((cu_address)(uintptr_t)address), "freeing memory");
}

int kgen_gpu_copy(struct kgen_gpu* gpu, void* to, const void* from, uint64_t bytes, void* stream) {
  if (bytes == 0) return 0;
  return kgen_gpu_checked(
      gpu, gpu->driver->memory_copy((cu_address)(uintptr_t)to, (cu_address)(uintptr_t)from, bytes, stream), "copying");
}

int kgen_gpu_read(struct kgen_gpu* gpu, void* to, const void* from, uint64_t bytes) {
  return kgen_gpu_checked(gpu, gpu->driver->memory_read(to, (cu_address)(uintptr_t)from, bytes), "reading memory");
}

int kgen_gpu_fill(struct kgen_gpu* gpu, void* address, int byte, uint64_t bytes, void* stream) {
  if (bytes == 0) return 0;
  return kgen_gpu_checked(
      gpu, gpu->driver->memory_set((cu_address)(uintptr_t)address, (unsigned char)byte, bytes, stream), "filling");
}
