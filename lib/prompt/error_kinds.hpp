#pragma once

/// \file
/// What is made of the text of one tool, and what the parts of the classifier share.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/candidate.hpp>

#include "prompt/error_rules.hpp"

namespace kernelgen {
inline namespace v0 {

/// A class, the text that its fingerprint is made of, and the lines that decide.
struct Found {
  std::string error_class;
  std::string reason;
  std::vector<std::string> lines;
};

/// The class of the first rule whose words are in `text`; empty where none is.
[[nodiscard]] std::string_view first_match(std::span<const ErrorRule> rules, std::string_view text);

/// The text in the n-th pair of quotes, which are ' or "; empty where there are fewer.
[[nodiscard]] std::string_view quoted(std::string_view text, int n);

/// The resource that a text of Triton's says it ran out of.
[[nodiscard]] std::optional<std::string> lacking_resource(std::string_view text);

/// An exception as a Python runner describes it; `source` is the candidate.
[[nodiscard]] Found classify_python(std::string_view text, std::string_view source, Target target);

/// The log of a compiler, with what its assemblers and linkers said.
[[nodiscard]] Found classify_compiler_log(std::string_view log, Target target);

}  // namespace v0
}  // namespace kernelgen
