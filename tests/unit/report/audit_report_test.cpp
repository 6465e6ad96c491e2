#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/report/audit_report.hpp>

#include "report/layout.hpp"
#include "sample_runs.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

const std::string k_kernel = "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n";
const std::string k_reference =
    "import torch\nclass Model(torch.nn.Module):\n    pass\n\ndef get_inputs():\n    return []\n";

/// A checkout of KernelBench with two levels, and folders of kernels.
class Folders {
 public:
  Folders() {
    for (const char* task : {"level1/1_Square", "level1/19_ReLU", "level2/1_Conv", "level2/7_Other"})
      write(std::string("bench/KernelBench/") + task + ".py", k_reference);
  }

  [[nodiscard]] fs::path path(const std::string& name = "") const { return directory_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
  }

  [[nodiscard]] Result<FoundSolutions> find(const std::vector<std::string>& names, std::string task = "") const {
    SolutionSources sources{.paths = {}, .locator = {path("bench").string()}, .task = std::move(task)};
    for (const auto& name : names) sources.paths.push_back(path(name));
    return find_solutions(sources);
  }

  /// "name: task" of each kernel.
  [[nodiscard]] std::vector<std::string> pairs(const std::vector<std::string>& names) const {
    const auto found = find(names);
    REQUIRE(found);
    std::vector<std::string> pairs;
    for (const auto& solution : found->solutions) pairs.push_back(solution.name + ": " + solution.task.name);
    for (const auto& unpaired : found->unpaired) pairs.push_back(unpaired.name + " -");
    return pairs;
  }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "audit-").value();
};

using Names = std::vector<std::string>;

std::string reason_of(const FoundSolutions& found, const std::string& name) {
  for (const auto& unpaired : found.unpaired)
    if (unpaired.name == name) return unpaired.reason;
  FAIL(name << " is not unpaired");
  return "";
}

AuditReport sample_report() {
  AuditReport report{.findings = {}, .times = 3};
  const auto add = [&](std::string name, Claim claim, AuditMeasurement measurement) {
    measurement.device = measurement.times > 0 ? "cpu: EPYC, 2 cores" : "";
    AuditFinding finding{.name = std::move(name),
                         .task = "19_ReLU",
                         .target = "torch",
                         .claim = std::move(claim),
                         .measurement = std::move(measurement)};
    finding.decision = judge_claim(finding.claim, finding.measurement, report.rules);
    report.findings.push_back(std::move(finding));
  };
  const auto measured = [](double value) {
    const Ratio ratio{value, value * 0.99, value * 1.01};
    return AuditMeasurement{.times = 3, .correct = 3, .speedup_per_call = ratio, .score = ratio};
  };
  add("level1/19_ReLU sample 0", {.correct = true, .speedup = 1.5}, measured(1.5));
  add("level1/19_ReLU sample 1", {.correct = true, .speedup = 8.25}, measured(1.02));
  add("level1/1_Square sample 0", {.correct = true, .speedup = 1}, measured(2));
  add("level3/40_GRUHiddenWithANameThatIsMuchTooLong sample 0", {.correct = true, .speedup = 3},
      {.times = 3,
       .correct = 1,
       .failure_class = "accuracy:mismatch",
       .failure_message = "output: 12 of 1024 elements differ, the largest error is 3 times what is allowed"});
  auto compared = measured(0.5);
  compared.speedup_over = {{BaselineKind::Compile, 0.75}, {BaselineKind::CompileMaxAutotune, 0.5}};
  add("relu.py", {}, std::move(compared));
  add("<script>alert(1)</script> & \"x\"\xE2\x80\xAE", {.correct = true}, {.obstacle = "<b>no GPU</b>"});
  return report;
}

}  // namespace

