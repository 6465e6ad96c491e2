#pragma once

/// \file
/// The stages of tuning as data: which ones suit a task, their order, and the conditions under which one is skipped.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/headroom.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

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

/// What a stage needs of the kernel that it starts from. What is not known counts as given.
enum class StageNeed {
  PersistentKernel,  ///< its time loop stands inside the kernel
  LaunchesInLoop,    ///< the time loop stands on the host
  SeveralWorkers,    ///< it may use more than one thread of a CPU
  SeveralBlocks,     ///< its longest kernel has more than one block
  SeveralLaunches,   ///< a call launches more than one kernel
  AboveMemoryFloor,  ///< it takes longer than the bytes that every kernel has to move
};

/// One stage: one aspect of a correct kernel that a model is asked to tune.
struct Stage {
  /// Name of the stage and of its prompt.
  std::string_view name;
  /// Needs for trying the stage: all must be met.
  std::vector<StageNeed> needs;
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

/// Every stage that has needs or conditions, each once.
[[nodiscard]] const std::vector<Stage>& all_stages();
/// "three", "four".
[[nodiscard]] const std::vector<StageSet>& stage_sets();

/// The name that stands for the stages which suit the task; see stages_for().
inline constexpr std::string_view k_auto_stages = "auto";

/// Parses a choice of stages: "none", or names separated by commas: of stages, also those that only a prompt knows, of
/// sets, and k_auto_stages, which stays as it is. InvalidArgument for a text without any name, or with one twice.
[[nodiscard]] Result<std::vector<std::string>> choose_stages(std::string_view text);

/// What stages are chosen by.
struct StageSubject {
  /// nullptr: the task is not known.
  const TaskDescription* task = nullptr;
  Target target = Target::Cpp;
  /// What the detector says about the kernel that is to be tuned.
  std::optional<Recurrence> recurrence{};
};

/// The stages that suit a task and a kernel, in their order: a recurrence by where its time loop stands, else by the
/// family that usually takes most of the time (knowledge_topics_of()). "three" where nothing is known. Pure.
[[nodiscard]] std::vector<std::string> stages_for(const StageSubject& subject);

/// Replaces k_auto_stages by stages_for(). A stage that is named besides comes once, where it is named first.
[[nodiscard]] std::vector<std::string> expand_stages(const std::vector<std::string>& names,
                                                     const StageSubject& subject);

/// The most stages that expand_stages() can return for these names.
[[nodiscard]] std::size_t most_stages(const std::vector<std::string>& names);

/// Whether stages are skipped because a profile shows that they are done.
enum class EarlyExit { No, Yes };

/// What is known about the kernel that a stage starts from.
struct TunedKernel {
  /// nullptr: it was not profiled.
  const Profile* profile = nullptr;
  std::optional<Headroom> headroom{};
  std::optional<Recurrence> recurrence{};
  /// Threads of a CPU that it may use; unset for another device, and where it is unknown.
  std::optional<int> threads{};
};

/// Returns why a stage is skipped for this kernel, in a few words with the number; nothing if it should be tried. Pure.
/// Unknown stages, and kernels about which nothing is known, are always tried.
[[nodiscard]] std::optional<std::string> reason_to_skip(std::string_view stage, const TunedKernel& kernel,
                                                        EarlyExit early_exit);

}  // namespace v0
}  // namespace kernelgen
