#include "bench/placement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::steady_clock::duration k_first_quarantine = 1min;
constexpr std::chrono::steady_clock::duration k_longest_quarantine = 16min;
constexpr std::chrono::steady_clock::duration k_shared_for = 5min;
/// Extra work that foreign use of a device counts as. A disturbed evaluation is repeated with a new judge, so any
/// undisturbed device is preferred; but a long queue elsewhere must not leave this device idle.
constexpr int k_shared_work = 4;

/// Processors without compilers: for the worker, and for a judge and a runner on each device.
constexpr int k_reserved_cores = 1;
constexpr int k_spared_cores_per_device = 2;
/// The number of compilers, and the part of the processors, that are allowed in any case: an evaluation that waits for
/// a compiler leaves its device idle.
constexpr int k_least_compilers = 2;
constexpr int k_compilers_part = 4;

}  // namespace

std::size_t least_loaded_device(std::span<const DeviceLoad> devices) {
  const auto order = [](const DeviceLoad& device) {
    return std::tuple(device.quarantined, device.tried, device.work + startup_cost(device.judge), device.work,
                      device.last_placed);
  };
  const auto best = std::min_element(devices.begin(), devices.end(),
                                     [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return static_cast<std::size_t>(best - devices.begin());
}

int max_parallel_compilers(int gpus, int cores) {
  return std::max(
      {k_least_compilers, cores / k_compilers_part, cores - k_reserved_cores - k_spared_cores_per_device * gpus});
}

Placement::Reservation::~Reservation() {
  const std::scoped_lock lock(placement_.mutex_);
  placement_.remove(device_, task_, work_);
}

void Placement::Reservation::move_to(const std::string& device) {
  const std::scoped_lock lock(placement_.mutex_);
  placement_.remove(device_, task_, work_);
  device_ = device;
  work_ = 1;
  placement_.add(device_, task_, work_);
}

/// Requires, like remove(): the mutex is held.
void Placement::add(const std::string& device, const std::string& task, int work) {
  auto& to = devices_[device];
  to.work += work;
  to.last_placed = ++placed_;
  ++to.tasks[task];
}

void Placement::remove(const std::string& device, const std::string& task, int work) {
  auto& from = devices_.at(device);
  from.work -= work;
  const auto found = from.tasks.find(task);
  if (--found->second == 0) from.tasks.erase(found);
}

std::unique_ptr<Placement::Reservation> Placement::reserve(const std::string& task,
                                                           const std::vector<Choice>& choices) {
  const std::scoped_lock lock(mutex_);
  const auto now = now_();
  std::vector<DeviceLoad> loads;
  for (const auto& choice : choices) {
    const auto& device = devices_[choice.device];
    // An evaluation that was placed there before starts the judge.
    const auto judge = device.tasks.contains(task) ? JudgeState::Warm : choice.judge;
    const int external_work = choice.external_work + (now < device.shared_until ? k_shared_work : 0);
    loads.push_back({.work = device.work + external_work,
                     .judge = judge,
                     .last_placed = device.last_placed,
                     .quarantined = now < device.quarantined_until,
                     .tried = choice.tried});
  }
  const auto index = least_loaded_device(loads);
  const int work = 1 + startup_cost(loads[index].judge);
  auto reservation = std::make_unique<Reservation>(*this, index, choices[index].device, task, work);
  add(choices[index].device, task, work);
  return reservation;
}

int Placement::active_count(const std::string& device) const {
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

bool Placement::is_avoided(const std::string& device) const {
  const std::scoped_lock lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return false;
  const auto now = now_();
  return now < found->second.quarantined_until || now < found->second.shared_until;
}

void Placement::quarantine(const std::string& device) {
  const std::scoped_lock lock(mutex_);
  const auto now = now_();
  auto& quarantined = devices_[device];
  // Evaluations that were placed there before the quarantine fail for the known reason.
  if (now < quarantined.quarantined_until) return;
  const bool again =
      quarantined.quarantined_for.count() > 0 && now - quarantined.quarantined_until < quarantined.quarantined_for;
  quarantined.quarantined_for =
      again ? std::min(2 * quarantined.quarantined_for, k_longest_quarantine) : k_first_quarantine;
  quarantined.quarantined_until = now + quarantined.quarantined_for;
}

void Placement::mark_shared(const std::string& device) {
  const std::scoped_lock lock(mutex_);
  devices_[device].shared_until = now_() + k_shared_for;
}

}  // namespace v0
}  // namespace kernelgen
