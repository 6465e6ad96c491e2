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
struct RunLocation {
  std::filesystem::path directory;
  std::string task;
  /// Empty for the run in the task's own directory.
  std::string name;
};

/// The report of a run, with the text of its cache file.
struct CachedRunReport {
  RunLocation location;
  RunReport run;
  /// Text for store_report(). Empty: nothing to write, because the stored report is up to date, or the journal cannot
  /// be read.
  std::string text_to_store;
  /// With Details::Shown, unless the journal cannot be read: run_details(), compressed, in base64.
  std::string details;
  /// Text for store_report(), as above.
  std::string details_to_store;
};

/// Whether the page's details of a run are wanted, too.
enum class Details { Left, Shown };

/// Loads the stored report of the run if its journal has not changed since; else builds it from the journal. Writes
/// nothing.
[[nodiscard]] CachedRunReport load_or_build_report(const RunLocation& location, Details details);

/// Stores a report that was built from the journal. If that fails, it is built again next time.
void store_report(const CachedRunReport& report);

}  // namespace v0
}  // namespace kernelgen
