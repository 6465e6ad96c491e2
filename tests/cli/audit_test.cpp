#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/fixture.hpp"
#include "support/catch.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

std::string kernel_text(const std::string& what) { return "# " + what + "\nclass ModelNew:\n    pass\n"; }

/// A run folder with three kernels that are claimed to be correct, and a fake judge that reads what they are.
class AuditCommands : public Fixture {
 public:
  AuditCommands() {
    for (const char* task : {"1_Square", "2_Cube", "19_ReLU"})
      write(std::string("bench/level1/") + task + ".py", "class Model: pass\ndef get_inputs(): pass\n");
    environment.kernelbench_dir = path("bench");
    add(1, "fast");
    add(2, "slow");
    add(19, "wrong");
    judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
      const auto& source = request.candidate.source;
      if (source.starts_with("# no gpu")) return Error{ErrorCode::MissingDevice, "no GPU here"};
      EvaluationRecord record = correct_record(source.starts_with("# fast") ? 2 : 1);
      if (source.starts_with("# wrong")) record.outcome = {OutcomeKind::Accuracy, "mismatch", "it differs"};
      if (source.starts_with("# busy")) record.outcome = {OutcomeKind::Suspect, std::string(k_busy_machine), "busy"};
      record.environment.device = "cpu: EPYC";
      record.task_content_id = request.task.content_id;
      return record;
    };
  }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  void add(int problem, const std::string& what) {
    write("run/level_1_problem_" + std::to_string(problem) + "_sample_0_kernel.py", kernel_text(what));
    claims_ += (claims_.empty() ? "{" : ",\n") + ('"' + std::to_string(problem)) +
               R"(": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": 1, "ref_runtime": 2}])";
    write("run/eval_results.json", claims_ + "}");
  }

  int audit(std::vector<std::string> more = {}) {
    out.str("");
    err.str("");
    std::vector<std::string> arguments{"audit", path("run"), "--times", "1", "--records", path("records")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

 private:
  std::string claims_;
};

}  // namespace

TEST_CASE("audit tells which claims stand, and its exit code the worst", "[cli][audit]") {
  AuditCommands kgen;
  CHECK(kgen.audit({"--html", kgen.path("page.html")}) == 2);
  for (const char* line : {"level1/1_Square sample 0", "stands", "overstated", "claimed 2.00x, measured at most 1.00x",
                           "wrong", "3 kernels: 1 stand, 1 overstated, 1 wrong"})
    CHECK(contains(kgen.out.str(), line));
  CHECK(contains(kgen.err.str(), "1/3  level1/1_Square sample 0        1 of 1  correct 2.00x\n"));
  CHECK(contains(read_file(kgen.path("page.html")).value(), "<td class=\"verdict bad\">wrong</td>"));
  fs::remove(kgen.path("run/level_1_problem_19_sample_0_kernel.py"));
  CHECK(kgen.audit() == 1);
  CHECK(kgen.audit({"--margin", "0.6", "--json"}) == 1);
  CHECK(contains(kgen.out.str(), "\"stands\": 2"));
  CHECK(contains(kgen.out.str(), "\"cannot be judged\": 1"));
}

TEST_CASE("audit goes on from its records", "[cli][audit]") {
  AuditCommands kgen;
  CHECK(kgen.audit() == 2);
  CHECK(kgen.benchmarker->requests().size() == 3);
  CHECK(kgen.audit() == 2);
  CHECK(kgen.benchmarker->requests().empty());
  CHECK(contains(kgen.err.str(), "from the records"));
  CHECK(kgen.audit({"--times", "2"}) == 64);
  std::vector<std::string> twice{"audit", kgen.path("run"), "--times", "2", "--records", kgen.path("records")};
  CHECK(kgen.run(twice) == 2);
  CHECK(kgen.benchmarker->requests().size() == 3);
}

