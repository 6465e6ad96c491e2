#include <algorithm>

#include "fixture.hpp"
#include "render_profile.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/json_text.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using kernelgen::testing::check_golden;
using kernelgen::testing::Fixture;
using kernelgen::testing::k_task;
using kernelgen::testing::read_test_data;

namespace {

const char* const k_gpu =
    R"({"index": 0, "vendor": "nvidia", "name": "NVIDIA H200", "uuid": "GPU-1", "architecture": "sm_90", )"
    R"("multiprocessors": 132})"
    "\n";
const char* const k_timeline =
    R"({"schema": 1, "device": "NVIDIA H200", "call_ns": 260000, "span_ns": 150000, "kernels": [)"
    R"({"name": "relu_kernel", "launches": 2, "duration_ns": 146048}, )"
    R"j({"name": "Memset (Device)", "launches": 1, "duration_ns": 1000}]})j";

/// Gives the answers of kgen-gpu, Python and ncu on a machine with an H200.
class Machine final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    const auto& command = request.command;
    if (command.back() == "facts") {
      outcome.standard_output = gpu;
      if (gpu.empty()) outcome.exit_code = 69;
      return outcome;
    }
    const auto job = parse_json(read_file(command.back()).value()).value();
    devices.emplace_back(job.at("device").as_string());
    const auto log = std::find(command.begin(), command.end(), "--log-file");
    const auto wrote = log == command.end() ? write_file_atomic(std::string(job.at("result").as_string()), timeline)
                                            : write_file_atomic(*(log + 1), report);
    REQUIRE(wrote);
    return outcome;
  }

  std::string gpu = k_gpu;
  std::string timeline = k_timeline;
  std::string report = read_test_data("profile/ncu_brief.csv");
  std::vector<std::string> devices;
};

struct ProfileFixture : Fixture {
  ProfileFixture() {
    processes = &machine;
    std::ofstream(path("kernel.py")) << "import triton\n";
    REQUIRE(write_file_atomic(path("ncu"), "#!/bin/sh\n", {.mode = 0755}));
    environment.clean = {{"PATH", std::filesystem::path(path("ncu")).parent_path().string()}};
  }
  int profile(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"profile", "--code", path("kernel.py"), "--problem", k_task};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  Machine machine;
};

Profile sample_profile() {
  Profile profile;
  profile.source = "ncu";
  profile.device = "NVIDIA H200";
  profile.metric_set = "brief";
  profile.call_ns = 60e6;
  profile.span_ns = 55e6;
  const auto add = [&](std::string name, std::int64_t launches, double duration_ns) -> KernelProfile& {
    auto& kernel = profile.kernels.emplace_back();
    kernel.function = function_of_kernel(name);
    kernel.origin = origin_of_kernel(name);
    kernel.name = std::move(name);
    kernel.launches = launches;
    kernel.duration_ns = duration_ns;
    return kernel;
  };
  auto& step = add("void gru_step<256>(float const*, float*)", 6144, 18.2e6);
  step.counted_launches = 48;
  step.metrics = {{"sm_throughput_pct", 8.13, "%"},          {"grid_blocks", 16, "block"},
                  {"dram_throughput_pct", 3.2, "%"},         {"occupancy_pct", 12.4, "%"},
                  {"shared_bytes_per_block", 65536, "byte"}, {"waves_per_sm", 0.12, ""}};
  add("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute", 6, 1.2e6);
  add("Memcpy DtoD (Device -> Device)", 1, 2.1e3);
  return profile;
}

}  // namespace

TEST_CASE("a profile as text and as JSON is its golden file", "[cli][profile]") {
  GpuFacts gpu;
  gpu.multiprocessors = 132;
  const auto profile = sample_profile();
  const auto findings = find_bottlenecks(profile, gpu);
  check_golden("profile.txt", render_profile(profile, findings, {}));
  check_golden("profile_60.txt", render_profile(profile, findings, {.width = 60}));
  check_golden("profile_findings.json", profile_to_json(profile, findings));
}

TEST_CASE("a hostile kernel name is shown as plain text", "[cli][profile]") {
  auto profile = sample_profile();
  profile.kernels[0].function = "evil\x1b[2J\nkernel";
  CHECK(render_profile(profile, {}, {}).find('\x1b') == std::string::npos);
}

TEST_CASE("of many kernels the longest are shown", "[cli][profile]") {
  Profile profile = sample_profile();
  profile.kernels.resize(14, profile.kernels[2]);
  CHECK(render_profile(profile, {}, {}).find("\nand 4 more\n") != std::string::npos);
}

TEST_CASE("profile: kernels, counters, findings", "[cli][profile]") {
  ProfileFixture kgen;
  CHECK(kgen.profile() == 0);
  CHECK(kgen.err.str().empty());
  CHECK_THAT(kgen.out.str(), Catch::StartsWith("NVIDIA H200: 3 launches of 3 kernels, 147.0 us on the device"));
  CHECK_THAT(kgen.out.str(), Catch::Contains("relu_kernel (2 of its launches counted)"));
  CHECK_THAT(kgen.out.str(), Catch::Contains("1. relu_kernel: memory at 81 % of its peak"));
  CHECK(kgen.machine.devices == std::vector<std::string>{"cuda", "cuda"});
}

