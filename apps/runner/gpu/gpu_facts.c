#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "gpu.h"

enum { k_most_drivers = 2 };

/* The drivers that work. Without any, their reasons; a machine of one vendor has no driver of the other, which is none.
 */
static int load_drivers(const struct kgen_driver* found[k_most_drivers], char* error, size_t capacity) {
  char cuda_error[256] = "";
  char hip_error[256] = "";
  int count = 0;
  const struct kgen_driver* cuda = kgen_load_cuda(cuda_error, sizeof cuda_error);
  const struct kgen_driver* hip = kgen_load_hip(hip_error, sizeof hip_error);
  if (cuda != NULL) found[count++] = cuda;
  if (hip != NULL) found[count++] = hip;
  if (count > 0) return count;
  if (cuda_error[0] == '\0' && hip_error[0] == '\0') {
    snprintf(error, capacity, "there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine");
  } else {
    snprintf(error, capacity, "%s%s%s", cuda_error, cuda_error[0] != '\0' && hip_error[0] != '\0' ? "; " : "",
             hip_error);
  }
  return 0;
}

static int count_of(const struct kgen_driver* driver) {
  int count = 0;
  return driver->device_get_count(&count) == CU_OK && count > 0 ? count : 0;
}

int kgen_gpu_count(char* error, size_t capacity) {
  const struct kgen_driver* drivers[k_most_drivers];
  const int found = load_drivers(drivers, error, capacity);
  int count = 0;
  for (int i = 0; i < found; ++i) count += count_of(drivers[i]);
  return found > 0 ? count : -1;
}

int kgen_find_device(int index, const char* uuid, struct kgen_gpu_place* place, char* error, size_t capacity) {
  const struct kgen_driver* drivers[k_most_drivers];
  const int found = load_drivers(drivers, error, capacity);
  int before = 0;
  if (found == 0) return -1;
  for (int i = 0; i < found; ++i) {
    const int count = count_of(drivers[i]);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      struct kgen_gpu_facts facts;
      if (uuid == NULL && before + ordinal != index) continue;
      if (drivers[i]->device_get(&place->device, ordinal) != CU_OK) continue;
      place->driver = drivers[i];
      if (uuid == NULL) return 0;
      memset(&facts, 0, sizeof facts);
      drivers[i]->read_facts(drivers[i], place->device, &facts);
      if (strcmp(uuid, facts.uuid) == 0) return 0;
    }
    before += count;
  }
  if (uuid != NULL) {
    snprintf(error, capacity, "there is no GPU %s", uuid);
  } else {
    snprintf(error, capacity, "there is no device %d", index);
  }
  return -1;
}

int kgen_gpu_read_facts(int index, struct kgen_gpu_facts* facts, char* error, size_t capacity) {
  struct kgen_gpu_facts found;
  struct kgen_gpu_place place;
  if (kgen_find_device(index, NULL, &place, error, capacity) != 0) return -1;
  memset(&found, 0, sizeof found);
  place.driver->read_facts(place.driver, place.device, &found);
  const uint32_t room = facts->struct_size;
  found.struct_size = room;
  found.index = index;
  memcpy(facts, &found, room < sizeof found ? room : sizeof found);
  return 0;
}
