#include <kernelgen/profile/findings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <kernelgen/platform/platform.hpp>

#include "profile/chain_finding.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// An empty kernel takes about 2 us on the device, and queueing one about as long: below this, launches dominate.
constexpr double k_short_launch_ns = 10'000;
constexpr std::int64_t k_many_launches = 20;
constexpr double k_idle_share = 0.3;
/// Smaller shares of library kernels are not mentioned.
constexpr double k_library_share = 0.1;
constexpr double k_copy_share = 0.1;
/// Nsight Compute's own threshold: a unit above 60 % of its peak is the limit.
constexpr double k_busy_pct = 60;
constexpr double k_low_occupancy_pct = 40;
/// A warp of 32 threads that loads consecutive floats touches 4 sectors of 32 bytes; with vectors of four, 16.
constexpr double k_coalesced_sectors = 16.5;
/// Of 100 where no request is wasted; each thread's own line gives 25.
constexpr double k_coalesced_pct = 50;
constexpr double k_conflict_pct = 10;
/// Below this share of their peak, matrix units wait for their operands; below the other one, they are not used.
constexpr double k_fed_matrix_pct = 50;
constexpr double k_used_matrix_pct = 1;
/// Share of the limit of shared memory above which few blocks fit side by side.
constexpr double k_much_shared = 0.5;
/// Kernels with a smaller share of the device time are not mentioned.
constexpr double k_min_share = 0.1;

std::string microseconds(double nanoseconds) { return fmt::format("{:.1f} us", nanoseconds / 1e3); }
double percent(double share) { return 100 * share; }

/// Share of the call in which the device was idle: by its own clock where there is one.
double idle_share(const Profile& profile) {
  const double all = std::max(profile.span_ns, profile.call_ns);
  if (!(all > 0)) return 0;
  return std::clamp(1 - profile.device_ns() / all, 0.0, 1.0);
}

using Findings = std::vector<ProfileFinding>;

void find_launch_bound(const Profile& profile, Findings& found) {
  const auto launches = profile.launches();
  if (launches < k_many_launches) return;
  const double mean_ns = profile.device_ns() / static_cast<double>(launches);
  const double idle = idle_share(profile);
  if (mean_ns > k_short_launch_ns && idle < k_idle_share) return;
  if (mean_ns > k_short_launch_ns * 10) return;
  auto text = fmt::format("{} launches of {} on average", launches, microseconds(mean_ns));
  if (idle >= k_idle_share) text += fmt::format(", and the device idle for {:.0f} % of the call", percent(idle));
  found.push_back(
      {"launch_bound",
       text + ": launch-bound; fewer and larger kernels, or a loop inside of one, save more than faster ones",
       std::max(idle, mean_ns < k_short_launch_ns ? 0.5 : 0.0)});
}

/// The longest kernels of an origin, as "a, b".
std::string names_of_origin(const Profile& profile, KernelOrigin origin) {
  constexpr std::size_t k_shown = 2;
  std::string names;
  std::size_t shown = 0;
  for (const auto& kernel : profile.kernels) {
    if (kernel.origin != origin || shown == k_shown) continue;
    names += (names.empty() ? "" : ", ") + kernel.function;
    ++shown;
  }
  return names;
}

/// False for a timeline of operations on the CPU, where nothing runs on a device.
bool has_device_time(const Profile& profile) { return profile.span_ns > 0 || profile.source != "timeline"; }

void find_origins(const Profile& profile, Findings& found) {
  const bool on_device = has_device_time(profile);
  const double library = profile.share_of(KernelOrigin::Library);
  const double framework = profile.share_of(KernelOrigin::Framework);
  const bool own = std::any_of(profile.kernels.begin(), profile.kernels.end(), [](const KernelProfile& kernel) {
    return kernel.origin == KernelOrigin::Own && kernel.launches > 0;
  });
  if (!profile.kernels.empty() && !own && library + framework > 0) {
    auto message = on_device ? fmt::format(
                                   "no kernel of its own ran: {:.0f} % of the device time is the library's, "
                                   "{:.0f} % torch's own",
                                   percent(library), percent(framework))
                             : std::string("no kernel of its own ran, only torch's operations");
    found.push_back({"no_own_kernel", std::move(message), library + framework});
  }
  if (!on_device) return;
  if (own && library + framework >= k_library_share) {
    auto names = names_of_origin(profile, library >= framework ? KernelOrigin::Library : KernelOrigin::Framework);
    found.push_back({"library_share",
                     fmt::format("{:.0f} % of the device time is in library kernels and {:.0f} % in torch's own ({})",
                                 percent(library), percent(framework), names),
                     library + framework});
  }
  if (const double copies = profile.share_of(KernelOrigin::Copy); copies >= k_copy_share)
    found.push_back({"copies",
                     fmt::format("{:.0f} % of the device time is copies and fills: work in place, or write where the "
                                 "result is wanted",
                                 percent(copies)),
                     copies});
}

