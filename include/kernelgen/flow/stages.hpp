#pragma once

/// \file
/// Stages of tuning as data: which there are, in which order, and when one is not worth its price.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// On which side of its limit a counter has to be.
enum class BoundSide { AtLeast, AtMost, Above, Below };

/// A counter held against a limit.
struct MetricBound {
  /// See all_metrics().
  std::string_view metric;
  BoundSide side = BoundSide::AtLeast;
  double limit = 0;
};

/// One stage: one aspect of a correct kernel that a model is asked to tune.
struct Stage {
  /// Also the name of its prompt.
  std::string_view name;
  /// Worth a try only where all of these hold. A counter that was not read holds.
  std::vector<MetricBound> needs;
  /// With early exit: nothing left to do where all of these hold. A counter that was not read does not hold.
  std::vector<MetricBound> enough;
};

/// Stages in their order.
struct StageSet {
  std::string_view name;
  std::vector<std::string_view> stages;
};

/// Every stage that has conditions, each once.
[[nodiscard]] const std::vector<Stage>& all_stages();
/// "three", "four".
[[nodiscard]] const std::vector<StageSet>& stage_sets();

/// The names of the stages that a text means: a set's name, "none", or names with commas between them, which may be
/// those of stages that only a prompt knows. InvalidArgument for a text without any name, or with one twice.
[[nodiscard]] Result<std::vector<std::string>> choose_stages(std::string_view text);

/// Whether stages are left out because a profile says that they are done.
enum class EarlyExit { No, Yes };

/// Why a stage is left out for a kernel with this profile, in a few words with the number; nothing when it is worth a
/// try. Pure. Unknown stages, and kernels without a profile, are always worth one.
[[nodiscard]] std::optional<std::string> reason_to_skip(std::string_view stage, const Profile& profile,
                                                        EarlyExit early_exit);

}  // namespace v0
}  // namespace kernelgen
