#include <kernelgen/profile/profiler.hpp>

#include <algorithm>
#include <filesystem>

#include "profile/ncu_command.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/json_text.hpp"

using namespace kernelgen;
using kernelgen::testing::read_test_data;
namespace fs = std::filesystem;

namespace {

const char* const k_timeline =
    R"({"schema": 1, "device": "NVIDIA H200", "call_ns": 60000, "span_ns": 50000, "kernels": [)"
    R"({"name": "relu_kernel", "launches": 2, "duration_ns": 40000}, )"
    R"j({"name": "Memset (Device)", "launches": 1, "duration_ns": 1000}]})j";

ProcessOutcome ended(int exit_code) {
  ProcessOutcome outcome;
  outcome.exit_code = exit_code;
  return outcome;
}

/// Simulates the Python process, and ncu around it: each run writes the next of the files.
class FakeProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    requests.push_back(request);
    const auto& command = request.command;
    jobs.push_back(parse_json(read_file(command.back()).value()).value());
    const auto report = std::find(command.begin(), command.end(), "--report");
    if (report != command.end()) REQUIRE(write_file_atomic(*(report + 1), sandbox_report));
    if (report != command.end() && sandbox_report.starts_with("failed")) return ended(127);
    const auto log = std::find(command.begin(), command.end(), "--log-file");
    if (log == command.end() && link_target) {
      fs::create_symlink(*link_target, std::string(jobs.back().at("result").as_string()));
      return timeline_outcome;
    }
    if (log == command.end()) {
      if (timeline) REQUIRE(write_file_atomic(std::string(jobs.back().at("result").as_string()), *timeline));
      return timeline_outcome;
    }
    REQUIRE_FALSE(reports.empty());
    REQUIRE(write_file_atomic(*(log + 1), reports.front()));
    reports.erase(reports.begin());
    return counters_outcome;
  }

  std::string sandbox_report = "isolation 4294967295\n";
  std::optional<std::string> timeline = k_timeline;
  std::optional<std::string> link_target;
  ProcessOutcome timeline_outcome = ended(0);
  std::vector<std::string> reports{read_test_data("profile/ncu_brief.csv")};
  ProcessOutcome counters_outcome = ended(0);
  std::vector<ProcessRequest> requests;
  std::vector<boost::json::value> jobs;
};

struct Bench {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "profiler-").value();
  FakeProcesses processes;
  LocalProfilerOptions options;
  ProfileRequest request;

  Bench() {
    REQUIRE(make_directories(directory.path() / "python" / "kernelgen_profile"));
    REQUIRE(write_file_atomic(directory.path() / "ncu", "#!/bin/sh\n", {.mode = 0755}));
    options.installation.python_dir = directory.path() / "python";
    options.python = "/opt/python";
    options.ncu = (directory.path() / "ncu").string();
    options.environment = {{"PATH", "/bin"}};
    options.scratch_dir = (directory.path() / "scratch").string();
    request.task = {.name = "relu", .path = "", .text = "class Model", .content_id = "", .level = TaskLevel::Unknown};
    request.candidate = make_candidate(Target::Triton, "class ModelNew");
    request.gpu = GpuFacts{.vendor = "nvidia", .uuid = "GPU-1"};
  }

  Result<Profile> profile() { return make_local_profiler(options, processes).value()->profile(request, {}); }
};

bool has(const std::vector<std::string>& command, const std::string& word) {
  return std::find(command.begin(), command.end(), word) != command.end();
}

}  // namespace

TEST_CASE("profiler: timeline first, counters of its kernels then", "[profile][profiler]") {
  Bench bench;
  const auto profile = bench.profile();
  REQUIRE(profile);
  CHECK(profile->source == "ncu");
  CHECK(profile->device == "NVIDIA H200");
  CHECK(profile->call_ns == 60000);
  REQUIRE(profile->kernels.size() == 3);
  CHECK(profile->kernels[0].name == "relu_kernel");
  CHECK(profile->kernels[0].duration_ns == 40000);
  CHECK(*profile->kernels[0].metric("dram_throughput_pct") == Approx(81.12));
  CHECK_FALSE(profile->no_counters);
  // All files were removed.
  CHECK(fs::is_empty(bench.options.scratch_dir));
}

