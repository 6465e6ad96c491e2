#include "profile/rocprof_dispatch.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "profile/csv_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr double k_percent = 100;

/// A counter or a column, by all its names, and its conversion to a metric of kernelgen.
struct CounterName {
  std::string_view metric;
  std::string_view unit;
  double scale;
  std::array<std::string_view, 4> names;
};

/// Counters of whole caches and units. "MemUnitBusy" and "MemUnitStalled" are left out: they are shares of the time,
/// and neither a share of a peak nor one of waiting warps. Sizes are in KiB.
constexpr std::array<CounterName, 8> k_rocprof_counters = {{
    {"block_threads", "thread", 1, {"wgr", "WGR", "Workgroup_Size", "wgp"}},
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

/// The values of a dispatch, and what follows from several of them.
class DispatchReader {
 public:
  explicit DispatchReader(const RocprofDispatch& dispatch) : values_(dispatch.values) {}

  [[nodiscard]] double duration_ns() const {
    if (const auto stated = find({"DurationNs"})) return std::max(*stated, 0.0);
    const auto begin = find({"BeginNs", "Start_Timestamp"});
    const auto end = find({"EndNs", "End_Timestamp"});
    return begin && end ? std::max(*end - *begin, 0.0) : 0;
  }

  [[nodiscard]] std::vector<Metric> metrics() {
    add("grid_blocks", "block", blocks());
    for (const auto& [metric, unit, scale, names] : k_rocprof_counters)
      if (const auto value = find({names[0], names[1], names[2], names[3]})) add(metric, unit, *value * scale);
    if (!find({"wgr", "WGR", "Workgroup_Size", "wgp"})) add("block_threads", "thread", product("Workgroup_Size_"));
    add("registers_per_thread", "register", registers());
    // gfx942 and later devices lack L2CacheHit; with RDNA the cache has another name.
    if (!find({"L2CacheHit"}))
      add("l2_hit_pct", "%",
          share_of_sum(find({"TCC_HIT_sum", "TCC_HIT", "GL2C_HIT_sum", "GL2C_HIT"}),
                       find({"TCC_MISS_sum", "TCC_MISS", "GL2C_MISS_sum", "GL2C_MISS"})));
    add("shared_conflict_pct", "%", conflicts());
    add("coalesced_pct", "%", coalesced());
    return std::move(metrics_);
  }

 private:
  [[nodiscard]] std::optional<double> find(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
      const auto found = values_.find(name);
      if (!name.empty() && found != values_.end()) return found->second;
    }
    return std::nullopt;
  }

  void add(std::string_view name, std::string_view unit, std::optional<double> value) {
    if (value) metrics_.push_back({std::string(name), *value, std::string(unit)});
  }

  /// The product of a size over the three axes.
  [[nodiscard]] std::optional<double> product(const std::string& name) const {
    double size = 1;
    for (const char axis : {'X', 'Y', 'Z'}) {
      const auto length = find({name + axis});
      if (!length) return std::nullopt;
      size *= *length;
    }
    return size;
  }

  /// AMD counts a grid in threads, unlike CUDA.
  [[nodiscard]] std::optional<double> blocks() const {
    auto grid = find({"grd", "GRD", "Grid_Size"});
    auto block = find({"wgr", "WGR", "Workgroup_Size", "wgp"});
    if (!grid || !block) {
      grid = product("Grid_Size_");
      block = product("Workgroup_Size_");
    }
    return grid && block && *block > 0 ? std::optional(*grid / *block) : std::nullopt;
  }

  /// Accumulation registers count, too: since CDNA 2, both kinds come out of one file.
  [[nodiscard]] std::optional<double> registers() const {
    const auto vector = find({"arch_vgpr", "Arch_VGPR", "VGPR_Count", "vgpr"});
    if (!vector) return std::nullopt;
    return *vector + find({"accum_vgpr", "Accum_VGPR", "Accum_VGPR_Count"}).value_or(0);
  }

  /// LDSBankConflict comes second, because before RDNA it is a share of the kernel's time, and not of that of LDS.
  [[nodiscard]] std::optional<double> conflicts() const {
    const auto lost = find({"SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT"});
    const auto active = find({"SQ_LDS_IDX_ACTIVE", "SQC_LDS_IDX_ACTIVE"});
    if (!lost || !active) return find({"LDSBankConflict"});
    return *active > 0 ? std::min(k_percent * *lost / *active, k_percent) : 0;
  }

  /// A wavefront of 64 threads that takes 64 consecutive words makes 16 requests to the L1 cache, else up to 64.
  [[nodiscard]] std::optional<double> coalesced() const {
    constexpr double k_least_requests = 16;
    const auto wavefronts = find({"TA_TOTAL_WAVEFRONTS_sum"});
    const auto requests = find({"TCP_TOTAL_ACCESSES_sum"});
    if (!wavefronts || !requests || !(*requests > 0)) return std::nullopt;
    return std::min(k_percent * *wavefronts * k_least_requests / *requests, k_percent);
  }

  [[nodiscard]] static std::optional<double> share_of_sum(std::optional<double> part, std::optional<double> rest) {
    return part && rest && *part + *rest > 0 ? std::optional(k_percent * *part / (*part + *rest)) : std::nullopt;
  }

  const std::map<std::string, double, std::less<>>& values_;
  std::vector<Metric> metrics_;
};

}  // namespace

KernelLaunch to_launch(const RocprofDispatch& dispatch) {
  DispatchReader reader(dispatch);
  return {without_descriptor(dispatch.kernel), reader.metrics(), reader.duration_ns()};
}

}  // namespace v0
}  // namespace kernelgen
