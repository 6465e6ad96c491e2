#include <kernelgen/store/framework_result.hpp>

#include <boost/json.hpp>
#include <limits>

#include "support/catch.hpp"
#include "support/json_text.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;

namespace {

boost::json::object members_of(const EvaluationRecord& record, const FrameworkResult& result = {}) {
  return parse_json(to_framework_json(record, result)).value().as_object();
}

EvaluationRecord wrong_record(OutcomeKind kind, const std::string& detail, const std::string& message) {
  EvaluationRecord record;
  record.target = Target::Torch;
  record.outcome = {kind, detail, message};
  return record;
}

Profile counted_profile() {
  Profile profile;
  profile.source = "rocprofv3";
  profile.span_ns = 2e6;
  profile.kernels = {{.name = "void at::native::copy_kernel()",
                      .function = "copy_kernel",
                      .origin = KernelOrigin::Framework,
                      .launches = 1,
                      .duration_ns = 1.5e6,
                      .counted_launches = 0,
                      .metrics = {}},
                     {.name = "relu_kernel(float*)",
                      .function = "relu_kernel",
                      .origin = KernelOrigin::Own,
                      .launches = 1,
                      .duration_ns = 5e5,
                      .counted_launches = 1,
                      .metrics = {{"l2_hit_pct", 40, "%"},
                                  {"tensor_pipe_pct", 0, "%"},
                                  {"block_threads", 64, ""},
                                  {"shared_bytes_per_block", 49152, "byte"}}}};
  return profile;
}

}  // namespace

TEST_CASE("a correct and slower kernel has the framework's members beside the record", "[store][framework_result]") {
  EvaluationRecord record;
  auto& timing = record.timing.emplace();
  timing.reference_median_ns = 2e6;
  timing.candidate_median_ns = 4e6;
  timing.speedup_call = {0.5, 0.4, 0.6};
  record.cases.push_back({.distribution = "own",
                          .seed = 1,
                          .weight_set = 1,
                          .call = 1,
                          .outcome = {},
                          .outputs = {{.output = "y", .max_abs = 0.25, .mean_abs = 0.125}}});
  const auto text = to_framework_json(record, {.problem = "level1/19_ReLU.py", .code_path = "code_1.py"});
  CHECK(parse_record(text).value().timing->speedup_call.value == 0.5);
  const auto members = parse_json(text).value().as_object();
  CHECK(members.at("problem") == "level1/19_ReLU.py");
  CHECK(members.at("code_path") == "code_1.py");
  CHECK(members.at("compile_success") == true);
  CHECK(members.at("accuracy_pass") == true);
  CHECK(members.at("max_diff") == 0.25);
  CHECK(members.at("mean_diff") == 0.125);
  CHECK(members.at("ref_time_ms") == 2.0);
  CHECK(members.at("new_time_ms") == 4.0);
  CHECK(members.at("speedup") == 0.5);
  CHECK(members.at("perf_analysis").is_null());
  CHECK(members.at("rocprof_metrics").is_null());
  CHECK(members.at("error") == "PERFORMANCE TOO SLOW: speedup 0.500x < 1.0x");
}

TEST_CASE("members of a failed kernel", "[store][framework_result]") {
  auto members = members_of(wrong_record(OutcomeKind::Accuracy, "nan", "y[3] is nan, expected 0.5"));
  CHECK(members.at("has_nan") == true);
  CHECK(members.at("has_inf") == false);
  CHECK(members.at("compile_success") == true);
  CHECK(members.at("accuracy_pass") == false);
  CHECK(members.at("max_diff").is_null());
  CHECK(members.at("speedup").is_null());
  CHECK(members.at("ref_time_ms").is_null());
  members = members_of(wrong_record(OutcomeKind::Accuracy, "nan", "y[3] is -inf, expected 0.5"));
  CHECK(members.at("has_nan") == false);
  CHECK(members.at("has_inf") == true);
  CHECK(members_of(wrong_record(OutcomeKind::Compile, "syntax", "x")).at("compile_success") == false);
  CHECK(members_of(wrong_record(OutcomeKind::Syntax, "", "x")).at("compile_success") == false);
  const auto crash = members_of(wrong_record(OutcomeKind::DeviceFault, "fault", "x"));
  CHECK(crash.at("error") == "GPU crash: device_fault:fault: x");
}

TEST_CASE("numbers that JSON lacks are null beside the record", "[store][framework_result]") {
  auto record = wrong_record(OutcomeKind::Accuracy, "mismatch", "x");
  OutputError error;
  error.max_abs = std::numeric_limits<double>::infinity();
  error.mean_abs = std::numeric_limits<double>::quiet_NaN();
  record.cases.emplace_back().outputs = {error};
  const auto text = to_framework_json(record, {});
  REQUIRE(parse_record(text));
  CHECK(parse_json(text).value().at("max_diff").is_null());
  CHECK(parse_json(text).value().at("mean_diff").is_null());
}

TEST_CASE("a time under a stand-in for the GPU is none", "[store][framework_result]") {
  EvaluationRecord record;
  record.timing.emplace().speedup_call = {0.5, 0.5, 0.5};
  record.labels = {"interpreter: a time is not a result"};
  CHECK(members_of(record).at("speedup").is_null());
}

TEST_CASE("a profile is told as findings, and as the numbers of the longest own kernel", "[store][framework_result]") {
  GpuFacts gpu;
  gpu.vendor = "amd";
  gpu.shared_bytes_per_block = 65536;
  const auto members = members_of({}, {.problem = {}, .code_path = {}, .profile = counted_profile(), .gpu = gpu});
  const std::string analysis(members.at("perf_analysis").as_string());
  CHECK(analysis.find("workgroups of 64 threads") != std::string::npos);
  CHECK(analysis.find("49152 bytes of LDS for each block, 75 % of the limit") != std::string::npos);
  CHECK(analysis.find("copy_kernel") != std::string::npos);
  const auto& metrics = members.at("rocprof_metrics").as_object();
  CHECK(metrics.at("kernel_name") == "relu_kernel(float*)");
  CHECK(metrics.at("duration_ms") == 0.5);
  CHECK(metrics.at("l2_cache_hit_rate") == 40.0);
  CHECK(metrics.at("mfma_utilization_pct") == 0.0);
  CHECK_FALSE(metrics.at("optimization_hints").as_array().empty());
  CHECK(metrics.at("raw_metrics").as_object().at("block_threads") == 64.0);
}

TEST_CASE("a profile that could not be taken says why", "[store][framework_result]") {
  FrameworkResult result;
  result.profile.emplace().unavailable = ProfileUnavailable{"no sandbox", "allow user namespaces"};
  auto members = members_of({}, result);
  CHECK(members.at("perf_analysis") == "unavailable: no sandbox; allow user namespaces");
  CHECK(members.at("rocprof_metrics").is_null());
  result.profile = counted_profile();
  result.profile->no_counters = ProfileUnavailable{"no rocprofv3", ""};
  members = members_of({}, result);
  CHECK(std::string(members.at("perf_analysis").as_string()).ends_with("\ncounters unavailable: no rocprofv3"));
}
