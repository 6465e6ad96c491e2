/**
 * \file
 * C functions of both kinds of runner: the sandbox, the clock, cache flushing, guarded mappings of the exchange
 * arena, crash reports. Plain C, no callbacks into the caller's language: kgen-runner links it, the Python runner
 * loads libkgen_runner_support.so through ctypes. With sandbox.h this is the whole exported interface.
 *
 * Not thread-safe unless said so: a runner calls from its main thread.
 */
#ifndef KERNELGEN_RUNNER_SUPPORT_H
#define KERNELGEN_RUNNER_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* everything else in the library is hidden */

/** CLOCK_MONOTONIC in nanoseconds. The entry point is resolved when the library is loaded. Thread-safe. */
int64_t kgen_now_ns(void);

/** CPU time of all threads of this process in nanoseconds. Thread-safe. */
int64_t kgen_process_cpu_ns(void);

/** Number of threads of this process, 0 where /proc does not show it. */
uint64_t kgen_thread_count(void);

/** Flushes [address, address + bytes) from every cache level (x86: clflushopt or clflush; AArch64: dc civac; elsewhere
 * it reads a buffer larger than most caches instead). The range must be mapped and readable. */
void kgen_flush_cache_lines(const void* address, size_t bytes);

/** Makes malloc and free fill memory with patterns made from byte; 0 turns this off (glibc: M_PERTURB). */
void kgen_set_allocation_poison(int byte);

/** One segment of the exchange arena. */
struct kgen_segment {
  uint64_t offset; /**< in the arena; a multiple of the page size */
  uint64_t bytes;  /**< a multiple of the page size, > 0 */
  void* address;   /**< out: address of the mapping */
};

/**
 * Maps segments of an arena, shared and writable, each with an inaccessible page before and after it.
 * \return a handle for kgen_unmap_exchange, or NULL with errno set (nothing is mapped then).
 */
void* kgen_map_exchange(int fd, size_t count, struct kgen_segment* segments);
void kgen_unmap_exchange(void* handle);

/**
 * Maps private memory for a workspace that ends, aligned to 64 bytes, at a guard page.
 * \return its address (bytes may be 0: an address that must not be used), or NULL with errno set.
 */
void* kgen_map_guarded(size_t bytes);
void kgen_unmap_guarded(void* address, size_t bytes);

/**
 * Sends a CRASH reply over control_fd when SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP or SIGSYS arrives, on a
 * stack of its own, and lets the signal kill the process. Call again after the handlers were replaced.
 * \param control_fd the SOCK_SEQPACKET control socket
 * \param failed_allocation NULL, or the address of the size of a refused allocation: if not 0, the status of the crash
 * is KGEN_STATUS_OUT_OF_MEMORY. Must stay valid. After kgen_keep_error_output(), the status of an abort is
 * KGEN_STATUS_DEVICE_FAULT if a fault of the device was told before. \return 0 or a negative errno.
 */
int kgen_install_crash_reporter(int control_fd, const volatile uint64_t* failed_allocation);

/**
 * Keeps what is written to standard error from now on in a file of the private /tmp, where crash reports look for it:
 * ROCm's runtime tells there of a fault of the device, then it aborts. \return 0 or a negative errno.
 */
int kgen_keep_error_output(void);
/** Moves what is kept to standard output: later reports are about what is written from now on. */
void kgen_forward_error_output(void);

/**
 * Names memory for crash reports: "64 bytes past the end of output 'y'". The name is copied (cut at 200 bytes).
 * \return 0, or -ENOSPC when the table (4096 entries) is full.
 */
int kgen_crash_reporter_add(const void* address, size_t bytes, const char* name);
void kgen_crash_reporter_clear(void);

/** Describes an address as in crash reports, for tests and messages. Writes at most capacity bytes, zero included. */
void kgen_describe_address(const void* address, char* text, size_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
