#include "render.hpp"
#include "exit_codes.hpp"

#include <boost/json.hpp>

#include <kernelgen/device/gpu.hpp>

#include "render_devices.hpp"

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using kernelgen::testing::check_golden;
using kernelgen::testing::full_record;

namespace {

std::string headline(const EvaluationRecord& record) {
  const auto text = render_record(record, {});
  return text.substr(0, text.find('\n'));
}

EvaluationRecord timed_record(Ratio speedup) {
  EvaluationRecord record;
  record.timing.emplace();
  record.timing->options.emplace();
  record.timing->speedup_call = speedup;
  record.timing->reference_median_ns = 2e6 * speedup.value;
  record.timing->candidate_median_ns = 2e6;
  return record;
}

EvaluationRecord correct_record() {
  auto record = full_record();
  record.outcome = {};
  record.labels.clear();
  record.environment.isolation = "partial: no user namespaces";
  return record;
}

std::vector<DoctorFinding> sample_findings() {
  return {{"compiler", DoctorStatus::Ok, "g++ 12.2.0", ""},
          {"triton", DoctorStatus::Limited, "not there", "python3 -m pip install triton"},
          {"torch", DoctorStatus::Missing, "No module named 'torch'", "tools/setup.sh"}};
}

GpuInventory sample_gpus() {
  const auto catalog = read_gpu_catalog(std::string(KERNELGEN_SOURCE_DIR) + "/lib/device/data").value();
  GpuInventory reading;
  for (const char* name : {"H200", "MI300X"}) {
    auto gpu = find_gpu_models(catalog, name).front()->facts;
    gpu.index = static_cast<int>(reading.gpus.size());
    gpu.uuid = "GPU-" + gpu.name;
    gpu.driver_version = 13000;
    reading.gpus.push_back(std::move(gpu));
  }
  reading.gpus.front().measured_bytes_per_second = 4.1e12;
  reading.gpus.push_back({.index = 2, .vendor = "fake", .name = "Fake GPU\x1b[2K", .uuid = "GPU-fa"});
  return reading;
}

CpuFacts sample_cpu() {
  CpuFacts cpu;
  cpu.model = "Some CPU";
  cpu.usable_cores = 8;
  return cpu;
}

}  // namespace

TEST_CASE("a verdict as text is its golden file", "[cli][render]") {
  check_golden("verdict_wrong.txt", render_record(full_record(), {.record_path = "result.json"}));
  check_golden("verdict_wrong_60.txt", render_record(full_record(), {.width = 60}));
  check_golden("verdict_correct.txt", render_record(correct_record(), {.color = true}));
}

TEST_CASE("the headline, the times and the exit code agree", "[cli][render]") {
  const auto check = [](Ratio speedup, const char* words, ExitCode code) {
    const auto record = timed_record(speedup);
    CHECK(headline(record) == words);
    CHECK(exit_code_for(record) == code);
  };
  check({0.98, 0.94, 1.03}, "correct, no difference from PyTorch eager (0.98 times, between 0.94 and 1.03)",
        ExitCode::Success);
  check({1.01, 0.82, 1.22}, "correct, no difference from PyTorch eager (1.01 times, between 0.82 and 1.22)",
        ExitCode::Success);
  check({1, 1, 1}, "correct, no difference from PyTorch eager (1 times, between 1 and 1)", ExitCode::Success);
  check({2.8, 2.77, 2.82}, "correct, 2.8 times as fast as PyTorch eager", ExitCode::Success);
  check({1.0042, 1.002, 1.006}, "correct, 1.004 times as fast as PyTorch eager", ExitCode::Success);
  check({0.5512, 0.55, 0.552}, "correct, but slower: 0.551 times the speed of PyTorch eager", ExitCode::BelowTarget);
  check({0.9996, 0.9994, 0.9998}, "correct, but slower: 0.9996 times the speed of PyTorch eager",
        ExitCode::BelowTarget);
  auto quick = timed_record({2, 1.9, 2.1});
  quick.mode = EvaluationMode::Quick;
  CHECK(headline(quick) == "correct, 2 times as fast as PyTorch eager (quick)");
  auto device = timed_record({2, 1.9, 2.1});
  device.timing->speedup_device = Ratio{1.01, 0.99, 1.02};
  CHECK_THAT(render_record(device, {}), Catch::Contains("1.010 [0.990, 1.020] on the device: no difference\n"));
  CHECK_THAT(render_record(device, {}), Catch::Contains("2.000 [1.900, 2.100] per call (95 % interval)\n"));
}

