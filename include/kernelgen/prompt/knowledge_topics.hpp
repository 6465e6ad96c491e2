#pragma once

/// \file
/// The kinds of work in a task, as the judge observed it; they choose the knowledge for prompts, and the stages of
/// tuning.

#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A kind of work with a template of its own, knowledge/NAME.
enum class KnowledgeTopic {
  Network,  ///< several layers of different kinds
  Attention,
  Convolution,
  Gemm,
  Scan,
  Normalization,
  Loss,
  Reduction,
  Pooling,
  Elementwise,  ///< nothing else was found
};
[[nodiscard]] std::string_view to_string(KnowledgeTopic topic);

/// The topics of a task, by what usually takes most of the time; four at most. None where the facts are unknown.
/// Recurrence is no topic: see TaskDescription::is_recurrent().
[[nodiscard]] std::vector<KnowledgeTopic> knowledge_topics_of(const TaskDescription& description);

}  // namespace v0
}  // namespace kernelgen
