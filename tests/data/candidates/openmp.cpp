// Honest, with OpenMP; answers in y[0] how many threads a region has.
#include <omp.h>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  compute(args);
  float* y = output_y(args);
#pragma omp parallel
  {
#pragma omp single
    y[0] = static_cast<float>(omp_get_num_threads());
  }
  return 0;
}
