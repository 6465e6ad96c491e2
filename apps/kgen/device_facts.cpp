#include "device_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kernelgen::cli {
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

}  // namespace

std::vector<DeviceFact> device_facts(const CpuFacts& facts) {
  std::vector<DeviceFact> lines{{"processor", facts.model}};
  lines.emplace_back("hardware threads for this kernel", std::to_string(facts.usable_cores));
  if (!facts.vector_flags.empty())
    lines.emplace_back("vector instructions", fmt::format("{}", fmt::join(facts.vector_flags, ", ")));
  for (const auto& cache : facts.caches)
    if (cache.type != "Instruction" && cache.bytes > 0) lines.push_back(describe_cache(cache));
  if (facts.memory_bytes > 0) lines.emplace_back("memory", format_bytes(facts.memory_bytes));
  return lines;
}

}  // namespace kernelgen::cli
