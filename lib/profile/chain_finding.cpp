#include "profile/chain_finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <kernelgen/platform/platform.hpp>

#include "core/recurrent_layers.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Smaller shares of the warps are not told.
constexpr double k_min_stall_pct = 20;
/// Number of kernels of which stalls are told.
constexpr std::ptrdiff_t k_stall_kernels = 3;
/// A launch of at least this share of the longest kernel's goes through the steps, too.
constexpr double k_chain_share = 0.5;

double time_of_launch(const KernelProfile& kernel) {
  return kernel.launches > 0 ? kernel.duration_ns / static_cast<double>(kernel.launches) : 0;
}

std::int64_t launches_of(const std::vector<const KernelProfile*>& kernels) {
  std::int64_t sum = 0;
  for (const auto* kernel : kernels) sum += kernel->launches;
  return sum;
}

/// The time of the chain: kernels may overlap.
double time_of_chain(const Profile& profile, const std::vector<const KernelProfile*>& kernels) {
  double sum = 0;
  for (const auto* kernel : kernels) sum += kernel->duration_ns;
  return profile.span_ns > 0 ? std::max(std::min(sum, profile.span_ns), kernels.front()->duration_ns) : sum;
}

std::string step_time(double ns) { return fmt::format("{:.2f} us", ns / 1e3); }

/// ", 5066 cycles at 1980 MHz": the highest clock. Empty where it is not known.
std::string cycles_text(double ns, const std::optional<GpuFacts>& gpu) {
  if (!gpu || gpu->clock_khz <= 0) return {};
  const double mhz = gpu->clock_khz / 1e3;
  return fmt::format(" or {:.0f} cycles at {:.0f} MHz", ns * mhz / 1e3, mhz);
}

/// Why warps of a kernel wait, the most frequent reason first: "45 % for memory, 22 % for a barrier".
std::string stalls_of(const KernelProfile& kernel) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> k_stalls = {
      {{"stall_memory_pct", "memory"}, {"stall_barrier_pct", "a barrier"}, {"stall_shared_pct", "shared memory"}}};
  std::vector<std::pair<double, std::string_view>> found;
  for (const auto& [name, what] : k_stalls)
    if (const auto value = kernel.metric(name); value && *value >= k_min_stall_pct) found.emplace_back(*value, what);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [share, what] : found)
    text += fmt::format("{}{:.0f} % for {}", text.empty() ? "" : ", ", share, what);
  return text;
}

const PlatformWords& gpu_words(const std::optional<GpuFacts>& gpu) { return platform_of(gpu ? gpu->vendor : "").words; }

}  // namespace

std::optional<StepChain> step_chain_of(const TaskDescription& task, Recurrence recurrence,
                                       const std::optional<Headroom>& headroom) {
  if (recurrence != Recurrence::Persistent || !task.is_recurrent() || task.facts->recurrence->steps <= 1)
    return std::nullopt;
  const auto layers = recurrent_layers_of(task);
  StepChain chain{.steps = layers ? layers->chain() : task.facts->recurrence->steps, .floor_ns = {}};
  if (headroom && headroom->bound != "launch" && headroom->floor_ns > 0) chain.floor_ns = headroom->floor_ns;
  return chain;
}

std::vector<const KernelProfile*> chain_kernels(const Profile& profile, const StepChain& chain) {
  std::vector<const KernelProfile*> found;
  for (const auto& kernel : profile.kernels) {
    if (kernel.origin != KernelOrigin::Own || kernel.launches <= 0 || kernel.launches >= chain.steps) continue;
    if (found.empty() || time_of_launch(kernel) >= k_chain_share * time_of_launch(*found.front()))
      found.push_back(&kernel);
  }
  return found;
}

ProfileFinding chain_finding(const Profile& profile, const std::vector<const KernelProfile*>& kernels,
                             const StepChain& chain, const std::optional<GpuFacts>& gpu) {
  const auto& longest = *kernels.front();
  const auto launches = launches_of(kernels);
  const double all_ns = time_of_chain(profile, kernels);
  const double step_ns = all_ns / static_cast<double>(chain.steps);
  auto text = fmt::format("{}: {} dependent steps in {} launch{}", longest.function, chain.steps, launches,
                          launches == 1 ? "" : "es");
  if (const auto blocks = longest.metric("grid_blocks"))
    text += fmt::format(" of {:.0f} block{}", *blocks, *blocks == 1 ? "" : "s");
  text += fmt::format(", {}{} for each", step_time(step_ns), cycles_text(step_ns, gpu));
  double weight = 1;
  if (chain.floor_ns) {
    text += fmt::format(", {:.2f} times the least possible of {}", all_ns / *chain.floor_ns,
                        step_time(*chain.floor_ns / static_cast<double>(chain.steps)));
    weight = std::clamp(1 - *chain.floor_ns / all_ns, 0.0, 1.0);
  }
  text +=
      ": shorten the exchange of a step (flags or sends in place of barriers, work that needs no state meanwhile) and "
      "spread its product (weights in registers, every " +
      std::string(gpu_words(gpu).warp) +
      " at it); more blocks help only where they save more product than their exchange costs";
  return {"chain", std::move(text), weight};
}

std::optional<ProfileFinding> stall_finding(const Profile& profile, const std::optional<GpuFacts>& gpu) {
  std::string text;
  const auto count = std::min(k_stall_kernels, static_cast<std::ptrdiff_t>(profile.kernels.size()));
  std::for_each(profile.kernels.begin(), profile.kernels.begin() + count, [&](const KernelProfile& kernel) {
    if (const auto stalls = stalls_of(kernel); !stalls.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", kernel.function, stalls);
  });
  if (text.empty()) return std::nullopt;
  return ProfileFinding{"stalls", fmt::format("of the {}s wait, in the longest kernels: {}", gpu_words(gpu).warp, text),
                        0};
}

}  // namespace v0
}  // namespace kernelgen
