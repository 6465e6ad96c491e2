#include <kernelgen/profile/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Adds what the metrics of one kernel and the device's facts give together. Metrics that are there stay as they are.
class MetricDeriver {
 public:
  MetricDeriver(KernelProfile& kernel, const GpuFacts& gpu) : kernel_(kernel), gpu_(gpu) {}

  void derive() {
    add("dram_throughput_pct", memory_share());
    const auto warps = warps_per_block();
    if (!warps) return;
    const int resident_warps = gpu_.threads_per_multiprocessor / gpu_.warp_threads;
    add("occupancy_limit_warps", limit(resident_warps, *warps));
    if (const auto registers = kernel_.metric("registers_per_thread"); registers && *registers > 0)
      add("occupancy_limit_registers",
          limit(std::floor(gpu_.registers_per_multiprocessor / (*registers * gpu_.warp_threads)), *warps));
    if (const auto bytes = kernel_.metric("shared_bytes_per_block"); bytes && *bytes > 0)
      add("occupancy_limit_shared", limit(static_cast<double>(gpu_.shared_bytes_per_multiprocessor), *bytes));
    add("waves_per_sm", waves());
  }

 private:
  void add(std::string_view name, std::optional<double> value) {
    const auto* spec = find_metric(name);
    if (value && !kernel_.metric(name)) kernel_.metrics.push_back({std::string(name), *value, std::string(spec->unit)});
  }

  /// Nothing for a fact that is not known, which is 0.
  static std::optional<double> limit(double all, double of_one) {
    return all > 0 && of_one > 0 ? std::optional(std::floor(all / of_one)) : std::nullopt;
  }

  /// The mean over the launches of a call.
  [[nodiscard]] std::optional<double> memory_share() const {
    constexpr double k_percent = 100, k_ns_per_s = 1e9;
    const auto read = kernel_.metric("dram_read_bytes"), written = kernel_.metric("dram_write_bytes");
    const double peak = gpu_.memory_bytes_per_second.value_or(0);
    if (!read || !written || !(peak > 0) || !(kernel_.duration_ns > 0) || kernel_.launches < 1) return std::nullopt;
    const double seconds = kernel_.duration_ns / static_cast<double>(kernel_.launches) / k_ns_per_s;
    // A cache before the memory may serve more than the memory could.
    return std::min(k_percent * (*read + *written) / seconds / peak, k_percent);
  }

  [[nodiscard]] std::optional<double> warps_per_block() const {
    const auto threads = kernel_.metric("block_threads");
    if (!threads || !(*threads > 0) || gpu_.warp_threads <= 0) return std::nullopt;
    return std::ceil(*threads / gpu_.warp_threads);
  }

  [[nodiscard]] std::optional<double> waves() const {
    const auto blocks = kernel_.metric("grid_blocks");
    auto resident = kernel_.metric("occupancy_limit_warps");
    for (const auto* name : {"occupancy_limit_registers", "occupancy_limit_shared"})
      if (const auto other = kernel_.metric(name); other && resident) resident = std::min(*resident, *other);
    if (!blocks || !resident || !(*resident > 0) || gpu_.multiprocessors <= 0) return std::nullopt;
    return *blocks / (*resident * gpu_.multiprocessors);
  }

  KernelProfile& kernel_;
  const GpuFacts& gpu_;
};

}  // namespace

void add_derived_metrics(Profile& profile, const GpuFacts& gpu) {
  for (auto& kernel : profile.kernels)
    if (kernel.counted_launches > 0) MetricDeriver(kernel, gpu).derive();
}

}  // namespace v0
}  // namespace kernelgen
