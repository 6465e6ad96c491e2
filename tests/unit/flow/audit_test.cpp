#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/flow/audit.hpp>

#include "support/catch.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

AuditMeasurement measured(double low, double high) {
  const Ratio ratio{(low + high) / 2, low, high};
  return {.times = 3, .correct = 3, .speedup_per_call = ratio, .score = ratio, .device = "cpu: EPYC"};
}

AuditMeasurement failed(int correct = 0) {
  return {.times = 3, .correct = correct, .failure_class = "accuracy:mismatch", .failure_message = "it differs"};
}

AuditVerdict verdict(const Claim& claim, const AuditMeasurement& measurement, const ClaimRules& rules = {}) {
  return judge_claim(claim, measurement, rules).verdict;
}

Claim claimed(double speedup) { return {.correct = true, .speedup = speedup}; }

EvaluationRecord record_of(double speedup, double margin = 0.1) {
  EvaluationRecord record;
  record.environment.device = "cpu: EPYC";
  record.timing.emplace().speedup_call = {speedup, speedup - margin, speedup + margin};
  return record;
}

EvaluationRecord record_of(OutcomeKind kind, const std::string& detail = "", const std::string& device = "cpu: EPYC") {
  EvaluationRecord record;
  record.outcome = {kind, detail, "the message"};
  record.environment.device = device;
  return record;
}

class AuditFixture {
  // First, because the request has its path.
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "audit-").value();

 public:
  /// The kernel "name" holds its name as its source.
  void add(const std::string& name, Claim claim = {.correct = true}) {
    AuditSolution solution{.name = name,
                           .task = {.name = "task of " + name, .path = "", .text = "", .content_id = "id"},
                           .candidate = make_candidate(Target::Torch, name),
                           .claim = std::move(claim)};
    request.solutions.push_back(std::move(solution));
  }

  Result<AuditReport> run() {
    request.make_benchmarker = [this]() -> Result<std::unique_ptr<Benchmarker>> {
      ++workers;
      return std::unique_ptr<Benchmarker>(std::make_unique<FakeBenchmarker>([this](const EvaluationRequest& asked) {
        const std::scoped_lock lock(mutex_);
        judged.push_back(asked.candidate.source);
        limits.push_back(asked.options.build_timeout);
        return judge(asked.candidate.source);
      }));
    };
    return run_audit(
        request,
        [this](const AuditStep& step) {
          steps.push_back(std::string(step.name) + ' ' + std::to_string(step.repetition) + ' ' + step.text);
          over = step.over;
          if (static_cast<int>(steps.size()) == stop_after) stop.request_stop();
        },
        stop.get_token());
  }

  [[nodiscard]] fs::path path() const { return directory_.path() / "records"; }

  AuditRequest request{
      .solutions = {}, .records_directory = path(), .times = 2, .busy_pause = std::chrono::milliseconds{1}};
  std::function<Result<EvaluationRecord>(const std::string&)> judge = [](const std::string&) { return record_of(2); };
  std::vector<std::string> judged, steps;
  std::vector<std::chrono::milliseconds> limits;
  int workers = 0;
  int stop_after = -1;
  std::size_t over = 0;
  std::stop_source stop;

 private:
  std::mutex mutex_;
};

}  // namespace

TEST_CASE("a claim stands where the measured interval reaches it", "[flow][audit]") {
  CHECK(verdict(claimed(2), measured(1.9, 2.1)) == AuditVerdict::Stands);
  // 5 % below 2 is 1.9.
  CHECK(verdict(claimed(2), measured(1.8, 1.91)) == AuditVerdict::Stands);
  CHECK(verdict(claimed(2), measured(1.8, 1.89)) == AuditVerdict::Overstated);
  CHECK(verdict(claimed(2), measured(1.8, 1.89), {.margin = 0.1}) == AuditVerdict::Stands);
  CHECK(verdict(claimed(2), measured(2.2, 2.3)) == AuditVerdict::Understated);
  Claim with_interval{.correct = true, .speedup = 2, .interval = Ratio{2, 1.5, 2.5}};
  CHECK(verdict(with_interval, measured(1.3, 1.5)) == AuditVerdict::Stands);
  CHECK(verdict(with_interval, measured(1.3, 1.49)) == AuditVerdict::Overstated);
  CHECK(judge_claim(claimed(2), measured(1.8, 1.89)).reason == "claimed 2.00x, measured at most 1.89x");
}