TEST_CASE("what was not timed, or could not be measured now, has words and an exit code of its own", "[cli][render]") {
  EvaluationRecord record;
  record.mode = EvaluationMode::CorrectnessOnly;
  CHECK(headline(record) == "correct (correctness only: nothing was timed)");
  CHECK(exit_code_for(record) == ExitCode::Success);
  record.outcome = {OutcomeKind::Accuracy, "mismatch", ""};
  CHECK(exit_code_for(record) == ExitCode::NotCorrect);
  record.outcome = {OutcomeKind::Suspect, "busy machine", "for other work"};
  CHECK(headline(record) == "not measured, try again later: the machine was busy");
  CHECK(exit_code_for(record) == ExitCode::TryLater);
  record.outcome = {OutcomeKind::Suspect, "memory in use", ""};
  CHECK(headline(record) == "not measured, try again later: other processes held memory of the device");
  CHECK(exit_code_for(record) == ExitCode::TryLater);
  for (const char* other : {"clock", "reference disturbed", "remembers inputs", "keeps the device busy"}) {
    record.outcome = {OutcomeKind::Suspect, other, ""};
    CHECK(headline(record) == "suspect: no score");
    CHECK(exit_code_for(record) == ExitCode::NotCorrect);
  }
}

TEST_CASE("the first lines of a compiler's log are shown, and the place of the rest", "[cli][render]") {
  EvaluationRecord record;
  record.language = Language::C;
  record.outcome = {OutcomeKind::Compile, "undeclared_identifier", "norm.c:2: 'y' undeclared"};
  record.compile.emplace();
  record.compile->log = "norm.c:2:10: error: 'y' undeclared\n    2 |   return y;\n      |          ^\n";
  auto text = render_record(record, {});
  CHECK_THAT(text, Catch::Contains("\ncompiler    norm.c:2:10: error: 'y' undeclared\n"
                                   "                2 |   return y;\n"
                                   "                  |          ^\n"));
  CHECK(text.find("more lines") == std::string::npos);
  CHECK_THAT(text, Catch::Contains("\ncandidate   cpp in c\n"));
  for (int i = 0; i < 20; ++i) record.compile->log += "norm.c:9:1: error: more\n";
  CHECK_THAT(render_record(record, {.record_path = "result.json"}),
             Catch::Contains("            (11 more lines: compile.log of result.json)\n"));
  CHECK_THAT(render_record(record, {}), Catch::Contains("compile.log of the record, which --output FILE writes)"));
  record.compile->log = "norm.c:1:1: error: \x1b[31m" + std::string(200, 'x') + "\n";
  text = render_record(record, {.width = 80});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("x...\n"));
}

TEST_CASE("a verdict names the class of its error where that says more", "[cli][render]") {
  EvaluationRecord record;
  record.outcome = {OutcomeKind::Compile, "undeclared_identifier",
                    "candidate.cpp:2: error: 'x' was not declared in this scope"};
  CHECK(render_record(record, {}).find("\nerror class cxx.undeclared\n") != std::string::npos);
  record.outcome = {OutcomeKind::Accuracy, "nan", "output[0] is nan, expected 1"};
  CHECK(render_record(record, {}).find("error class") == std::string::npos);
  record.outcome = {OutcomeKind::Suspect, "busy machine", "for other work"};
  CHECK(render_record(record, {}).find("error class") == std::string::npos);
}

TEST_CASE("each baseline has a line after the times", "[cli][render]") {
  auto record = correct_record();
  record.timing->baselines = {{BaselineKind::Compile, {1'500'000}, 1'500'000.0, 0.749, ""},
                              {.name = BaselineKind::CompileMaxAutotune, .reason = "it took\ntoo long"}};
  const auto text = render_record(record, {});
  CHECK_THAT(text, Catch::Contains("stopped by max_samples)\n"
                                   "baselines   compile: 1.50 ms, speedup over it 0.749\n"
                                   "            compile-max-autotune: no time; it took too long\n"
                                   "compared "));
}

