#pragma once

/// \file
/// Facts that can be read in a task's source without running it: which part of a recurrence it returns, and what kind
/// of work it does. Pure; accepts any text. Uncertain facts are left out.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The part of its recurrence that a reference returns.
enum class OutputRequirement {
  FullSequence,    ///< something from every step
  FinalStateOnly,  ///< only the state after the last step
  Other,           ///< neither: a sum over all steps, a step in the middle
};
/// "full_sequence", "final_state_only", "other".
[[nodiscard]] std::string_view to_string(OutputRequirement requirement);

/// A requirement and the place where it was read.
struct OutputAnalysis {
  OutputRequirement requirement = OutputRequirement::Other;
  /// "line 31: `return h_n` is the state after the last step".
  std::string evidence;
};

/// Reads it from the return statements of Model.forward(). Nothing for a reference that is not recurrent, and where it
/// cannot be told.
[[nodiscard]] std::optional<OutputAnalysis> read_output_requirement(std::string_view python);

/// The class of a reference's work, as needed for a lower bound of its time.
enum class WorkloadClass {
  Unknown,        ///< no lower bound is known
  MemoryBound,    ///< every element is read once: elementwise operations, reductions, normalizations, losses, scans
  MatrixProduct,  ///< matrix products and linear layers, with memory-bound operations around them
  Convolution,    ///< convolutions, with memory-bound operations around them
  Recurrent,      ///< recurrent layers of torch.nn
};
/// "memory bound", ...
[[nodiscard]] std::string_view to_string(WorkloadClass workload);

/// A summary of a reference's operations.
struct Workload {
  WorkloadClass workload_class = WorkloadClass::Unknown;
  /// The work is one matrix product with all results returned, after elementwise operations: nothing in it can be
  /// saved.
  bool single_product = false;
  /// Name of the argument of forward() that goes unchanged into the recurrent layer. Empty: none does, or there is no
  /// recurrence.
  std::string recurrent_input;
  /// Every word of forward(): an argument or a module that is not among them is not used.
  std::set<std::string, std::less<>> names;
};

/// Unknown unless every operation of forward() is known, because a lower bound that is too high would end a search too
/// early.
[[nodiscard]] Workload classify_workload(std::string_view python);

}  // namespace v0
}  // namespace kernelgen
