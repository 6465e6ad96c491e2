/* Breaks the device and says that all went well. */
#include "fake_cuda.h"

PLAIN_REST

RUN {
  UNUSED_STATE;
  void (*break_device)(int) = fake_cuda("kgen_fake_cuda_fault");
  compute(args);
  break_device(700);
  return 0;
}
