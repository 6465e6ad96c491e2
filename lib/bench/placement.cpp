#include "bench/placement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kernelgen {
inline namespace v0 {

int work_of(JudgeNeed need) {
  switch (need) {
    case JudgeNeed::Nothing:
      return 0;
    case JudgeNeed::Start:
      return 1;
    case JudgeNeed::Replace:
      return 2;
  }
  return 0;
}

std::size_t soonest(std::span<const DeviceQueue> devices) {
  const auto order = [](const DeviceQueue& device) {
    return std::tuple(device.work + work_of(device.judge), device.work, device.last_placed);
  };
  const auto best = std::min_element(devices.begin(), devices.end(),
                                     [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return static_cast<std::size_t>(best - devices.begin());
}

Placement::Place::~Place() {
  const std::scoped_lock lock(placement_.mutex_);
  auto& device = placement_.devices_.at(device_);
  device.work -= work_;
  const auto task = device.tasks.find(task_);
  if (--task->second == 0) device.tasks.erase(task);
}

std::unique_ptr<Placement::Place> Placement::take(const std::string& task, const std::vector<Choice>& choices) {
  const std::scoped_lock lock(mutex_);
  std::vector<DeviceQueue> queues;
  for (const auto& choice : choices) {
    const auto& device = devices_[choice.device];
    // Somebody who was placed there before will have started it.
    const auto judge = device.tasks.contains(task) ? JudgeNeed::Nothing : choice.judge;
    queues.push_back({.work = device.work + choice.others, .judge = judge, .last_placed = device.last_placed});
  }
  const auto index = soonest(queues);
  const int work = 1 + work_of(queues[index].judge);
  auto place = std::make_unique<Place>(*this, index, choices[index].device, task, work);
  auto& device = devices_[choices[index].device];
  device.work += work;
  device.last_placed = ++placed_;
  ++device.tasks[task];
  return place;
}

int Placement::at_hand(const std::string& device) const {
  const std::scoped_lock lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return 0;
  int count = 0;
  for (const auto& [task, evaluations] : found->second.tasks) count += evaluations;
  return count;
}

}  // namespace v0
}  // namespace kernelgen
