/* Right, but a part of its work goes on when the stream is done. */
#include "fake_cuda.h"

PLAIN_REST

RUN {
  UNUSED_STATE;
  void (*delay)(int64_t) = fake_cuda("kgen_fake_cuda_delay");
  compute(args);
  delay(5000000);
  return 0;
}
