#include "bench/judge_queue.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {

int startup_cost(JudgeState state) {
  switch (state) {
    case JudgeState::Warm:
      return 0;
    case JudgeState::Cold:
      return 1;
    case JudgeState::Evicts:
      return 2;
  }
  return 0;
}

std::size_t admissions_at_a_time(std::uint64_t memory_bytes, std::uint64_t idle_bytes) {
  const auto room = memory_bytes > idle_bytes ? (memory_bytes - idle_bytes) / k_admission_bytes : 0;
  return std::clamp<std::size_t>(room, 1, k_most_admissions);
}

bool may_use_judge(const DeviceWork& now) { return !now.has_judge && now.admissions == 0; }

bool may_admit(const DeviceWork& now, std::size_t most) { return !now.has_judge && now.admissions < most; }

bool may_join(const DeviceWork& now, const QueuedRequest& first) {
  return now.admissions > 0 && first.overtaken < k_most_overtakes;
}

std::size_t next_in_queue(std::span<const QueuedRequest> waiting) {
  if (waiting.front().overtaken >= k_most_overtakes) return 0;
  const auto warm = std::find_if(waiting.begin(), waiting.end(), [](const QueuedRequest& one) { return one.warm; });
  return warm == waiting.end() ? 0 : static_cast<std::size_t>(warm - waiting.begin());
}

std::optional<std::size_t> request_to_take_over(std::span<const MovableRequest> waiting) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const auto& one = waiting[i];
    if (startup_cost(one.here) >= one.ahead + startup_cost(one.there)) continue;
    if (!best || startup_cost(one.here) < startup_cost(waiting[*best].here)) best = i;
  }
  return best;
}

}  // namespace v0
}  // namespace kernelgen
