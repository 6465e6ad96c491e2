#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/flow/audit.hpp>
#include <kernelgen/report/audit_report.hpp>
#include <kernelgen/report/kernelbench_exchange.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/journal.hpp>

#include "sample_runs.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

std::string kernel_text(const std::string& name) {
  return "# " + name + "\nimport torch\nclass ModelNew(torch.nn.Module):\n    pass\n";
}

/// A checkout, and a run folder with two samples of one task, one of another, and one of a task that is not there.
class Exchange {
 public:
  Exchange() {
    for (const char* task : {"level1/1_Square", "level1/19_ReLU", "level2/1_Conv"})
      write(std::string("bench/KernelBench/") + task + ".py", std::string("# ") + task + "\nclass Model: pass\n");
    for (const char* sample : {"1_sample_0", "1_sample_1", "19_sample_0", "99_sample_0"})
      write(std::string("run/level_1_problem_") + sample + "_kernel.py", kernel_text(sample));
    write("run/eval_results.json", read_test_data("kernelbench/eval_results.json"));
  }

  [[nodiscard]] fs::path path(const std::string& name = "") const { return directory_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const { return read_file(path(name)).value(); }

  [[nodiscard]] KernelBenchImport request() const {
    return {.run_directory = path("run"), .results_directory = path("results"), .locator = {path("bench").string()}};
  }

  /// Writes the record of an audit.
  void add_record(const std::string& sample, EvaluationRecord record, const std::string& name) const {
    record.task_content_id = sha256_hex(read("bench/KernelBench/level1/1_Square.py"));
    record.candidate_id = make_candidate(Target::Torch, kernel_text(sample)).id;
    write("audit/" + name + ".json", to_json(record));
  }

  static EvaluationRecord correct(double speedup) {
    EvaluationRecord record;
    record.environment.device = "cpu: EPYC";
    auto& timing = record.timing.emplace();
    timing.speedup_call = {speedup, speedup, speedup};
    timing.reference_ns = {4'000'000};
    timing.candidate_ns = {2'000'000};
    return record;
  }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "exchange-").value();
};

}  // namespace

TEST_CASE("an imported kernel is no result, and its claim is kept apart", "[report][kernelbench]") {
  Exchange exchange;
  const auto outcome = import_kernelbench_run(exchange.request());
  REQUIRE(outcome);
  CHECK(outcome->tasks == 2);
  CHECK(outcome->kernels == 3);
  CHECK(outcome->judged == 0);
  REQUIRE(outcome->left_out.size() == 4);
  CHECK(contains(outcome->left_out.back(), "level_1_problem_99_sample_0_kernel.py: "));
  const auto runs = read_results(exchange.path("results"));
  REQUIRE(runs);
  REQUIRE(runs->size() == 2);
  const auto& run = runs->front();
  CHECK(run.task == "1_Square");
  CHECK(run.policy == k_imported_policy);
  CHECK(run.model == "run");
  CHECK(run.status == RunStatus::Unfinished);
  CHECK_FALSE(run.best);
  REQUIRE(run.attempts.size() == 2);
  CHECK(run.attempts[0].result_class == "not_judged");
  CHECK(run.requests.empty());
  CHECK(exchange.read("results/1_Square/code_1.py") == kernel_text("1_sample_0"));
  // An audit of the results finds every kernel with its claim.
  const auto found = find_solutions({.paths = {exchange.path("results")}});
  REQUIRE(found);
  REQUIRE(found->solutions.size() == 3);
  CHECK(found->solutions[0].name == "1_Square sample0");
  CHECK(found->solutions[0].claim.correct == true);
  CHECK(found->solutions[1].claim.correct == false);
}

TEST_CASE("a second import adds nothing, and another run is not overwritten", "[report][kernelbench]") {
  Exchange exchange;
  REQUIRE(import_kernelbench_run(exchange.request()));
  const auto journal = exchange.read("results/1_Square/events.jsonl");
  // As after a crash between two tasks.
  fs::remove_all(exchange.path("results/19_ReLU"));
  REQUIRE(import_kernelbench_run(exchange.request()));
  CHECK(exchange.read("results/1_Square/events.jsonl") == journal);
  CHECK(fs::exists(exchange.path("results/19_ReLU/events.jsonl")));
  exchange.write("run/eval_results.json", R"({"1": {"sample_id": 0, "correctness": false}})");
  const auto other = import_kernelbench_run(exchange.request());
  REQUIRE_FALSE(other);
  CHECK(contains(other.error().message, "holds another run"));
  auto named = exchange.request();
  named.name = "again";
  CHECK(import_kernelbench_run(named));
}

TEST_CASE("the records of an audit make results of imported kernels", "[report][kernelbench]") {
  Exchange exchange;
  for (const double speedup : {1.5, 3.0, 2.0})
    exchange.add_record("1_sample_0", Exchange::correct(speedup), std::to_string(speedup));
  EvaluationRecord wrong;
  wrong.outcome = {OutcomeKind::Accuracy, "mismatch", "it differs"};
  exchange.add_record("1_sample_1", Exchange::correct(9), "right");
  exchange.add_record("1_sample_1", wrong, "wrong");
  exchange.write("audit/damaged.json", "{");
  auto request = exchange.request();
  request.records_directory = exchange.path("audit");
  const auto outcome = import_kernelbench_run(request);
  REQUIRE(outcome);
  CHECK(outcome->judged == 2);
  const auto runs = read_results(exchange.path("results"));
  REQUIRE(runs);
  const auto& run = runs->front();
  REQUIRE(run.best);
  CHECK(run.best->id == "sample0");
  CHECK(run.best->score->value == 2.0);
  CHECK(run.best->labels == std::vector<std::string>{"imported"});
  CHECK(run.attempts[1].result_class == "accuracy:mismatch");
  CHECK(run.status == RunStatus::Success);
  CHECK(fs::exists(exchange.path("results/1_Square/best_code.py")));
  CHECK(runs->back().status == RunStatus::Unfinished);
  request.records_directory = exchange.path("gone");
  CHECK(import_kernelbench_run(request).error().code == ErrorCode::NotFound);
}

