#include <kernelgen/flow/stages.hpp>

#include <algorithm>
#include <cmath>

#include "flow/option_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

// More blocks do not help a busy device, and more pipeline stages do not help warps that do not wait.
constexpr double k_busy_pct = 60;
constexpr double k_waiting_pct = 20;
// Values of kernels that need no more tuning, as measured in earlier searches.
constexpr double k_enough_throughput_pct = 75;
constexpr double k_enough_warps_pct = 60;
constexpr double k_enough_stall_pct = 15;
constexpr double k_enough_l2_hit_pct = 90;
constexpr double k_least_stall_pct = 10;

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

/// The value of a counter in words: "sm_throughput_pct is 72.5".
std::string measured(const MetricBound& bound, double value) {
  constexpr double k_tenth = 10;
  const auto rounded = std::round(value * k_tenth) / k_tenth;
  return std::string(bound.metric) + " is " + to_text(rounded);
}

const Stage* find_stage(std::string_view name) {
  const auto& stages = all_stages();
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const Stage& stage) { return stage.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message), {}}; }

}  // namespace

const std::vector<Stage>& all_stages() {
  static const std::vector<Stage> k_stages{
      {"grid_and_parallel",
       {{"sm_throughput_pct", Comparison::Below, k_busy_pct}},
       {{"sm_throughput_pct", Comparison::AtLeast, k_enough_throughput_pct}}},
      {"block_tiling", {}, {{"occupancy_pct", Comparison::AtLeast, k_enough_warps_pct}}},
      {"memory_access", {}, {{"stall_memory_pct", Comparison::AtMost, k_enough_stall_pct}}},
      {"advanced_memory",
       {},
       {{"l2_hit_pct", Comparison::AtLeast, k_enough_l2_hit_pct},
        {"stall_memory_pct", Comparison::AtMost, k_least_stall_pct}}},
      {"memory_and_tuning",
       {{"stall_memory_pct", Comparison::Above, k_waiting_pct}},
       {{"l2_hit_pct", Comparison::AtLeast, k_enough_l2_hit_pct},
        {"stall_memory_pct", Comparison::AtMost, k_least_stall_pct}}}};
  return k_stages;
}

const std::vector<StageSet>& stage_sets() {
  static const std::vector<StageSet> k_sets{
      {"three", {"grid_and_parallel", "block_tiling", "memory_and_tuning"}},
      {"four", {"grid_and_parallel", "block_tiling", "memory_access", "advanced_memory"}}};
  return k_sets;
}

Result<std::vector<std::string>> choose_stages(std::string_view text) {
  text = trim(text);
  if (text == "none") return std::vector<std::string>{};
  for (const auto& set : stage_sets())
    if (set.name == text) return std::vector<std::string>(set.stages.begin(), set.stages.end());
  std::vector<std::string> names;
  while (true) {
    const auto comma = text.find(',');
    const std::string name(trim(text.substr(0, comma)));
    if (name.empty()) return invalid("a stage has no name; stages are three, four, none, or names: a,b,c");
    if (std::find(names.begin(), names.end(), name) != names.end()) return invalid("stage " + name + " is there twice");
    names.push_back(name);
    if (comma == text.npos) return names;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::string> reason_to_skip(std::string_view stage, const Profile& profile, EarlyExit early_exit) {
  const auto* found = find_stage(stage);
  if (found == nullptr) return std::nullopt;
  for (const auto& bound : found->preconditions) {
    const auto value = profile.metric(bound.metric);
    if (value && !holds(bound, *value))
      return measured(bound, *value) + ", worth a try only " + words_of(bound.comparison) + ' ' + to_text(bound.limit);
  }
  if (early_exit == EarlyExit::No || found->done_when.empty()) return std::nullopt;
  std::string reason;
  for (const auto& bound : found->done_when) {
    const auto value = profile.metric(bound.metric);
    if (!value || !holds(bound, *value)) return std::nullopt;
    reason += (reason.empty() ? "" : ", ") + measured(bound, *value);
  }
  return reason + ": enough";
}

}  // namespace v0
}  // namespace kernelgen
