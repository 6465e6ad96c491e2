#include <kernelgen/flow/campaign.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <thread>

#include <kernelgen/store/campaign_plan.hpp>

#include "support/catch.hpp"
#include "support/file_lock.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
using Status = CampaignRunStatus;
namespace fs = std::filesystem;

namespace {

/// "a" of "a.sample1".
std::string task_of(const LLMRequest& request) { return request.id.substr(0, request.id.find('.')); }

/// The replies by task; every other task gets a kernel with the score 2.
FakeModel::Answer answer_by_task(std::map<std::string, Result<Reply>> answers) {
  return [answers = std::move(answers)](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    const auto found = answers.find(task_of(request));
    return found == answers.end() ? CampaignWorld::kernel() : found->second;
  };
}

/// Fails for one task, and judges the others by their source.
class FailingBenchmarker final : public Benchmarker {
 public:
  FailingBenchmarker(std::string task, Error error) : task_(std::move(task)), error_(std::move(error)) {}
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback&,
                                    std::stop_token) override {
    if (request.task.name == task_) return error_;
    return judge_source(request.candidate.source);
  }
  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions&, std::stop_token) override {
    if (task.name == "undescribed") throw std::runtime_error("no such task");
    return TaskDescription{};
  }

 private:
  std::string task_;
  Error error_;
};

}  // namespace

TEST_CASE("a campaign carries every run to its end", "[flow][campaign]") {
  CampaignWorld world(
      answer_by_task({{"b", CampaignWorld::kernel("score 0.5")}, {"c", CampaignWorld::kernel("wrong")}}));
  const auto outcome = world.run(world.request_of({"a", "b", "c"}));
  REQUIRE(outcome);
  CHECK_FALSE(outcome->cancelled);
  CHECK(statuses_of(*outcome) ==
        std::map<std::string, Status>{{"a", Status::Success}, {"b", Status::Partial}, {"c", Status::Failed}});
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 1}, {Status::Partial, 1}, {Status::Failed, 1}});
  CHECK(outcome->runs[0].best == "sample1");
  CHECK(outcome->runs[0].best_score == 2);
  CHECK(outcome->runs[0].reason == "all samples are done");
  CHECK(outcome->spent.requests == 3);
  CHECK(outcome->spent.tokens == 330);
  CHECK(outcome->spent.evaluations == 3);
  for (const char* name : {"a", "b", "c"}) CHECK(fs::exists(world.results() / name / "events.jsonl"));
  // The same request again: nothing is asked, and nothing is started.
  const auto again = world.run(world.request_of({"a", "b", "c"}));
  REQUIRE(again);
  CHECK(statuses_of(*again) == statuses_of(*outcome));
  CHECK(world.started.empty());
  CHECK(world.count_requests() == 3);
  CHECK(again->spent.tokens == 330);
}

TEST_CASE("a failure of one run does not affect the others", "[flow][campaign]") {
  CampaignWorld world(answer_by_task({{"refused", Error{ErrorCode::PermissionDenied, "the key is not accepted"}}}));
  FailingBenchmarker benchmarker("unjudged", {ErrorCode::MissingTool, "there is no compiler"});
  CampaignRequest request = world.request_of({"a"});
  for (const char* name : {"undescribed", "refused", "unjudged", "z"})
    request.runs.push_back(world.run_of(name, &benchmarker));
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(statuses_of(*outcome) == std::map<std::string, Status>{{"a", Status::Success},
                                                               {"undescribed", Status::Error},
                                                               {"refused", Status::Error},
                                                               {"unjudged", Status::Error},
                                                               {"z", Status::Success}});
  CHECK(outcome->runs[1].reason == "the benchmarker threw an exception: no such task");
  CHECK(outcome->runs[2].error->code == ErrorCode::PermissionDenied);
  CHECK(outcome->runs[3].error->code == ErrorCode::MissingTool);
}

TEST_CASE("a damaged journal stops its run alone", "[flow][campaign]") {
  CampaignWorld world;
  fs::create_directory(world.results() / "b");
  std::ofstream(world.results() / "b" / "events.jsonl") << "{}\n";
  const auto outcome = world.run(world.request_of({"a", "b", "c"}));
  REQUIRE(outcome);
  CHECK(statuses_of(*outcome) ==
        std::map<std::string, Status>{{"a", Status::Success}, {"b", Status::Error}, {"c", Status::Success}});
  CHECK(outcome->runs[1].reason.find("events.jsonl, line 1") != std::string::npos);
}

