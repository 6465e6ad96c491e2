#include <stdio.h>
#include <string.h>

#include "cuda_driver.h"
#include "gpu.h"
#include "gpu_parts.h"

void kgen_gpu_format_uuid(const struct cu_uuid* uuid, char text[48]) {
  const unsigned char* b = uuid->bytes;
  snprintf(text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
           b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

int kgen_gpu_count(char* error, size_t capacity) {
  const struct kgen_cuda_driver* driver = kgen_cuda_driver_load(error, capacity);
  int count = 0;
  if (driver == NULL) return -1;
  if (driver->device_get_count(&count) == CU_OK) return count;
  snprintf(error, capacity, "the CUDA driver does not count its devices");
  return -1;
}

static int attribute(const struct kgen_cuda_driver* driver, int device, int which) {
  int value = 0;
  return driver->device_get_attribute(&value, which, device) == CU_OK ? value : 0;
}

static void fill(const struct kgen_cuda_driver* driver, int device, struct kgen_gpu_facts* facts) {
  struct cu_uuid uuid;
  size_t bytes = 0;
  snprintf(facts->vendor, sizeof facts->vendor, "%s", driver->is_fake ? "fake" : "nvidia");
  if (driver->device_get_name(facts->name, sizeof facts->name, device) != CU_OK) facts->name[0] = '\0';
  if (driver->device_get_uuid(&uuid, device) == CU_OK) kgen_gpu_format_uuid(&uuid, facts->uuid);
  snprintf(facts->architecture, sizeof facts->architecture, "sm_%d%d", attribute(driver, device, CU_COMPUTE_MAJOR),
           attribute(driver, device, CU_COMPUTE_MINOR));
  driver->driver_get_version(&facts->driver_version);
  facts->multiprocessors = attribute(driver, device, CU_MULTIPROCESSORS);
  facts->warp_threads = attribute(driver, device, CU_WARP_SIZE);
  facts->threads_per_block = attribute(driver, device, CU_MAX_THREADS_PER_BLOCK);
  facts->threads_per_multiprocessor = attribute(driver, device, CU_THREADS_PER_MULTIPROCESSOR);
  facts->registers_per_block = attribute(driver, device, CU_REGISTERS_PER_BLOCK);
  facts->registers_per_multiprocessor = attribute(driver, device, CU_REGISTERS_PER_MULTIPROCESSOR);
  facts->clock_khz = attribute(driver, device, CU_CLOCK_KHZ);
  facts->memory_clock_khz = attribute(driver, device, CU_MEMORY_CLOCK_KHZ);
  facts->memory_bus_bits = attribute(driver, device, CU_MEMORY_BUS_BITS);
  facts->cooperative_launch = attribute(driver, device, CU_COOPERATIVE_LAUNCH);
  facts->shared_bytes_per_block = (uint64_t)attribute(driver, device, CU_SHARED_PER_BLOCK);
  facts->shared_bytes_per_block_optin = (uint64_t)attribute(driver, device, CU_SHARED_PER_BLOCK_OPTIN);
  facts->shared_bytes_per_multiprocessor = (uint64_t)attribute(driver, device, CU_SHARED_PER_MULTIPROCESSOR);
  facts->l2_bytes = (uint64_t)attribute(driver, device, CU_L2_BYTES);
  if (driver->device_total_memory(&bytes, device) == CU_OK) facts->memory_bytes = bytes;
}

int kgen_gpu_read_facts(int index, struct kgen_gpu_facts* facts, char* error, size_t capacity) {
  struct kgen_gpu_facts found;
  int device = 0;
  const struct kgen_cuda_driver* driver = kgen_cuda_driver_load(error, capacity);
  if (driver == NULL) return -1;
  if (driver->device_get(&device, index) != CU_OK) {
    snprintf(error, capacity, "there is no device %d", index);
    return -1;
  }
  memset(&found, 0, sizeof found);
  fill(driver, device, &found);
  const uint32_t room = facts->struct_size;
  found.struct_size = room;
  found.index = index;
  memcpy(facts, &found, room < sizeof found ? room : sizeof found);
  return 0;
}