TEST_CASE("profiler: what the processes are told", "[profile][profiler]") {
  Bench bench;
  bench.request.shrink = {{"rows", 16}};
  bench.request.precision = PrecisionClass::Tf32;
  REQUIRE(bench.profile());
  REQUIRE(bench.processes.requests.size() == 2);
  const auto& first = bench.processes.requests[0];
  CHECK(first.command.front() == "/opt/python");
  CHECK(has(first.command, "kernelgen_profile"));
  CHECK(first.environment.at("CUDA_VISIBLE_DEVICES") == "GPU-1");
  CHECK(first.environment.at("PYTHONPATH") == (bench.directory.path() / "python").string());
  const auto& job = bench.processes.jobs[0].as_object();
  CHECK(job.at("mode") == "timeline");
  CHECK(job.at("device") == "cuda");
  CHECK(job.at("source") == "class ModelNew");
  CHECK(job.at("precision") == "tf32");
  CHECK(job.at("shrink").as_array().at(0).as_array().at(1) == 16);
  CHECK_FALSE(job.contains("artifact"));
  const auto& second = bench.processes.requests[1];
  CHECK(second.command.front() == bench.options.ncu);
  for (const auto* word : {"--csv", "raw", "--clock-control", "none", "--profile-from-start", "off"})
    CHECK(has(second.command, word));
  CHECK_FALSE(has(second.command, "sudo"));
  CHECK(bench.processes.jobs[1].at("mode") == "counters");
}

TEST_CASE("profiler: a native candidate is its artifact, and no candidate is the reference", "[profile][profiler]") {
  Bench bench;
  bench.request.candidate = make_candidate(Target::Cuda, "source");
  bench.request.artifact = "/cache/kernel.so";
  REQUIRE(bench.profile());
  CHECK(bench.processes.jobs[0].at("artifact") == "/cache/kernel.so");
  CHECK_FALSE(bench.processes.jobs[0].as_object().contains("source"));
  Bench reference;
  reference.request.candidate.reset();
  REQUIRE(reference.profile());
  CHECK_FALSE(reference.processes.jobs[0].as_object().contains("source"));
  CHECK_FALSE(reference.processes.jobs[0].as_object().contains("artifact"));
}

TEST_CASE("profiler: without counters there is one run", "[profile][profiler]") {
  Bench bench;
  bench.request.counters = Counters::None;
  const auto profile = bench.profile();
  REQUIRE(profile);
  CHECK(profile->source == "timeline");
  CHECK(profile->metric_set.empty());
  CHECK_FALSE(profile->no_counters);
  CHECK(bench.processes.requests.size() == 1);
}

TEST_CASE("profiler: a CPU has a timeline and no counters", "[profile][profiler]") {
  Bench bench;
  bench.request.gpu.reset();
  const auto profile = bench.profile();
  REQUIRE(profile);
  REQUIRE(profile->no_counters);
  CHECK(bench.processes.jobs[0].at("device") == "cpu");
  CHECK(bench.processes.requests[0].environment.count("CUDA_VISIBLE_DEVICES") == 0);
}

TEST_CASE("profiler: without ncu the timeline is there, and how to get it", "[profile][profiler]") {
  Bench bench;
  bench.options.ncu = "/no/such/ncu";
  const auto profile = bench.profile();
  REQUIRE(profile);
  CHECK(profile->source == "timeline");
  CHECK_FALSE(profile->kernels.empty());
  REQUIRE(profile->no_counters);
  CHECK_THAT(profile->no_counters->reason, Catch::Contains("/no/such/ncu"));
}

TEST_CASE("profiler: counters that may not be read leave the timeline", "[profile][profiler]") {
  Bench bench;
  bench.processes.reports = {read_test_data("profile/ncu_permission.csv")};
  const auto profile = bench.profile();
  REQUIRE(profile);
  CHECK(profile->source == "timeline");
  REQUIRE(profile->no_counters);
  CHECK_THAT(profile->no_counters->reason, Catch::Contains("ERR_NVGPUCTRPERM"));
}

