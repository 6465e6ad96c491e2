#include "profile/ncu_report.hpp"

#include <fmt/format.h>

#include <random>

#include "fuzz/profile_fuzz.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace kernelgen;
using kernelgen::testing::check_golden;
using kernelgen::testing::read_test_data;

namespace {

NcuReport read(const std::string& file) { return read_ncu_report(read_test_data("profile/" + file)); }

/// A report with one launch and one metric.
NcuReport one(const std::string& metric, const std::string& unit, const std::string& value) {
  return read_ncu_report(
      fmt::format("\"ID\",\"Kernel Name\",\"{}\"\n\"\",\"\",\"{}\"\n\"0\",\"k\",\"{}\"\n", metric, unit, value));
}

double only_value(const NcuReport& report) {
  REQUIRE(report.launches.size() == 1);
  REQUIRE(report.launches[0].metrics.size() == 1);
  return report.launches[0].metrics[0].value;
}

KernelProfile kernel(std::string name, double duration_ns) {
  KernelProfile made;
  made.function = function_of_kernel(name);
  made.name = std::move(name);
  made.launches = 1;
  made.duration_ns = duration_ns;
  return made;
}

}  // namespace

TEST_CASE("ncu: units row, thousands separators, quoted names, several kernels", "[profile][ncu]") {
  const auto report = read("ncu_brief.csv");
  REQUIRE(report.launches.size() == 3);
  CHECK(report.errors.empty());
  CHECK(report.launches[0].kernel == "relu_kernel");
  CHECK(report.launches[0].duration_ns == 36512);
  REQUIRE(report.launches[0].metrics.size() == 6);
  const auto& dram = report.launches[0].metrics[0];
  CHECK((dram.name == "dram_throughput_pct" && dram.value == Approx(84.12) && dram.unit == "%"));
  CHECK(report.launches[1].kernel.find("std::array<char *, (unsigned long)1>>(int, T2, T3)") != std::string::npos);
}

TEST_CASE("ncu: a report as Nsight Compute 2025.3 wrote it on an H200", "[profile][ncu]") {
  const auto report = read("ncu_recorded_h200.csv");
  CHECK(report.errors.empty());
  REQUIRE(report.launches.size() == 1);
  const auto& launch = report.launches[0];
  CHECK(launch.kernel == "relu_kernel");
  CHECK(launch.duration_ns == Approx(9536));
  const auto value_of = [&](std::string_view name) {
    for (const auto& metric : launch.metrics)
      if (metric.name == name) return metric.value;
    return -1.0;
  };
  CHECK(value_of("grid_blocks") == 4096);
  CHECK(value_of("dram_throughput_pct") == Approx(37.89));
  CHECK(value_of("registers_per_thread") == 17);
}

TEST_CASE("ncu: what was not read is not there", "[profile][ncu]") {
  const auto report = read("ncu_brief.csv");
  CHECK(report.launches[1].metrics.size() == 5);
}

TEST_CASE("ncu: launches of a kernel are one, weighted by their durations", "[profile][ncu]") {
  Profile profile;
  add_counters(profile, read("ncu_brief.csv"));
  REQUIRE(profile.kernels.size() == 2);
  const auto& relu = profile.kernels[0];
  CHECK(relu.name == "relu_kernel");
  CHECK(relu.counted_launches == 2);
  CHECK(relu.duration_ns == 36512 + 109536);
  // A quarter of the time at 84.12 %, three quarters at 80.12 %.
  CHECK(*relu.metric("dram_throughput_pct") == Approx(81.12));
  CHECK(profile.kernels[1].origin == KernelOrigin::Framework);
}

TEST_CASE("ncu: the profile of a recorded report is its golden file", "[profile][ncu]") {
  Profile profile;
  profile.source = "ncu";
  profile.device = "NVIDIA H200";
  profile.metric_set = "brief";
  add_counters(profile, read("ncu_brief.csv"));
  check_golden("profile.json", to_json(profile));
}

TEST_CASE("ncu: counters find their kernels of the timeline", "[profile][ncu]") {
  Profile profile;
  const std::string elementwise =
      "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>, "
      "std::array<char*, 1ul> >(int, at::native::{}<float>, std::array<char*, 1ul>)";
  profile.kernels = {kernel("relu_kernel", 90000),
                     kernel(fmt::format(fmt::runtime(elementwise), "MulFunctor", "MulFunctor"), 50000),
                     kernel(fmt::format(fmt::runtime(elementwise), "FillFunctor", "FillFunctor"), 20000)};
  add_counters(profile, read("ncu_brief.csv"));
  REQUIRE(profile.kernels.size() == 3);
  CHECK(profile.kernels[0].counted_launches == 2);
  // The timeline's own numbers stay: under a profiler everything is slower.
  CHECK(profile.kernels[0].duration_ns == 90000);
  CHECK(profile.kernels[0].launches == 1);
  CHECK(profile.kernels[1].counted_launches == 0);
  CHECK(*profile.kernels[2].metric("dram_throughput_pct") == Approx(61));
}

TEST_CASE("ncu: another spelling of a function's types is still that function", "[profile][ncu]") {
  Profile profile;
  profile.kernels = {kernel("relu_kernel(float*, float*)", 100), kernel("other", 50)};
  add_counters(profile, read("ncu_brief.csv"));
  CHECK(profile.kernels[0].counted_launches == 2);
}

