#pragma once

/// \file
/// Splits the text of a tool into its parts: the reason, the lines that show it, and the source that it quotes.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Texts are read up to this many bytes.
constexpr std::size_t k_max_text = 1u << 20;
/// The length at which the reason in a fingerprint is cut.
constexpr std::size_t k_max_fingerprint = 240;

/// The parts of an exception as the Python runner describes it.
struct PythonFailure {
  /// The type of the outermost exception: "CompilationError".
  std::string type;
  /// The reason of the innermost cause that has one: "TypeError: f() takes 1 argument". Never source code.
  std::string reason;
  /// The code of a kernel from the place that Triton points at: "tl.load(x + offs)".
  std::string kernel_code;
  /// The innermost line of the candidate's Python code: "kernel[grid](x, y, BLOCK=1024)".
  std::string candidate_line;
  /// Whether Triton's compiler or interpreter raised it in a kernel.
  bool in_kernel = false;
  /// The lines that show the error, verbatim.
  std::vector<std::string> lines;
};

[[nodiscard]] PythonFailure read_python_failure(std::string_view text);

/// The parts of a compiler's log, with what its assembler and linker wrote.
struct CompilerFailure {
  /// The first error without its place, with plain quotes. Empty where the log holds no error.
  std::string reason;
  /// Notes on the first error, and lines that continue it.
  std::string notes;
  /// The other errors, a line each.
  std::string others;
  /// The lines of the source that the compiler quotes below the first error.
  std::string code;
  /// Whether an assembler wrote the first error, for the host or for a device: it is then about an instruction.
  bool by_assembler = false;
  std::vector<std::string> lines;
};

[[nodiscard]] CompilerFailure read_compiler_failure(std::string_view log);

}  // namespace v0
}  // namespace kernelgen
