#pragma once

#include <map>
#include <memory>
#include <string>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>

#include "bench/evaluation.hpp"
#include "bench/placement.hpp"

namespace kernelgen {
inline namespace v0 {

/// How judges are started.
struct JudgePoolOptions {
  Installation installation;
  std::string python = "python3";
  std::map<std::string, std::string> environment;
  /// Where admissions and times of compiled references are remembered; empty: nowhere.
  std::string cache_dir;
  /// Judges kept warm on each device. Each holds a task's inputs and expected outputs in memory.
  std::size_t max_warm = 3;
};

/// What makes two tasks the same to a judge, as sorted lines that a person can read.
[[nodiscard]] std::string judge_key(const JudgeTask& task);

/// One judge per task, device, precision and options, of which one on each device is in use. Thread-safe. Use it in a
/// child subreaper only.
class JudgePool {
 public:
  virtual ~JudgePool() = default;
  /// Waits until nobody has a judge on the device, and its turn has come; see next_turn. A judge shares its device,
  /// through `gate`, while it is started.
  virtual Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, DeviceGate& gate, std::stop_token stop) = 0;
  /// Null where it would have to wait for a turn.
  virtual Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, DeviceGate& gate,
                                                         std::stop_token stop) = 0;
  /// Of a task that some judge here has admitted.
  virtual std::optional<AdmittedTask> known(const JudgeTask& task) = 0;
  /// What it takes now until a task has a judge.
  virtual JudgeNeed need(const JudgeTask& task) = 0;
  /// Ends every judge of a device (its UUID; empty: every judge at all, for the host's memory) that nobody uses, after
  /// waiting for one if all are in use. False: there is none but the caller's own, so that more memory will not come
  /// from here.
  virtual Result<bool> make_room(const std::string& device, std::stop_token stop) = 0;
  /// Versions of Python, torch and triton; waits for the imports.
  virtual Result<EnvironmentReport> environment(std::stop_token stop) = 0;
};
/// Starts importing torch at once.
[[nodiscard]] Result<std::unique_ptr<JudgePool>> make_judge_pool(JudgePoolOptions options, SharedMemorySource& memory);

}  // namespace v0
}  // namespace kernelgen
