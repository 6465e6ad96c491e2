#include <kernelgen/profile/findings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_findings = 3;
/// Nsight Compute's own threshold: a unit above 60 % of its peak is the limit.
constexpr double k_dominant_pct = 60;
/// More registers than this leave two blocks of 256 threads on a multiprocessor with 65536; fewer than the other limit
/// leave room for more work in flight.
constexpr double k_many_registers = 128;
constexpr double k_few_registers = 96;

/// A stage, and the findings that it can change. Other findings may still be more important; they only come later.
struct StageInterest {
  std::string_view stage;
  std::array<std::string_view, 5> findings;
};

constexpr auto k_interests = std::to_array<StageInterest>({
    {"grid_and_parallel", {"few_blocks", "low_occupancy", "launch_bound", "small_blocks"}},
    {"block_tiling", {"compute_bound", "memory_bound", "matrix_units", "low_occupancy", "small_blocks"}},
    {"memory_access", {"uncoalesced", "memory_bound", "copies", "type_casts"}},
    {"advanced_memory", {"latency_bound", "memory_bound", "bank_conflicts", "low_occupancy", "uncoalesced"}},
    {"memory_and_tuning", {"latency_bound", "memory_bound", "uncoalesced", "low_occupancy"}},
    {"loads_in_flight", {"latency_bound", "low_occupancy", "memory_bound"}},
    {"step_launches", {"launch_bound", "copies", "library_share"}},
    {"step_product", {"chain", "compute_bound", "bank_conflicts", "latency_bound", "matrix_units"}},
    {"step_exchange", {"chain", "latency_bound", "few_blocks"}},
    {"step_tail", {"chain", "latency_bound", "bank_conflicts"}},
    {"epilogue", {"launch_bound", "memory_bound", "copies", "uncoalesced", "library_share"}},
    {"window_tiles", {"compute_bound", "memory_bound", "matrix_units", "low_occupancy", "uncoalesced"}},
    {"attention_tiles", {"compute_bound", "memory_bound", "matrix_units", "few_blocks", "low_occupancy"}},
    {"attention_softmax", {"compute_bound", "latency_bound", "matrix_units", "bank_conflicts"}},
    {"row_passes", {"memory_bound", "launch_bound", "copies", "type_casts"}},
    {"row_split", {"few_blocks", "low_occupancy", "small_blocks", "uncoalesced"}},
    {"scan_passes", {"memory_bound", "launch_bound", "copies", "few_blocks"}},
    {"scan_chunks", {"latency_bound", "bank_conflicts", "uncoalesced", "low_occupancy"}},
    {"network_fusion", {"launch_bound", "memory_bound", "copies", "type_casts"}},
    {"network_launches", {"launch_bound", "few_blocks", "copies"}},
    {"network_weights", {"copies", "type_casts", "uncoalesced", "memory_bound"}},
});

bool interests(std::string_view stage, const ProfileFinding& finding) {
  return std::any_of(k_interests.begin(), k_interests.end(), [&](const StageInterest& one) {
    return one.stage == stage &&
           std::find(one.findings.begin(), one.findings.end(), finding.name) != one.findings.end();
  });
}

/// Removes what warps wait for: it stands beside the other findings, and is none that they could push out.
std::optional<ProfileFinding> take_stalls(std::vector<ProfileFinding>& findings) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [](const ProfileFinding& one) { return one.name == "stalls"; });
  if (found == findings.end()) return std::nullopt;
  auto stalls = std::move(*found);
  findings.erase(found);
  return stalls;
}

/// The candidate's longest kernel, where its registers are known.
const KernelProfile* longest_counted(const Profile& profile) {
  const auto found = std::find_if(profile.kernels.begin(), profile.kernels.end(), [](const KernelProfile& kernel) {
    return kernel.origin == KernelOrigin::Own && kernel.metric("registers_per_thread");
  });
  return found == profile.kernels.end() ? nullptr : &*found;
}

std::optional<ProfileFinding> register_finding(const Profile& profile) {
  const auto* kernel = longest_counted(profile);
  if (kernel == nullptr) return std::nullopt;
  const double registers = *kernel->metric("registers_per_thread");
  const auto seen = fmt::format("{}: {:.0f} registers for each thread", kernel->function, registers);
  if (registers > k_many_registers)
    return ProfileFinding{"many_registers", seen + ": the fused operations keep too much at once; halve the block", 1};
  if (registers < k_few_registers)
    return ProfileFinding{"few_registers", seen + ": there is room for more warps or stages of a pipeline", 0};
  return std::nullopt;
}

}  // namespace

std::optional<RooflinePosition> roofline_position(const Profile& profile) {
  const auto memory = profile.metric("dram_throughput_pct");
  const auto compute = profile.metric("sm_throughput_pct");
  if (!memory || !compute) return std::nullopt;
  const char* side = "latency-bound: neither is busy";
  if (*memory >= k_dominant_pct && *memory >= *compute) side = "memory-bound";
  if (*compute >= k_dominant_pct && *compute > *memory) side = "compute-bound";
  return RooflinePosition{
      *memory, *compute,
      fmt::format("device memory at {:.0f} % of its peak, multiprocessors at {:.0f} %: {}", *memory, *compute, side)};
}

std::vector<ProfileFinding> findings_for_stage(const Profile& profile, std::string_view stage,
                                               const std::optional<GpuFacts>& gpu, TaskLevel level,
                                               const std::optional<StepChain>& chain) {
  auto all = find_bottlenecks(profile, gpu, chain);
  const auto stalls = take_stalls(all);
  if (level == TaskLevel::Fusion)
    if (auto registers = register_finding(profile)) all.push_back(*std::move(registers));
  std::stable_sort(all.begin(), all.end(), [&](const ProfileFinding& a, const ProfileFinding& b) {
    const bool first = interests(stage, a), second = interests(stage, b);
    return first != second ? first : a.weight > b.weight;
  });
  // "few_registers" has no weight: it is mentioned only without more important findings.
  if (all.size() > k_max_findings) all.resize(k_max_findings);
  if (stalls) all.insert(all.begin(), *stalls);
  if (auto position = roofline_position(profile))
    all.insert(all.begin(), {"roofline", std::move(position->sentence), 0});
  return all;
}

}  // namespace v0
}  // namespace kernelgen
