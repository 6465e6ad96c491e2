#include <kernelgen/profile/findings.hpp>

#include <algorithm>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

KernelProfile kernel(std::string name, double duration_ns, std::int64_t launches, std::vector<Metric> metrics = {}) {
  KernelProfile made;
  made.function = function_of_kernel(name);
  made.origin = origin_of_kernel(name);
  made.name = std::move(name);
  made.duration_ns = duration_ns;
  made.launches = launches;
  made.counted_launches = metrics.empty() ? 0 : 1;
  made.metrics = std::move(metrics);
  return made;
}

Profile profile_of(std::vector<KernelProfile> kernels, double call_ns = 0) {
  Profile profile;
  profile.kernels = std::move(kernels);
  profile.call_ns = call_ns;
  return profile;
}

/// One kernel with these counters, on a device with 132 multiprocessors.
std::vector<ProfileFinding> of_metrics(std::vector<Metric> metrics) {
  GpuFacts gpu;
  gpu.multiprocessors = 132;
  return find_bottlenecks(profile_of({kernel("mine", 1e6, 1, std::move(metrics))}, 1e6), gpu);
}

const ProfileFinding* find(const std::vector<ProfileFinding>& findings, std::string_view name) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const ProfileFinding& one) { return one.name == name; });
  return found == findings.end() ? nullptr : &*found;
}

std::string message(const std::vector<ProfileFinding>& findings, std::string_view name) {
  const auto* found = find(findings, name);
  return found == nullptr ? "no " + std::string(name) : found->message;
}

}  // namespace

TEST_CASE("thousands of short launches are launch-bound", "[profile][findings]") {
  const auto found = find_bottlenecks(profile_of({kernel("step", 6150 * 3000.0, 6150)}, 60e6));
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].name == "launch_bound");
  CHECK_THAT(found[0].message, Catch::StartsWith("6150 launches of 3.0 us on average, and the device idle for 69 %"));
}

TEST_CASE("few launches, and many long ones, are not launch-bound", "[profile][findings]") {
  CHECK(find(find_bottlenecks(profile_of({kernel("k", 3000, 1)}, 20000)), "launch_bound") == nullptr);
  CHECK(find(find_bottlenecks(profile_of({kernel("k", 50e6, 50)}, 51e6)), "launch_bound") == nullptr);
}

TEST_CASE("a module that only calls libraries has no kernel of its own", "[profile][findings]") {
  const auto found = find_bottlenecks(
      profile_of({kernel("ampere_sgemm_128x64_tn", 70e3, 1), kernel("void at::native::add<4>()", 30e3, 1)}));
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].name == "no_own_kernel");
  CHECK_THAT(found[0].message, Catch::Contains("70 % of the device time is the library's, 30 % torch's own"));
}

TEST_CASE("on a CPU there is no device time to share", "[profile][findings]") {
  auto profile = profile_of({kernel("aten::addmm", 70e3, 1), kernel("void at::native::add<4>()", 30e3, 1)});
  CHECK(find(find_bottlenecks(profile), "no_own_kernel") != nullptr);
  profile.source = "timeline";
  CHECK(message(find_bottlenecks(profile), "no_own_kernel") == "no kernel of its own ran, only torch's operations");
  profile.span_ns = 100e3;
  CHECK_THAT(message(find_bottlenecks(profile), "no_own_kernel"), Catch::Contains("of the device time"));
}

TEST_CASE("the share of library kernels beside own ones is told with their names", "[profile][findings]") {
  const auto found = find_bottlenecks(profile_of({kernel("mine", 40e3, 1), kernel("ampere_sgemm_128x64_tn", 60e3, 1)}));
  CHECK_THAT(message(found, "library_share"),
             Catch::Contains("60 % of the device time is in library kernels and 0 % in torch's own") &&
                 Catch::Contains("ampere_sgemm_128x64_tn"));
  const auto own = find_bottlenecks(profile_of({kernel("mine", 95e3, 1), kernel("ampere_sgemm_128x64_tn", 5e3, 1)}));
  CHECK(find(own, "library_share") == nullptr);
}

TEST_CASE("copies are told apart", "[profile][findings]") {
  const auto found =
      find_bottlenecks(profile_of({kernel("mine", 60e3, 1), kernel("Memcpy DtoD (Device -> Device)", 40e3, 1)}));
  CHECK_THAT(message(found, "copies"), Catch::StartsWith("40 % of the device time is copies"));
}

