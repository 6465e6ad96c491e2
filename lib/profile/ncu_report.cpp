#include "profile/ncu_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "profile/csv_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_message = 500;

/// Factor from this unit to bytes or nanoseconds. ncu counts kilobytes in thousands.
double scale_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 11> k_scales = {{{"us", 1e3},
                                                                             {"usecond", 1e3},
                                                                             {"ms", 1e6},
                                                                             {"msecond", 1e6},
                                                                             {"s", 1e9},
                                                                             {"second", 1e9},
                                                                             {"sec", 1e9},
                                                                             {"Kbyte", 1e3},
                                                                             {"Mbyte", 1e6},
                                                                             {"Gbyte", 1e9},
                                                                             {"Tbyte", 1e12}}};
  // "Kbyte/block" is a number of bytes, too.
  unit = unit.substr(0, unit.find('/'));
  const auto found = std::find_if(k_scales.begin(), k_scales.end(), [&](const auto& one) { return one.first == unit; });
  return found == k_scales.end() ? 1 : found->second;
}

const MetricSpec* spec_of(std::string_view ncu_name) {
  for (const auto& metric : all_metrics())
    if ((!metric.ncu.empty() && metric.ncu == ncu_name) || (!metric.ncu_other.empty() && metric.ncu_other == ncu_name))
      return &metric;
  return nullptr;
}

class Table {
 public:
  /// A header starts a new table.
  bool begin(const std::vector<std::string>& fields) {
    const auto kernel = std::find(fields.begin(), fields.end(), "Kernel Name");
    if (fields.front() != "ID" || kernel == fields.end()) return false;
    header_ = fields;
    units_.assign(fields.size(), "");
    kernel_ = static_cast<std::size_t>(kernel - fields.begin());
    return true;
  }

  /// Reads a row of the table; nothing for the row of units and for other lines.
  std::optional<KernelLaunch> read(const std::vector<std::string>& fields) {
    if (header_.empty() || fields.size() != header_.size()) return std::nullopt;
    if (fields.front().empty()) {
      units_ = fields;
      return std::nullopt;
    }
    if (!read_csv_number(fields.front())) return std::nullopt;
    KernelLaunch launch;
    launch.kernel = sanitize_line(fields[kernel_], k_max_name);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto value = read_csv_number(fields[i]);
      if (!value) continue;
      const double scaled = *value * scale_of(units_[i]);
      if (header_[i] == k_ncu_duration) launch.duration_ns = scaled;
      const auto* spec = spec_of(header_[i]);
      const auto same = [&](const Metric& metric) { return metric.name == spec->name; };
      if (spec == nullptr || std::any_of(launch.metrics.begin(), launch.metrics.end(), same)) continue;
      launch.metrics.push_back({std::string(spec->name), scaled, std::string(spec->unit)});
    }
    return launch;
  }

 private:
  std::vector<std::string> header_;
  std::vector<std::string> units_;
  std::size_t kernel_ = 0;
};

/// Moves a message that begins with "==NAME== ", without it, to a list.
bool read_message(std::string_view line, std::string_view start, std::vector<std::string>& into) {
  if (!line.starts_with(start)) return false;
  into.push_back(sanitize_line(line.substr(start.size()), k_max_message));
  return true;
}

}  // namespace

NcuReport read_ncu_report(std::string_view text) {
  NcuReport report;
  Table table;
  for (std::string_view line : split_lines(text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (read_message(line, "==ERROR== ", report.errors) || read_message(line, "==WARNING== ", report.warnings))
      continue;
    if (!line.starts_with('"')) continue;
    const auto fields = split_csv_line(line);
    if (table.begin(fields)) continue;
    if (auto launch = table.read(fields)) report.launches.push_back(*std::move(launch));
  }
  return report;
}

std::vector<std::string> unknown_metrics(const NcuReport& report, const std::vector<std::string>& wanted) {
  std::vector<std::string> unknown;
  for (const auto& name : wanted) {
    // ncu repeats a name as a regular expression with varying endings: "regex:^sm__throughput(\.avg)?$".
    const auto stem = name.substr(0, name.find('.'));
    const auto names_it = [&](const std::string& message) {
      return message.find("metric") != message.npos && message.find(stem) != message.npos;
    };
    if (std::any_of(report.errors.begin(), report.errors.end(), names_it)) unknown.push_back(name);
  }
  return unknown;
}

std::optional<ProfileUnavailable> explain_missing_counters(const NcuReport& report) {
  if (!report.launches.empty()) return std::nullopt;
  const auto said = [&](std::string_view part) {
    const auto has = [&](const std::string& message) { return message.find(part) != message.npos; };
    return std::any_of(report.errors.begin(), report.errors.end(), has) ||
           std::any_of(report.warnings.begin(), report.warnings.end(), has);
  };
  if (said("ERR_NVGPUCTRPERM"))
    return ProfileUnavailable{
        "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM)",
        "the machine's administrator can allow it: `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in a file "
        "below /etc/modprobe.d, then load the driver again; a container also needs the capability SYS_ADMIN"};
  if (said("driver resource was unavailable"))
    return ProfileUnavailable{"another program holds the GPU's counters",
                              "stop what monitors the GPU (DCGM: `dcgmi profile --pause`), or try again later"};
  if (said("is not supported on"))
    return ProfileUnavailable{"this GPU has no counters that this Nsight Compute can read",
                              "install a Nsight Compute that knows the GPU"};
  if (said("No kernels were profiled") && report.errors.empty())
    return ProfileUnavailable{"no kernel was launched", ""};
  if (!report.errors.empty()) return ProfileUnavailable{"Nsight Compute: " + report.errors.front(), ""};
  return ProfileUnavailable{"Nsight Compute printed no table", ""};
}

void add_counters(Profile& profile, const NcuReport& report) { add_launches(profile, report.launches); }

}  // namespace v0
}  // namespace kernelgen
