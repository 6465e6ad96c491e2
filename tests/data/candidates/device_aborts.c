/* Stands in for ROCm's runtime, which tells of a fault and aborts. The first element of x chooses what happens:
 *
 *   1  a fault in the page behind y          5  a hang
 *   2  the same by a runtime of ROCm 5       6  a fault is told, and nothing happens; y is right
 *   3  a null pointer                        7  a fault is told, then a null pointer of the host is used
 *   4  an exception, in the runtime's log    8  abort() without a word
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
PLAIN_REST

static void tell(int what, const char* page) {
  static const char k_reason[] = "Page not present or supervisor privilege";
  if (what == 2) {
    fprintf(stderr, "Memory access fault by GPU node-1 on address %p. Reason: %s.\n", (const void*)page, k_reason);
  } else if (what == 4) {
    fprintf(stderr,
            ":0:rocdevice.cpp            :2984: 93862815501 us: [pid:318562 tid:0x7f122e5ff640] Callback: Queue "
            "0x7f0ed8000000 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware "
            "exception. code: 0x1016\n");
  } else if (what == 5) {
    fprintf(stderr, "HW Exception by GPU node-2 (Agent handle: 0x55cf74a379c0) reason :GPU Hang\n");
  } else if (what != 8) {
    fprintf(stderr, "Memory access fault by GPU node-1 (Agent handle: 0x55d8390cfe70) on address %p. Reason: %s.\n",
            what == 3 ? NULL : (const void*)page, k_reason);
  }
}

RUN {
  UNUSED_STATE;
  const int what = (int)input_x(args)[0];
  const uintptr_t end = (uintptr_t)output_y(args) + kgen_find(&args->outputs, "y")->nbytes;
  compute(args);
  tell(what, (const char*)((end + 4095) / 4096 * 4096));
  if (what == 6) return 0;
  if (what == 7) *(volatile int*)0 = 1;
  abort();
}
