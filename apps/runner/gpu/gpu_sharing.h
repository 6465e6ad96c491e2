/* How a judge and its sandboxed runners can share memory of a GPU; for kgen-gpu. */
#ifndef KERNELGEN_RUNNER_GPU_SHARING_H
#define KERNELGEN_RUNNER_GPU_SHARING_H

#include <stddef.h>

/* Where runners find a GPU. */
struct kgen_gpu_location {
  const char* uuid;
  const char* variable;     /* makes a process see that GPU only; "": none does */
  const char* const* nodes; /* its device nodes, up to a NULL */
};

enum kgen_sharing_result {
  KGEN_SHARING_WORKS,
  KGEN_SHARING_REFUSED, /* no way works */
  KGEN_SHARING_UNKNOWN  /* it could not be tried, because the device or its memory is not available */
};

/* Tries the ways of kgen_gpu_choose_sharing() one after the other: this user's process exports a block, another one,
 * placed as a runner is, imports it, and each reads what the other has written. *way is the first that works; `text`
 * gets the reasons of those that do not. Requires: this process has not loaded a driver, and has no children. */
enum kgen_sharing_result kgen_gpu_try_sharing(const struct kgen_gpu_location* location, const char** way, char* text,
                                              size_t capacity);

#endif
