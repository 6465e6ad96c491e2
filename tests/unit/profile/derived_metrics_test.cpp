#include <kernelgen/profile/findings.hpp>
#include <kernelgen/profile/metrics.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// A GPU with the limits of CDNA 3: 8 wavefronts for each of four SIMDs, 512 KiB of registers, 64 KiB of LDS.
GpuFacts cdna3() {
  return {.vendor = "amd",
          .multiprocessors = 304,
          .warp_threads = 64,
          .threads_per_multiprocessor = 2048,
          .registers_per_multiprocessor = 131072,
          .shared_bytes_per_multiprocessor = 65536,
          .memory_bytes_per_second = 5e12};
}

Profile profile_of(std::vector<Metric> metrics) {
  Profile profile;
  profile.source = "rocprofv3";
  profile.kernels = {{.name = "k",
                      .function = "k",
                      .origin = KernelOrigin::Own,
                      .launches = 4,
                      .duration_ns = 40'000,
                      .counted_launches = 4,
                      .metrics = std::move(metrics)}};
  return profile;
}

Profile derived(std::vector<Metric> metrics, const GpuFacts& gpu = cdna3()) {
  auto profile = profile_of(std::move(metrics));
  add_derived_metrics(profile, gpu);
  return profile;
}

std::string finding(const Profile& profile, std::string_view name, const std::optional<GpuFacts>& gpu = cdna3()) {
  for (const auto& one : find_bottlenecks(profile, gpu))
    if (one.name == name) return one.message;
  return "";
}

std::vector<Metric> launch(double grid_blocks, double block_threads, double registers, double shared_bytes) {
  return {{"grid_blocks", grid_blocks, "block"},
          {"block_threads", block_threads, "thread"},
          {"registers_per_thread", registers, "register"},
          {"shared_bytes_per_block", shared_bytes, "byte"}};
}

}  // namespace

TEST_CASE("bytes and times make the share of the memory's peak", "[profile][metrics]") {
  // 25 MB in 10 us are half of 5 TB/s.
  const auto profile = derived({{"dram_read_bytes", 20e6, "byte"}, {"dram_write_bytes", 5e6, "byte"}});
  CHECK(profile.kernels[0].metric("dram_throughput_pct") == Approx(50));
  CHECK(derived({{"dram_read_bytes", 1e9, "byte"}, {"dram_write_bytes", 0, "byte"}})
            .kernels[0]
            .metric("dram_throughput_pct") == 100);
  CHECK_FALSE(derived({{"dram_read_bytes", 1e9, "byte"}}).kernels[0].metric("dram_throughput_pct"));
}

TEST_CASE("the limits of the occupancy follow from a launch and the device", "[profile][metrics]") {
  const auto profile = derived(launch(3040, 256, 128, 8192));
  const auto& kernel = profile.kernels[0];
  CHECK(kernel.metric("occupancy_limit_warps") == 8);
  // 131072 registers are 16 wavefronts of 128 registers for each thread: four blocks.
  CHECK(kernel.metric("occupancy_limit_registers") == 4);
  CHECK(kernel.metric("occupancy_limit_shared") == 8);
  CHECK(kernel.metric("waves_per_sm") == 2.5);
}

TEST_CASE("metrics that were counted are not derived, nor are those without facts", "[profile][metrics]") {
  auto counted = launch(3040, 256, 128, 8192);
  counted.push_back({"occupancy_limit_registers", 7, "block"});
  CHECK(derived(counted).kernels[0].metric("occupancy_limit_registers") == 7);
  const auto unknown = derived(launch(3040, 256, 128, 8192), GpuFacts{.vendor = "amd"});
  CHECK(unknown.kernels[0].metrics.size() == 4);
  auto timeline = profile_of(launch(3040, 256, 128, 8192));
  timeline.kernels[0].counted_launches = 0;
  add_derived_metrics(timeline, cdna3());
  CHECK(timeline.kernels[0].metrics.size() == 4);
}

TEST_CASE("registers limit the occupancy of a kernel that was not counted", "[profile][findings]") {
  CHECK(finding(derived(launch(3040, 256, 256, 0)), "low_occupancy") ==
        "k: 25 % of the wavefronts can be resident: limited by registers (256 for each thread)");
  CHECK(finding(derived(launch(3040, 256, 32, 32768)), "low_occupancy") ==
        "k: 25 % of the wavefronts can be resident: limited by LDS (32768 bytes for each block)");
  CHECK(finding(derived(launch(3040, 256, 128, 0)), "low_occupancy").empty());
  auto counted = launch(3040, 256, 256, 0);
  counted.push_back({"occupancy_pct", 20, "%"});
  CHECK(finding(derived(counted), "low_occupancy") ==
        "k: 20 % of the wavefronts that could be resident are: limited by registers (256 for each thread)");
}

TEST_CASE("bank conflicts name the memory as its maker does", "[profile][findings]") {
  const auto profile = profile_of({{"shared_conflict_pct", 37.6, "%"}});
  CHECK(finding(profile, "bank_conflicts") ==
        "k: bank conflicts take 38 % of the cycles of LDS: pad its rows by an element, or swizzle the addresses");
  CHECK(finding(profile, "bank_conflicts", std::nullopt).find("cycles of shared memory") != std::string::npos);
  CHECK(finding(profile_of({{"shared_conflict_pct", 9.9, "%"}}), "bank_conflicts").empty());
}

TEST_CASE("requests to the L1 cache show uncoalesced access", "[profile][findings]") {
  CHECK(finding(profile_of({{"coalesced_pct", 25, "%"}}), "uncoalesced").find("make 4.0 times the requests") !=
        std::string::npos);
  CHECK(finding(profile_of({{"coalesced_pct", 50, "%"}}), "uncoalesced").empty());
  CHECK_FALSE(finding(profile_of({{"coalesced_pct", 0, "%"}}), "uncoalesced").empty());
}

TEST_CASE("matrix units that wait, and those that are not used", "[profile][findings]") {
  const auto of = [](double matrix, double plain) {
    return finding(profile_of({{"tensor_pipe_pct", matrix, "%"}, {"sm_throughput_pct", plain, "%"}}), "matrix_units");
  };
  CHECK(of(12, 30).find("k: matrix units at 12 % of their peak") == 0);
  CHECK(of(0, 75).find("k: plain units at 75 % of their peak, and matrix units unused") == 0);
  CHECK(of(0, 30).empty());
  CHECK(of(70, 30).empty());
}
