#pragma once

/// \file
/// Reports of single runs, kept beside their journals. A results directory may hold a thousand runs, and reading a
/// journal takes a hundred times as long as reading its report.

#include <filesystem>
#include <string>
#include <vector>

#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace v0 {

/// A run below a results directory.
struct RunPlace {
  std::filesystem::path directory;
  std::string task;
  /// Empty for the run in the task's own directory.
  std::string name;
};

/// The report of a run, with the text to keep.
struct RunRow {
  RunPlace place;
  RunReport run;
  /// Text for keep_row(). Empty: nothing to write, because the kept report is up to date, or the journal cannot be
  /// read.
  std::string to_keep;
};

/// Reads the kept report of the run if its journal has not changed since; else the journal. Writes nothing.
[[nodiscard]] RunRow read_row(const RunPlace& place);

/// Keeps a report that was read from the journal. If that fails, the journal is read again next time.
void keep_row(const RunRow& row);

}  // namespace v0
}  // namespace kernelgen