TEST_CASE("a record with nothing in it can be shown", "[cli][render]") {
  const auto text = render_record(EvaluationRecord{}, {});
  CHECK(text.find("correct, without a time that counts\n") == 0);
  CHECK(text.find("record") == std::string::npos);
}

TEST_CASE("no line of a verdict is wider than the terminal", "[cli][render]") {
  auto record = full_record();
  record.outcome.message.clear();
  for (int i = 0; i < 60; ++i) record.outcome.message += "word" + std::to_string(i) + ' ';
  for (const std::size_t width : {60U, 80U, 200U}) {
    const auto text = render_record(record, {.width = width});
    std::size_t start = 0;
    for (auto end = text.find('\n'); end != text.npos; start = end + 1, end = text.find('\n', start))
      CHECK(end - start <= width);
  }
}

TEST_CASE("a candidate's message cannot forge lines or colors", "[cli][render]") {
  EvaluationRecord record;
  record.outcome = {OutcomeKind::Launch, "", "\x1b[2Kfine\ncorrect, 9 times as fast"};
  const auto text = render_record(record, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\ncorrect, 9") == std::string::npos);
}

TEST_CASE("times are shown in the unit that fits", "[cli][render]") {
  CHECK(format_nanoseconds(250) == "250 ns");
  CHECK(format_nanoseconds(3210) == "3.2 us");
  CHECK(format_nanoseconds(4'050'000) == "4.05 ms");
  CHECK(format_nanoseconds(1.5e9) == "1.50 s");
}

TEST_CASE("findings are a table with remedies", "[cli][render]") {
  check_golden("doctor.txt", render_findings(sample_findings(), {}));
  check_golden("doctor.json", findings_to_json(sample_findings()));
}

TEST_CASE("devices are shown with what they can do", "[cli][render][devices]") {
  check_golden("devices.txt", render_devices(sample_cpu(), sample_gpus()));
  check_golden("devices.json", devices_to_json(sample_cpu(), sample_gpus()));
}

TEST_CASE("what a GPU does now, that it is integrated, and cards without a GPU are shown", "[cli][render][devices]") {
  GpuInventory reading{.gpus = {{.index = 1, .vendor = "amd", .name = "AMD Radeon 780M", .uuid = "PCI-0000:c5:00"}},
                       .absent = {{"nvidia", "there is an NVIDIA card, and its driver shows no GPU"}}};
  reading.gpus[0].integrated = true;
  const std::map<std::string, GpuUse> uses{
      {"PCI-0000:c5:00", {.busy_percent = 4, .memory_used_bytes = 1ULL << 29, .memory_total_bytes = 4ULL << 30}}};
  const auto text = render_devices(sample_cpu(), reading, uses);
  CHECK_THAT(text, Catch::Contains("GPU 1: AMD Radeon 780M (integrated: chosen last)\n") &&
                       Catch::Contains("now                 busy 4 %, memory 0.5 of 4 GiB\n") &&
                       Catch::EndsWith("there is an NVIDIA card, and its driver shows no GPU\n"));
  const auto json = boost::json::parse(devices_to_json(sample_cpu(), reading, uses));
  CHECK(json.at("gpus").at(0).at("integrated") == true);
  CHECK(json.at("gpus").at(0).at("use").at("busy_percent") == 4);
  CHECK(json.at("gpus").at(0).at("use").at("memory_mhz").is_null());
  CHECK(json.at("absent").at("nvidia") == "there is an NVIDIA card, and its driver shows no GPU");
}

TEST_CASE("a machine without a GPU is shown with the reason", "[cli][render][devices]") {
  const GpuInventory none{.reason = "there is no GPU driver"};
  CHECK(render_devices(sample_cpu(), none) == "cpu: Some CPU, 8 cores\nno GPU: there is no GPU driver\n");
  CHECK(devices_to_json(sample_cpu(), none).find("\"reason\": \"there is no GPU driver\"") != std::string::npos);
}

TEST_CASE("the catalog is a table", "[cli][render][devices]") {
  const auto catalog = read_gpu_catalog(std::string(KERNELGEN_SOURCE_DIR) + "/lib/device/data").value();
  check_golden("devices_all.txt", render_catalog(catalog));
}