TEST_CASE("profiler: a metric that ncu does not know is asked for by its other name", "[profile][profiler]") {
  Bench bench;
  bench.processes.reports = {read_test_data("profile/ncu_unknown_metric.csv"), read_test_data("profile/ncu_brief.csv")};
  const auto profile = bench.profile();
  REQUIRE(profile);
  CHECK_FALSE(profile->no_counters);
  REQUIRE(bench.processes.requests.size() == 3);
  const auto metrics = [&](std::size_t run) {
    const auto& command = bench.processes.requests[run].command;
    return *(std::find(command.begin(), command.end(), "--metrics") + 1);
  };
  CHECK_THAT(metrics(1), Catch::Contains("stalled_long_scoreboard"));
  CHECK_THAT(metrics(2), Catch::Contains("stalled_memory_dependency") && !Catch::Contains("long_scoreboard"));
}

TEST_CASE("profiler: an ncu that knows nothing is not asked for ever", "[profile][profiler]") {
  Bench bench;
  bench.processes.reports.assign(
      5, "==ERROR== Failed to find metric sm__throughput\n==ERROR== Failed to find metric launch__grid_size\n");
  const auto profile = bench.profile();
  REQUIRE(profile);
  REQUIRE(profile->no_counters);
  CHECK(bench.processes.requests.size() <= 4);
}

TEST_CASE("profiler: a run that takes too long", "[profile][profiler]") {
  Bench slow;
  slow.processes.timeline_outcome.timed_out = true;
  const auto nothing = slow.profile();
  REQUIRE(nothing);
  REQUIRE(nothing->unavailable);
  CHECK_THAT(nothing->unavailable->reason, Catch::Contains("180 s"));
  Bench counting;
  counting.processes.counters_outcome.timed_out = true;
  const auto timeline = counting.profile();
  REQUIRE(timeline);
  CHECK_FALSE(timeline->unavailable);
  REQUIRE(timeline->no_counters);
  CHECK_THAT(timeline->no_counters->remedy, Catch::Contains("fewer passes"));
}

TEST_CASE("profiler: a candidate that fails is a value with its words", "[profile][profiler]") {
  Bench bench;
  bench.processes.timeline = R"({"schema": 1, "failure": {"code": "candidate", "message": "ValueError: no"}})";
  bench.processes.timeline_outcome = ended(1);
  const auto profile = bench.profile();
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK(profile->unavailable->reason == "ValueError: no");
  CHECK(bench.processes.requests.size() == 1);
}

TEST_CASE("profiler: a process that dies without a result", "[profile][profiler]") {
  Bench bench;
  bench.processes.timeline.reset();
  bench.processes.timeline_outcome = {};
  bench.processes.timeline_outcome.signal = 11;
  bench.processes.timeline_outcome.standard_error = "first\nthe last line\n";
  const auto profile = bench.profile();
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK_THAT(profile->unavailable->reason, Catch::Contains("signal 11") && Catch::EndsWith("the last line"));
}

TEST_CASE("profiler: what the machine lacks is an error with its code", "[profile][profiler]") {
  Bench bench;
  bench.processes.timeline = R"({"schema": 1, "failure": {"code": "missing_device", "message": "torch sees no GPU"}})";
  CHECK(bench.profile().error().code == ErrorCode::MissingDevice);
  bench.processes.timeline = R"({"schema": 1, "failure": {"code": "invalid_task", "message": "no Model"}})";
  CHECK(bench.profile().error().code == ErrorCode::InvalidTask);
  bench.processes.timeline.reset();
  bench.processes.timeline_outcome = ended(1);
  bench.processes.timeline_outcome.standard_error = "/opt/python: No module named kernelgen_profile";
  CHECK(bench.profile().error().code == ErrorCode::MissingTool);
}

TEST_CASE("profiler: a result that is no timeline is an error", "[profile][profiler]") {
  Bench bench;
  for (const auto* text : {"nonsense", "{}", R"({"schema": 2})", R"({"schema": 1, "kernels": 7})"}) {
    bench.processes.timeline = text;
    CHECK(bench.profile().error().code == ErrorCode::Protocol);
  }
}

TEST_CASE("profiler: wrong requests and options", "[profile][profiler]") {
  Bench bench;
  bench.request.metric_set = "everything";
  const auto unknown = bench.profile();
  REQUIRE_FALSE(unknown);
  CHECK_THAT(unknown.error().message, Catch::Contains("brief, full, grid_and_parallel"));
  bench.options.calls = 0;
  CHECK(make_local_profiler(bench.options, bench.processes).error().code == ErrorCode::InvalidArgument);
  bench.options.calls = 1;
  bench.options.installation.python_dir = "/nowhere";
  CHECK(make_local_profiler(bench.options, bench.processes).error().code == ErrorCode::NotFound);
}

