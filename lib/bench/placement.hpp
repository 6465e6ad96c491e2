#pragma once

/// \file
/// Chooses one of several equal devices for an evaluation.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bench/judge_queue.hpp"

namespace kernelgen {
inline namespace v0 {

/// The load of a device when an evaluation is placed.
struct DeviceLoad {
  /// Work of the evaluations that were placed there and have not ended.
  int work = 0;
  JudgeState judge = JudgeState::Cold;
  /// Sequence number of the last placement there; 0: none.
  std::uint64_t last_placed = 0;
  /// True if it could not be used lately.
  bool quarantined = false;
  /// True if the same evaluation has failed there before.
  bool tried = false;
};

/// The index of the device that will finish the work first. Quarantined and tried devices come after all others, unless
/// all are. Ties go to the shortest queue (starting a judge is better where the device has nothing else to do), then to
/// the least recently used device, then to the first. Requires: there is a device.
[[nodiscard]] std::size_t least_loaded_device(std::span<const DeviceLoad> devices);

/// The number of compilers that may run while `gpus` GPUs are in use, because measurements there need processors, too.
[[nodiscard]] int max_parallel_compilers(int gpus, int cores);

/// The evaluations on each device. Thread-safe. It must outlive its reservations.
class Placement {
 public:
  /// A device to choose from.
  struct Choice {
    /// UUID; empty: the processor.
    std::string device;
    /// The state without the judges that evaluations placed there will start.
    JudgeState judge = JudgeState::Cold;
    /// Work of evaluations that were not placed by this object.
    int external_work = 0;
    /// True if the same evaluation has failed there before.
    bool tried = false;
  };
  using Clock = std::chrono::steady_clock;

  explicit Placement(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  /// A share of a device for one evaluation, for as long as this object lives.
  class Reservation {
   public:
    Reservation(Placement& placement, std::size_t index, std::string device, std::string task, int work)
        : placement_(placement), index_(index), device_(std::move(device)), task_(std::move(task)), work_(work) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation();
    /// The index of the choice.
    [[nodiscard]] std::size_t index() const { return index_; }
    /// Gives it up for a share of another device, where the evaluation has a judge.
    void move_to(const std::string& device);

   private:
    Placement& placement_;
    const std::size_t index_;
    std::string device_;
    const std::string task_;
    int work_;
  };

  /// Chooses a device and reserves it. Evaluations that share a judge have the same `task`. Requires: `choices` is not
  /// empty.
  [[nodiscard]] std::unique_ptr<Reservation> reserve(const std::string& task, const std::vector<Choice>& choices);
  /// The number of evaluations on a device.
  [[nodiscard]] int active_count(const std::string& device) const;
  /// The number of GPUs with an evaluation.
  [[nodiscard]] int used_gpus() const;
  /// True if a device is in quarantine, or foreign processes use it.
  [[nodiscard]] bool is_avoided(const std::string& device) const;
  /// Quarantines a device that could not be used: for a minute, and for twice as long each time that it happens again
  /// soon after, up to 16 minutes.
  void quarantine(const std::string& device);
  /// Marks a device that foreign processes use: for five minutes it counts as if it had some more evaluations.
  void mark_shared(const std::string& device);

 private:
  void add(const std::string& device, const std::string& task, int work);
  void remove(const std::string& device, const std::string& task, int work);

  struct Device {
    int work = 0;
    std::uint64_t last_placed = 0;
    /// The number of evaluations of each task.
    std::map<std::string, int> tasks;
    /// The last quarantine: how long it is, and when it ends.
    Clock::duration quarantined_for{};
    Clock::time_point quarantined_until{};
    Clock::time_point shared_until{};
  };
  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  std::uint64_t placed_ = 0;
  std::map<std::string, Device> devices_;
};

}  // namespace v0
}  // namespace kernelgen
