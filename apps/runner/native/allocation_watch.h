/* The runner's own malloc family and mmap hand everything on to the C library, and remember a refusal: a crash or a
 * failure after it is "out of memory", not a bug at some address. */
#ifndef KERNELGEN_ALLOCATION_WATCH_H
#define KERNELGEN_ALLOCATION_WATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size of the last request that was refused, 0 if none was. */
extern volatile uint64_t kgen_failed_allocation;

#ifdef __cplusplus
}
#endif

#endif
