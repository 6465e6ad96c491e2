#pragma once

/// \file
/// Pages for a browser: one file with style, scripts and data. What is shown is computed here; the scripts in
/// lib/report/html only show it.

#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace v0 {

/// JSON text for a script element: without "<", and without line ends that only JSON allows. Bytes that are not UTF-8
/// become U+FFFD.
[[nodiscard]] std::string json_for_script(const boost::json::value& data);

/// Puts data into the page of `parts` (Installation::report_dir). `details` are base64 texts that scripts find by their
/// number. The page's policy permits exactly its own style and script, and nothing from outside. Fails with the name of
/// a part that cannot be read.
[[nodiscard]] Result<std::string> make_page(const boost::json::value& data, const std::vector<std::string>& details,
                                            const std::filesystem::path& parts);

/// What the first view of a report shows, and the row of each run.
[[nodiscard]] boost::json::object report_page_data(const std::vector<RunReport>& runs, const std::string& title);

/// Content of detailed_report.html. `details` has a text for each run, empty where there is nothing to show.
[[nodiscard]] Result<std::string> report_page(const std::vector<RunReport>& runs,
                                              const std::vector<std::string>& details,
                                              const std::filesystem::path& results_directory,
                                              const std::filesystem::path& parts);

}  // namespace v0
}  // namespace kernelgen