TEST_CASE("profiler: where a sandbox is required, process and counter program run in it", "[profile][profiler]") {
  Bench bench;
  bench.options.sandbox = ProfilerSandbox::Required;
  bench.options.installation.sandbox = "/libexec/kgen-sandbox";
  bench.options.environment["ROCM_PATH"] = "/opt/rocm-7";
  const auto profile = bench.profile();
  REQUIRE(profile);
  CHECK(profile->source == "ncu");
  CHECK_FALSE(profile->no_counters);
  REQUIRE(bench.processes.requests.size() == 2);
  for (const auto& request : bench.processes.requests) {
    CHECK(request.command.front() == "/libexec/kgen-sandbox");
    const auto directory = std::find(request.command.begin(), request.command.end(), "--directory") + 1;
    CHECK(directory->starts_with(bench.options.scratch_dir));
    CHECK(directory->ends_with("/work"));
    CHECK(has(request.command, "/opt/rocm-7"));
    CHECK(request.environment.at("TORCH_EXTENSIONS_DIR") == *directory + "/torch");
  }
  CHECK(has(bench.processes.requests[1].command, bench.options.ncu));
  CHECK(fs::is_empty(bench.options.scratch_dir));
}

TEST_CASE("profiler: without a sandbox on this machine the profile is unavailable", "[profile][profiler]") {
  Bench bench;
  bench.options.sandbox = ProfilerSandbox::Required;
  bench.processes.sandbox_report = "failed sandbox 1\n";
  const auto profile = bench.profile();
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK(profile->unavailable->reason == "no sandbox for /opt/python: Operation not permitted");
}

TEST_CASE("profiler: a link in place of the result is not followed", "[profile][profiler]") {
  Bench bench;
  bench.processes.link_target = (bench.directory.path() / "secret").string();
  REQUIRE(write_file_atomic(*bench.processes.link_target, k_timeline));
  const auto profile = bench.profile();
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK(profile->unavailable->reason.find("its process ended") == 0);
}

TEST_CASE("profiler: cancellation is an error", "[profile][profiler]") {
  Bench bench;
  std::stop_source stop;
  stop.request_stop();
  const auto profile =
      make_local_profiler(bench.options, bench.processes).value()->profile(bench.request, stop.get_token());
  REQUIRE_FALSE(profile);
  CHECK(profile.error().code == ErrorCode::Cancelled);
}

TEST_CASE("of many launches, those of the longest kernels are counted", "[profile][profiler]") {
  Profile timeline;
  const auto add = [&](const std::string& name, double duration_ns, std::int64_t launches) {
    timeline.kernels.push_back({.name = name,
                                .function = function_of_kernel(name),
                                .origin = origin_of_kernel(name),
                                .launches = launches,
                                .duration_ns = duration_ns,
                                .metrics = {}});
  };
  add("void at::native::(anonymous namespace)::gru_cell<float>(int)", 600, 512);
  add("Memcpy DtoD (Device -> Device)", 300, 512);
  add("void ns::operator+<int>()", 60, 512);
  add("rare", 40, 1);
  const auto choice = choose_launches(timeline, 48);
  CHECK(choice.count == 48);
  CHECK(choice.functions == R"((^|:)(gru_cell|operator\+)$)");
  const auto command = ncu_command("ncu", "log", {"a", "b"}, choice);
  CHECK(has(command, "regex:" + choice.functions));
  CHECK(has(command, "a,b"));
  timeline.kernels.resize(1);
  timeline.kernels[0].launches = 48;
  CHECK(choose_launches(timeline, 48).functions.empty());
}

TEST_CASE("ncu is found on the path", "[profile][profiler]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "ncu-").value();
  REQUIRE(write_file_atomic(directory.path() / "ncu", "#!/bin/sh\n", {.mode = 0755}));
  const auto found = locate_ncu("", {{"PATH", directory.path().string()}});
  REQUIRE(found);
  CHECK(*found == (directory.path() / "ncu").string());
}
