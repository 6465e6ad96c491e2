#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/detect/persistent_detector.hpp>

namespace kernelgen::cli {

/// The layout of a text.
struct RenderOptions {
  /// Columns; 0: lines are not wrapped.
  std::size_t width = 0;
  bool color = false;
  /// The file that the record was written to; empty when it was not.
  std::string record_path;
};

/// The verdict for a person: a headline and one fact a line. Pure. Ends with a line end.
[[nodiscard]] std::string render_record(const EvaluationRecord& record, const RenderOptions& options);

/// A table of the findings of the doctor, with the commands that fix problems. Pure. Ends with a line end.
[[nodiscard]] std::string render_findings(const std::vector<DoctorFinding>& findings, const RenderOptions& options);
/// The findings as JSON: {"findings": [{"name", "status", "detail", "remedy"}]}.
[[nodiscard]] std::string findings_to_json(const std::vector<DoctorFinding>& findings);

/// The report of the detector: verdict, warnings, evidence with lines. Pure. Ends with a line end.
[[nodiscard]] std::string render_persistence(const PersistenceReport& report, const RenderOptions& options);

/// "3.2 us", "4.05 ms", "1.50 s".
[[nodiscard]] std::string format_nanoseconds(double nanoseconds);

}  // namespace kernelgen::cli
