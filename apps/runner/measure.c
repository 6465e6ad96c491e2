#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner_support.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

typedef int (*clock_function)(clockid_t, struct timespec*);
/* Resolved by the loader before a candidate is loaded, so that the candidate's own clock_gettime is not used. */
/* NOLINTNEXTLINE(readability-identifier-naming): it is called like a function */
static clock_function const read_clock = clock_gettime;

static int64_t read_ns(clockid_t clock) {
  struct timespec now;
  read_clock(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t kgen_now_ns(void) { return read_ns(CLOCK_MONOTONIC); }

int64_t kgen_process_cpu_ns(void) { return read_ns(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t kgen_thread_count(void) {
  FILE* file = fopen("/proc/self/stat", "re");
  if (file == NULL) return 0;
  char line[1024];
  const size_t length = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[length] = '\0';
  const char* rest = strrchr(line, ')'); /* the name before it may contain anything */
  unsigned long long threads = 0;
  if (rest == NULL) return 0;
  if (sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %llu", &threads) != 1) {
    return 0;
  }
  return threads;
}

#if defined(__x86_64__)
static int has_clflushopt(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_CLFLUSHOPT) != 0;
}

__attribute__((target("clflushopt"))) static void flush_optimized(const char* line, const char* end) {
  for (; line < end; line += 64) _mm_clflushopt((void*)(uintptr_t)line);
}

void kgen_flush_cache_lines(const void* address, size_t bytes) {
  if (bytes == 0) return;
  const char* line = (const char*)((uintptr_t)address & ~(uintptr_t)63);
  const char* end = (const char*)address + bytes;
  static int optimized = -1;
  if (optimized < 0) optimized = has_clflushopt();
  _mm_mfence();
  if (optimized) {
    flush_optimized(line, end);
  } else {
    for (; line < end; line += 64) _mm_clflush(line);
  }
  _mm_mfence();
}
#elif defined(__aarch64__)
void kgen_flush_cache_lines(const void* address, size_t bytes) {
  uint64_t type;
  __asm__("mrs %0, ctr_el0" : "=r"(type));
  const uintptr_t size = (uintptr_t)4 << ((type >> 16) & 15);
  const uintptr_t end = (uintptr_t)address + bytes;
  for (uintptr_t line = (uintptr_t)address & ~(size - 1); line < end; line += size) {
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
  }
  __asm__ volatile("dsb sy" : : : "memory");
}
#else
void kgen_flush_cache_lines(const void* address, size_t bytes) {
  enum { k_bytes = 64 << 20 };
  static volatile unsigned char* filler;
  (void)address;
  (void)bytes;
  if (filler == NULL) filler = malloc(k_bytes);
  for (size_t i = 0; filler != NULL && i < k_bytes; i += 64) filler[i] = (unsigned char)(filler[i] + 1);
}
#endif

void kgen_set_allocation_poison(int byte) {
#if defined(M_PERTURB)
  mallopt(M_PERTURB, byte);
#else
  (void)byte;
#endif
}
