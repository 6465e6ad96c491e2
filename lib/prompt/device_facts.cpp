#include <fmt/format.h>
#include <fmt/ranges.h>

#include <kernelgen/platform/platform.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

std::string format_bytes(std::uint64_t bytes) {
  if (bytes >= (1ULL << 30)) return fmt::format("{:.3g} GiB", static_cast<double>(bytes) / (1ULL << 30));
  if (bytes >= (1ULL << 20)) return fmt::format("{:.3g} MiB", static_cast<double>(bytes) / (1ULL << 20));
  return fmt::format("{} KiB", bytes >> 10);
}

DeviceFact describe_cache(const CpuCache& cache) {
  const std::string kind = cache.type == "Data" ? "data " : "";
  auto size = format_bytes(cache.bytes);
  if (cache.shared_by > 1) size += fmt::format(", shared by {} hardware threads", cache.shared_by);
  return {fmt::format("L{} {}cache", cache.level, kind), std::move(size)};
}

std::string format_rate(double per_second, const char* unit) {
  if (per_second >= 1e15) return fmt::format("{:.3g} P{}", per_second / 1e15, unit);
  if (per_second >= 1e12) return fmt::format("{:.3g} T{}", per_second / 1e12, unit);
  return fmt::format("{:.3g} G{}", per_second / 1e9, unit);
}

std::string describe_shared(const GpuFacts& facts, const PlatformWords& words) {
  auto text = format_bytes(facts.shared_bytes_per_block) + " per block";
  if (facts.shared_bytes_per_block_optin > facts.shared_bytes_per_block)
    text += fmt::format(", {} where the kernel asks for it", format_bytes(facts.shared_bytes_per_block_optin));
  if (facts.shared_bytes_per_multiprocessor > 0)
    text += fmt::format(", {} per {}", format_bytes(facts.shared_bytes_per_multiprocessor), words.multiprocessor);
  return text;
}

std::string describe_memory(const GpuFacts& facts) {
  auto text = format_bytes(facts.memory_bytes);
  if (facts.memory_bytes_per_second)
    text += fmt::format(", {} as stated", format_rate(*facts.memory_bytes_per_second, "B/s"));
  if (facts.measured_bytes_per_second)
    text += fmt::format(", {} measured by a copy", format_rate(*facts.measured_bytes_per_second, "B/s"));
  return text;
}

/// What a cluster may have, and how many of them fit.
std::string describe_clusters(const GpuFacts& facts) {
  auto text = fmt::format("up to {} blocks", facts.cluster_blocks);
  if (facts.cluster_blocks_optin > facts.cluster_blocks)
    text += fmt::format(", {} where the kernel asks for it (cudaFuncAttributeNonPortableClusterSizeAllowed)",
                        facts.cluster_blocks_optin);
  return text + "; cudaOccupancyMaxActiveClusters tells how many run at once";
}

std::string describe_barriers(const GpuFacts& facts) {
  std::vector<std::string> parts;
  if (facts.cluster_barrier_ns) parts.push_back(fmt::format("{:.0f} ns within a cluster", *facts.cluster_barrier_ns));
  if (facts.grid_barrier_ns) parts.push_back(fmt::format("{:.0f} ns or more across the grid", *facts.grid_barrier_ns));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::vector<DeviceFact> device_facts(const CpuFacts& facts) {
  std::vector<DeviceFact> lines{{"processor", facts.model}};
  auto threads = std::to_string(facts.usable_cores);
  // With a quota, the threads may run on any of the cores.
  if (facts.physical_cores > 0 && facts.usable_cores == facts.allowed_cores)
    threads += fmt::format(" on {} {}", facts.physical_cores, facts.physical_cores == 1 ? "core" : "cores");
  lines.emplace_back("hardware threads for this kernel", std::move(threads));
  if (facts.max_gigahertz > 0) lines.emplace_back("clock", fmt::format("at most {:.1f} GHz", facts.max_gigahertz));
  if (!facts.vector_flags.empty())
    lines.emplace_back("vector instructions", fmt::format("{}", fmt::join(facts.vector_flags, ", ")));
  for (const auto& cache : facts.caches)
    if (cache.type != "Instruction" && cache.bytes > 0) lines.push_back(describe_cache(cache));
  if (facts.memory_bytes > 0) lines.emplace_back("memory", format_bytes(facts.memory_bytes));
  return lines;
}

std::vector<DeviceFact> device_facts(const GpuFacts& facts) {
  const auto& words = platform_of(facts.vendor).words;
  std::vector<DeviceFact> lines{{"device", facts.name}};
  const auto add = [&](const std::string& name, bool known, std::string text) {
    if (known) lines.emplace_back(name, std::move(text));
  };
  add("architecture", !facts.architecture.empty(), facts.architecture);
  add(fmt::format("{}s", words.multiprocessor), facts.multiprocessors > 0, std::to_string(facts.multiprocessors));
  add("threads", facts.threads_per_block > 0,
      fmt::format("{} per block, {} per {}, {} per {}", facts.threads_per_block, facts.threads_per_multiprocessor,
                  words.multiprocessor, facts.warp_threads, words.warp));
  add("registers", facts.registers_per_block > 0,
      fmt::format("{} per block, {} per {}", facts.registers_per_block, facts.registers_per_multiprocessor,
                  words.multiprocessor));
  add(words.shared_memory, facts.shared_bytes_per_block > 0, describe_shared(facts, words));
  add("clusters", facts.cluster_blocks > 0, describe_clusters(facts));
  add("barriers, measured", facts.cluster_barrier_ns || facts.grid_barrier_ns, describe_barriers(facts));
  add("L2 cache", facts.l2_bytes > 0, format_bytes(facts.l2_bytes));
  add("cache before memory", facts.memory_cache_bytes > 0, format_bytes(facts.memory_cache_bytes));
  add("memory", facts.memory_bytes > 0, describe_memory(facts));
  add("clock", facts.clock_khz > 0, fmt::format("{} MHz", facts.clock_khz / 1000));
  if (facts.fp32_per_second) {
    auto text = "fp32 " + format_rate(*facts.fp32_per_second, "FLOP/s");
    if (facts.tf32_per_second) text += ", tf32 matrix units " + format_rate(*facts.tf32_per_second, "FLOP/s");
    if (facts.fp16_per_second) text += ", fp16 and bf16 matrix units " + format_rate(*facts.fp16_per_second, "FLOP/s");
    lines.emplace_back("peaks", std::move(text));
  }
  return lines;
}

}  // namespace v0
}  // namespace kernelgen
