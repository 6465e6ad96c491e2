#include "bench/placement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::steady_clock::duration k_first_bar = 1min;
constexpr std::chrono::steady_clock::duration k_longest_bar = 16min;
constexpr std::chrono::steady_clock::duration k_shared_for = 5min;
/// A verdict that others disturbed is measured again, beside a judge that has to be started: enough to prefer any
/// device that is free of them, and not so much that a long queue leaves this one idle.
constexpr int k_shared_work = 4;

/// Processors that others have while somebody compiles: the worker, and a judge and a runner on each device.
constexpr int k_spared_cores = 1;
constexpr int k_spared_cores_per_device = 2;
/// So many may compile in any case, and this part of the processors: who waits for a compiler keeps no device busy.
constexpr int k_least_compilers = 2;
constexpr int k_compilers_part = 4;

}  // namespace

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
    return std::tuple(device.barred, device.tried, device.work + work_of(device.judge), device.work,
                      device.last_placed);
  };
  const auto best = std::min_element(devices.begin(), devices.end(),
                                     [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return static_cast<std::size_t>(best - devices.begin());
}

int compilers_beside(int gpus, int cores) {
  return std::max(
      {k_least_compilers, cores / k_compilers_part, cores - k_spared_cores - k_spared_cores_per_device * gpus});
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
  const auto now = now_();
  std::vector<DeviceQueue> queues;
  for (const auto& choice : choices) {
    const auto& device = devices_[choice.device];
    // Somebody who was placed there before will have started it.
    const auto judge = device.tasks.contains(task) ? JudgeNeed::Nothing : choice.judge;
    const int others = choice.others + (now < device.shared_until ? k_shared_work : 0);
    queues.push_back({.work = device.work + others,
                      .judge = judge,
                      .last_placed = device.last_placed,
                      .barred = now < device.barred_until,
                      .tried = choice.tried});
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

int Placement::used_gpus() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::count_if(devices_.begin(), devices_.end(), [](const auto& one) {
    return !one.first.empty() && !one.second.tasks.empty();
  }));
}

void Placement::bar(const std::string& device) {
  const std::scoped_lock lock(mutex_);
  const auto now = now_();
  auto& barred = devices_[device];
  // Those who were placed there before they could know tell nothing new.
  if (now < barred.barred_until) return;
  const bool again = barred.barred_for.count() > 0 && now - barred.barred_until < barred.barred_for;
  barred.barred_for = again ? std::min(2 * barred.barred_for, k_longest_bar) : k_first_bar;
  barred.barred_until = now + barred.barred_for;
}

void Placement::mark_shared(const std::string& device) {
  const std::scoped_lock lock(mutex_);
  devices_[device].shared_until = now_() + k_shared_for;
}

}  // namespace v0
}  // namespace kernelgen
