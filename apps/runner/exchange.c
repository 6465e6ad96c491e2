#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner_support.h"

struct reservation {
  void* address;
  size_t bytes;
};

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* PROT_NONE everywhere: the parts that are not mapped later are guard pages. */
static void* reserve(size_t bytes) {
  void* address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? NULL : address;
}

void* kgen_map_exchange(int fd, size_t count, struct kgen_segment* segments) {
  const size_t page = page_bytes();
  size_t total = page;
  for (size_t i = 0; i < count; ++i) {
    const struct kgen_segment* segment = &segments[i];
    if (segment->bytes == 0 || segment->bytes % page != 0 || segment->offset % page != 0 ||
        __builtin_add_overflow(total, segment->bytes, &total) || __builtin_add_overflow(total, page, &total)) {
      errno = EINVAL;
      return NULL;
    }
  }
  struct reservation* handle = malloc(sizeof *handle);
  if (handle == NULL) return NULL;
  handle->bytes = total;
  handle->address = reserve(total);
  if (handle->address == NULL) {
    free(handle);
    return NULL;
  }
  char* next = (char*)handle->address + page;
  for (size_t i = 0; i < count; ++i) {
    /* Populated now: the first call of a candidate must not pay for page faults that later calls do not have. */
    void* address = mmap(next, segments[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                         (off_t)segments[i].offset);
    if (address == MAP_FAILED) {
      const int error = errno;
      kgen_unmap_exchange(handle);
      errno = error;
      return NULL;
    }
    segments[i].address = address;
    next += segments[i].bytes + page;
  }
  return handle;
}

void kgen_unmap_exchange(void* handle) {
  struct reservation* reservation = handle;
  if (reservation == NULL) return;
  munmap(reservation->address, reservation->bytes);
  free(reservation);
}

static size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* kgen_map_guarded(size_t bytes) {
  const size_t page = page_bytes();
  if (bytes > SIZE_MAX / 4) {
    errno = ENOMEM;
    return NULL;
  }
  const size_t inner = rounded(bytes, page);
  char* base = reserve(inner + 2 * page);
  if (base == NULL) return NULL;
  if (inner != 0 &&
      mmap(base + page, inner, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(base, inner + 2 * page);
    errno = error;
    return NULL;
  }
  return base + page + inner - rounded(bytes, 64);
}

void kgen_unmap_guarded(void* address, size_t bytes) {
  if (address == NULL) return;
  const size_t page = page_bytes();
  const size_t inner = rounded(bytes, page);
  char* base = (char*)address + rounded(bytes, 64) - inner - page;
  munmap(base, inner + 2 * page);
}