TEST_CASE("an observer that throws stops neither its run nor the others", "[flow][campaign]") {
  CampaignWorld world;
  world.observer = [](const CampaignNotice&, const CampaignProgress&) { throw std::runtime_error("broken"); };
  const auto outcome = world.run(world.request_of({"a", "b"}));
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 2}});
}

TEST_CASE("a run that another process has is left to it", "[flow][campaign]") {
  CampaignWorld world;
  {
    const auto held = open_run_journal(world.results() / "b", real_time());
    REQUIRE(held);
    const auto outcome = world.run(world.request_of({"a", "b", "c"}));
    REQUIRE(outcome);
    CHECK(statuses_of(*outcome) ==
          std::map<std::string, Status>{{"a", Status::Success}, {"b", Status::Busy}, {"c", Status::Success}});
    CHECK(outcome->runs[1].reason.find("is in use by another") != std::string::npos);
  }
  const auto outcome = world.run(world.request_of({"a", "b", "c"}));
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 3}});
  CHECK(world.started == std::vector<std::string>{"b"});
}

TEST_CASE("a run that another process has left meanwhile is taken up at the end", "[flow][campaign]") {
  std::unique_ptr<Journal> held;
  CampaignWorld world([&](const LLMRequest& request, std::stop_token) {
    if (task_of(request) == "c") held.reset();
    return CampaignWorld::kernel();
  });
  held = open_run_journal(world.results() / "b", real_time()).value();
  auto request = world.request_of({"a", "b", "c"});
  request.parallel_runs = 1;
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 3}});
}

TEST_CASE("a second campaign in a results directory joins the first, or is refused if its options differ",
          "[flow][campaign]") {
  CampaignWorld world, other(2);
  auto first = world.request_of({"a"});
  first.results_directory = world.results();
  std::optional<Result<CampaignOutcome>> joined, refused;
  world.observer = [&](const CampaignNotice& notice, const CampaignProgress&) {
    if (!std::holds_alternative<CampaignRunStarted>(notice) || joined) return;
    CampaignWorld same;
    auto second = same.request_of({"b"});
    second.results_directory = world.results();
    joined = same.run(second);
    auto third = other.request_of({"c"});
    third.results_directory = world.results();
    refused = other.run(third);
  };
  REQUIRE(world.run(first));
  REQUIRE((joined && *joined));
  CHECK((*joined)->counts() == std::map<Status, int>{{Status::Success, 1}});
  REQUIRE((refused && !*refused));
  CHECK(refused->error().code == ErrorCode::Busy);
  CHECK(refused->error().message.find(" works on the campaign in " + world.results().string()) != std::string::npos);
  CHECK(refused->error().message.find("samples 1, and this one has 2") != std::string::npos);
}

TEST_CASE("runs start in the given order, and no more at once than may", "[flow][campaign]") {
  std::atomic<int> now = 0, most = 0;
  CampaignWorld world([&](const LLMRequest&, std::stop_token) {
    const int running = ++now;
    for (int seen = most; running > seen && !most.compare_exchange_weak(seen, running);) continue;
    std::this_thread::sleep_for(5ms);
    --now;
    return CampaignWorld::kernel();
  });
  auto request = world.request_of(run_names(8));
  REQUIRE(world.run(request));
  CHECK(world.started == run_names(8));
  CHECK(most <= 3);
}

TEST_CASE("a run that waits for its model holds no device", "[flow][campaign]") {
  std::mutex mutex;
  std::condition_variable judged;
  int evaluations = 0;
  bool waited = false;
  CampaignWorld world([&](const LLMRequest& request, std::stop_token) {
    if (task_of(request) == "a") {
      std::unique_lock lock(mutex);
      waited = judged.wait_for(lock, 10s, [&] { return evaluations == 2; });
    }
    return CampaignWorld::kernel();
  });
  // It judges one candidate at a time.
  FakeBenchmarker device([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    const std::scoped_lock lock(mutex);
    ++evaluations;
    judged.notify_all();
    return judge_source(request.candidate.source);
  });
  CampaignRequest request;
  for (const char* name : {"a", "b", "c"}) request.runs.push_back(world.run_of(name, &device));
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(waited);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 3}});
}