TEST_CASE("files are paired with tasks by their names", "[report][audit]") {
  Folders folders;
  for (const char* name : {"level1_19.py", "level_2-1_anything.py", "19_ReLU.py", "7.py", "7_my_kernel.py", "1.py",
                           "gone.py", "__init__.py", ".hidden.py", "readme.txt"})
    folders.write(std::string("kernels/") + name, k_kernel);
  folders.write("kernels/level1/1_Square.py", k_kernel);
  CHECK(folders.pairs({"kernels"}) == Names{"7.py: 7_Other", "7_my_kernel.py: 7_Other", "19_ReLU.py: 19_ReLU",
                                            "level1_19.py: 19_ReLU", "level_2-1_anything.py: 1_Conv", "1.py -",
                                            "gone.py -"});
  CHECK(folders.pairs({"kernels/level1"}) == Names{"1_Square.py: 1_Square"});
  const auto found = folders.find({"kernels"});
  CHECK(contains(reason_of(*found, "1.py"), "ambiguous"));
  CHECK(contains(reason_of(*found, "gone.py"), "cannot find task gone"));
}

TEST_CASE("one task may be given for all files", "[report][audit]") {
  Folders folders;
  folders.write("kernels/a.py", k_kernel);
  folders.write("kernels/b.py", "import triton\n" + k_kernel);
  const auto found = folders.find({"kernels/a.py", "kernels/b.py"}, "level1/19");
  REQUIRE(found);
  REQUIRE(found->solutions.size() == 2);
  CHECK(found->solutions[0].task.name == "19_ReLU");
  CHECK(found->solutions[0].candidate.target == Target::Torch);
  CHECK(found->solutions[1].candidate.target == Target::Triton);
}

TEST_CASE("what is no kernel is named with the reason", "[report][audit]") {
  Folders folders;
  folders.write("kernels/19_ReLU.py", k_reference);
  folders.write("kernels/1_Square.py", "x = 1\n");
  folders.write("kernels/level2_1.py", "");
  folders.write("kernels/level2_7.py", "\xff\xfe");
  folders.write("kernels/level1_19.py", k_kernel + std::string(k_max_solution_bytes, '#'));
  const auto found = folders.find({"kernels"});
  REQUIRE(found);
  CHECK(found->solutions.empty());
  CHECK(reason_of(*found, "19_ReLU.py") == "19_ReLU.py is a task (class Model, get_inputs), and no kernel");
  CHECK(reason_of(*found, "1_Square.py") == "1_Square.py defines no ModelNew");
  CHECK(reason_of(*found, "level2_1.py") == "level2_1.py is empty");
  CHECK(reason_of(*found, "level2_7.py") == "level2_7.py is no UTF-8 text");
  CHECK(contains(reason_of(*found, "level1_19.py"), "16777216"));
}

TEST_CASE("folders without kernels and paths that are not there are refused", "[report][audit]") {
  Folders folders;
  folders.write("empty/notes.txt", "");
  for (const char* name : {"empty", "gone"}) {
    const auto found = folders.find({name});
    REQUIRE_FALSE(found);
    CHECK(contains(found.error().to_line(), folders.path(name).string()));
  }
  CHECK_FALSE(find_solutions({}));
}

TEST_CASE("a run folder brings kernels and claims", "[report][audit]") {
  Folders folders;
  for (const char* sample : {"1_sample_0", "1_sample_1", "19_sample_0", "99_sample_0"})
    folders.write(std::string("run/level_1_problem_") + sample + "_kernel.py", k_kernel);
  folders.write("run/eval_results.json", read_test_data("kernelbench/eval_results.json"));
  auto found = folders.find({"run"});
  REQUIRE(found);
  REQUIRE(found->solutions.size() == 3);
  CHECK(found->solutions[0].name == "level1/1_Square sample 0");
  CHECK(found->solutions[0].claim.correct == true);
  CHECK_FALSE(found->solutions[0].claim.speedup);
  CHECK(found->solutions[1].claim.correct == false);
  CHECK(found->solutions[2].claim.problems.size() == 1);
  CHECK(contains(reason_of(*found, "level1/99 sample 0"), "level1/99"));
  CHECK(reason_of(*found, "problem 23 sample 0") == "there is a claim, and no file of a kernel");
  CHECK(found->notes.size() == 3);
  SolutionSources with_times{.paths = {folders.path("run")}, .locator = {folders.path("bench").string()}};
  with_times.baseline_times[{1, "1_Square.py"}] = 5;
  found = find_solutions(with_times);
  REQUIRE(found);
  CHECK(found->solutions[0].claim.speedup == 2.5);
  // A single file of the folder has the same claim.
  found = folders.find({"run/level_1_problem_1_sample_1_kernel.py"});
  REQUIRE(found);
  CHECK(found->solutions[0].claim.correct == false);
}

