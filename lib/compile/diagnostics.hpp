#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace v0 {

/// The diagnostics of g++, clang++ or nvcc (with cudafe++, cicc and ptxas), read from their text form: JSON forms
/// differ and change between versions, and nvcc has none. Errors of linkers and assemblers become diagnostics without a
/// line. Input is hostile: capped per line and in number.
[[nodiscard]] std::vector<Diagnostic> parse_diagnostics(std::string_view log);

/// The class of a refusal, from its first error: "undeclared_identifier", "redefinition", "no_member",
/// "missing_header", "type", "syntax", "host_function" (called from device code), "unsupported" (what a CPU cannot
/// execute in place of a GPU), "link:undefined_symbol", "resource:shared_memory", "resource:registers",
/// "compiler_crashed" or "other".
[[nodiscard]] std::string classify_refusal(const std::vector<Diagnostic>& diagnostics, std::string_view log);

}  // namespace v0
}  // namespace kernelgen
