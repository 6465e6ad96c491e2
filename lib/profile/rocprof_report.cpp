#include "profile/rocprof_report.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "profile/csv_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A counter or a column, by all its names, and its conversion to a metric of kernelgen.
struct CounterName {
  std::string_view metric;
  std::string_view unit;
  double scale;
  std::array<std::string_view, 4> names;
};

/// Counters of whole caches and units. "MemUnitBusy" and "MemUnitStalled" are left out: they are shares of the time,
/// and neither a share of a peak nor one of waiting warps. Sizes are in KiB.
constexpr std::array<CounterName, 9> k_counters = {{
    {"block_threads", "thread", 1, {"wgr", "WGR", "Workgroup_Size", "wgp"}},
    {"registers_per_thread", "register", 1, {"arch_vgpr", "Arch_VGPR", "VGPR_Count", "vgpr"}},
    {"shared_bytes_per_block", "byte", 1, {"lds", "LDS", "LDS_Per_Workgroup", "LDS_Block_Size"}},
    {"occupancy_pct", "%", 1, {"OccupancyPercent", "", "", ""}},
    {"sm_throughput_pct", "%", 1, {"VALUBusy", "", "", ""}},
    {"tensor_pipe_pct", "%", 1, {"MfmaUtil", "", "", ""}},
    {"l2_hit_pct", "%", 1, {"L2CacheHit", "", "", ""}},
    {"dram_read_bytes", "byte", 1024, {"FETCH_SIZE", "FetchSize", "", ""}},
    {"dram_write_bytes", "byte", 1024, {"WRITE_SIZE", "WriteSize", "", ""}},
}};

/// Removes the descriptor's suffix: "step(float*)" of "step(float*) [clone .kd]", "step(float*) (.kd)" and "step.kd".
std::string without_descriptor(std::string_view name) {
  for (const std::string_view ending : {" [clone .kd]", " (.kd)", "(.kd)", ".kd"})
    if (name.ends_with(ending)) {
      name.remove_suffix(ending.size());
      break;
    }
  return sanitize_line(trim(name), k_max_name);
}

/// The values of one dispatch, by the names of the table.
using Values = std::map<std::string, double, std::less<>>;

std::optional<double> find(const Values& values, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    const auto found = values.find(name);
    if (found != values.end()) return found->second;
  }
  return std::nullopt;
}

double duration_of(const Values& values) {
  if (const auto stated = find(values, {"DurationNs"})) return std::max(*stated, 0.0);
  const auto begin = find(values, {"BeginNs", "Start_Timestamp"});
  const auto end = find(values, {"EndNs", "End_Timestamp"});
  return begin && end ? std::max(*end - *begin, 0.0) : 0;
}

/// AMD counts a grid in threads, unlike CUDA.
std::optional<double> blocks_of(const Values& values) {
  auto grid = find(values, {"grd", "GRD", "Grid_Size"});
  auto block = find(values, {"wgr", "WGR", "Workgroup_Size", "wgp"});
  if (!grid || !block) {
    double blocks = 1;
    for (const std::string axis : {"X", "Y", "Z"}) {
      grid = find(values, {"Grid_Size_" + axis});
      block = find(values, {"Workgroup_Size_" + axis});
      if (!grid || !block || !(*block > 0)) return std::nullopt;
      blocks *= *grid / *block;
    }
    return blocks;
  }
  return *block > 0 ? std::optional(*grid / *block) : std::nullopt;
}

std::vector<Metric> metrics_of(const Values& values) {
  std::vector<Metric> metrics;
  if (const auto blocks = blocks_of(values)) metrics.push_back({"grid_blocks", *blocks, "block"});
  for (const auto& counter : k_counters)
    if (const auto value = find(values, {counter.names[0], counter.names[1], counter.names[2], counter.names[3]}))
      metrics.push_back({std::string(counter.metric), *value * counter.scale, std::string(counter.unit)});
  // gfx942 and later devices lack the counter.
  const auto hits = find(values, {"TCC_HIT_sum", "TCC_HIT"});
  const auto misses = find(values, {"TCC_MISS_sum", "TCC_MISS"});
  if (find(values, {"L2CacheHit"}) == std::nullopt && hits && misses && *hits + *misses > 0) {
    constexpr double k_percent = 100;
    metrics.push_back({"l2_hit_pct", k_percent * *hits / (*hits + *misses), "%"});
  }
  return metrics;
}

class CounterTable {
 public:
  /// True if the fields are a header; lines above it are the program's own output.
  bool begin(const std::vector<std::string>& fields) {
    const auto at = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(fields.begin(), fields.end(), name) - fields.begin());
    };
    const bool first = at("KernelName") < fields.size() && at("Index") < fields.size();
    const bool later = at("Kernel_Name") < fields.size();
    if (!first && !later) return false;
    name_ = first ? at("KernelName") : at("Kernel_Name");
    const bool second = at("Dispatch_ID") < fields.size();
    if (!first && !second && at("Dispatch_Id") == fields.size()) return false;
    source_ = first ? "rocprof" : second ? "rocprofv2" : "rocprofv3";
    dispatch_ = first ? at("Index") : second ? at("Dispatch_ID") : at("Dispatch_Id");
    counter_ = at("Counter_Name");
    value_ = at("Counter_Value");
    header_ = fields;
    return true;
  }

  void read(const std::vector<std::string>& fields) {
    if (header_.empty() || fields.size() != header_.size()) return;
    if (!read_csv_number(fields[dispatch_])) return;
    auto [entry, added] = by_dispatch_.try_emplace(fields[dispatch_], dispatches_.size());
    if (added) dispatches_.push_back({without_descriptor(fields[name_]), {}});
    auto& values = dispatches_[entry->second].second;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (const auto number = i == name_ ? std::nullopt : read_csv_number(fields[i])) values[header_[i]] = *number;
    // The long form has a row for each counter.
    if (counter_ == header_.size() || value_ == header_.size()) return;
    if (const auto number = read_csv_number(fields[value_])) values[fields[counter_]] = *number;
  }

  [[nodiscard]] std::optional<RocprofReport> report() const {
    if (header_.empty()) return std::nullopt;
    RocprofReport report{source_, {}};
    for (const auto& [name, values] : dispatches_)
      report.launches.push_back({name, metrics_of(values), duration_of(values)});
    return report;
  }

 private:
  std::string source_;
  std::vector<std::string> header_;
  std::size_t name_ = 0, dispatch_ = 0, counter_ = 0, value_ = 0;
  std::map<std::string, std::size_t> by_dispatch_;
  std::vector<std::pair<std::string, Values>> dispatches_;
};

}  // namespace

std::optional<RocprofReport> read_rocprof_report(std::string_view text) {
  CounterTable table;
  bool begun = false;
  for (std::string_view line : split_lines(text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) continue;
    const auto fields = split_csv_line(line);
    if (!begun)
      begun = table.begin(fields);
    else
      table.read(fields);
  }
  return table.report();
}

}  // namespace v0
}  // namespace kernelgen
