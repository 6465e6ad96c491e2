#pragma once

/// \file
/// The rules that map a tool's words to an error class: tables, and the functions to query them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The tool that wrote a message, and for Python what the tool was doing. A rule names one or several, a message
/// exactly one.
enum class ErrorTool : std::uint8_t {
  Kernel = 1,         ///< Triton's compiler or interpreter, about a line of a kernel
  Launch = 2,         ///< an exception at a line that launches a kernel: kernel[grid](x)
  TunedLaunch = 4,    ///< the same, in a source that uses triton.autotune
  Autotune = 8,       ///< an exception at the decorator @triton.autotune
  Module = 16,        ///< an exception at any other line of a Python candidate
  HostCompiler = 32,  ///< g++ and clang++ for the CPU, with their assemblers and linkers
  GpuCompiler = 64,   ///< nvcc and hipcc, with theirs
  Runtime = 128,      ///< the runtimes of CUDA and HIP, and their drivers

  AnyLaunch = Launch | TunedLaunch | Autotune,
  Triton = Kernel | AnyLaunch,
  Python = AnyLaunch | Module,
  AnyPython = Kernel | Python,
  Compiler = HostCompiler | GpuCompiler,
};

/// How specific the words of a rule are. A rule counts only where no rule of a higher rank matches.
enum class ErrorRank : std::uint8_t {
  Specific,  ///< words of this error only
  General,   ///< words that a more specific rule may explain better: "has no member"
  Fallback,  ///< words that remain when nothing else matched: "expected", the type of an exception
};

/// One wording, or one family of wordings, of one error.
///
/// The order of rules means nothing. The highest rank that matches decides; two rules of one rank must not claim the
/// same message for different classes, which a test checks with every message of the corpus. On a text that no test
/// has, the rule with the longest match decides.
struct ErrorRule {
  std::string_view error_class;
  ErrorTool tools;
  ErrorRank rank;
  /// A Perl regular expression, searched in the message. '.' matches no line end, '^' the beginning of the message
  /// only.
  std::string_view pattern;
  /// Part of a message of tests/data/errors that this rule decides.
  std::string_view example;
  /// Searched in the message's context, where the message alone is not enough.
  std::string_view context = "";
};

[[nodiscard]] std::span<const ErrorRule> triton_rules();
[[nodiscard]] std::span<const ErrorRule> python_rules();
[[nodiscard]] std::span<const ErrorRule> compiler_rules();
[[nodiscard]] std::span<const ErrorRule> runtime_rules();

/// A message of a tool, and its context.
struct ToolMessage {
  ErrorTool tool;
  std::string text;
  /// For a kernel: the source from the place that Triton points at. For a compiler: the source below the first error,
  /// its notes, and the other errors.
  std::string context;
};

/// The rules that match a message with the highest rank that any rule matches it with.
[[nodiscard]] std::vector<const ErrorRule*> matching_rules(const ToolMessage& message);

/// The class of a message; empty where no rule matches.
[[nodiscard]] std::string_view class_of_message(const ToolMessage& message);

}  // namespace v0
}  // namespace kernelgen
