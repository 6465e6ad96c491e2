#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>

#include "bench/evaluation.hpp"
#include "bench/placement.hpp"

namespace kernelgen {
inline namespace v0 {

/// Options for starting judges.
struct JudgePoolOptions {
  Installation installation;
  std::string python = "python3";
  std::map<std::string, std::string> environment;
  /// The directory that caches admissions and times of compiled references; empty: nothing is cached.
  std::string cache_dir;
  /// The number of judges kept warm on each device. Each holds a task's inputs and expected outputs in memory.
  std::size_t max_warm = 3;
};

/// Identifies a task for a judge, as sorted lines that a person can read.
[[nodiscard]] std::string judge_key(const JudgeTask& task);
/// Identifies the admission of a task, in the same way: equal devices share it.
[[nodiscard]] std::string admission_key(const JudgeTask& task);

/// A device that may judge a task.
struct JudgePlace {
  /// The task, with this device.
  JudgeTask task;
  /// The gate of the device, which a judge shares while it starts.
  DeviceGate* gate = nullptr;
  /// Whether it may take work over now. It is called often, and must not wait. Needed by all places but the first.
  std::function<bool()> is_free{};
  /// Called, if it is set, when the wait is over and a judge has to be started, or a task admitted.
  std::function<void()> on_start{};
};

/// A session, or why a judge could not be started, and the index of the place.
struct PlacedJudge {
  Result<std::unique_ptr<JudgeSession>> session;
  std::size_t place = 0;
};

/// An admitted task, or nothing, and the index of the place.
struct PlacedAdmission {
  Result<std::optional<AdmittedTask>> task;
  std::size_t place = 0;
};

/// Judges, one per task, device, precision and options; one on each device is in use at a time. Tasks that are not
/// known yet are admitted several at a time. Thread-safe. Use it in a child subreaper only.
class JudgePool {
 public:
  virtual ~JudgePool() = default;
  /// Waits until no judge of the first place is in use and the request is next_in_queue() there, or until another place
  /// has nothing to do and this is its request_to_take_over(). Before a judge of that place is taken, `on_move` is
  /// called with its index, and may complete the place. Requires: the places are equal devices, at least one.
  virtual PlacedJudge open(std::vector<JudgePlace>& places, const std::function<void(std::size_t)>& on_move,
                           std::stop_token stop) = 0;
  /// Opens a session at once, or returns null if it would have to wait.
  virtual Result<std::unique_ptr<JudgeSession>> try_open(const JudgePlace& place, std::stop_token stop) = 0;
  /// Admits a task while other tasks of the device are admitted, each with a part of its memory; at most
  /// admissions_at_a_time(). No judge is in use meanwhile, and none stays. Nothing where the task needs the device for
  /// itself, or where a judge may as well stay, because no other task waits. Places and `on_move` are as in open().
  virtual PlacedAdmission admit(std::vector<JudgePlace>& places, const std::function<void(std::size_t)>& on_move,
                                std::stop_token stop) = 0;
  /// The results of admitting a task, if this pool has admitted it, on this device or an equal one.
  virtual std::optional<AdmittedTask> known(const JudgeTask& task) = 0;
  /// Whether a task has a judge now.
  virtual JudgeState state_of(const JudgeTask& task) = 0;
  /// Ends every idle judge of a device (its UUID; empty: of all devices, for the host's memory), and waits for one if
  /// all are in use. Returns false if there is no judge but the caller's own, so that no memory can be freed.
  virtual Result<bool> evict_idle_judges(const std::string& device, std::stop_token stop) = 0;
  /// The versions of Python, torch and triton; waits until they are imported.
  virtual Result<EnvironmentReport> environment(std::stop_token stop) = 0;
};
/// Makes a pool, which begins to import torch at once.
[[nodiscard]] Result<std::unique_ptr<JudgePool>> make_judge_pool(JudgePoolOptions options, SharedMemorySource& memory);

}  // namespace v0
}  // namespace kernelgen