TEST_CASE("profile: as JSON, which reads back", "[cli][profile]") {
  ProfileFixture kgen;
  CHECK(kgen.profile({"--json"}) == 0);
  const auto profile = parse_profile(kgen.out.str());
  REQUIRE(profile);
  CHECK(profile->source == "ncu");
  CHECK_THAT(kgen.out.str(), Catch::Contains("\"name\": \"memory_bound\""));
}

TEST_CASE("profile: a timeline needs no ncu", "[cli][profile]") {
  ProfileFixture kgen;
  kgen.environment.clean.clear();
  CHECK(kgen.profile({"--timeline"}) == 0);
  CHECK(kgen.machine.devices.size() == 1);
}

TEST_CASE("profile: counters that may not be read are told with the remedy, after the timeline", "[cli][profile]") {
  ProfileFixture kgen;
  kgen.machine.report = read_test_data("profile/ncu_permission.csv");
  CHECK(kgen.profile() == 69);
  CHECK_THAT(kgen.out.str(), Catch::Contains("relu_kernel"));
  CHECK_THAT(kgen.err.str(), Catch::StartsWith("kgen: no counters: the driver lets only administrators") &&
                                 Catch::Contains("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_CASE("profile: without rocprofv3, an AMD GPU has its timeline and the remedy", "[cli][profile]") {
  ProfileFixture kgen;
  kgen.machine.gpu =
      R"({"index": 0, "vendor": "amd", "name": "AMD Instinct MI300X", "uuid": "GPU-1", "architecture": "gfx942"})"
      "\n";
  CHECK(kgen.profile() == 69);
  CHECK_THAT(kgen.out.str(), Catch::Contains("relu_kernel"));
  CHECK_THAT(kgen.err.str(),
             Catch::StartsWith("kgen: no counters: neither rocprofv3 nor rocprof is installed; install"));
}

TEST_CASE("profile: a candidate that fails", "[cli][profile]") {
  ProfileFixture kgen;
  kgen.machine.timeline = R"({"schema": 1, "failure": {"code": "candidate", "message": "ValueError: no"}})";
  CHECK(kgen.profile() == 2);
  CHECK(kgen.out.str().empty());
  CHECK_THAT(kgen.err.str(), Catch::StartsWith("kgen: it cannot be profiled: ValueError: no"));
}

TEST_CASE("profile: without a GPU there is the timeline of the CPU, on request", "[cli][profile]") {
  ProfileFixture kgen;
  kgen.machine.gpu.clear();
  CHECK(kgen.run({"profile", "--problem", k_task}) == 69);
  CHECK_THAT(kgen.err.str(), Catch::Contains("there is no GPU here") && Catch::Contains("--timeline"));
  CHECK(kgen.run({"profile", "--problem", k_task, "--timeline"}) == 0);
  CHECK(kgen.machine.devices == std::vector<std::string>{"cpu"});
}

TEST_CASE("profile: what needs a GPU does not run on the CPU instead", "[cli][profile]") {
  ProfileFixture kgen;
  CHECK(kgen.profile({"--device", "cpu", "--timeline"}) == 64);
  CHECK_THAT(kgen.err.str(), Catch::Contains("runs on a GPU"));
  kgen.machine.gpu.clear();
  CHECK(kgen.profile({"--timeline"}) == 69);
}

TEST_CASE("profile: a CPU has no counters", "[cli][profile]") {
  ProfileFixture kgen;
  CHECK(kgen.run({"profile", "--problem", k_task, "--device", "cpu"}) == 64);
  CHECK_THAT(kgen.err.str(), Catch::Contains("--timeline"));
}

TEST_CASE("profile: what another profiler wrote is read without any device", "[cli][profile]") {
  Fixture kgen;
  const std::string data = KERNELGEN_SOURCE_DIR "/tests/data/rocprof/";
  CHECK(kgen.run({"profile", "--report", data + "v3_pass1.csv", "--report", data + "v3_pass2.csv"}) == 0);
  CHECK(kgen.out.str().find("rocprofv3: 3 launches of 2 kernels, 10.0 us on the device\n") == 0);
  CHECK(kgen.out.str().find("workgroups of 64 threads") != std::string::npos);
  CHECK(kgen.run({"profile", "--report", data + "v3_results.json"}) == 0);
  CHECK_THAT(kgen.out.str(), Catch::Contains("AMD Instinct MI300X: 3 launches of 2 kernels, 10.0 us on the device\n"));
  // The catalog has the limits of the device that the report names.
  CHECK_THAT(kgen.out.str(), Catch::Contains("gemm: 12 % of the wavefronts can be resident: limited by LDS"));
  CHECK(kgen.run({"profile", "--report", data + "README.md"}) == 64);
  CHECK(kgen.err.str().find("report 1 has no table") != std::string::npos);
  CHECK(kgen.run({"profile", "--report", data + "v1.csv", "--problem", k_task}) == 64);
}

TEST_CASE("profile: wrong usage", "[cli][profile]") {
  ProfileFixture kgen;
  CHECK(kgen.profile({"--set", "everything"}) == 64);
  CHECK(kgen.profile({"--set", "full", "--timeline"}) == 64);
  CHECK(kgen.profile({"--precision", "half"}) == 64);
  CHECK(kgen.profile({"--target", "fortran"}) == 64);
  CHECK(kgen.profile({"--device", "7"}) == 69);
  CHECK(kgen.run({"profile", "--code", kgen.path("nothing.py"), "--problem", k_task}) == 64);
  CHECK(kgen.run({"profile", "--code", kgen.path("kernel.py")}) == 64);
}