TEST_CASE("a claim about correctness alone stands or is wrong", "[flow][audit]") {
  CHECK(verdict({.correct = true}, measured(0.1, 0.2)) == AuditVerdict::Stands);
  CHECK(verdict({.correct = true}, failed()) == AuditVerdict::Wrong);
  CHECK(verdict({.correct = false}, failed()) == AuditVerdict::Stands);
  CHECK(verdict({.correct = false}, measured(1, 1)) == AuditVerdict::Understated);
  CHECK(verdict({.speedup = 2}, failed()) == AuditVerdict::Wrong);
  // A kernel that is wrong now and then is wrong.
  const auto decision = judge_claim({.correct = true}, failed(2));
  CHECK(decision.verdict == AuditVerdict::Wrong);
  CHECK(decision.reason == "accuracy:mismatch in 1 of 3 evaluations: it differs");
}

TEST_CASE("without a claim there is no verdict", "[flow][audit]") {
  CHECK(verdict({}, measured(2, 2)) == AuditVerdict::NoClaim);
  CHECK(judge_claim({}, failed()).reason == "accuracy:mismatch: it differs");
  CHECK(judge_claim({.problems = {"runtime: odd"}}, measured(2, 2)).reason == "the claim cannot be read: runtime: odd");
  CHECK(judge_claim({.correct = true, .problems = {"runtime: odd"}}, measured(2, 2)).verdict == AuditVerdict::Stands);
}

TEST_CASE("what cannot be judged says why", "[flow][audit]") {
  CHECK(judge_claim(claimed(2), {.obstacle = "no GPU"}).reason == "no GPU");
  const auto untimed = judge_claim(claimed(2), {.times = 1, .correct = 1});
  CHECK(untimed.verdict == AuditVerdict::CannotBeJudged);
  CHECK(untimed.reason == "correct, but without a time that counts");
  auto claim = claimed(2);
  claim.device = "NVIDIA H100";
  auto other = measured(2, 2);
  CHECK(verdict(claim, other) == AuditVerdict::CannotBeJudged);
  CHECK(verdict(claim, other, {.any_device = true}) == AuditVerdict::Stands);
  other.device = "gpu 0: NVIDIA H100 80GB HBM3";
  CHECK(verdict(claim, other) == AuditVerdict::Stands);
  // Wrong is wrong on every device.
  CHECK(verdict(claim, failed()) == AuditVerdict::Wrong);
}

TEST_CASE("records add up to the range of their intervals", "[flow][audit]") {
  const auto sum = summarize_records({record_of(1), record_of(4, 0.5)}, "");
  CHECK(sum.times == 2);
  CHECK(sum.correct == 2);
  REQUIRE(sum.speedup_per_call);
  CHECK(sum.speedup_per_call->value == Approx(2));
  CHECK(sum.speedup_per_call->low == Approx(0.9));
  CHECK(sum.speedup_per_call->high == Approx(4.5));
  auto replayed = record_of(1);
  replayed.timing->speedup_device = Ratio{3, 2.9, 3.1};
  const auto both = summarize_records({replayed}, "");
  CHECK(both.score->value == Approx(3));
  CHECK(both.speedup_per_call->value == Approx(1));
}

TEST_CASE("further baselines add up where every evaluation has them", "[flow][audit]") {
  auto both = record_of(1), one = record_of(2);
  both.timing->baselines = {{.name = BaselineKind::Compile, .speedup = 2},
                            {.name = BaselineKind::CompileMaxAutotune, .speedup = 3}};
  one.timing->baselines = {{.name = BaselineKind::Compile, .speedup = 8},
                           {.name = BaselineKind::CompileMaxAutotune, .reason = "it does not compile"}};
  const auto over = summarize_records({both, one}, "").speedup_over;
  REQUIRE(over.size() == 1);
  CHECK(over.at(BaselineKind::Compile) == Approx(4));
}

