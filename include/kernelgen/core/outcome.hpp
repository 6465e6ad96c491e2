#pragma once

/// \file
/// The result of an experiment. A value that is stored, counted and fed back to the model.

#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The stable classes. Stored by name and never reused.
enum class OutcomeKind {
  Correct,
  Syntax,           ///< not source code of its target
  Import,           ///< the module failed while it was imported
  Interface,        ///< the required entry point is missing or does not fit
  WeightSync,       ///< weights of the reference that the candidate does not have, with names
  Compile,          ///< the compiler refused; detail is the compiler's class of error
  Resource,         ///< "shared_memory", "registers", "workspace"
  Launch,           ///< the candidate reported a failure, or raised an exception
  DeviceFault,      ///< detail names the fault
  Accuracy,         ///< detail: "mismatch", "nan", "shape", "dtype", "structure"
  OffDistribution,  ///< right on the task's own inputs, wrong on transformed ones
  MutatedInput,     ///< an input was overwritten that the reference leaves alone
  Race,             ///< repeated calls with equal inputs disagree
  Timeout,
  OutOfMemory,
  Crash,       ///< detail: "signal 11 (SIGSEGV)", "exit 0", ...
  Cheat,       ///< detail names what was caught
  Suspect,     ///< not wrong, but the clocks or the times of the reference contradict each other, or the machine was
               ///< disturbed; no score
  LibraryUse,  ///< right, but not its own work, which LibraryUse asked for; detail: "library", "framework",
               ///< "unknown"
  Sanitizer,   ///< its outputs were right, but a tool that watched it found an error; detail: "unstable", "race",
               ///< "memory", "undefined", "uninitialized", "barrier"
  NotScored,   ///< the task cannot tell right from wrong; detail is the task's label
};

/// The name in records: "weight_sync", "off_distribution", ...
[[nodiscard]] std::string_view to_string(OutcomeKind kind);
[[nodiscard]] std::optional<OutcomeKind> parse_outcome_kind(std::string_view name);

/// The detail of a Suspect that other work on the machine disturbed while it was measured.
inline constexpr std::string_view k_busy_machine = "busy machine";
/// The detail of a Suspect that ran out of device memory while foreign processes held a part of it.
inline constexpr std::string_view k_memory_in_use = "memory in use";
/// The detail of a Timeout in which a compiler worked: the candidate's own, or the one that builds native candidates.
inline constexpr std::string_view k_build_timeout = "build";

/// One result: a class, its detail, and one line for a person or a model.
struct Outcome {
  OutcomeKind kind = OutcomeKind::Correct;
  /// The part after the colon: "mismatch" in "accuracy:mismatch". May be empty.
  std::string detail;
  /// The event, with numbers and names. Control characters removed, capped.
  std::string message;

  /// The candidate passed every check.
  [[nodiscard]] bool correct() const { return kind == OutcomeKind::Correct; }
  /// True if other work on the machine disturbed the evaluation, which then says nothing about the candidate.
  [[nodiscard]] bool is_busy_machine() const { return kind == OutcomeKind::Suspect && detail == k_busy_machine; }
  /// The candidate could not be measured now (busy machine, memory in use). Trying again later may give a verdict.
  [[nodiscard]] bool could_not_be_measured() const {
    return is_busy_machine() || (kind == OutcomeKind::Suspect && detail == k_memory_in_use);
  }
  /// "accuracy:mismatch", "timeout".
  [[nodiscard]] std::string to_class() const;
};

}  // namespace v0
}  // namespace kernelgen
