#include "profile/rocprof_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// A metric, and the counters that make it on CDNA (gfx9) and on RDNA.
struct RocprofMetric {
  std::string_view metric;
  std::array<std::string_view, 2> cdna;
  std::array<std::string_view, 2> rdna;
  /// The block of the hardware that counts, and how many of its counters are used: FETCH_SIZE has one for each size of
  /// a request.
  std::string_view block;
  int count;
};

constexpr std::array<RocprofMetric, 8> k_rocprof_metrics = {{
    {"sm_throughput_pct", {"VALUBusy", ""}, {"", ""}, "SQ", 1},
    {"occupancy_pct", {"OccupancyPercent", ""}, {"OccupancyPercent", ""}, "SQ", 1},
    {"dram_read_bytes", {"FETCH_SIZE", ""}, {"FETCH_SIZE", ""}, "L2", 4},
    {"dram_write_bytes", {"WRITE_SIZE", ""}, {"WRITE_SIZE", ""}, "L2", 2},
    {"l2_hit_pct", {"TCC_HIT_sum", "TCC_MISS_sum"}, {"GL2C_HIT_sum", "GL2C_MISS_sum"}, "L2", 2},
    {"tensor_pipe_pct", {"MfmaUtil", ""}, {"", ""}, "SQ", 1},
    {"shared_conflict_pct",
     {"SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"},
     {"SQC_LDS_BANK_CONFLICT", "SQC_LDS_IDX_ACTIVE"},
     "SQ",
     2},
    {"coalesced_pct", {"TA_TOTAL_WAVEFRONTS_sum", "TCP_TOTAL_ACCESSES_sum"}, {"", ""}, "TCP", 1},
}};

/// Counters of a block that count at once, as aqlprofile has them for gfx9 and gfx11. GRBM needs no entry: all shares
/// of the time have one counter of it in common.
int counters_of(std::string_view block) { return block == "SQ" ? 8 : 4; }

bool is_wanted(const MetricSet& set, std::string_view metric) {
  const auto has = [&](std::string_view name) {
    return std::find(set.metrics.begin(), set.metrics.end(), name) != set.metrics.end();
  };
  // The share of the memory's peak follows from the bytes.
  return has(metric) || (has("dram_throughput_pct") && (metric == "dram_read_bytes" || metric == "dram_write_bytes"));
}

/// A pass that is being filled.
struct OpenPass {
  RocprofPass groups;
  std::map<std::string_view, int> used;

  bool take(const RocprofMetric& metric, RocprofGroup group) {
    auto& used_here = used[metric.block];
    if (used_here + metric.count > counters_of(metric.block)) return false;
    used_here += metric.count;
    groups.push_back(std::move(group));
    return true;
  }
};

std::optional<std::string> find_runnable(const std::string& name,
                                         const std::map<std::string, std::string>& environment) {
  auto found = find_program(name, environment);
  // A name with a slash is returned as it is.
  if (!found || ::access(found->c_str(), X_OK) != 0) return std::nullopt;
  return *std::move(found);
}

std::optional<std::string> find_rocm_program(const std::string& name,
                                             const std::map<std::string, std::string>& environment) {
  std::vector<std::string> places;
  if (const auto rocm = environment.find("ROCM_PATH"); rocm != environment.end() && !rocm->second.empty())
    places.push_back(rocm->second + "/bin/" + name);
  places.push_back(name);
  places.push_back("/opt/rocm/bin/" + name);
  for (const auto& place : places)
    if (auto found = find_runnable(place, environment)) return found;
  return std::nullopt;
}

}  // namespace

ToolLocation locate_rocprof(const std::string& name, const std::map<std::string, std::string>& environment) {
  if (!name.empty()) {
    if (auto found = find_runnable(name, environment)) return *std::move(found);
    return ProfileUnavailable{"there is no program " + name, ""};
  }
  for (const std::string known : {"rocprofv3", "rocprof"})
    if (auto found = find_rocm_program(known, environment)) return *std::move(found);
  return ProfileUnavailable{
      "neither rocprofv3 nor rocprof is installed",
      "install rocprofiler-sdk with ROCm (from AMD's repository: apt install rocprofiler-sdk), or "
      "set ROCM_PATH"};
}

std::string rocprof_version(const std::string& program) {
  return fs::path(program).filename().string().find("v3") == std::string::npos ? "rocprof" : "rocprofv3";
}

std::vector<RocprofPass> rocprof_passes(const MetricSet& set, std::string_view architecture) {
  std::vector<OpenPass> passes;
  for (const auto& metric : k_rocprof_metrics) {
    RocprofGroup group;
    for (const auto name : architecture.starts_with("gfx9") ? metric.cdna : metric.rdna)
      if (!name.empty()) group.emplace_back(name);
    if (group.empty() || !is_wanted(set, metric.metric)) continue;
    const auto took = [&](OpenPass& pass) { return pass.take(metric, group); };
    if (std::none_of(passes.begin(), passes.end(), took)) passes.emplace_back().take(metric, group);
  }
  std::vector<RocprofPass> filled;
  filled.reserve(passes.size());
  for (auto& pass : passes) filled.push_back(std::move(pass.groups));
  return filled;
}

std::string rocprof_input(const RocprofPass& pass) {
  std::string line = "pmc:";
  for (const auto& group : pass) line += fmt::format(" {}", fmt::join(group, " "));
  return line + '\n';
}

std::vector<std::string> rocprof_command(const std::string& program, const fs::path& input, const fs::path& output) {
  if (rocprof_version(program) == "rocprof")
    return {program, "-i", input.string(), "-o", (output / "counters.csv").string(), "--timestamp", "on"};
  // ROCm 6.2 takes counters from a file only; in ROCm 7 the default format is a database.
  return {program, "-i", input.string(), "--output-format", "csv", "-d", output.string(), "-o", "counters", "--"};
}

}  // namespace v0
}  // namespace kernelgen