TEST_CASE("an evaluation that was disturbed says nothing", "[flow][audit]") {
  const auto busy = record_of(OutcomeKind::Suspect, std::string(k_busy_machine));
  const auto alone = summarize_records({busy}, "");
  CHECK(alone.times == 0);
  CHECK(alone.was_disturbed);
  CHECK(alone.obstacle == "suspect:busy machine: the message");
  const auto with_another = summarize_records({busy, record_of(2)}, "");
  CHECK(with_another.times == 1);
  CHECK(with_another.obstacle.empty());
  CHECK_FALSE(with_another.was_disturbed);
  CHECK(summarize_records({record_of(OutcomeKind::NotScored, "trivial")}, "").obstacle ==
        "the task cannot tell right from wrong (trivial)");
}

TEST_CASE("a GPU kernel that fails on a processor is not wrong", "[flow][audit]") {
  const std::string source = "load_inline(cuda_sources='__global__ void relu() {}')";
  const auto failed_import = record_of(OutcomeKind::Import);
  CHECK(contains(summarize_records({failed_import}, source).obstacle, "it needs a GPU"));
  CHECK(summarize_records({failed_import}, "class ModelNew: pass").times == 1);
  CHECK(summarize_records({record_of(OutcomeKind::Import, "", "gpu 0: NVIDIA H200")}, source).times == 1);
  CHECK(summarize_records({record_of(OutcomeKind::Accuracy, "mismatch")}, source).times == 1);
  auto interpreted = record_of(OutcomeKind::Accuracy, "mismatch");
  interpreted.labels = {"interpreter: a time is not a result"};
  CHECK(summarize_records({interpreted}, source).times == 0);
}

TEST_CASE("every kernel is judged once before one is judged again", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  audit.add("b", claimed(5));
  const auto report = audit.run();
  REQUIRE(report);
  CHECK(audit.judged == std::vector<std::string>{"a", "b", "a", "b"});
  CHECK(audit.workers == 2);
  CHECK(audit.over == 4);
  CHECK(report->findings[0].decision.verdict == AuditVerdict::Stands);
  CHECK(report->findings[1].decision.verdict == AuditVerdict::Overstated);
  CHECK(report->findings[1].measurement.times == 2);
  // A spool would answer equal requests with one answer.
  CHECK(audit.limits[0] != audit.limits[2]);
}

TEST_CASE("an audit goes on from its records and judges nothing twice", "[flow][audit]") {
  AuditFixture audit;
  for (const char* name : {"a", "b", "c"}) audit.add(name);
  audit.stop_after = 2;
  auto report = audit.run();
  REQUIRE(report);
  CHECK(report->cancelled);
  CHECK(audit.judged == std::vector<std::string>{"a", "b"});
  CHECK(report->findings[2].decision.verdict == AuditVerdict::CannotBeJudged);
  audit.stop = std::stop_source();
  audit.stop_after = -1;
  report = audit.run();
  REQUIRE(report);
  CHECK_FALSE(report->cancelled);
  CHECK(audit.judged == std::vector<std::string>{"a", "b", "c", "a", "b", "c"});
  const auto workers = audit.workers;
  REQUIRE(audit.run());
  CHECK(audit.judged.size() == 6);
  CHECK(audit.workers == workers);
  // A damaged record is judged again, and other options have records of their own.
  std::ofstream(audit.path() / audit_record_name(audit.request.solutions[0], 1)) << "{";
  REQUIRE(audit.run());
  CHECK(audit.judged.size() == 7);
  audit.request.solutions[0].options.precision = PrecisionClass::Tf32;
  REQUIRE(audit.run());
  CHECK(audit.judged.size() == 9);
}

