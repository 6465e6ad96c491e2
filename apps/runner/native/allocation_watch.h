/* Replaces the malloc family and mmap by functions that call the C library's and remember a refusal: a later crash or
 * failure is then "out of memory", not a bug at some address. */
#ifndef KERNELGEN_ALLOCATION_WATCH_H
#define KERNELGEN_ALLOCATION_WATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size of the last request that was refused, 0 if none was. */
extern volatile uint64_t kgen_failed_allocation;

/* From now on mmap is that of the library that comes next, such as a preloaded one, and no longer watched. */
void kgen_call_preloaded_mmap(void);

#ifdef __cplusplus
}
#endif

#endif
