#include "bench/judge_queue.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {

std::size_t next_in_queue(std::span<const QueuedRequest> waiting) {
  const auto first = [&](auto holds) {
    return static_cast<std::size_t>(std::find_if(waiting.begin(), waiting.end(), holds) - waiting.begin());
  };
  const auto patient = first([](const QueuedRequest& turn) { return turn.overtaken >= k_most_overtakes; });
  if (patient < waiting.size()) return patient;
  const auto warm = first([](const QueuedRequest& turn) { return turn.warm; });
  return warm < waiting.size() ? warm : 0;
}

}  // namespace v0
}  // namespace kernelgen
