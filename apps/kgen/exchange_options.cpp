#include "exchange_options.hpp"

#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {

Result<BaselineTimes> KernelBenchFlags::read_baseline_times() const {
  if (baseline_times.empty()) return BaselineTimes{};
  KERNELGEN_TRY(const auto text, read_file(baseline_times).context("--baseline-times"));
  return parse_baseline_times(text).context("--baseline-times: " + baseline_times);
}

Option kernelbench_option(KernelBenchFlags& flags, const Environment& environment) {
  flags.checkout = environment.kernelbench_dir;
  return {.name = "--kernelbench",
          .value_name = "DIR",
          .help = "A KernelBench checkout, for the tasks; default: KERNELBENCH_DIR",
          .value = values::directory(flags.checkout)};
}

Option baseline_times_option(KernelBenchFlags& flags) {
  return {.name = "--baseline-times",
          .value_name = "FILE",
          .help = "KernelBench's times of the references, for claims with the kernel's time only",
          .value = values::file(flags.baseline_times)};
}

}  // namespace kernelgen::cli
