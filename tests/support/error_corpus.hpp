#pragma once

/// \file
/// The corpus of real error messages, provoked by tools/provoke_errors.py: tests/data/errors, or a similar folder.

#include <map>
#include <string>
#include <vector>

#include <kernelgen/core/record.hpp>

namespace kernelgen::testing {

/// One message of one tool.
struct CorpusMessage {
  std::string tool;
  /// Path of the broken source, below the folder's sources.
  std::string source;
  /// The class of the error that the source was made for.
  std::string expected;
  /// Part of the corpus; docs/errors.md says which parts were seen when.
  std::string half;
  /// The record that a worker would have written.
  EvaluationRecord record;
  /// The text of the source.
  std::string code;
};

/// Share of a corpus that gets its intended classes.
struct CorpusShares {
  /// A line for each tool, a column for each half; then a line for each half.
  std::string table;
  /// A line for each message with another class: tool, source, intended class, class.
  std::string missed;
  std::map<std::string, double> percent;
};

/// Reads the messages of a folder, in the order of its index.txt; with `only_half`, files of other halves are not even
/// opened. Throws std::runtime_error when a file is missing.
[[nodiscard]] std::vector<CorpusMessage> read_error_corpus(const std::string& directory,
                                                           const std::string& only_half = "");

[[nodiscard]] CorpusShares measure_error_corpus(const std::vector<CorpusMessage>& corpus);

}  // namespace kernelgen::testing
