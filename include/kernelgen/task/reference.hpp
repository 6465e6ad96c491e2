#pragma once

/// \file
/// What can be read in a task's own source without running it: which part of a recurrence it returns, and what kind of
/// work it does. Pure; any text is survived. What is not certain is not said.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Which part of its recurrence a reference returns.
enum class OutputRequirement {
  FullSequence,    ///< something of every step
  FinalStateOnly,  ///< what the last step left, and nothing else
  Other,           ///< neither: a sum over all steps, a step in the middle
};
/// "full_sequence", "final_state_only", "other".
[[nodiscard]] std::string_view to_string(OutputRequirement requirement);

/// A requirement and where it was read.
struct OutputReading {
  OutputRequirement requirement = OutputRequirement::Other;
  /// "line 31: `return h_n` is the state after the last step".
  std::string evidence;
};

/// From what forward() of the class Model returns. Nothing for a reference that is not recurrent, and where it cannot
/// be told.
[[nodiscard]] std::optional<OutputReading> read_output_requirement(std::string_view python);

/// What kind of work a reference does, as far as a floor under its time needs to know.
enum class TaskFamily {
  Unknown,        ///< no floor is known
  Streaming,      ///< every element is read once: elementwise operations, reductions, normalizations, losses, scans
  MatrixProduct,  ///< matrix products and linear layers, with Streaming around them
  Convolution,    ///< convolutions, with Streaming around them
  Recurrent,      ///< recurrent layers of torch.nn
};
/// "streaming", ...
[[nodiscard]] std::string_view to_string(TaskFamily family);

/// A reference, as far as its work is understood.
struct WorkReading {
  TaskFamily family = TaskFamily::Unknown;
  /// The one matrix product, whose every result is returned after elementwise operations: nothing in it can be saved.
  bool single_product = false;
  /// Name of the argument of forward() that goes into the recurrent layer as it is. Empty: none does, or there is no
  /// recurrence.
  std::string operand;
  /// Every word of forward(): an argument or a module that is not among them is not used.
  std::set<std::string, std::less<>> names;
};

/// Unknown unless every operation of forward() is known: a floor that is too high would end a search too early.
[[nodiscard]] WorkReading read_work(std::string_view python);

}  // namespace v0
}  // namespace kernelgen