TEST_CASE("a profile excludes the evaluations of all runs", "[flow][campaign]") {
  std::atomic<int> evaluating = 0, profiling = 0;
  std::atomic<bool> overlapped = false;
  CampaignWorld world([](const LLMRequest&, std::stop_token) { return CampaignWorld::kernel("score 0.5"); });
  world.policy =
      make_reflect_policy({.attempts = 3, .samples = 1, .stop_score = 1, .profiles = ProfileUse::BeforeNextPrompt});
  FakeProfiler profiler([&](const ProfileRequest&) {
    ++profiling;
    if (evaluating > 0) overlapped = true;
    std::this_thread::sleep_for(3ms);
    --profiling;
    return busy_profile();
  });
  class Device final : public Benchmarker {
   public:
    Device(std::atomic<int>& now, std::atomic<int>& profiles, std::atomic<bool>& overlap)
        : evaluating_(now), profiling_(profiles), overlapped_(overlap) {}
    Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback&,
                                      std::stop_token) override {
      ++evaluating_;
      if (profiling_ > 0) overlapped_ = true;
      std::this_thread::sleep_for(2ms);
      --evaluating_;
      return judge_source(request.candidate.source);
    }
    Result<TaskDescription> describe(const TaskSource&, const EvaluationOptions&, std::stop_token) override {
      return TaskDescription{};
    }

   private:
    std::atomic<int>& evaluating_;
    std::atomic<int>& profiling_;
    std::atomic<bool>& overlapped_;
  } device(evaluating, profiling, overlapped);
  CampaignRequest request;
  for (const auto& name : run_names(4)) request.runs.push_back(world.run_of(name, &device, &profiler));
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Partial, 4}});
  CHECK(profiler.requests().size() == 4);
  CHECK_FALSE(overlapped);
}

TEST_CASE("a model that answers no run is not asked by the others", "[flow][campaign][outage]") {
  std::atomic<bool> is_back = false;
  CampaignWorld world([&](const LLMRequest&, std::stop_token) -> Result<Reply> {
    if (is_back) return CampaignWorld::kernel();
    return Error{ErrorCode::Unavailable, "fake-host:1: HTTP 503"};
  });
  CampaignWorld other;
  auto request = world.request_of(run_names(10));
  // Another model still answers.
  request.runs.push_back(other.run_of("other"));
  request.parallel_runs = 1;
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Paused, 10}, {Status::Success, 1}});
  CHECK(world.started == std::vector<std::string>{"run1", "run2", "other"});
  CHECK(outcome->runs[9].reason.find("not started: the model does not answer: fake-host:1: HTTP 503") == 0);
  is_back = true;
  const auto again = world.run(request);
  REQUIRE(again);
  CHECK(again->counts() == std::map<Status, int>{{Status::Success, 11}});
}

TEST_CASE("a run that its model did not answer goes on once the model answers another one",
          "[flow][campaign][outage]") {
  std::atomic<bool> is_back = false, stays_away = false;
  CampaignWorld world([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (task_of(request) != "a") is_back = true;
    if (task_of(request) == "a" && (!is_back || stays_away)) return Error{ErrorCode::Unavailable, "HTTP 503"};
    return CampaignWorld::kernel();
  });
  auto request = world.request_of({"a", "b", "c"});
  request.parallel_runs = 1;
  auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 3}});
  CHECK(world.started == std::vector<std::string>{"a", "b", "c", "a"});
  // One that is never answered is tried again once the others were answered, and stays paused.
  stays_away = true;
  CampaignRequest other;
  for (const auto& name : run_names(6)) other.runs.push_back(world.run_of(name));
  other.runs[0].request.name = "a";
  other.parallel_runs = 1;
  outcome = world.run(other);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Paused, 1}, {Status::Success, 5}});
  CHECK(std::count(world.started.begin(), world.started.end(), "run1") == 2);
}

