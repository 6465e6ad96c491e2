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

namespace kernelgen {
inline namespace v0 {

/// The work until a task has a judge on a device.
enum class JudgeNeed {
  Nothing,  ///< the judge is there
  Start,    ///< it has to be started
  Replace,  ///< it has to be started, and another judge ends for it
};

/// The cost of a need, in verdicts as all work here: starting a judge takes about as long as a verdict, and a judge
/// that was ended will have to be started again.
[[nodiscard]] int work_of(JudgeNeed need);

/// The facts about a device when an evaluation is placed.
struct DeviceQueue {
  /// Work of the evaluations that were placed there and have not ended.
  int work = 0;
  JudgeNeed judge = JudgeNeed::Start;
  /// A number that rises with each placing; 0: nothing was ever placed there.
  std::uint64_t last_placed = 0;
  /// It could not be used lately.
  bool quarantined = false;
  /// The same evaluation has failed there before.
  bool tried = false;
};

/// The index of the device on which the work will be done soonest. A device that is quarantined, or was tried, comes
/// after all others, however long they take; where all are, they are equal again. Among equals the one with the
/// shortest queue wins (waiting for a judge is better where the device has nothing else to do), then the one that was
/// used least recently, then the first. Requires: there is a device.
[[nodiscard]] std::size_t soonest(std::span<const DeviceQueue> devices);

/// The number of compilers that may run while so many GPUs are in use: measurements there need processors, too.
[[nodiscard]] int compilers_beside(int gpus, int cores);

/// The evaluations on each device. Thread-safe. It must outlive its places.
class Placement {
 public:
  /// A device to choose from.
  struct Choice {
    /// UUID; empty: the processor.
    std::string device;
    /// The need apart from judges that evaluations which are placed there will start.
    JudgeNeed judge = JudgeNeed::Start;
    /// Work of evaluations that are not placed by this object.
    int others = 0;
    /// As in DeviceQueue.
    bool tried = false;
  };
  using Clock = std::chrono::steady_clock;

  explicit Placement(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  /// An evaluation's place on a device, until this ends.
  class Place {
   public:
    Place(Placement& placement, std::size_t index, std::string device, std::string task, int work)
        : placement_(placement), index_(index), device_(std::move(device)), task_(std::move(task)), work_(work) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();
    /// The index of the choice.
    [[nodiscard]] std::size_t index() const { return index_; }

   private:
    Placement& placement_;
    const std::size_t index_;
    const std::string device_;
    const std::string task_;
    const int work_;
  };

  /// Takes a place. `task` is equal for evaluations that share a judge. Requires: there is a choice.
  [[nodiscard]] std::unique_ptr<Place> take(const std::string& task, const std::vector<Choice>& choices);
  /// The number of evaluations on a device.
  [[nodiscard]] int active_count(const std::string& device) const;
  /// The number of GPUs with an evaluation.
  [[nodiscard]] int used_gpus() const;
  /// Quarantines a device that could not be used for a minute, and each time that this happens again soon after for
  /// twice as long, up to 16 minutes.
  void quarantine(const std::string& device);
  /// Marks a device that foreign processes use: for five minutes it counts as if it had some more evaluations.
  void mark_shared(const std::string& device);

 private:
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
