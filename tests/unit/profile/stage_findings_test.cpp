#include <kernelgen/profile/findings.hpp>

#include <algorithm>
#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

Profile profile_with(std::vector<Metric> metrics, const std::string& name = "mine") {
  Profile profile;
  profile.call_ns = 1e6;
  profile.kernels = {{name, name, origin_of_kernel(name), 1, 1e6, 1, std::move(metrics)}};
  return profile;
}

std::vector<std::string> names_of(const std::vector<ProfileFinding>& findings) {
  std::vector<std::string> names;
  for (const auto& finding : findings) names.push_back(finding.name);
  return names;
}

using Names = std::vector<std::string>;

GpuFacts large() {
  GpuFacts gpu;
  gpu.vendor = "nvidia";
  gpu.multiprocessors = 132;
  return gpu;
}

}  // namespace

TEST_CASE("the roofline position says which side limits", "[profile][findings]") {
  const auto at = [](double memory, double compute) {
    return roofline_position(profile_with({{"dram_throughput_pct", memory, "%"}, {"sm_throughput_pct", compute, "%"}}));
  };
  CHECK(at(81, 35)->sentence == "device memory at 81 % of its peak, multiprocessors at 35 %: memory-bound");
  CHECK(at(30, 70)->sentence == "device memory at 30 % of its peak, multiprocessors at 70 %: compute-bound");
  CHECK(at(30, 20)->sentence ==
        "device memory at 30 % of its peak, multiprocessors at 20 %: latency-bound: neither is busy");
  CHECK(at(81, 35)->memory_pct == 81);
  CHECK_FALSE(roofline_position(profile_with({{"dram_throughput_pct", 50, "%"}})));
  CHECK_FALSE(roofline_position({}));
}

TEST_CASE("a stage reads first what it is about", "[profile][findings]") {
  const auto profile = profile_with({{"sm_throughput_pct", 10, "%"},
                                     {"dram_throughput_pct", 70, "%"},
                                     {"occupancy_pct", 20, "%"},
                                     {"sectors_per_load", 32, "sector"}});
  CHECK(names_of(findings_for_stage(profile, "", large())) ==
        Names{"roofline", "uncoalesced", "memory_bound", "low_occupancy"});
  CHECK(names_of(findings_for_stage(profile, "grid_and_parallel", large())) ==
        Names{"roofline", "low_occupancy", "uncoalesced", "memory_bound"});
  CHECK(names_of(findings_for_stage(profile, "block_tiling", large())) ==
        Names{"roofline", "memory_bound", "low_occupancy", "uncoalesced"});
  CHECK(names_of(findings_for_stage(profile, "a custom stage", large())) ==
        names_of(findings_for_stage(profile, "", large())));
}

TEST_CASE("never more than three findings beside the position", "[profile][findings]") {
  auto profile = profile_with({{"sm_throughput_pct", 10, "%"},
                               {"dram_throughput_pct", 70, "%"},
                               {"occupancy_pct", 20, "%"},
                               {"sectors_per_load", 32, "sector"}});
  profile.kernels.push_back({"Memcpy DtoD", "Memcpy DtoD", KernelOrigin::Copy, 100, 1e6, 0, {}});
  CHECK(findings_for_stage(profile, "memory_access", large()).size() == 4);
  CHECK(findings_for_stage({}, "memory_access", large()).empty());
}

TEST_CASE("fused operations hear about their registers", "[profile][findings]") {
  const auto with = [](double registers) {
    return findings_for_stage(profile_with({{"registers_per_thread", registers, "register"}}), "", std::nullopt,
                              TaskLevel::Fusion);
  };
  REQUIRE(with(160).size() == 1);
  CHECK(with(160)[0].message ==
        "mine: 160 registers for each thread: the fused operations keep too much at once; halve the block");
  CHECK(names_of(with(64)) == Names{"few_registers"});
  CHECK(with(128).empty());
  CHECK(with(96).empty());
  CHECK(findings_for_stage(profile_with({{"registers_per_thread", 160, "register"}}), "").empty());
}

TEST_CASE("small workgroups are told on AMD", "[profile][findings]") {
  GpuFacts gpu;
  gpu.vendor = "amd";
  const auto profile = profile_with({{"block_threads", 64, "thread"}});
  CHECK(names_of(find_bottlenecks(profile, gpu)) == Names{"small_blocks"});
  CHECK(find_bottlenecks(profile_with({{"block_threads", 256, "thread"}}), gpu).empty());
  CHECK(find_bottlenecks(profile, large()).empty());
}

TEST_CASE("kernels that only convert types are told", "[profile][findings]") {
  Profile profile;
  profile.kernels = {{"mine", "mine", KernelOrigin::Own, 1, 6e5, 0, {}},
                     {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(...)>",
                      "",
                      KernelOrigin::Framework,
                      2,
                      4e5,
                      0,
                      {}}};
  const auto found = find_bottlenecks(profile);
  const auto names = names_of(found);
  REQUIRE(std::find(names.begin(), names.end(), "type_casts") != names.end());
  const auto& cast =
      found[static_cast<std::size_t>(std::find(names.begin(), names.end(), "type_casts") - names.begin())];
  CHECK(
      cast.message ==
      "40 % of the device time is 2 launches that copy or convert tensors: read the types as they are, and convert in "
      "registers");
}
