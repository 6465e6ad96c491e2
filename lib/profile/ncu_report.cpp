#include "profile/ncu_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_message = 500;
constexpr std::size_t k_max_name = 2000;

/// The fields of a line: quoted with ", a quote inside doubled.
std::vector<std::string> split_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

/// A finite number with or without separators between thousands; nothing for "n/a", texts and lists of instances.
std::optional<double> read_number(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ',') digits += c;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// What a value in this unit is multiplied with to be in bytes or nanoseconds. ncu counts kilobytes in thousands.
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
    if (metric.ncu == ncu_name || (!metric.ncu_other.empty() && metric.ncu_other == ncu_name)) return &metric;
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

  /// Nothing for the row of units and for what is no row of this table.
  std::optional<NcuLaunch> read(const std::vector<std::string>& fields) {
    if (header_.empty() || fields.size() != header_.size()) return std::nullopt;
    if (fields.front().empty()) {
      units_ = fields;
      return std::nullopt;
    }
    if (!read_number(fields.front())) return std::nullopt;
    NcuLaunch launch;
    launch.kernel = sanitize_line(fields[kernel_], k_max_name);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto value = read_number(fields[i]);
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

/// Takes "==NAME== " away and keeps the rest.
bool read_message(std::string_view line, std::string_view start, std::vector<std::string>& into) {
  if (!line.starts_with(start)) return false;
  into.push_back(sanitize_line(line.substr(start.size()), k_max_message));
  return true;
}

/// A name as ncu and torch's profiler would write it alike: without result type, parameters, blanks, casts of template
/// arguments ("(int)4") and suffixes of numbers ("2ul").
std::string normalized(std::string_view name) {
  static constexpr std::array<std::string_view, 7> k_casts = {"(int)",          "(bool)",  "(unsignedint)", "(long)",
                                                              "(unsignedlong)", "(short)", "(char)"};
  const std::string function = function_of_kernel(name);
  // From the function's own name on, to the parenthesis of its parameters.
  const auto start = name.find(function.substr(0, function.find_first_of("<(")));
  std::string text;
  int depth = 0;
  for (std::size_t i = start == name.npos ? 0 : start; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth <= 0 && i != start) break;
    if (name[i] != ' ') text += name[i];
  }
  for (const auto cast : k_casts)
    for (auto at = text.find(cast); at != text.npos; at = text.find(cast)) text.erase(at, cast.size());
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool after_digit = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    if (after_digit && (text[i] == 'u' || text[i] == 'l')) {
      // A suffix ends an argument; a name may go on: "sm90_u8".
      const auto rest = text.find_first_not_of("ul", i);
      if (rest == text.npos || text[rest] == ',' || text[rest] == '>') {
        i = (rest == text.npos ? text.size() : rest) - 1;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

/// The launches of one kernel, as one.
struct Gathered {
  std::string name;
  std::int64_t launches = 0;
  double duration_ns = 0;
  std::map<std::string, std::pair<Metric, double>> sums;  // by metric: weighted sum and weight
  std::vector<std::string> order;

  void add(const NcuLaunch& launch) {
    // A launch without a duration counts, too.
    const double weight = launch.duration_ns > 0 ? launch.duration_ns : 1;
    ++launches;
    duration_ns += launch.duration_ns;
    for (const auto& metric : launch.metrics) {
      auto [entry, added] = sums.try_emplace(metric.name, Metric{metric.name, 0, metric.unit}, 0.0);
      if (added) order.push_back(metric.name);
      entry->second.first.value += metric.value * weight;
      entry->second.second += weight;
    }
  }

  [[nodiscard]] std::vector<Metric> metrics() const {
    std::vector<Metric> means;
    for (const auto& name_of_metric : order) {
      auto [metric, weight] = sums.at(name_of_metric);
      metric.value /= weight;
      means.push_back(std::move(metric));
    }
    return means;
  }
};

KernelProfile* find_kernel(Profile& profile, const std::string& name) {
  const auto wanted = normalized(name);
  for (auto& kernel : profile.kernels)
    if (kernel.counted_launches == 0 && normalized(kernel.name) == wanted) return &kernel;
  KernelProfile* only = nullptr;
  for (auto& kernel : profile.kernels) {
    if (kernel.function != function_of_kernel(name)) continue;
    if (only != nullptr || kernel.counted_launches != 0) return nullptr;
    only = &kernel;
  }
  return only;
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
    const auto fields = split_fields(line);
    if (table.begin(fields)) continue;
    if (auto launch = table.read(fields)) report.launches.push_back(*std::move(launch));
  }
  return report;
}

std::vector<std::string> unknown_metrics(const NcuReport& report, const std::vector<std::string>& wanted) {
  std::vector<std::string> unknown;
  for (const auto& name : wanted) {
    // ncu repeats a name as a regular expression, whose ending varies: "regex:^sm__throughput(\.avg)?$".
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

void add_counters(Profile& profile, const NcuReport& report) {
  std::vector<Gathered> gathered;
  for (const auto& launch : report.launches) {
    const auto same = [&](const Gathered& one) { return one.name == launch.kernel; };
    auto found = std::find_if(gathered.begin(), gathered.end(), same);
    if (found == gathered.end()) {
      gathered.push_back({.name = launch.kernel, .sums = {}, .order = {}});
      found = std::prev(gathered.end());
    }
    found->add(launch);
  }
  const bool alone = profile.kernels.empty();
  for (const auto& one : gathered) {
    KernelProfile* kernel = find_kernel(profile, one.name);
    if (kernel == nullptr) {
      kernel = &profile.kernels.emplace_back();
      kernel->name = one.name;
      kernel->function = function_of_kernel(one.name);
      kernel->origin = origin_of_kernel(one.name);
      // Beside a timeline it may be a kernel of the timeline under another name: its time must not count twice.
      kernel->launches = alone ? one.launches : 0;
      kernel->duration_ns = alone ? one.duration_ns : 0;
    }
    kernel->counted_launches = one.launches;
    kernel->metrics = one.metrics();
  }
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const KernelProfile& a, const KernelProfile& b) { return a.duration_ns > b.duration_ns; });
}

}  // namespace v0
}  // namespace kernelgen
