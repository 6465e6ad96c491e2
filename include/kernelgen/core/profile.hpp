#pragma once

/// \file
/// What a profiler saw: kernels, how often and how long they ran, and counters. One schema for every profiler.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One number about a kernel. `name` is kernelgen's own and the same for every profiler: "dram_throughput_pct".
struct Metric {
  std::string name;
  double value = 0;
  /// "%", "byte", "ns", "block"; empty for plain numbers.
  std::string unit;
};

/// Whose code a kernel is, judged by its name. Advisory: a name proves nothing.
enum class KernelOrigin {
  Own,        ///< the candidate's
  Framework,  ///< torch's own kernels, those that torch.compile generates too
  Library,    ///< cuBLAS, cuDNN and their like
  Copy,       ///< a copy or a fill, which is no kernel
};
[[nodiscard]] std::string_view to_string(KernelOrigin origin);
/// From the name that a profiler shows.
[[nodiscard]] KernelOrigin origin_of_kernel(std::string_view name);

/// All launches of one kernel in one call of the module.
struct KernelProfile {
  /// As the profiler shows it, with template arguments and parameters.
  std::string name;
  /// Without them: "at::native::vectorized_elementwise_kernel".
  std::string function;
  KernelOrigin origin = KernelOrigin::Own;
  std::int64_t launches = 0;
  /// Of all launches together.
  double duration_ns = 0;
  /// Launches that counters were read of; 0 where none were.
  std::int64_t counted_launches = 0;
  /// Of those launches, weighted by their durations.
  std::vector<Metric> metrics;

  /// Nothing when it was not read.
  [[nodiscard]] std::optional<double> metric(std::string_view metric_name) const;
};

/// Why something could not be profiled; a value, not an Error.
struct ProfileUnavailable {
  std::string reason;
  /// What a person can do about it. May be empty.
  std::string remedy;
};

/// One call of a module, taken apart. Kernels in the order of their durations, longest first.
struct Profile {
  int schema = 1;
  /// "ncu", "rocprof"; "timeline" where no counters were read.
  std::string source;
  /// "NVIDIA H200".
  std::string device;
  /// Which counters were asked for; empty for none.
  std::string metric_set;
  /// Host time of a call without a profiler, waiting for the device included.
  double call_ns = 0;
  /// Device time from the first kernel's start to the last one's end; 0 where there is no device.
  double span_ns = 0;
  std::vector<KernelProfile> kernels;
  /// Set when nothing could be profiled at all.
  std::optional<ProfileUnavailable> unavailable;
  /// Set when counters were wanted and could not be read; the timeline is there.
  std::optional<ProfileUnavailable> no_counters;

  /// Of all kernels, copies included.
  [[nodiscard]] std::int64_t launches() const;
  [[nodiscard]] double device_ns() const;
  /// Of the device time, 0 to 1; 0 where there is none.
  [[nodiscard]] double share_of(KernelOrigin origin) const;
  [[nodiscard]] double share_of(const KernelProfile& kernel) const;
  /// Over all kernels that have it, weighted by their durations.
  [[nodiscard]] std::optional<double> metric(std::string_view metric_name) const;
};

/// "at::native::reduce_kernel" of "void at::native::reduce_kernel<512, 1>(Op)". Any text is fine.
[[nodiscard]] std::string function_of_kernel(std::string_view name);

/// UTF-8 JSON with a schema number.
[[nodiscard]] std::string to_json(const Profile& profile);
/// Reads what to_json wrote. Unknown members are ignored.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
