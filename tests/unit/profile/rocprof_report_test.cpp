// The tables are synthetic: see tests/data/rocprof/README.md.
#include <kernelgen/profile/report_reader.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

namespace {

std::string data(const std::string& name) { return read_file(KERNELGEN_TEST_DATA "/rocprof/" + name).value(); }

Profile profile_named(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const auto& name : names) texts.push_back(data(name));
  const auto profile = read_profile_reports(texts);
  REQUIRE(profile);
  CHECK_FALSE(profile->unavailable);
  return *profile;
}

/// The content of all tables: two launches of step, the second one shorter, and one of gemm.
void check_launches(const Profile& profile) {
  REQUIRE(profile.kernels.size() == 2);
  CHECK(profile.kernels[0].function == "gemm");
  CHECK(profile.kernels[0].launches == 1);
  CHECK(profile.kernels[0].duration_ns == 6000);
  CHECK(profile.kernels[1].function == "step");
  CHECK(profile.kernels[1].launches == 2);
  CHECK(profile.kernels[1].duration_ns == 4000);
  CHECK(profile.kernels[1].metric("grid_blocks") == 1024);
  CHECK(profile.kernels[0].metric("registers_per_thread") == 128);
  CHECK(profile.kernels[0].metric("shared_bytes_per_block") == 65536);
}

}  // namespace

TEST_CASE("rocprof: one column for each counter, names without their descriptor", "[profile][rocprof]") {
  const auto profile = profile_named({"v1.csv"});
  CHECK(profile.source == "rocprof");
  check_launches(profile);
  const auto& step = profile.kernels[1];
  CHECK(step.name == "step(float*, int)");
  CHECK(step.metric("block_threads") == 64);
  // Weighted by the durations, 3000 and 1000.
  CHECK(step.metric("l2_hit_pct") == 75);
  CHECK(step.metric("sm_throughput_pct") == 15);
  CHECK(step.metric("dram_read_bytes") == 1000 * 1024);
  CHECK(step.metric("dram_write_bytes") == 500 * 1024);
  CHECK(profile.kernels[0].counted_launches == 1);
}

TEST_CASE("rocprofv2: hits and misses make the share that no counter has", "[profile][rocprof]") {
  const auto profile = profile_named({"v2.csv"});
  CHECK(profile.source == "rocprofv2");
  check_launches(profile);
  CHECK(profile.kernels[0].metric("l2_hit_pct") == 90);
  CHECK(profile.kernels[1].metric("l2_hit_pct") == 75);
  CHECK(profile.kernels[0].metric("dram_read_bytes") == 8000 * 1024);
}

TEST_CASE("rocprofv3: a row for each counter, and a file for each pass", "[profile][rocprof]") {
  const auto profile = profile_named({"v3_pass1.csv", "v3_pass2.csv"});
  CHECK(profile.source == "rocprofv3");
  check_launches(profile);
  CHECK(profile.kernels[1].metric("l2_hit_pct") == 75);
  CHECK(profile.kernels[1].metric("occupancy_pct") == 25);
  CHECK(profile.kernels[0].metric("occupancy_pct") == 62.5);
}

TEST_CASE("rocprofv3: a trace has times and sizes", "[profile][rocprof]") {
  const auto profile = profile_named({"v3_kernel_trace.csv"});
  check_launches(profile);
  CHECK_FALSE(profile.kernels[0].metric("l2_hit_pct"));
  const auto both = profile_named({"v3_kernel_trace.csv", "v3_pass2.csv"});
  check_launches(both);
  CHECK(both.kernels[0].metric("occupancy_pct") == 62.5);
}

TEST_CASE("Nsight Compute's table is read as well", "[profile][rocprof]") {
  const auto profile =
      read_profile_reports({"\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"launch__grid_size\"\n"
                            "\"\",\"\",\"us\",\"\"\n\"0\",\"step(int)\",\"2.5\",\"1,024\"\n"});
  REQUIRE(profile);
  CHECK(profile->source == "ncu");
  REQUIRE(profile->kernels.size() == 1);
  CHECK(profile->kernels[0].duration_ns == 2500);
  CHECK(profile->kernels[0].metric("grid_blocks") == 1024);
}

TEST_CASE("a table without rows is a profile that is not there", "[profile][rocprof]") {
  const auto header = data("v2.csv").substr(0, data("v2.csv").find('\n'));
  const auto profile = read_profile_reports({header});
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK(profile->unavailable->reason == "no kernel was launched");
  const auto refused = read_profile_reports({"==ERROR== ERR_NVGPUCTRPERM\n"});
  REQUIRE(refused);
  CHECK(refused->unavailable->reason.find("ERR_NVGPUCTRPERM") != std::string::npos);
}

TEST_CASE("what has no table is refused by its number", "[profile][rocprof]") {
  for (const std::string text : {"", "a,b\n1,2\n", "Kernel_Name,x\nstep,1\n", "{}", "Index,Name\n0,step\n"}) {
    const auto profile = read_profile_reports({data("v1.csv"), text});
    REQUIRE_FALSE(profile);
    CHECK(profile.error().code == ErrorCode::InvalidArgument);
    CHECK(profile.error().message.find("report 2 has no table") == 0);
  }
  CHECK_FALSE(read_profile_reports({}));
}

TEST_CASE("damaged tables lose rows, and nothing else", "[profile][rocprof]") {
  for (const std::string name : {"v1.csv", "v2.csv", "v3_pass1.csv", "v3_kernel_trace.csv"}) {
    const auto whole = data(name);
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) (void)read_profile_reports({whole.substr(0, cut)});
    auto text = whole;
    for (std::size_t at = 0; at < text.size(); at += 11) text[at] = "\",\n\0x9-"[at % 7];
    (void)read_profile_reports({text});
  }
  SUCCEED();
}