/// Kernels that only change the type of their input, by torch's names.
void find_type_casts(const Profile& profile, Findings& found) {
  double share = 0;
  std::int64_t launches = 0;
  for (const auto& kernel : profile.kernels) {
    if (kernel.name.find("LoadWithCast") == kernel.name.npos && kernel.name.find("copy_kernel") == kernel.name.npos)
      continue;
    share += profile.share_of(kernel);
    launches += kernel.launches;
  }
  if (share < k_copy_share) return;
  found.push_back({"type_casts",
                   fmt::format("{:.0f} % of the device time is {} launch{} that copy{} or convert{} tensors: read the "
                               "types as they are, and convert in registers",
                               percent(share), launches, launches == 1 ? "" : "es", launches == 1 ? "s" : "",
                               launches == 1 ? "s" : ""),
                   share});
}

/// Findings from the counters of one kernel. `share` is its part of the device time.
class KernelReader {
 public:
  /// `in_chain`: the kernel goes through dependent steps, so that few blocks with much in registers are no fault.
  KernelReader(const KernelProfile& kernel, double share, bool in_chain, const std::optional<GpuFacts>& gpu,
               Findings& found)
      : kernel_(kernel),
        share_(share),
        in_chain_(in_chain),
        gpu_(gpu),
        words_(platform_of(gpu ? gpu->vendor : "").words),
        found_(found) {}

  void read() {
    if (!in_chain_) find_few_blocks();
    find_limit();
    if (!in_chain_) {
      find_low_occupancy();
      find_small_blocks();
      find_shared_use();
    }
    find_uncoalesced();
    find_bank_conflicts();
    find_matrix_units();
  }

 private:
  void add(std::string name, const std::string& text, double weight) {
    found_.push_back({std::move(name), kernel_.function + ": " + text, weight * share_});
  }

  void find_few_blocks() {
    const auto blocks = kernel_.metric("grid_blocks");
    const int multiprocessors = gpu_ ? gpu_->multiprocessors : 0;
    if (!blocks || multiprocessors <= 0 || *blocks >= multiprocessors) return;
    few_blocks_ = true;
    const double unused = 1 - *blocks / multiprocessors;
    add("few_blocks",
        fmt::format("{:.0f} block{} on {} multiprocessors: {:.0f} % of the device has nothing to do; split the work "
                    "finer",
                    *blocks, *blocks == 1 ? "" : "s", multiprocessors, percent(unused)),
        unused);
  }

  void find_limit() {
    const auto dram = kernel_.metric("dram_throughput_pct");
    const auto sm = kernel_.metric("sm_throughput_pct");
    if (!dram || !sm) return;
    const auto both = fmt::format("memory at {:.0f} % of its peak, multiprocessors at {:.0f} %", *dram, *sm);
    if (*dram >= k_busy_pct && *dram >= *sm)
      add("memory_bound", both + ": memory-bound; only less traffic helps", *dram / 100);
    else if (*sm >= k_busy_pct)
      add("compute_bound", both + ": compute-bound; fewer or cheaper operations help, matrix units where they fit",
          *sm / 100);
    else if (!few_blocks_ && !in_chain_)
      add("latency_bound", both + ": latency-bound; more independent work in flight helps", 0.8);
  }

  void find_low_occupancy() {
    const auto counted = kernel_.metric("occupancy_pct");
    const auto occupancy = counted ? counted : possible_occupancy();
    if (!occupancy || *occupancy >= k_low_occupancy_pct || few_blocks_) return;
    const auto cause = occupancy_cause();
    add("low_occupancy",
        fmt::format("{:.0f} % of the {}s {}{}", *occupancy, words_.warp,
                    counted ? "that could be resident are" : "can be resident", cause.empty() ? "" : ": " + cause),
        0.5 * (1 - *occupancy / 100));
  }

  /// The occupancy that the limits allow, in percent.
  [[nodiscard]] std::optional<double> possible_occupancy() const {
    const auto all = kernel_.metric("occupancy_limit_warps");
    if (!all || !(*all > 0)) return std::nullopt;
    double resident = *all;
    for (const auto* name : {"occupancy_limit_registers", "occupancy_limit_shared", "occupancy_limit_blocks"})
      resident = std::min(resident, kernel_.metric(name).value_or(resident));
    return percent(resident / *all);
  }

  [[nodiscard]] std::string occupancy_cause() const {
    const std::array<std::pair<std::string_view, std::string_view>, 3> limits = {
        {{"occupancy_limit_registers", "registers"},
         {"occupancy_limit_shared", words_.shared_memory},
         {"occupancy_limit_blocks", "the number of blocks, which are small"}}};
    // The limit by warps means full occupancy; only a lower limit costs time.
    auto least = kernel_.metric("occupancy_limit_warps");
    std::string cause;
    for (const auto& [name, what] : limits) {
      const auto limit = kernel_.metric(name);
      if (!least || !limit || *limit >= *least) continue;
      least = *limit;
      cause = fmt::format("limited by {}", what);
      if (name == "occupancy_limit_registers")
        if (const auto registers = kernel_.metric("registers_per_thread"))
          cause += fmt::format(" ({:.0f} for each thread)", *registers);
      if (name == "occupancy_limit_shared")
        if (const auto bytes = kernel_.metric("shared_bytes_per_block"))
          cause += fmt::format(" ({:.0f} bytes for each block)", *bytes);
    }
    return cause;
  }

