/* Clocks come from NVIDIA's management library, because the driver API does not report them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "gpu_parts.h"
#include "symbols.h"

enum { k_clock_multiprocessor = 1, k_clock_memory = 2, k_sensor_gpu = 0 };

/* nvmlClocksThrottleReasons. A power cap below the rated clock is normal for many boards; these reasons are not. */
enum { k_hardware_slowdown = 0x8, k_software_heat = 0x20, k_hardware_heat = 0x40, k_power_brake = 0x80 };

struct management {
  int (*initialize)(void);
  int (*find)(const char* uuid, void** device);
  int (*clock)(void* device, int type, unsigned* mhz);
  int (*temperature)(void* device, int sensor, unsigned* celsius);
  int (*throttling)(void* device, unsigned long long* reasons);
};

static const struct management* load(void) {
  static struct management management;
  static int state; /* 0: not tried, 1: there, -1: not there */
  if (state != 0) return state > 0 ? &management : NULL;
  state = -1;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return NULL;
  if (kgen_find_symbol(library, "nvmlInit_v2", &management.initialize) != 0 ||
      kgen_find_symbol(library, "nvmlDeviceGetHandleByUUID", &management.find) != 0 ||
      kgen_find_symbol(library, "nvmlDeviceGetClockInfo", &management.clock) != 0 ||
      kgen_find_symbol(library, "nvmlDeviceGetTemperature", &management.temperature) != 0 ||
      kgen_find_symbol(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &management.throttling) != 0 ||
      management.initialize() != 0) {
    return NULL;
  }
  state = 1;
  return &management;
}

int kgen_gpu_read_clocks(struct kgen_gpu* gpu, struct kgen_gpu_clocks* clocks) {
  const struct management* management = load();
  unsigned multiprocessor = 0;
  unsigned memory = 0;
  unsigned celsius = 0;
  unsigned long long reasons = 0;
  void* device = NULL;
  memset(clocks, 0, sizeof *clocks);
  if (management == NULL || management->find(gpu->uuid, &device) != 0) return -1;
  if (management->clock(device, k_clock_multiprocessor, &multiprocessor) != 0) return -1;
  if (management->throttling(device, &reasons) != 0) return -1;
  management->clock(device, k_clock_memory, &memory);
  management->temperature(device, k_sensor_gpu, &celsius);
  clocks->multiprocessor_mhz = (int32_t)multiprocessor;
  clocks->memory_mhz = (int32_t)memory;
  clocks->temperature_celsius = (int32_t)celsius;
  clocks->throttled = (reasons & (k_hardware_slowdown | k_software_heat | k_hardware_heat | k_power_brake)) != 0;
  return 0;
}