TEST_CASE("runs that wait for replies made elsewhere are paused, and all are begun", "[flow][campaign][outage]") {
  CampaignWorld world([](const LLMRequest&, std::stop_token) -> Result<Reply> {
    return Error{ErrorCode::Pending, "there is no reply yet"};
  });
  const auto outcome = world.run(world.request_of(run_names(5)));
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Paused, 5}});
  CHECK(world.started.size() == 5);
  CHECK(outcome->spent.requests == 0);
}

TEST_CASE("a selection takes up runs by what their journals tell", "[flow][campaign]") {
  std::atomic<bool> is_back = false;
  CampaignWorld world([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (task_of(request) == "paused" && !is_back) return Error{ErrorCode::Unavailable, "HTTP 503"};
    if (task_of(request) == "failed" && !is_back) return CampaignWorld::kernel("wrong");
    return CampaignWorld::kernel();
  });
  REQUIRE(world.run(world.request_of({"failed", "paused", "good"})));
  is_back = true;
  auto request = world.request_of({"failed", "paused", "good", "new"});
  request.selection = RunSelection::Paused;
  REQUIRE(world.run(request));
  CHECK(world.started == std::vector<std::string>{"paused"});
  request.selection = RunSelection::Failed;
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(world.started == std::vector<std::string>{"failed"});
  // It began anew in its journal. Numbers and costs go on.
  CHECK(outcome->runs[0].status == Status::Success);
  CHECK(outcome->runs[0].spent.requests == 2);
  CHECK(fs::exists(world.results() / "failed" / "code_2.cpp"));
  CHECK(outcome->runs[3].status == Status::NotBegun);
  request.selection = RunSelection::All;
  REQUIRE(world.run(request));
  CHECK(world.started == std::vector<std::string>{"new"});
}

TEST_CASE("runs of one name or directory are refused, and limits that the runs do not support", "[flow][campaign]") {
  CampaignWorld world;
  CHECK(world.run(world.request_of({"a", "b", "a"})).error().message ==
        "two runs of the campaign have the name a; give each another one");
  auto request = world.request_of({"a", "b"});
  request.runs[1].directory = world.results() / "x" / ".." / "a";
  CHECK(world.run(request).error().message.find("the run b has the same directory") == 0);
  request = world.request_of({"a"});
  request.limits.cost = 1;
  CHECK(world.run(request).error().message ==
        "the campaign's limit of cost needs prices, and the run a has none for prompts of the kind seed");
  request.runs[0].request.max_output_tokens.reset();
  CHECK(world.run(request).error().message ==
        "the campaign's limit of tokens or cost needs a limit of the tokens of a reply, and the run a has none");
  request = world.request_of({"a"});
  request.limits.requests = 1;
  request.results_directory.clear();
  CHECK(world.run(request).error().code == ErrorCode::InvalidArgument);
  CHECK(world.count_requests() == 0);
}

TEST_CASE("a campaign says in its directory what it consists of, and that it ended", "[flow][campaign]") {
  CampaignWorld world(2);
  auto request = world.request_of({"a", "b"});
  request.limits.requests = 7;
  std::string ended_meanwhile = "?";
  world.observer = [&](const CampaignNotice&, const CampaignProgress&) {
    ended_meanwhile = read_campaign_plan(world.results()).value().ended;
  };
  REQUIRE(world.run(request));
  CHECK(ended_meanwhile.empty());
  const auto plan = read_campaign_plan(world.results());
  REQUIRE(plan);
  CHECK(plan->ended >= plan->started);
  CHECK(plan->limits.requests == 7);
  CHECK_FALSE(plan->limits.tokens);
  CHECK(plan->parallel_runs == 3);
  REQUIRE(plan->runs.size() == 2);
  CHECK(plan->runs[1].name == "b");
  CHECK(plan->runs[1].directory == "b");
  CHECK(plan->runs[1].max_actions == 2);
}

TEST_CASE("a plan that cannot be written changes nothing", "[flow][campaign]") {
  CampaignWorld world;
  fs::create_directory(world.results() / "campaign.json");
  const auto outcome = world.run(world.request_of({"a"}));
  REQUIRE(outcome);
  CHECK(outcome->runs[0].status == Status::Success);
}
