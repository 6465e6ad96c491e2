#include <stdexcept>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  if (input_x(args)[0] == 2.0f) throw 42;
  throw std::runtime_error("thrown by the candidate");
}