TEST_CASE("a kernel that was not correct twice is not judged further", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  audit.request.times = 5;
  audit.judge = [](const std::string&) { return record_of(OutcomeKind::Accuracy, "mismatch"); };
  const auto report = audit.run();
  REQUIRE(report);
  CHECK(audit.judged.size() == 2);
  CHECK(report->findings[0].decision.verdict == AuditVerdict::Wrong);
}

TEST_CASE("a busy machine is tried again, and not kept as a record", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  audit.request.times = 1;
  audit.judge = [](const std::string&) { return record_of(OutcomeKind::Suspect, std::string(k_busy_machine)); };
  auto report = audit.run();
  REQUIRE(report);
  CHECK(audit.judged.size() == 3);
  CHECK(std::adjacent_find(audit.limits.begin(), audit.limits.end()) == audit.limits.end());
  CHECK(report->findings[0].measurement.was_disturbed);
  audit.judge = [](const std::string&) { return record_of(2); };
  report = audit.run();
  REQUIRE(report);
  CHECK(report->findings[0].decision.verdict == AuditVerdict::Stands);
}

TEST_CASE("a failure of the machinery costs one kernel", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  audit.add("b");
  audit.judge = [](const std::string& source) -> Result<EvaluationRecord> {
    if (source == "a") return Error{ErrorCode::MissingDevice, "no GPU here"};
    return record_of(2);
  };
  const auto report = audit.run();
  REQUIRE(report);
  CHECK(audit.judged == std::vector<std::string>{"a", "b", "b"});
  CHECK(report->findings[0].decision.verdict == AuditVerdict::CannotBeJudged);
  CHECK(report->findings[0].decision.reason == "no GPU here");
  CHECK(report->findings[1].decision.verdict == AuditVerdict::Stands);
  CHECK(report->counts().at(AuditVerdict::CannotBeJudged) == 1);
}

TEST_CASE("what is judged elsewhere is asked for as often as wanted", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  audit.judge = [](const std::string&) { return Error{ErrorCode::Pending, "a worker has it"}; };
  const auto report = audit.run();
  REQUIRE(report);
  CHECK(audit.judged.size() == 2);
  REQUIRE(report->findings[0].error);
  CHECK(report->findings[0].error->code == ErrorCode::Pending);
  CHECK(report->findings[0].decision.reason == "a worker has it");
}

TEST_CASE("a benchmarker that throws does not end the audit", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  audit.judge = [](const std::string&) -> Result<EvaluationRecord> { throw std::runtime_error("a bug"); };
  const auto report = audit.run();
  REQUIRE(report);
  CHECK(contains(report->findings[0].decision.reason, "a bug"));
}

TEST_CASE("several evaluations at once judge each kernel as often", "[flow][audit]") {
  AuditFixture audit;
  for (int i = 0; i < 20; ++i) audit.add("kernel" + std::to_string(i));
  audit.request.parallel = 4;
  const auto report = audit.run();
  REQUIRE(report);
  CHECK(audit.judged.size() == 40);
  for (const auto& finding : report->findings) CHECK(finding.measurement.times == 2);
}

TEST_CASE("an audit that cannot be is refused", "[flow][audit]") {
  AuditFixture audit;
  CHECK(audit.run().error().code == ErrorCode::InvalidArgument);
  audit.add("a");
  audit.add("a");
  CHECK(contains(audit.run().error().message, "two kernels of the audit have the name a"));
  audit.request.solutions.pop_back();
  fs::create_directories(audit.path());
  {
    const auto lock = LockFile::acquire({.file = audit.path() / ".lock", .resource = "it", .advice = "wait"});
    REQUIRE(lock);
    CHECK(audit.run().error().code == ErrorCode::Busy);
  }
  audit.request.times = 0;
  CHECK(audit.run().error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("records that cannot be written end the audit", "[flow][audit]") {
  AuditFixture audit;
  audit.add("a");
  fs::create_directories(audit.path() / audit_record_name(audit.request.solutions[0], 1) / "in the way");
  const auto report = audit.run();
  REQUIRE_FALSE(report);
  CHECK(contains(report.error().to_line(), "-1.json"));
}
