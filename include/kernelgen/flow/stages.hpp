#pragma once

/// \file
/// The stages of tuning as data: their order, and the conditions under which one is skipped.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// How a counter is compared with its limit.
enum class Comparison { AtLeast, AtMost, Above, Below };

/// A condition on a counter.
struct MetricBound {
  /// See all_metrics().
  std::string_view metric;
  Comparison comparison = Comparison::AtLeast;
  double limit = 0;
};

/// One stage: one aspect of a correct kernel that a model is asked to tune.
struct Stage {
  /// Name of the stage and of its prompt.
  std::string_view name;
  /// Conditions for trying the stage: all must hold. A condition on a counter that was not read holds.
  std::vector<MetricBound> preconditions;
  /// Conditions for skipping the stage under early exit: all must hold. A condition on a counter that was not read does
  /// not.
  std::vector<MetricBound> done_when;
};

/// A named sequence of stages.
struct StageSet {
  std::string_view name;
  std::vector<std::string_view> stages;
};

/// Every stage that has conditions, each once.
[[nodiscard]] const std::vector<Stage>& all_stages();
/// "three", "four".
[[nodiscard]] const std::vector<StageSet>& stage_sets();

/// Parses a choice of stages: a set's name, "none", or names separated by commas, which may also be stages that only a
/// prompt knows. InvalidArgument for a text without any name, or with one twice.
[[nodiscard]] Result<std::vector<std::string>> choose_stages(std::string_view text);

/// Whether stages are skipped because a profile shows that they are done.
enum class EarlyExit { No, Yes };

/// Returns why a stage is skipped for a kernel with this profile, in a few words with the number; nothing if it should
/// be tried. Pure. Unknown stages, and kernels without a profile, are always tried.
[[nodiscard]] std::optional<std::string> reason_to_skip(std::string_view stage, const Profile& profile,
                                                        EarlyExit early_exit);

}  // namespace v0
}  // namespace kernelgen
