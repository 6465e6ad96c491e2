#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <kernelgen/store/kernelbench_run.hpp>

#include "fuzz/kernelbench_fuzz.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

const KernelBenchResult& entry_of(const KernelBenchResults& results, int problem, int sample = 0) {
  for (const auto& result : results.results)
    if (result.problem == problem && result.sample == sample) return result;
  FAIL("no entry of problem " << problem);
  return results.results.front();
}

bool has_line(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return contains(line, part); });
}

EvaluationRecord timed_record(std::vector<std::int64_t> reference_ns, std::vector<std::int64_t> candidate_ns) {
  EvaluationRecord record;
  record.environment = {.kernelgen_version = "0.1.0", .device = "gpu 0: NVIDIA H200"};
  auto& timing = record.timing.emplace();
  timing.reference_ns = std::move(reference_ns);
  timing.candidate_ns = std::move(candidate_ns);
  timing.speedup_call = {2, 1.9, 2.1};
  return record;
}

}  // namespace

TEST_CASE("names of KernelBench's kernels are read and written", "[store][kernelbench]") {
  const KernelBenchSample sample{3, 40, 12};
  CHECK(kernel_file_name(sample) == "level_3_problem_40_sample_12_kernel.py");
  CHECK(parse_kernel_file_name("level_3_problem_40_sample_12_kernel.py") == sample);
  for (const char* name : {"", "level_3_problem_40_kernel.py", "level_3_problem_40_sample_x_kernel.py",
                           "level_3_problem_40_sample_1_kernel.py.bak", "xlevel_3_problem_40_sample_1_kernel.py",
                           "level_99999999999_problem_1_sample_0_kernel.py", "level_3_problem_40_sample_1_prompt.txt"})
    CHECK_FALSE(parse_kernel_file_name(name));
}

TEST_CASE("claims of the present format are read, and what cannot be used is named", "[store][kernelbench]") {
  const auto results = parse_eval_results(read_test_data("kernelbench/eval_results.json"));
  REQUIRE(results);
  const auto& first = entry_of(*results, 1);
  CHECK(first.correct == true);
  CHECK(first.runtime_ms == 2.0);
  CHECK(first.device == "NVIDIA H100 80GB HBM3");
  CHECK(first.problems.empty());
  const auto& failed = entry_of(*results, 1, 1);
  CHECK(failed.compiled == false);
  CHECK_FALSE(failed.runtime_ms);
  CHECK(failed.problems.empty());
  const auto& not_a_number = entry_of(*results, 19);
  CHECK_FALSE(not_a_number.runtime_ms);
  CHECK(not_a_number.problems ==
        std::vector<std::string>{"runtime: expected milliseconds above 0, found no finite number"});
  const auto& texts = entry_of(*results, 23);
  CHECK(texts.compiled == true);
  CHECK(texts.correct == true);
  CHECK(texts.runtime_ms == 0.5);
  CHECK(has_line(results->problems, "problem 23: sample 0 has several entries; the last one counts"));
  CHECK(has_line(results->problems, "problem 30: expected an object, found a text"));
  CHECK(has_line(results->problems, "\"total\" is no number of a problem"));
}

TEST_CASE("claims of the format of 2024 are read", "[store][kernelbench]") {
  const auto results = parse_eval_results(read_test_data("kernelbench/eval_results_2024.json"));
  REQUIRE(results);
  CHECK(results->problems.empty());
  REQUIRE(results->results.size() == 2);
  CHECK(entry_of(*results, 1).device == "NVIDIA L40S");
  CHECK(entry_of(*results, 2).correct == false);
}

TEST_CASE("malformed claims are refused with their position", "[store][kernelbench]") {
  const auto broken = parse_eval_results("{\n  \"1\": [NaN,\n    {\"sample_id\": }]\n}");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::InvalidArgument);
  CHECK(contains(broken.error().message, "not JSON: "));
  CHECK(contains(broken.error().message, "line 3, column "));
  const auto list = parse_eval_results("[]");
  REQUIRE_FALSE(list);
  CHECK(list.error().message == "expected an object with the numbers of problems, found a list");
  CHECK_FALSE(parse_eval_results(""));
  CHECK_FALSE(parse_eval_results("{\"1\": NaNN}"));
  CHECK_FALSE(parse_baseline_times("{}"));
}

TEST_CASE("a claim takes its speed-up from the entry, else from the baseline", "[store][kernelbench]") {
  KernelBenchResult result{.compiled = true, .correct = true, .runtime_ms = 2.0};
  CHECK_FALSE(claim_of(result, {}).speedup);
  CHECK(claim_of(result, 4.0).speedup == 2.0);
  result.reference_ms = 1.0;
  CHECK(claim_of(result, 4.0).speedup == 0.5);
  result.compiled = false;
  CHECK(claim_of(result, 4.0).correct == false);
  CHECK_FALSE(claim_of(result, 4.0).speedup);
  const auto times = parse_baseline_times(read_test_data("kernelbench/baseline_time_torch.json"));
  REQUIRE(times);
  CHECK(times->at({1, "1_Square_matrix_multiplication_.py"}) == 4.0);
}

