#ifndef KERNELGEN_RUNNER_GPU_SYMBOLS_H
#define KERNELGEN_RUNNER_GPU_SYMBOLS_H

#include <dlfcn.h>
#include <string.h>

/* Writes the address of a symbol to a pointer to a function: NULL, and -1 is the answer, where there is none. */
static inline int kgen_find_symbol(void* library, const char* symbol, void* function) {
  void* found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found);
  return found != NULL ? 0 : -1;
}

#endif