TEST_CASE("a file without a kernel is an attempt that failed", "[report][kernelbench]") {
  Exchange exchange;
  exchange.write("run/level_1_problem_1_sample_1_kernel.py", "I cannot help with that.\n");
  exchange.add_record("1_sample_0", Exchange::correct(0.5), "slow");
  auto request = exchange.request();
  request.records_directory = exchange.path("audit");
  const auto outcome = import_kernelbench_run(request);
  REQUIRE(outcome);
  CHECK(outcome->kernels == 3);
  CHECK(outcome->judged == 2);
  CHECK(outcome->left_out.size() == 4);
  const auto runs = read_results(exchange.path("results"));
  REQUIRE(runs);
  const auto& run = runs->front();
  REQUIRE(run.attempts.size() == 2);
  CHECK(run.attempts[1].result_class == "no_code");
  // Over, and slower than the goal.
  CHECK(run.status == RunStatus::Partial);
}

TEST_CASE("a run folder survives import and export", "[report][kernelbench]") {
  Exchange exchange;
  exchange.add_record("1_sample_0", Exchange::correct(2), "right");
  auto request = exchange.request();
  request.records_directory = exchange.path("audit");
  REQUIRE(import_kernelbench_run(request));
  const auto outcome =
      export_kernelbench_run({.results_directory = exchange.path("results"), .run_directory = exchange.path("out")});
  REQUIRE(outcome);
  CHECK(outcome->kernels == 3);
  CHECK(outcome->judged == 1);
  CHECK(outcome->left_out.size() == 2);
  for (const char* sample : {"1_sample_0", "1_sample_1", "19_sample_0"}) {
    const auto file = std::string("/level_1_problem_") + sample + "_kernel.py";
    CHECK(exchange.read("out" + file) == exchange.read("run" + file));
  }
  const auto run = read_kernelbench_run(exchange.path("out"));
  REQUIRE(run);
  REQUIRE(run->claims.results.size() == 1);
  CHECK(run->claims.results[0].runtime_ms == 2.0);
  CHECK(run->claims.results[0].reference_ms == 4.0);
  // A smaller task has no time for KernelBench; its labels are told.
  auto shrunk = Exchange::correct(2);
  shrunk.labels = {"shrunk: batch_size=4"};
  const auto text =
      eval_results_json({{.sample = {.level = 1, .problem = 1, .sample = 0}, .record = std::move(shrunk)}});
  CHECK(contains(text, "shrunk: batch_size=4"));
  CHECK(contains(text, "\"runtime\": -1"));
  const auto again =
      export_kernelbench_run({.results_directory = exchange.path("results"), .run_directory = exchange.path("out")});
  REQUIRE_FALSE(again);
  CHECK(contains(again.error().message, "holds a run already"));
}

TEST_CASE("only what KernelBench can read is exported", "[report][kernelbench]") {
  Exchange exchange;
  const auto add = [&](const std::string& task, std::vector<Event> events, TaskLevel level, Target target) {
    std::string text;
    for (auto& event : events) {
      if (auto* started = std::get_if<RunStarted>(&event.body)) {
        started->task.name = task;
        started->task.level = level;
      }
      if (auto* finished = std::get_if<ActionFinished>(&event.body))
        if (finished->result.candidate) finished->result.candidate = make_candidate(target, "class ModelNew: pass\n");
      text += to_json(event) + '\n';
    }
    exchange.write("mine/" + task + "/events.jsonl", text);
  };
  add("9_GRU", successful_events(), TaskLevel::Network, Target::Triton);
  add("10_Relu", failed_events(), TaskLevel::SingleOperator, Target::Torch);
  add("11_Native", successful_events(), TaskLevel::Network, Target::Cpp);
  add("relu", successful_events(), TaskLevel::SingleOperator, Target::Torch);
  KernelBenchExport request{.results_directory = exchange.path("mine"), .run_directory = exchange.path("out")};
  const auto several = export_kernelbench_run(request);
  REQUIRE_FALSE(several);
  CHECK(contains(several.error().message, "the levels 1, 3"));
  request.level = 3;
  const auto outcome = export_kernelbench_run(request);
  REQUIRE(outcome);
  CHECK(outcome->kernels == 1);
  CHECK(fs::exists(exchange.path("out/level_3_problem_9_sample_0_kernel.py")));
  REQUIRE(outcome->left_out.size() == 2);
  CHECK(contains(outcome->left_out[0], "11_Native: a kernel for cpp is no Python module"));
  CHECK(contains(outcome->left_out[1], "relu: its task has no level and number"));
  request.level = 2;
  request.run_directory = exchange.path("none");
  CHECK(contains(export_kernelbench_run(request).error().message, "holds nothing that can be exported"));
  CHECK_FALSE(fs::exists(exchange.path("none")));
}
