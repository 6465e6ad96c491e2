#pragma once

#include <map>
#include <memory>
#include <string>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// How judges are started.
struct JudgePoolOptions {
  Installation installation;
  std::string python = "python3";
  std::map<std::string, std::string> environment;
  /// Where admissions are remembered; empty: nowhere.
  std::string cache_dir;
  /// Judges kept warm when nobody uses them. Each holds a task's inputs and expected outputs in memory.
  std::size_t max_warm = 3;
};

/// One judge per task, precision and options. Thread-safe. Use it in a child subreaper only.
class JudgePool : public JudgeSource {
 public:
  /// Versions of Python, torch and triton; waits for the imports.
  virtual Result<EnvironmentReport> environment(std::stop_token stop) = 0;
};
/// Starts importing torch at once. A judge shares the device, through `gate`, while it is started, and never while
/// somebody waits for one: whoever has the judge may be waiting to have the device alone.
[[nodiscard]] Result<std::unique_ptr<JudgePool>> make_judge_pool(JudgePoolOptions options, SharedMemorySource& memory,
                                                                 DeviceGate& gate);

}  // namespace v0
}  // namespace kernelgen
