#define _GNU_SOURCE
#include "allocation_watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile uint64_t kgen_failed_allocation;

/* Sanitizers have their own malloc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__NR_mmap)
void kgen_call_preloaded_mmap(void) {}
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void* memory);

#define EXPORTED __attribute__((visibility("default"), used))

static void* watched(void* memory, size_t bytes) {
  if (memory == NULL && bytes != 0) kgen_failed_allocation = bytes;
  return memory;
}

EXPORTED void* malloc(size_t bytes) { return watched(__libc_malloc(bytes), bytes); }

EXPORTED void* calloc(size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) total = SIZE_MAX;
  return watched(__libc_calloc(count, bytes), total);
}

EXPORTED void* realloc(void* old, size_t bytes) { return watched(__libc_realloc(old, bytes), bytes); }

EXPORTED void free(void* memory) { __libc_free(memory); }

EXPORTED void* memalign(size_t alignment, size_t bytes) { return watched(__libc_memalign(alignment, bytes), bytes); }

EXPORTED void* aligned_alloc(size_t alignment, size_t bytes) {
  return watched(__libc_memalign(alignment, bytes), bytes);
}

EXPORTED int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int before = errno; /* this function must not change errno */
  void* memory = watched(__libc_memalign(alignment, bytes), bytes);
  errno = before;
  if (memory == NULL && bytes != 0) return ENOMEM;
  *out = memory;
  return 0;
}

#if defined(__NR_mmap)
static void* (*preloaded_mmap)(void*, size_t, int, int, int, off_t);

void kgen_call_preloaded_mmap(void) {
  void* found = dlsym(RTLD_NEXT, "mmap");
  memcpy(&preloaded_mmap, &found, sizeof found);
}

EXPORTED void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (preloaded_mmap != NULL) return preloaded_mmap(address, bytes, protection, flags, fd, offset);
  const long answer = syscall(__NR_mmap, address, bytes, protection, flags, fd, offset);
  if (answer == -1 && errno == ENOMEM) kgen_failed_allocation = bytes;
  return answer == -1 ? MAP_FAILED : (void*)answer;
}
#endif

#endif
