#pragma once

/// \file
/// Options that the commands about KernelBench's run folders share.

#include <string>

#include <kernelgen/store/kernelbench_run.hpp>
#include <kernelgen/task/task_source.hpp>

#include "command_line.hpp"
#include "environment.hpp"

namespace kernelgen::cli {

/// Where KernelBench's tasks and the times of its references are.
struct KernelBenchFlags {
  std::string checkout;
  std::string baseline_times;

  [[nodiscard]] TaskLocator locator() const { return {.kernelbench_dir = checkout}; }
  /// Reads the file of reference times; none without the option.
  [[nodiscard]] Result<BaselineTimes> read_baseline_times() const;
};

[[nodiscard]] Option kernelbench_option(KernelBenchFlags& flags, const Environment& environment);
[[nodiscard]] Option baseline_times_option(KernelBenchFlags& flags);

}  // namespace kernelgen::cli
