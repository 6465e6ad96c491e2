#include <kernelgen/profile/metrics.hpp>

#include <algorithm>
#include <array>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Since Volta, the wait for memory is called "long scoreboard"; before, and in other tools, "memory dependency".
constexpr std::array<MetricSpec, 26> k_metrics = {{
    {"sm_throughput_pct", "%", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "busiest unit of the multiprocessors, of its peak"},
    {"grid_blocks", "block", "launch__grid_size", "", "blocks of the grid"},
    {"occupancy_pct", "%", "sm__warps_active.avg.pct_of_peak_sustained_active", "",
     "warps that are resident, of the most that can be"},
    {"dram_throughput_pct", "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
     "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "device memory, of its peak"},
    {"l2_hit_pct", "%", "lts__t_sector_hit_rate.pct", "", "sectors found in the L2 cache"},
    {"stall_memory_pct", "%", "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
     "smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct", "warps that wait for memory"},
    {"block_threads", "thread", "launch__block_size", "", "threads of a block"},
    {"registers_per_thread", "register", "launch__registers_per_thread", "", "registers of a thread"},
    {"shared_bytes_per_block", "byte", "launch__shared_mem_per_block", "launch__shared_mem_per_block_allocated",
     "shared memory of a block"},
    {"waves_per_sm", "", "launch__waves_per_multiprocessor", "", "times that the grid fills the device"},
    {"occupancy_limit_registers", "block", "launch__occupancy_limit_registers", "",
     "blocks on a multiprocessor, as far as registers go"},
    {"occupancy_limit_shared", "block", "launch__occupancy_limit_shared_mem", "",
     "blocks on a multiprocessor, as far as shared memory goes"},
    {"occupancy_limit_warps", "block", "launch__occupancy_limit_warps", "",
     "blocks on a multiprocessor, as far as warps go"},
    {"occupancy_limit_blocks", "block", "launch__occupancy_limit_blocks", "",
     "blocks on a multiprocessor, whatever they need"},
    {"dram_read_bytes", "byte", "dram__bytes_read.sum", "dram__bytes_op_read.sum", "bytes read from device memory"},
    {"dram_write_bytes", "byte", "dram__bytes_write.sum", "dram__bytes_op_write.sum", "bytes written to device memory"},
    {"l1_hit_pct", "%", "l1tex__t_sector_hit_rate.pct", "", "sectors found in the L1 cache"},
    {"l1_throughput_pct", "%", "l1tex__throughput.avg.pct_of_peak_sustained_active", "", "L1 cache, of its peak"},
    {"l2_throughput_pct", "%", "lts__throughput.avg.pct_of_peak_sustained_elapsed", "", "L2 cache, of its peak"},
    {"sectors_per_load", "sector", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "",
     "sectors of 32 bytes that one load of a warp touches"},
    {"sectors_per_store", "sector", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "",
     "sectors of 32 bytes that one store of a warp touches"},
    {"stall_barrier_pct", "%", "smsp__warp_issue_stalled_barrier_per_warp_active.pct", "",
     "warps that wait at a barrier of their block"},
    {"stall_shared_pct", "%", "smsp__warp_issue_stalled_short_scoreboard_per_warp_active.pct", "",
     "warps that wait for shared memory or special functions"},
    {"tensor_pipe_pct", "%", "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor cores, of their peak"},
    {"shared_conflict_pct", "%", "", "", "cycles of shared memory that bank conflicts take"},
    {"coalesced_pct", "%", "", "", "requests to the L1 cache that would do, of those that were made"},
}};

std::vector<std::string_view> every_name() {
  std::vector<std::string_view> names;
  names.reserve(k_metrics.size());
  for (const auto& metric : k_metrics) names.push_back(metric.name);
  return names;
}

}  // namespace

std::span<const MetricSpec> all_metrics() { return k_metrics; }

const MetricSpec* find_metric(std::string_view name) {
  const auto found =
      std::find_if(k_metrics.begin(), k_metrics.end(), [&](const MetricSpec& metric) { return metric.name == name; });
  return found == k_metrics.end() ? nullptr : &*found;
}

const std::vector<MetricSet>& metric_sets() {
  static const std::vector<MetricSet> k_sets = {
      {"brief",
       "what holds the kernel up, at a glance",
       {"sm_throughput_pct", "grid_blocks", "occupancy_pct", "dram_throughput_pct", "l2_hit_pct", "stall_memory_pct"}},
      {"full", "everything, in more passes", every_name()},
      {"grid_and_parallel",
       "is there enough work for all multiprocessors",
       {"sm_throughput_pct", "grid_blocks", "waves_per_sm", "occupancy_pct", "block_threads"}},
      {"block_tiling",
       "is what was loaded used again",
       {"sm_throughput_pct", "dram_throughput_pct", "l2_hit_pct", "l1_hit_pct", "tensor_pipe_pct",
        "registers_per_thread", "shared_bytes_per_block", "occupancy_pct"}},
      {"memory_access",
       "are loads and stores coalesced and cached",
       {"dram_throughput_pct", "l2_hit_pct", "l1_hit_pct", "sectors_per_load", "sectors_per_store", "coalesced_pct",
        "stall_memory_pct"}},
      {"advanced_memory",
       "what warps wait for",
       {"stall_memory_pct", "stall_shared_pct", "stall_barrier_pct", "shared_conflict_pct", "shared_bytes_per_block",
        "occupancy_pct", "occupancy_limit_registers", "occupancy_limit_shared", "occupancy_limit_warps"}},
      {"memory_and_tuning",
       "latency, registers and stages",
       {"dram_throughput_pct", "l2_hit_pct", "stall_memory_pct", "stall_barrier_pct", "occupancy_pct",
        "registers_per_thread", "shared_bytes_per_block", "occupancy_limit_registers", "occupancy_limit_shared"}},
      {"fusion",
       "registers and traffic of fused operations",
       {"dram_throughput_pct", "dram_read_bytes", "dram_write_bytes", "registers_per_thread", "occupancy_pct",
        "stall_memory_pct"}},
  };
  return k_sets;
}

const MetricSet* find_metric_set(std::string_view name) {
  const auto& sets = metric_sets();
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const MetricSet& set) { return set.name == name; });
  return found == sets.end() ? nullptr : &*found;
}

}  // namespace v0
}  // namespace kernelgen
