/* Reports what the first value of x tells, as a kernel would; a negative one is followed by a fault of the device. */
#include "fake_cuda.h"

PLAIN_REST
KGEN_EXPORT_REPORTS("input_ready", "h_full")

RUN {
  const int code = (int)input_x(args)[0];
  UNUSED_STATE;
  compute(args);
  if (args->report == NULL) return kgen_fail(&args->error, "there is no word for reports");
  if (code != 0) *args->report = ((uint64_t)(code < 0 ? -code : code) << 32) | 37;
  if (code < 0) {
    void (*break_device)(int) = fake_cuda("kgen_fake_cuda_fault");
    break_device(719);
  }
  return 0;
}
