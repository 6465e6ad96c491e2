#pragma once

/// \file
/// Finds out which shared objects a process executes, by stopping its threads for an instant and looking where they
/// are. The process cannot answer for itself, and can only answer by what it runs.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace v0 {

/// A thread that was found running.
struct ProcessorSample {
  /// CLOCK_MONOTONIC.
  std::int64_t at_ns = 0;
  std::uint64_t instruction = 0;
  /// The top of its stack, which holds the callers of what it executes.
  std::vector<std::uint64_t> stack;
};

/// An executable mapping of a process. Without a file, `path` is empty.
struct CodeMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string path;
};

/// Reads /proc/PID/maps.
[[nodiscard]] std::vector<CodeMapping> read_code_mappings(pid_t process);

/// The activities that samples from `from_ns` to `to_ns` show, one microsecond each: the object that a thread executes,
/// or the first on its stack that works for itself (see ObjectKind).
[[nodiscard]] std::vector<WorkActivity> activities_of(const std::vector<ProcessorSample>& samples,
                                                      const std::vector<CodeMapping>& mappings, std::int64_t from_ns,
                                                      std::int64_t to_ns);

/// Samples the running threads of a process, from its construction to stop(). One thread at a time.
class ProcessorSampler {
 public:
  explicit ProcessorSampler(pid_t process);
  ProcessorSampler(const ProcessorSampler&) = delete;
  ProcessorSampler& operator=(const ProcessorSampler&) = delete;
  ~ProcessorSampler() { stop(); }

  /// Lets all threads go on. The samples are complete then.
  void stop();
  /// Requires: stop().
  [[nodiscard]] const std::vector<ProcessorSample>& samples() const { return samples_; }
  /// False where the system allows no tracing. Requires: stop().
  [[nodiscard]] bool could_trace() const { return could_trace_; }

 private:
  void sample_until_stopped();

  const pid_t process_;
  std::vector<ProcessorSample> samples_;
  bool could_trace_ = true;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace v0
}  // namespace kernelgen
