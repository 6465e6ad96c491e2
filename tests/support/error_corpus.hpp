#pragma once

/// \file
/// The corpus of real error messages, provoked by tools/provoke_errors.py: tests/data/errors, or a folder like it.

#include <map>
#include <string>
#include <vector>

#include <kernelgen/core/record.hpp>

namespace kernelgen::testing {

/// One message of one tool.
struct CorpusMessage {
  std::string tool;
  /// Below the folder's sources: what was broken on purpose.
  std::string source;
  /// The class of the error that the source was made for.
  std::string expected;
  /// Which part of the corpus it is in; docs/errors.md says what was seen when.
  std::string half;
  /// The record that a worker would have written of it.
  EvaluationRecord record;
  /// The text of the source.
  std::string code;
};

/// How much of a corpus gets the class that its sources were made for.
struct CorpusShares {
  /// A line for each tool, a column for each half; then a line for each half.
  std::string table;
  /// A line for each message that gets another class: tool, source, class that it was made for, class.
  std::string missed;
  std::map<std::string, double> percent;
};

/// The messages of a folder, in the order of its index.txt; with `only_half`, nothing of other halves is even opened.
/// Throws std::runtime_error when a file is missing.
[[nodiscard]] std::vector<CorpusMessage> read_error_corpus(const std::string& directory,
                                                           const std::string& only_half = "");

[[nodiscard]] CorpusShares measure_error_corpus(const std::vector<CorpusMessage>& corpus);

}  // namespace kernelgen::testing