TEST_CASE("memory-bound, compute-bound, latency-bound", "[profile][findings]") {
  CHECK_THAT(message(of_metrics({{"dram_throughput_pct", 85, "%"}, {"sm_throughput_pct", 20, "%"}}), "memory_bound"),
             Catch::Contains("mine: memory at 85 % of its peak, multiprocessors at 20 %"));
  CHECK(find(of_metrics({{"dram_throughput_pct", 30, "%"}, {"sm_throughput_pct", 90, "%"}}), "compute_bound") !=
        nullptr);
  const auto latency = of_metrics({{"dram_throughput_pct", 12, "%"},
                                   {"sm_throughput_pct", 9, "%"},
                                   {"stall_memory_pct", 40, "%"},
                                   {"stall_barrier_pct", 55, "%"}});
  CHECK(message(latency, "latency_bound") ==
        "mine: memory at 12 % of its peak, multiprocessors at 9 %: latency-bound; more independent work in flight "
        "helps");
  CHECK(message(latency, "stalls") ==
        "of the warps wait, in the longest kernels: mine 55 % for a barrier, 40 % for memory");
  CHECK(find(latency, "memory_bound") == nullptr);
}

TEST_CASE("fewer blocks than multiprocessors explain an idle device", "[profile][findings]") {
  const auto found =
      of_metrics({{"grid_blocks", 16, "block"}, {"dram_throughput_pct", 5, "%"}, {"sm_throughput_pct", 5, "%"}});
  CHECK_THAT(message(found, "few_blocks"), Catch::Contains("16 blocks on 132 multiprocessors: 88 %"));
  CHECK(find(found, "latency_bound") == nullptr);
  CHECK_THAT(message(of_metrics({{"grid_blocks", 1, "block"}}), "few_blocks"), Catch::Contains("1 block on"));
}

TEST_CASE("without facts of the device nothing is said about the number of blocks", "[profile][findings]") {
  const auto found = find_bottlenecks(profile_of({kernel("mine", 1e6, 1, {{"grid_blocks", 16, "block"}})}));
  CHECK(find(found, "few_blocks") == nullptr);
}

TEST_CASE("low occupancy names what limits it", "[profile][findings]") {
  const std::vector<Metric> limits = {{"occupancy_pct", 24, "%"},
                                      {"occupancy_limit_warps", 8, "block"},
                                      {"occupancy_limit_registers", 2, "block"},
                                      {"occupancy_limit_shared", 4, "block"},
                                      {"registers_per_thread", 168, "register"}};
  CHECK_THAT(message(of_metrics(limits), "low_occupancy"),
             Catch::Contains("24 % of the warps") && Catch::Contains("limited by registers (168 for each thread)"));
  CHECK_THAT(message(of_metrics({{"occupancy_pct", 24, "%"},
                                 {"occupancy_limit_warps", 8, "block"},
                                 {"occupancy_limit_shared", 1, "block"},
                                 {"shared_bytes_per_block", 200000, "byte"}}),
                     "low_occupancy"),
             Catch::Contains("limited by shared memory (200000 bytes for each block)"));
  CHECK_THAT(message(of_metrics({{"occupancy_pct", 24, "%"}}), "low_occupancy"), Catch::EndsWith("resident are"));
  CHECK(find(of_metrics({{"occupancy_pct", 80, "%"}}), "low_occupancy") == nullptr);
}

TEST_CASE("loads that touch too many sectors are uncoalesced", "[profile][findings]") {
  CHECK_THAT(message(of_metrics({{"sectors_per_load", 32, "sector"}}), "uncoalesced"),
             Catch::Contains("a load of a warp touches 32 sectors"));
  CHECK_THAT(
      message(of_metrics({{"sectors_per_load", 4, "sector"}, {"sectors_per_store", 31.7, "sector"}}), "uncoalesced"),
      Catch::Contains("a store of a warp touches 32 sectors"));
  // Vectors of four floats.
  CHECK(find(of_metrics({{"sectors_per_load", 16, "sector"}}), "uncoalesced") == nullptr);
}

TEST_CASE("a kernel that takes little of the time is not spoken of", "[profile][findings]") {
  const auto found = find_bottlenecks(
      profile_of({kernel("mine", 99e6, 1),
                  kernel("small", 1e6, 1, {{"dram_throughput_pct", 90, "%"}, {"sm_throughput_pct", 5, "%"}})}));
  CHECK(find(found, "memory_bound") == nullptr);
}

TEST_CASE("the finding that concerns most of the call comes first", "[profile][findings]") {
  const auto found = find_bottlenecks(
      profile_of({kernel("a", 80e6, 1, {{"dram_throughput_pct", 90, "%"}, {"sm_throughput_pct", 5, "%"}}),
                  kernel("b", 20e6, 1, {{"dram_throughput_pct", 5, "%"}, {"sm_throughput_pct", 95, "%"}})}));
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "memory_bound");
  CHECK(found[0].weight > found[1].weight);
}

TEST_CASE("a profile without kernels has no findings", "[profile][findings]") {
  CHECK(find_bottlenecks(Profile{}).empty());
}