TEST_CASE("audit says what a later call can change", "[cli][audit]") {
  AuditCommands kgen;
  kgen.add(20, "nothing");
  kgen.write("bench/level1/20_Busy.py", "class Model: pass\n");
  kgen.write("run/level_1_problem_20_sample_0_kernel.py", kernel_text("no gpu"));
  CHECK(kgen.audit() == 2);
  CHECK(contains(kgen.out.str(), "no GPU here"));
  // Without anything but failures of the machine the exit code is theirs.
  CHECK(kgen.run({"audit", kgen.path("run/level_1_problem_20_sample_0_kernel.py"), "--records", kgen.path("r")}) == 69);
  kgen.stop.request_stop();
  CHECK(kgen.audit() == 130);
  CHECK(contains(kgen.out.str(), "stopped before the end"));
  CHECK(contains(kgen.err.str(), "kgen: interrupted; the same command goes on from here\n"));
}

TEST_CASE("audit judges with the options of eval", "[cli][audit]") {
  AuditCommands kgen;
  CHECK(kgen.audit({"--precision", "tf32", "--device", "cpu", "--correctness-only"}) == 2);
  const auto requests = kgen.benchmarker->requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].options.precision == PrecisionClass::Tf32);
  CHECK(requests[0].options.device == "cpu");
  CHECK(requests[0].options.mode == EvaluationMode::CorrectnessOnly);
  CHECK(requests[0].candidate.target == Target::Torch);
}

TEST_CASE("audit refuses what it cannot use in one line", "[cli][audit]") {
  AuditCommands kgen;
  CHECK(kgen.run({"audit", kgen.path("gone")}) == 64);
  CHECK(contains(kgen.err.str(), "gone does not exist"));
  CHECK(kgen.audit({"--html", "/proc/no/page.html"}) != 0);
  CHECK(kgen.audit({"--baseline-times", kgen.path("gone.json")}) == 64);
  CHECK(kgen.audit({"--margin", "2"}) == 64);
  kgen.write("run/eval_results.json", "{\"1\": }");
  CHECK(kgen.audit() == 64);
  CHECK(contains(kgen.err.str(), "eval_results.json: not JSON: "));
  CHECK(contains(kgen.err.str(), "line 1, column "));
}

TEST_CASE("import, report, export: there and back", "[cli][audit]") {
  AuditCommands kgen;
  CHECK(kgen.audit() == 2);
  CHECK(kgen.run({"import", "kernelbench", kgen.path("run"), "--results", kgen.path("out"), "--records",
                  kgen.path("records"), "--model", "sonata"}) == 0);
  CHECK(contains(kgen.out.str(), "imported 3 kernels of 3 tasks, 3 with a verdict"));
  kgen.out.str("");
  CHECK(kgen.run({"report", kgen.path("out")}) == 0);
  CHECK(contains(kgen.out.str(), "sample0"));
  CHECK(contains(kgen.out.str(), "2.00x"));
  CHECK(kgen.run({"compare", kgen.path("out"), kgen.path("out")}) == 64);
  CHECK(kgen.run({"export", "kernelbench", kgen.path("out"), "--output", kgen.path("back")}) == 0);
  CHECK(fs::exists(kgen.path("back/eval_results.json")));
  CHECK(kgen.run({"export", "kernelbench", kgen.path("out"), "--output", kgen.path("back")}) == 64);
  CHECK(kgen.run({"export", "other", kgen.path("out"), "--output", kgen.path("x")}) == 64);
}

TEST_CASE("import tells what it leaves out", "[cli][audit]") {
  AuditCommands kgen;
  kgen.add(77, "without a task");
  CHECK(kgen.run({"import", "kernelbench", kgen.path("run"), "--results", kgen.path("out")}) == 1);
  CHECK(contains(kgen.err.str(), "level_1_problem_77_sample_0_kernel.py: "));
  kgen.environment.kernelbench_dir.clear();
  CHECK(kgen.run({"import", "kernelbench", kgen.path("run"), "--results", kgen.path("none")}) == 2);
  CHECK(contains(kgen.err.str(), "KERNELBENCH_DIR"));
  CHECK_FALSE(fs::exists(kgen.path("none")));
  CHECK(kgen.run({"import", "kernelbench", kgen.path("bench")}) == 64);
}
