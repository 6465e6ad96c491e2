#include <kernelgen/flow/stages.hpp>

#include <algorithm>
#include <cmath>

#include "flow/option_text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

// More blocks do not help a busy device, and more pipeline stages do not help warps that do not wait.
constexpr double k_busy_pct = 60;
constexpr double k_waiting_pct = 20;
/// More loads in flight do not help where the memory is busy.
constexpr double k_full_memory_pct = 90;
/// Where the least memory traffic takes this part of the time or more, nothing is gained by computing faster.
constexpr double k_memory_share = 0.9;
// Values of kernels that need no more tuning, as measured in earlier searches.
constexpr double k_enough_throughput_pct = 75;
constexpr double k_enough_warps_pct = 60;
constexpr double k_enough_stall_pct = 15;
constexpr double k_enough_l2_hit_pct = 90;
constexpr double k_least_stall_pct = 10;
constexpr double k_tenths = 10;
constexpr double k_hundredths = 100;

bool holds(const MetricBound& bound, double value) {
  switch (bound.comparison) {
    case Comparison::AtLeast:
      return value >= bound.limit;
    case Comparison::AtMost:
      return value <= bound.limit;
    case Comparison::Above:
      return value > bound.limit;
    case Comparison::Below:
      return value < bound.limit;
  }
  return false;
}

const char* words_of(Comparison comparison) {
  switch (comparison) {
    case Comparison::AtLeast:
      return "at least";
    case Comparison::AtMost:
      return "at most";
    case Comparison::Above:
      return "above";
    case Comparison::Below:
      return "below";
  }
  return "";
}

/// The value to one part in `parts`, as a short text.
std::string rounded_text(double value, double parts) { return to_text(std::round(value * parts) / parts); }

/// The value of a counter in words: "sm_throughput_pct is 72.5".
std::string measured(const MetricBound& bound, double value) {
  return std::string(bound.metric) + " is " + rounded_text(value, k_tenths);
}

/// Blocks of the own kernel that takes longest; nothing where they were not counted.
std::optional<double> blocks_of_longest(const Profile& profile) {
  const auto longest = std::find_if(profile.kernels.begin(), profile.kernels.end(),
                                    [](const KernelProfile& kernel) { return kernel.origin == KernelOrigin::Own; });
  return longest == profile.kernels.end() ? std::nullopt : longest->metric("grid_blocks");
}

/// Why the kernel does not have what a stage needs; nothing if it has it, or if that is not known.
std::optional<std::string> lacks(StageNeed need, const TunedKernel& kernel) {
  const auto loop = kernel.recurrence.value_or(Recurrence::Unknown);
  switch (need) {
    case StageNeed::PersistentKernel:
      if (loop == Recurrence::PerStep) return "the kernel is launched for each step";
      return std::nullopt;
    case StageNeed::LaunchesInLoop:
      if (loop == Recurrence::Persistent) return "the time loop stands inside the kernel";
      return std::nullopt;
    case StageNeed::SeveralWorkers:
      if (kernel.threads == 1) return "there is one thread";
      return std::nullopt;
    case StageNeed::SeveralBlocks:
      if (kernel.profile != nullptr)
        if (const auto blocks = blocks_of_longest(*kernel.profile); blocks && *blocks <= 1)
          return "the longest kernel has one block, which exchanges nothing";
      return std::nullopt;
    case StageNeed::SeveralLaunches:
      if (kernel.profile != nullptr && kernel.profile->launches() == 1) return "a call is one launch";
      return std::nullopt;
    case StageNeed::AboveMemoryFloor:
      if (kernel.headroom && kernel.headroom->bound == "memory" && kernel.headroom->ratio * k_memory_share <= 1)
        return "it takes " + rounded_text(kernel.headroom->ratio, k_hundredths) +
               " times as long as the memory traffic that every kernel needs";
      return std::nullopt;
  }
  return std::nullopt;
}

const Stage* find_stage(std::string_view name) {
  const auto& stages = all_stages();
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const Stage& stage) { return stage.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Stage>& all_stages() {
  using enum StageNeed;
  constexpr MetricBound k_memory_has_room{"dram_throughput_pct", Comparison::Below, k_full_memory_pct};
  static const std::vector<Stage> k_stages{
      {"grid_and_parallel",
       {},
       {{"sm_throughput_pct", Comparison::Below, k_busy_pct}},
       {{"sm_throughput_pct", Comparison::AtLeast, k_enough_throughput_pct}}},
      {"block_tiling", {AboveMemoryFloor}, {}, {{"occupancy_pct", Comparison::AtLeast, k_enough_warps_pct}}},
      {"memory_access", {}, {}, {{"stall_memory_pct", Comparison::AtMost, k_enough_stall_pct}}},
      {"advanced_memory",
       {},
       {},
       {{"l2_hit_pct", Comparison::AtLeast, k_enough_l2_hit_pct},
        {"stall_memory_pct", Comparison::AtMost, k_least_stall_pct}}},
      {"memory_and_tuning",
       {},
       {{"stall_memory_pct", Comparison::Above, k_waiting_pct}},
       {{"l2_hit_pct", Comparison::AtLeast, k_enough_l2_hit_pct},
        {"stall_memory_pct", Comparison::AtMost, k_least_stall_pct}}},
      {"loads_in_flight", {AboveMemoryFloor}, {k_memory_has_room}, {}},
      {"step_launches", {LaunchesInLoop, SeveralLaunches}, {}, {}},
      {"step_product", {AboveMemoryFloor}, {}, {}},
      {"step_exchange", {PersistentKernel, SeveralWorkers, SeveralBlocks}, {}, {}},
      {"network_launches", {SeveralLaunches}, {}, {}},
      {"row_split", {SeveralWorkers}, {k_memory_has_room}, {}},
      {"scan_chunks", {AboveMemoryFloor}, {k_memory_has_room}, {}},
      {"attention_tiles", {AboveMemoryFloor}, {}, {}},
      {"attention_softmax", {AboveMemoryFloor}, {k_memory_has_room}, {}},
      {"window_tiles", {AboveMemoryFloor}, {}, {}}};
  return k_stages;
}

std::optional<std::string> reason_to_skip(std::string_view stage, const TunedKernel& kernel, EarlyExit early_exit) {
  const auto* found = find_stage(stage);
  if (found == nullptr) return std::nullopt;
  for (const auto need : found->needs)
    if (auto reason = lacks(need, kernel)) return reason;
  if (kernel.profile == nullptr) return std::nullopt;
  for (const auto& bound : found->preconditions) {
    const auto value = kernel.profile->metric(bound.metric);
    if (value && !holds(bound, *value))
      return measured(bound, *value) + ", worth a try only " + words_of(bound.comparison) + ' ' + to_text(bound.limit);
  }
  if (early_exit == EarlyExit::No || found->done_when.empty()) return std::nullopt;
  std::string reason;
  for (const auto& bound : found->done_when) {
    const auto value = kernel.profile->metric(bound.metric);
    if (!value || !holds(bound, *value)) return std::nullopt;
    reason += (reason.empty() ? "" : ", ") + measured(bound, *value);
  }
  return reason + ": enough";
}

}  // namespace v0
}  // namespace kernelgen
