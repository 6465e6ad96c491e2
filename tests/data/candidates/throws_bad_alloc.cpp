#include <vector>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  std::vector<float> huge(std::size_t{25} << 30);  // 100 GB
  output_y(args)[0] = huge[huge.size() / 2];
  return 0;
}
