#include "profile/rocprof_report.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "profile/csv_text.hpp"
#include "profile/rocprof_dispatch.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The columns of rocprofv3 that are read. rocpd writes some of them in other case: "Lds_Block_Size", "Vgpr_Count".
constexpr std::array<std::string_view, 11> k_rocprofv3_columns = {
    "Kernel_Name",      "Dispatch_Id",  "Process_Id",    "Grid_Size",       "Workgroup_Size", "LDS_Block_Size",
    "Accum_VGPR_Count", "Counter_Name", "Counter_Value", "Start_Timestamp", "VGPR_Count"};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char one, unsigned char two) { return std::tolower(one) == std::tolower(two); });
}

class CounterTable {
 public:
  /// True if the fields are a header; lines above it are the program's own output.
  bool begin(std::vector<std::string> fields) {
    const bool second = std::find(fields.begin(), fields.end(), "Dispatch_ID") != fields.end();
    for (auto& field : fields)
      for (const auto column : k_rocprofv3_columns)
        if (equal_ignoring_case(field, column)) field = column;
    const auto at = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(fields.begin(), fields.end(), name) - fields.begin());
    };
    const bool first = at("KernelName") < fields.size() && at("Index") < fields.size();
    const bool later = at("Kernel_Name") < fields.size() && at("Dispatch_Id") < fields.size();
    if (!first && !later) return false;
    source_ = first ? "rocprof" : second ? "rocprofv2" : "rocprofv3";
    name_ = at(first ? "KernelName" : "Kernel_Name");
    dispatch_ = at(first ? "Index" : "Dispatch_Id");
    process_ = at("Process_Id");
    counter_ = at("Counter_Name");
    value_ = at("Counter_Value");
    header_ = std::move(fields);
    return true;
  }

  void read(const std::vector<std::string>& fields) {
    if (header_.empty() || fields.size() != header_.size()) return;
    if (!read_csv_number(fields[dispatch_])) return;
    // Processes number their dispatches on their own.
    const auto key = (process_ < fields.size() ? fields[process_] : "") + ' ' + fields[dispatch_];
    auto [entry, added] = by_dispatch_.try_emplace(key, dispatches_.size());
    if (added) dispatches_.push_back({fields[name_], {}});
    auto& values = dispatches_[entry->second].values;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (const auto number = i == name_ ? std::nullopt : read_csv_number(fields[i])) values[header_[i]] = *number;
    // The long form has a row for each counter, and may have one for each instance of its unit.
    if (counter_ == header_.size() || value_ == header_.size()) return;
    if (const auto number = read_csv_number(fields[value_])) values[fields[counter_]] += *number;
  }

  [[nodiscard]] std::optional<RocprofReport> report() const {
    if (header_.empty()) return std::nullopt;
    RocprofReport report{source_, {}, {}};
    for (const auto& dispatch : dispatches_) report.launches.push_back(to_launch(dispatch));
    return report;
  }

 private:
  std::string source_;
  std::vector<std::string> header_;
  std::size_t name_ = 0, dispatch_ = 0, process_ = 0, counter_ = 0, value_ = 0;
  std::map<std::string, std::size_t> by_dispatch_;
  std::vector<RocprofDispatch> dispatches_;
};

}  // namespace

std::optional<RocprofReport> read_rocprof_table(std::string_view text) {
  CounterTable table;
  bool begun = false;
  for (std::string_view line : split_lines(text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) continue;
    auto fields = split_csv_line(line);
    if (!begun)
      begun = table.begin(std::move(fields));
    else
      table.read(fields);
  }
  return table.report();
}

}  // namespace v0
}  // namespace kernelgen
