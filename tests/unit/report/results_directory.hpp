#pragma once

/// \file
/// Results directories for tests of what reads them.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/report/report.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

namespace kernelgen::testing {

namespace fs = std::filesystem;

/// A results directory below the temporary one, removed at the end.
class Results {
 public:
  [[nodiscard]] fs::path path(const std::string& name = "") const { return directory_.path() / name; }

  void add(const std::string& run, const std::vector<Event>& events) const {
    std::string text;
    for (const auto& event : events) text += to_json(event) + '\n';
    write(run + "/events.jsonl", text);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const { return read_file(path(name)).value(); }

  /// "task/name: status" of each run.
  [[nodiscard]] std::vector<std::string> found() const {
    std::vector<std::string> names;
    const auto runs = read_results(path());
    REQUIRE(runs);
    for (const auto& run : *runs)
      names.push_back(run.task + '/' + run.name + ": " + std::string(to_string(run.status)));
    return names;
  }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "report-").value();
};

}  // namespace kernelgen::testing