TEST_CASE("a claim survives its journal", "[store][kernelbench]") {
  const Claim claim{.correct = true,
                    .speedup = 1.5,
                    .interval = Ratio{1.5, 1.4, 1.6},
                    .kind = SpeedupKind::Score,
                    .device = "NVIDIA H100",
                    .problems = {"runtime: odd"}};
  const auto read = parse_claim(to_json(claim));
  REQUIRE(read);
  CHECK(read->correct == true);
  CHECK(read->speedup == 1.5);
  CHECK(read->interval->low == 1.4);
  CHECK(read->kind == SpeedupKind::Score);
  CHECK(read->device == "NVIDIA H100");
  CHECK(read->problems == claim.problems);
  CHECK(parse_claim(to_json(Claim{}))->empty());
}

TEST_CASE("claims about files are read, unusable ones with the reason", "[store][kernelbench]") {
  const auto claims =
      parse_claims(R"({"a.py": {"correct": true, "speedup": 2.5}, "b.py": {"speedup": -1}, "c.py": 7})");
  REQUIRE(claims);
  CHECK(claims->at("a.py").speedup == 2.5);
  CHECK(claims->at("b.py").empty());
  CHECK(contains(claims->at("b.py").problems.front(), "speedup: expected a number from "));
  CHECK(claims->at("c.py").problems.front() == "expected an object, found a number");
}

TEST_CASE("a run folder is listed, and a broken one refused with its file", "[store][kernelbench]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelbench-").value();
  CHECK_FALSE(read_kernelbench_run(directory.path()));
  CHECK_FALSE(read_kernelbench_run(directory.path() / "gone"));
  for (const KernelBenchSample& sample : {KernelBenchSample{1, 10, 0}, {1, 9, 1}, {1, 9, 0}})
    std::ofstream(directory.path() / kernel_file_name(sample)) << "class ModelNew: pass\n";
  const auto run = read_kernelbench_run(directory.path());
  REQUIRE(run);
  CHECK(run->kernels == std::vector<KernelBenchSample>{{1, 9, 0}, {1, 9, 1}, {1, 10, 0}});
  std::ofstream(directory.path() / "eval_results.json") << "{\"1\": ";
  const auto broken = read_kernelbench_run(directory.path());
  REQUIRE_FALSE(broken);
  CHECK(contains(broken.error().to_line(), "eval_results.json: not JSON: "));
  CHECK(contains(broken.error().to_line(), "line 1, column 7"));
}

TEST_CASE("judged kernels are written in KernelBench's format, and read back", "[store][kernelbench]") {
  EvaluationRecord wrong;
  wrong.outcome = {OutcomeKind::Accuracy, "mismatch", "3 of 4 elements differ"};
  EvaluationRecord broken;
  broken.outcome = {OutcomeKind::Compile, "other", "it does not compile"};
  const auto text = eval_results_json({{{1, 19, 0}, timed_record({4'000'000, 6'000'000}, {2'000'000, 3'000'000})},
                                       {{1, 2, 1}, broken},
                                       {{1, 2, 0}, wrong}});
  check_golden("kernelbench_eval_results.json", text);
  const auto results = parse_eval_results(text);
  REQUIRE(results);
  CHECK(results->problems.empty());
  CHECK(claim_of(entry_of(*results, 19), {}).speedup == 2.0);
  CHECK(entry_of(*results, 2).compiled == true);
  CHECK(entry_of(*results, 2, 1).compiled == false);
}

TEST_CASE("what says nothing about a kernel is no verdict for KernelBench", "[store][kernelbench]") {
  CHECK(is_verdict_for_kernelbench({OutcomeKind::Correct, "", ""}));
  CHECK(is_verdict_for_kernelbench({OutcomeKind::Timeout, "", ""}));
  CHECK_FALSE(is_verdict_for_kernelbench({OutcomeKind::NotScored, "trivial", ""}));
  CHECK_FALSE(is_verdict_for_kernelbench({OutcomeKind::Suspect, "busy machine", ""}));
}

TEST_CASE("hostile claims are read or refused", "[store][kernelbench][fuzz]") {
  std::mt19937 random(17);
  const auto seed = read_test_data("kernelbench/eval_results.json");
  for (int round = 0; round < 3000; ++round) {
    auto text = seed;
    for (int change = 0; change < 4; ++change) text[random() % text.size()] = static_cast<char>(random());
    if (round % 3 == 0) text.resize(random() % text.size());
    fuzz_kernelbench(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}
