#pragma once

/// \file
/// The corpus of real error messages: tests/data/errors, provoked by tools/provoke_errors.py.

#include <string>
#include <vector>

#include <kernelgen/core/record.hpp>

namespace kernelgen::testing {

/// One message of one tool.
struct CorpusMessage {
  std::string tool;
  /// Below tests/data/errors/sources: what was broken on purpose.
  std::string source;
  /// The class of the error that the source was made for.
  std::string expected;
  /// "visible", "unseen": which half it was in while the rules were written; "later" for what came after.
  std::string half;
  /// The record that a worker would have written of it.
  EvaluationRecord record;
};

/// All of them, in the order of the index.
[[nodiscard]] std::vector<CorpusMessage> read_error_corpus();

}  // namespace kernelgen::testing
