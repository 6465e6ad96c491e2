#define _GNU_SOURCE
#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int resolve(void* library, struct kgen_cuda_driver* driver, char* error, size_t capacity) {
#define KGEN_RESOLVE(member, symbol, parameters)                              \
  {                                                                           \
    void* found = dlsym(library, symbol);                                     \
    if (found == NULL) {                                                      \
      snprintf(error, capacity, "the CUDA driver is too old: no %s", symbol); \
      return -1;                                                              \
    }                                                                         \
    memcpy(&driver->member, &found, sizeof found);                            \
  }
  KGEN_CUDA_FUNCTIONS(KGEN_RESOLVE)
#undef KGEN_RESOLVE
  /* Only the tests' fake driver exports this symbol. */
  driver->is_fake = dlsym(library, "kgen_fake_cuda") != NULL;
  return 0;
}

const struct kgen_cuda_driver* kgen_cuda_driver_load(char* error, size_t capacity) {
  static struct kgen_cuda_driver driver;
  static int loaded;
  if (loaded) return &driver;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(error, capacity, "there is no CUDA driver (libcuda.so.1) on this machine");
    return NULL;
  }
  int (*initialize)(unsigned);
  void* found = dlsym(library, "cuInit");
  if (found == NULL || resolve(library, &driver, error, capacity) != 0) {
    if (found == NULL) snprintf(error, capacity, "libcuda.so.1 is no CUDA driver: no cuInit");
    dlclose(library);
    return NULL;
  }
  memcpy(&initialize, &found, sizeof found);
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
