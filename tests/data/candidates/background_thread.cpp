// Answers at once and works on in a thread.
#include <atomic>
#include <thread>

#include "common.h"
PLAIN_REST
static std::atomic<std::uint64_t> counter;
RUN {
  UNUSED_STATE;
  compute(args);
  std::thread([] {
    for (;;) counter.fetch_add(1, std::memory_order_relaxed);
  }).detach();
  return 0;
}
