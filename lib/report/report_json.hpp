#pragma once

/// \file
/// JSON parts that several reports share.

#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/report/figures.hpp>
#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace v0 {

template <class T>
boost::json::value or_null(const std::optional<T>& value) {
  return value ? boost::json::value(*value) : boost::json::value(nullptr);
}

/// The class of a run in which nothing failed.
inline constexpr std::string_view k_no_failure = "none";
/// The class of the last attempt that failed; "damaged" for a damaged run; k_no_failure when nothing failed.
[[nodiscard]] std::string last_failure_class(const RunReport& run);

[[nodiscard]] boost::json::object counts_to_json(const std::map<std::string, int>& counts);
[[nodiscard]] boost::json::object to_json_object(const UsageReport& usage);
[[nodiscard]] boost::json::object to_json_object(const TimeFigures& time);
/// The run as in summary.json, and as a row of summary.csv.
[[nodiscard]] boost::json::object run_to_json(const RunReport& run);
/// The scalar numbers of Totals.
[[nodiscard]] boost::json::object statistics_to_json(const Totals& totals);

}  // namespace v0
}  // namespace kernelgen