  void find_small_blocks() {
    if (!gpu_) return;
    const int enough = platform_of(gpu_->vendor).few_threads_per_block;
    const auto threads = kernel_.metric("block_threads");
    if (!threads || *threads >= enough) return;
    add("small_blocks",
        fmt::format("workgroups of {:.0f} threads: {} and more keep a compute unit busier", *threads, enough), 0.4);
  }

  void find_shared_use() {
    const auto bytes = kernel_.metric("shared_bytes_per_block");
    if (!gpu_ || !bytes || gpu_->shared_bytes_per_block == 0) return;
    const auto limit = static_cast<double>(std::max(gpu_->shared_bytes_per_block, gpu_->shared_bytes_per_block_optin));
    if (*bytes < k_much_shared * limit) return;
    add("shared_memory_use",
        fmt::format("{:.0f} bytes of {} for each block, {:.0f} % of the limit: few blocks fit side by side", *bytes,
                    words_.shared_memory, percent(*bytes / limit)),
        0.2);
  }

  void find_uncoalesced() {
    for (const auto& [name, what] : {std::pair("sectors_per_load", "load"), std::pair("sectors_per_store", "store")}) {
      const auto sectors = kernel_.metric(name);
      if (!sectors || *sectors <= k_coalesced_sectors) continue;
      add("uncoalesced",
          fmt::format("a {} of a {} touches {:.0f} sectors of 32 bytes, 4 would do for floats: uncoalesced; "
                      "neighbouring threads should take neighbouring elements",
                      what, words_.warp, *sectors),
          0.9);
      return;
    }
    const auto coalesced = kernel_.metric("coalesced_pct");
    if (!coalesced || *coalesced >= k_coalesced_pct) return;
    add("uncoalesced",
        fmt::format("loads and stores make {:.1f} times the requests that their data needs: uncoalesced; neighbouring "
                    "threads should take neighbouring elements",
                    100 / std::max(*coalesced, 1.0)),
        0.9);
  }

  void find_bank_conflicts() {
    const auto conflicts = kernel_.metric("shared_conflict_pct");
    if (!conflicts || *conflicts < k_conflict_pct) return;
    add("bank_conflicts",
        fmt::format("bank conflicts take {:.0f} % of the cycles of {}: pad its rows by an element, or swizzle the "
                    "addresses",
                    *conflicts, words_.shared_memory),
        *conflicts / 100);
  }

  void find_matrix_units() {
    const auto matrix = kernel_.metric("tensor_pipe_pct");
    if (!matrix || *matrix >= k_fed_matrix_pct) return;
    const double plain = kernel_.metric("sm_throughput_pct").value_or(0);
    if (*matrix >= k_used_matrix_pct)
      add("matrix_units",
          fmt::format("matrix units at {:.0f} % of their peak: larger tiles, and loads ahead of their use, keep them "
                      "fed",
                      *matrix),
          0.5 * (1 - *matrix / 100));
    else if (plain >= k_busy_pct)
      add("matrix_units",
          fmt::format("plain units at {:.0f} % of their peak, and matrix units unused: they multiply matrices faster",
                      plain),
          0.5);
  }

  const KernelProfile& kernel_;
  const double share_;
  const bool in_chain_;
  const std::optional<GpuFacts>& gpu_;
  const PlatformWords& words_;
  Findings& found_;
  bool few_blocks_ = false;
};

}  // namespace

std::vector<ProfileFinding> find_bottlenecks(const Profile& profile, const std::optional<GpuFacts>& gpu,
                                             const std::optional<StepChain>& chain) {
  Findings found;
  const auto in_chain = chain ? chain_kernels(profile, *chain) : std::vector<const KernelProfile*>();
  const auto is_in_chain = [&](const KernelProfile& kernel) {
    return std::find(in_chain.begin(), in_chain.end(), &kernel) != in_chain.end();
  };
  if (!in_chain.empty() && profile.share_of(*in_chain.front()) >= k_min_share)
    found.push_back(chain_finding(profile, in_chain, *chain, gpu));
  find_launch_bound(profile, found);
  find_origins(profile, found);
  find_type_casts(profile, found);
  for (const auto& kernel : profile.kernels) {
    const double share = profile.share_of(kernel);
    // Share of the call, not of the device time: stalls in kernels matter little while the device is idle.
    const double share_of_call = share * (1 - idle_share(profile));
    if (kernel.counted_launches > 0 && share >= k_min_share)
      KernelReader(kernel, share_of_call, is_in_chain(kernel), gpu, found).read();
  }
  if (auto stalls = stall_finding(profile, gpu)) found.push_back(*std::move(stalls));
  std::stable_sort(found.begin(), found.end(),
                   [](const ProfileFinding& a, const ProfileFinding& b) { return a.weight > b.weight; });
  return found;
}

}  // namespace v0
}  // namespace kernelgen
