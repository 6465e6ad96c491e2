#pragma once

/// \file
/// The result of profiling: kernels, their launches and durations, and counters. One schema for every profiler.

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

/// Origin of a kernel, guessed from its name. Advisory: a name proves nothing.
enum class KernelOrigin {
  Own,        ///< the candidate's own kernel
  Framework,  ///< a kernel of torch, or one that torch.compile generated
  Library,    ///< cuBLAS, cuDNN and their like
  Copy,       ///< a copy or a fill
};
[[nodiscard]] std::string_view to_string(KernelOrigin origin);
/// Guesses the origin from the name that a profiler shows.
[[nodiscard]] KernelOrigin origin_of_kernel(std::string_view name);

/// All launches of one kernel in one call of the module.
struct KernelProfile {
  /// The profiler's name, with template arguments and parameters.
  std::string name;
  /// The name without them: "at::native::vectorized_elementwise_kernel".
  std::string function;
  KernelOrigin origin = KernelOrigin::Own;
  std::int64_t launches = 0;
  /// Sum over all launches.
  double duration_ns = 0;
  /// Launches with counters; 0 where none were read.
  std::int64_t counted_launches = 0;
  /// Means over those launches, weighted by their durations.
  std::vector<Metric> metrics;

  /// Nothing when the counter was not read.
  [[nodiscard]] std::optional<double> metric(std::string_view metric_name) const;
};

/// The reason why something could not be profiled; a value, not an Error.
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
  /// The counters that were asked for; empty for none.
  std::string metric_set;
  /// Host time of a call without a profiler, including the wait for the device.
  double call_ns = 0;
  /// Device time from the first kernel's start to the last one's end; 0 where there is no device.
  double span_ns = 0;
  std::vector<KernelProfile> kernels;
  /// Set when nothing could be profiled at all.
  std::optional<ProfileUnavailable> unavailable;
  /// Set when counters were wanted and could not be read; the timeline is there.
  std::optional<ProfileUnavailable> no_counters;

  /// Number of launches of all kernels, copies included.
  [[nodiscard]] std::int64_t launches() const;
  /// The time of all kernels together.
  [[nodiscard]] double device_ns() const;
  /// Fraction of the device time, 0 to 1; 0 without device time.
  [[nodiscard]] double share_of(KernelOrigin origin) const;
  /// Fraction of the device time, 0 to 1; 0 without device time.
  [[nodiscard]] double share_of(const KernelProfile& kernel) const;
  /// Mean over all kernels that have the counter, weighted by their durations.
  [[nodiscard]] std::optional<double> metric(std::string_view metric_name) const;
};

/// Strips result type, template arguments and parameters: "at::native::reduce_kernel" for "void
/// at::native::reduce_kernel<512, 1>(Op)". Accepts any text.
[[nodiscard]] std::string function_of_kernel(std::string_view name);

/// A profile that says why there is none.
[[nodiscard]] Profile unavailable_profile(std::string reason, std::string remedy = {});

/// UTF-8 JSON with a schema number.
[[nodiscard]] std::string to_json(const Profile& profile);
/// Reads the output of to_json(). Unknown members are ignored.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
