#pragma once

/// \file
/// The parts of error messages: what of a long text is the tool's reason, and what is an echo of the source.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// More of a text is not looked at.
constexpr std::size_t k_max_text = 1u << 20;
/// Longer reasons are cut.
constexpr std::size_t k_max_fingerprint = 240;

/// An exception as the Python runner describes it.
struct PythonFailure {
  /// Of the outermost exception: "CompilationError".
  std::string type;
  /// "TypeError: f() takes 1 argument": of the innermost cause that gives a reason. Never source code.
  std::string reason;
  /// The line of a kernel that Triton points at, from the place that it points at: "tl.load(x + offs)".
  std::string pointed;
  /// "kernel[grid](x, y, BLOCK=1024)": the innermost line of the candidate's Python code.
  std::string place;
  /// Raised by Triton's compiler or interpreter in a kernel.
  bool in_kernel = false;
  /// What decides, verbatim.
  std::vector<std::string> lines;
};

[[nodiscard]] PythonFailure read_python_failure(std::string_view text);

/// The errors of compilers, assemblers and linkers in a log.
struct CompilerFailure {
  /// Of the first error, without its place; quotes are plain ones. Empty where the log holds no error.
  std::string reason;
  /// What the compiler adds to it: notes, and lines that continue it.
  std::string notes;
  /// Of the other errors, a line each.
  std::string others;
  /// The lines of the source that are quoted below the first error.
  std::string code;
  /// An assembler speaks, of the host or of a device: every word is about an instruction.
  bool by_assembler = false;
  std::vector<std::string> lines;
};

[[nodiscard]] CompilerFailure read_compiler_failure(std::string_view log);

}  // namespace v0
}  // namespace kernelgen
