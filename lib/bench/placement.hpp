#pragma once

/// \file
/// On which of several equal devices an evaluation is done.

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

/// What it takes until a task has a judge on a device.
enum class JudgeNeed {
  Nothing,  ///< it is there
  Start,    ///< it is started beside those that are there
  Replace,  ///< it is started, and one that is there ends for it
};

/// In verdicts, as all work here: starting a judge takes about as long as a verdict, and whoever's judge ended will
/// have to start it again.
[[nodiscard]] int work_of(JudgeNeed need);

/// What is known of a device when an evaluation is placed.
struct DeviceQueue {
  /// Of the evaluations that were placed there and have not ended.
  int work = 0;
  JudgeNeed judge = JudgeNeed::Start;
  /// A number that rises with each placing; 0: nobody was ever placed there.
  std::uint64_t last_placed = 0;
  /// It could not be used the last time that somebody tried.
  bool barred = false;
  /// The same evaluation was there before, to no avail.
  bool tried = false;
};

/// The index of the device on which it will be done soonest. One that is barred, or was tried, comes after all that are
/// not, however long they take; where all are, they are equal again. Among equals the one with the shortest queue (if
/// somebody has to wait for a judge, then rather where the device has nothing to do), then the one where nobody was
/// placed for longest, then the first. Requires: there is a device.
[[nodiscard]] std::size_t soonest(std::span<const DeviceQueue> devices);

/// How many may compile while somebody is at hand on so many GPUs: what is measured there needs processors, too.
[[nodiscard]] int compilers_beside(int gpus, int cores);

/// Who has been placed where. Thread-safe. It must outlive its places.
class Placement {
 public:
  /// A device to choose from.
  struct Choice {
    /// Its UUID; empty: the processor.
    std::string device;
    /// Not counting what evaluations that are placed there will start.
    JudgeNeed judge = JudgeNeed::Start;
    /// Work of those who are not placed here.
    int others = 0;
    /// As in DeviceQueue.
    bool tried = false;
  };
  using Clock = std::chrono::steady_clock;

  explicit Placement(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  /// Somebody is at hand on a device until this ends.
  class Place {
   public:
    Place(Placement& placement, std::size_t index, std::string device, std::string task, int work)
        : placement_(placement), index_(index), device_(std::move(device)), task_(std::move(task)), work_(work) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();
    /// Of its choice.
    [[nodiscard]] std::size_t index() const { return index_; }

   private:
    Placement& placement_;
    const std::size_t index_;
    const std::string device_;
    const std::string task_;
    const int work_;
  };

  /// `task`: equal where a judge is shared. Requires: there is a choice.
  [[nodiscard]] std::unique_ptr<Place> take(const std::string& task, const std::vector<Choice>& choices);
  /// Evaluations at hand on a device.
  [[nodiscard]] int at_hand(const std::string& device) const;
  /// GPUs on which an evaluation is at hand.
  [[nodiscard]] int used_gpus() const;
  /// A device could not be used: it is barred for a minute, and each time that this happens again soon after, for twice
  /// as long, up to 16 minutes.
  void bar(const std::string& device);
  /// A device that others use: for five minutes it counts as if some more evaluations were at hand there.
  void mark_shared(const std::string& device);

 private:
  struct Device {
    int work = 0;
    std::uint64_t last_placed = 0;
    /// How many of each task.
    std::map<std::string, int> tasks;
    /// The last time that it was barred: for how long, and until when.
    Clock::duration barred_for{};
    Clock::time_point barred_until{};
    Clock::time_point shared_until{};
  };
  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  std::uint64_t placed_ = 0;
  std::map<std::string, Device> devices_;
};

}  // namespace v0
}  // namespace kernelgen
