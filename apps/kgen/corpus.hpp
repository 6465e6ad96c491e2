#pragma once

/// \file
/// A corpus of kernels with the answer that is right for each: attacks, which must not be accepted, and honest
/// kernels, which must. The first lines of a file say what it is, so that adding a case is adding a file.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen::cli {

/// One kernel of a corpus, as its first lines describe it.
struct CorpusCase {
  /// The path below the corpus: "attacks/h13_cached_by_pointer.py".
  std::string name;
  bool is_attack = false;
  /// What it tries, with its classes before: "H13 answers cached by the input's address".
  std::string title;
  /// The file in tasks/, without its ending.
  std::string task;
  /// The folder of that file, below the corpus.
  std::string task_folder = "tasks";
  bool on_cpu = true;
  bool on_gpu = false;
  /// Patterns of the classes that are right: "accuracy:*"; "label:*library*" for an accepted kernel with such a label.
  /// Empty: a refusal of the answer or of the times, or for an honest kernel, none.
  std::vector<std::string> expected;
  /// The honest kernel that does the same work; an attack that is accepted must not be faster. Empty: none.
  std::string twin;
  /// Why it is answered wrongly today, in one sentence. Empty: it is answered rightly.
  std::string open;
  /// True if one evaluation, or one machine, can tell otherwise than another.
  bool varies = false;
  bool is_timed = false;
  /// True if sanitizers watch it once its outputs were right.
  bool is_sanitized = false;
  /// Threads that it may use; 0: as many as others.
  int threads = 0;
  /// The limit of a call; 0: that of others.
  double timeout_seconds = 0;
  PrecisionClass precision = PrecisionClass::Strict;
  std::string source;

  /// "H13": the first word of the title.
  [[nodiscard]] std::string first_class() const;
};

/// Parses the first lines of a case: comments of the form "# key: value" or "// key: value".
[[nodiscard]] Result<CorpusCase> parse_corpus_case(std::string name, std::string source);
/// An example kernel, "examples/relu.cu": an honest case for the task of its name. Pure.
[[nodiscard]] CorpusCase make_example_case(const std::string& file, std::string source);
/// Reads attacks/ and honest/ below `directory`, and where they are there the kernels of examples/kernels, for tasks of
/// examples/tasks; sorted by name.
[[nodiscard]] Result<std::vector<CorpusCase>> read_corpus(const std::filesystem::path& directory);

/// Whether an answer to a case is the right one.
enum class CorpusAnswer {
  Right,
  Wrong,
  Open,        ///< wrong, as the case says
  Closed,      ///< right, although the case says that it is open
  Unmeasured,  ///< the machine was too busy to tell
  Missing,     ///< the compiler or the device that it needs is not on this machine
};
[[nodiscard]] std::string_view to_string(CorpusAnswer answer);

/// The answer of a benchmarker to one case.
struct CorpusResult {
  CorpusAnswer answer = CorpusAnswer::Right;
  /// The class of the outcome, and the speedups where they decided: "correct, 1.02x (twin 1.00x)".
  std::string found;
  std::string message;
};

/// Judges the record of a case. `twin` is the record of its twin. Pure.
[[nodiscard]] CorpusResult judge_corpus_case(const CorpusCase& which, const EvaluationRecord& record,
                                             const EvaluationRecord* twin);
/// The result for a case for which the evaluation failed altogether. What needs a tool or a device that is not there is
/// Missing; any other error is an answer. Pure.
[[nodiscard]] CorpusResult judge_corpus_failure(const CorpusCase& which, const Error& error);

/// True if `text` fits a pattern in which each * stands for any text.
[[nodiscard]] bool fits_pattern(std::string_view text, std::string_view pattern);

}  // namespace kernelgen::cli
