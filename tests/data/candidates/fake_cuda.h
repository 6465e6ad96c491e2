/* What candidates on the device of tests/support/fake_cuda.c use of it. */
#ifndef KERNELGEN_TEST_FAKE_CUDA_H
#define KERNELGEN_TEST_FAKE_CUDA_H

#include <dlfcn.h>

#include "common.h"

static inline void* fake_cuda(const char* name) { return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name); }

#endif
