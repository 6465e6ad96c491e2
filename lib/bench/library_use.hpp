#pragma once

/// \file
/// Pure decisions about what does the work of a candidate's calls, from what ran in one of them. No I/O, no clock, no
/// device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// What a shared object says about the code that runs in it, or about the kernels that it launches.
enum class ObjectKind {
  Own,        ///< built from the candidate's text
  Library,    ///< a vendor's or another package's
  Framework,  ///< torch
  Helper,     ///< works for its caller: the languages' libraries, drivers, packages that launch what they compile
  Overhead,   ///< Python's interpreter, and threads that wait for work
};

/// The kind of a shared object, from its path. Besides known names, what lies in folders of the system and of Python's
/// packages was there before the candidate. Empty: memory that no file fills, which is code made at run time.
[[nodiscard]] ObjectKind kind_of_object(std::string_view path);

/// The origin of a kernel that `object` launched; empty: unknown, and the name decides alone. A name says that code of
/// the candidate's own launched what torch.compile generated, or a library's kernel that was linked into it.
[[nodiscard]] KernelOrigin origin_of_launch(std::string_view kernel, std::string_view object);

/// Reads what kgen_gpu_end_activities() writes. The text is a runner's, and not trusted: lines that cannot be read make
/// the result empty.
[[nodiscard]] std::vector<WorkActivity> parse_activities(std::string_view text);

/// The times of the examined call and of the timed ones, as in WorkReport.
struct WorkTimes {
  double examined_ns = 0;
  double timed_ns = 0;
};

/// Adds up what ran on a device.
[[nodiscard]] WorkReport report_device_work(std::vector<WorkActivity> activities, const WorkTimes& times);

/// Adds up samples of the processor, a microsecond each: how often each object was found at work.
[[nodiscard]] WorkReport report_processor_work(std::vector<WorkActivity> samples, const WorkTimes& times);

/// Why nothing is known.
[[nodiscard]] WorkReport report_no_work(std::string reason);

/// The label of a record: "own kernels: own 98 %, vendor 0 %, torch 2 %", "library work: ...", or "work unknown: ...".
[[nodiscard]] std::string label_of_work(const WorkReport& report);

/// The verdict on a right candidate that breaks the policy. An examined call that took another time than the timed ones
/// is no answer.
[[nodiscard]] std::optional<Outcome> check_library_use(const WorkReport& report, LibraryUse wanted);

/// Unsupported if a worker called a candidate right without looking at its work, although the policy asks for that: one
/// of an earlier version does not know the policy.
[[nodiscard]] Result<void> require_work(const EvaluationRecord& record, LibraryUse wanted);

}  // namespace v0
}  // namespace kernelgen