TEST_CASE("claims stand beside files, and damaged ones are refused", "[report][audit]") {
  Folders folders;
  folders.write("kernels/19_ReLU.py", k_kernel);
  folders.write("kernels/claims.json", R"({"19_ReLU.py": {"correct": true, "speedup": 3}})");
  CHECK(folders.find({"kernels"})->solutions[0].claim.speedup == 3);
  folders.write("kernels/claims.json", "{,");
  const auto broken = folders.find({"kernels"});
  REQUIRE_FALSE(broken);
  CHECK(contains(broken.error().to_line(), "claims.json: not JSON: "));
}

TEST_CASE("of results the best kernel of each run counts, under the conditions of its run", "[report][audit]") {
  Folders folders;
  const auto add = [&](const std::string& run, std::vector<Event> events) {
    auto& started = std::get<RunStarted>(events.front().body);
    started.options = {{"precision", "tf32"}, {"rtol", "0.01"}, {"shrink", "batch=16 dim=8"}};
    std::string text;
    for (const auto& event : events) text += to_json(event) + '\n';
    folders.write("results/" + run + "/events.jsonl", text);
  };
  add("9_GRU", successful_events());
  add("10_Relu/second", failed_events());
  folders.write("results/11_Bad/events.jsonl", "no journal\n");
  const auto found = folders.find({"results"});
  REQUIRE(found);
  REQUIRE(found->solutions.size() == 1);
  const auto& solution = found->solutions.front();
  CHECK(solution.name == "9_GRU");
  CHECK(solution.claim.kind == SpeedupKind::Score);
  REQUIRE(solution.claim.interval);
  CHECK(solution.claim.interval->value == solution.claim.speedup);
  CHECK(solution.options.precision == PrecisionClass::Tf32);
  CHECK(solution.options.rtol == 0.01);
  CHECK(solution.options.shrink == std::vector<std::pair<std::string, std::int64_t>>{{"batch", 16}, {"dim", 8}});
  CHECK(contains(reason_of(*found, "11_Bad"), "its journal cannot be read"));
  REQUIRE(found->notes.size() == 1);
  CHECK(contains(found->notes[0], "1 run without a correct kernel"));
}

TEST_CASE("kernels of several paths have different names", "[report][audit]") {
  Folders folders;
  for (const char* folder : {"a/kernels", "b/kernels"}) folders.write(folder + std::string("/19_ReLU.py"), k_kernel);
  const auto pairs = folders.pairs({"a/kernels", "b/kernels", "a/kernels"});
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0] == "kernels: 19_ReLU.py: 19_ReLU");
  CHECK(pairs[1] == folders.path("b/kernels").string() + ": 19_ReLU.py: 19_ReLU");
}

TEST_CASE("findings as a table", "[report][audit]") {
  const auto report = sample_report();
  check_golden("audit_80.txt", audit_table(report, 80));
  check_golden("audit_200.txt", audit_table(report, 200));
  for (const std::size_t width : {80, 100, 200}) {
    const auto table = audit_table(report, width);
    for (const auto line : split_lines(table)) CHECK(text_width(line) <= width);
  }
}

TEST_CASE("findings for a program", "[report][audit]") { check_golden("audit.json", audit_json(sample_report())); }

TEST_CASE("a page shows hostile names as text", "[report][audit]") {
  const auto page = audit_html(sample_report());
  check_golden("audit.html", page);
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "<b>"));
  CHECK_FALSE(contains(page, "\xE2\x80\xAE"));
  CHECK_FALSE(contains(page, "http"));
}