TEST_CASE("ncu: a kernel that the timeline lacks does not add to its time", "[profile][ncu]") {
  Profile profile;
  profile.kernels = {kernel("something", 100)};
  add_counters(profile, read("ncu_brief.csv"));
  CHECK(profile.device_ns() == 100);
  CHECK(profile.kernels.size() == 3);
}

TEST_CASE("ncu: units become bytes and nanoseconds", "[profile][ncu]") {
  CHECK(only_value(one("dram__bytes_read.sum", "Mbyte", "1,234.5")) == Approx(1.2345e9));
  CHECK(only_value(one("dram__bytes_read.sum", "byte", "64")) == 64);
  CHECK(only_value(one("launch__shared_mem_per_block", "Kbyte/block", "16.38")) == Approx(16380));
  CHECK(only_value(one("launch__registers_per_thread", "register/thread", "40")) == 40);
  CHECK(one("gpu__time_duration.sum", "us", "36.5").launches[0].duration_ns == Approx(36500));
  CHECK(one("gpu__time_duration.sum", "msecond", "2").launches[0].duration_ns == Approx(2e6));
}

TEST_CASE("ncu: a metric under its other name is the same metric", "[profile][ncu]") {
  const auto report = one("smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct", "%", "31.2");
  REQUIRE(report.launches.size() == 1);
  CHECK(report.launches[0].metrics[0].name == "stall_memory_pct");
}

TEST_CASE("ncu: what is no number is left out", "[profile][ncu]") {
  for (const std::string value : {"n/a", "", "inf", "nan", "1.5 (1; 2)", "12abc", "1e999"}) {
    const auto report = one("lts__t_sector_hit_rate.pct", "%", value);
    REQUIRE(report.launches.size() == 1);
    CHECK(report.launches[0].metrics.empty());
  }
}

TEST_CASE("ncu: the program's own output is no table", "[profile][ncu]") {
  const auto report = read_ncu_report(
      "hello\n\"ID\",\"just\",\"text\"\n\"0\",\"a\",\"b\"\n"
      "\"ID\",\"Kernel Name\",\"lts__t_sector_hit_rate.pct\"\r\n\"\",\"\",\"%\"\r\n"
      "\"0\",\"say \"\"k\"\", twice\",\"50\"\r\nepoch 3\n\"1\",\"short\"\n\"x\",\"k\",\"50\"\n");
  REQUIRE(report.launches.size() == 1);
  CHECK(report.launches[0].kernel == "say \"k\", twice");
  CHECK(report.launches[0].metrics[0].value == 50);
}

TEST_CASE("ncu: counters that only administrators may read come with the remedy, which is not sudo", "[profile][ncu]") {
  const auto report = read("ncu_permission.csv");
  const auto why = explain_missing_counters(report);
  REQUIRE(why);
  CHECK(why->reason.find("ERR_NVGPUCTRPERM") != std::string::npos);
  CHECK(why->remedy.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  CHECK(why->remedy.find("sudo") == std::string::npos);
}

TEST_CASE("ncu: other reasons for a report without counters", "[profile][ncu]") {
  const auto why = [](const std::string& text) { return explain_missing_counters(read_ncu_report(text)).value(); };
  CHECK(why("==WARNING== No kernels were profiled.\n").reason == "no kernel was launched");
  CHECK(why("==ERROR== Profiling failed because a driver resource was unavailable.\n").remedy.find("DCGM") !=
        std::string::npos);
  CHECK(why("==ERROR== Profiling is not supported on device 0\n").reason.find("no counters") != std::string::npos);
  CHECK(why("==ERROR== The application returned an error code (11).\n").reason ==
        "Nsight Compute: The application returned an error code (11).");
  CHECK(why("").reason == "Nsight Compute printed no table");
}

TEST_CASE("ncu: metrics that it does not know are named", "[profile][ncu]") {
  const std::vector<std::string> wanted = {"gpu__time_duration.sum",
                                           "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct"};
  CHECK(unknown_metrics(read("ncu_unknown_metric.csv"), wanted) == std::vector<std::string>{wanted[1]});
  CHECK(unknown_metrics(read("ncu_permission.csv"), wanted).empty());
}

TEST_CASE("any text is read as a profile without harm", "[profile][fuzz]") {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same rounds every time
  const auto brief = read_test_data("profile/ncu_brief.csv");
  const std::vector<std::string> pieces{
      brief,
      brief.substr(0, brief.size() / 2),
      "==ERROR== Failed to find metric lts__t_sector_hit_rate\n",
      "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"lts__t_sector_hit_rate.pct\"\n",
      "\"\",\"\",\"ms\",\"%\"\n",
      "\"3\",\"void f<(int)1, g<2ul> >(int)\",\"1,000.5\",\"99\"\n",
      "\"4\",\"(anonymous namespace)::f()\",\"1e300\",\"-1\"\n",
      R"j({"schema":1,"device":"d","span_ns":7,"kernels":[{"name":"f<1>(int)","launches":2,"duration_ns":3}]})j",
      R"({"schema":1,"failure":{"code":"candidate","message":"m"}})",
      "\"",
      ",",
      "\n",
      "<",
      "("};
  for (int round = 0; round < 1500; ++round) {
    std::string text;
    for (auto count = random() % 6; count > 0; --count) text += pieces[random() % pieces.size()];
    for (auto edits = random() % 4; edits > 0 && !text.empty(); --edits)
      text[random() % text.size()] = static_cast<char>(random());
    fuzz_profile(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}
