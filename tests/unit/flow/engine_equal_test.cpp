// Equal candidates of one run share one verdict.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <kernelgen/flow/engine.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// A judge with a noisy clock: each evaluation of a source has another score.
struct EqualWorld {
  explicit EqualWorld(FakeModel::Answer answer) : model(std::move(answer)) {}
  explicit EqualWorld(std::map<std::string, std::string> replies) : model(std::move(replies)) {}

  Result<FlowOutcome> run(Journal& journal, int parallel = 1) {
    auto request = fake_request();
    request.parallel_requests = parallel;
    request.parallel_evaluations = parallel;
    return run_flow(request, *policy, {model, prompts, benchmarker, detector}, journal, {}, {});
  }

  std::atomic<int> judged = 0;
  FakeModel model;
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{
      [this](const EvaluationRequest&) { return correct_record(0.5 + 0.1 * static_cast<double>(++judged)); }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy = make_one_shot_policy({.samples = 3});
};

const std::map<std::string, std::string> k_equal{
    {"sample1", code_reply("a")}, {"sample2", code_reply("b")}, {"sample3", code_reply("a")}};

bool is_a(const std::string& source) { return source.find("\"a\"") != source.npos; }

}  // namespace

TEST_CASE("equal candidates of independent samples have one verdict", "[flow][engine][equal]") {
  EqualWorld world(k_equal);
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(world.judged == 2);
  const auto& first = outcome->history.at("sample1");
  const auto& same = outcome->history.at("sample3");
  CHECK(same.status == ActionStatus::Duplicate);
  CHECK(same.message == "the same code as sample1");
  CHECK(same.score() == first.score());
  CHECK(same.correct());
}

TEST_CASE("an equal candidate that is being judged is waited for", "[flow][engine][equal]") {
  EqualWorld world(k_equal);
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0, judging = 0;
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) {
    std::unique_lock lock(mutex);
    ++judging;
    // Until all three replies are there: one of the equal ones while the other is judged.
    changed.wait_for(lock, 5s, [&] { return arrived == 3; });
    return is_a(request.candidate.source) ? correct_record(0.59 + 0.1 * judging) : correct_record(1);
  });
  auto request = fake_request();
  request.parallel_requests = request.parallel_evaluations = 3;
  const auto journal = make_memory_journal(real_time());
  const auto outcome =
      run_flow(request, *world.policy, {world.model, world.prompts, benchmarker, world.detector}, *journal,
               [&](const FlowNotice& seen) {
                 const auto* event = std::get_if<Event>(&seen);
                 if (event == nullptr || !std::holds_alternative<ReplyArrived>(event->body)) return;
                 const std::scoped_lock lock(mutex);
                 ++arrived;
                 changed.notify_all();
               },
               {});
  REQUIRE(outcome);
  CHECK(judging == 2);
  CHECK(outcome->history.at("sample1").score() == outcome->history.at("sample3").score());
  int duplicates = 0;
  for (const auto& [id, result] : outcome->history) duplicates += result.status == ActionStatus::Duplicate ? 1 : 0;
  CHECK(duplicates == 1);
}

TEST_CASE("which of two equal candidates is the first does not depend on when a run was cut",
          "[flow][engine][equal][resume]") {
  // sample3 is answered before sample1, which has the lower number.
  std::atomic<bool> third = false;
  EqualWorld first([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    const auto id = request.id.substr(5);
    if (id == "sample1")
      while (!third) std::this_thread::sleep_for(1ms);
    return Reply{.text = k_equal.at(id)};
  });
  auto request = fake_request();
  request.parallel_requests = 3;
  const auto whole = make_memory_journal(real_time());
  REQUIRE(run_flow(request, *first.policy, {first.model, first.prompts, first.benchmarker, first.detector}, *whole,
                   [&](const FlowNotice& seen) {
                     const auto* event = std::get_if<Event>(&seen);
                     const auto* reply = event == nullptr ? nullptr : std::get_if<ReplyArrived>(&event->body);
                     if (reply != nullptr && reply->number == 3) third = true;
                   },
                   {}));
  std::size_t both_arrived = 0;
  for (std::size_t i = 0, arrived = 0; i < whole->events().size() && arrived < 3; ++i) {
    if (std::holds_alternative<ReplyArrived>(whole->events()[i].body)) ++arrived;
    both_arrived = i + 1;
  }
  for (std::size_t cut = both_arrived; cut <= whole->events().size(); ++cut) {
    INFO("after " << cut << " events");
    EqualWorld world(k_equal);
    const auto journal = cut_journal(*whole, cut);
    const auto outcome = world.run(*journal, 3);
    REQUIRE(outcome);
    CHECK(outcome->history.at("sample3").status == ActionStatus::Evaluated);
    CHECK(outcome->history.at("sample1").status == ActionStatus::Duplicate);
    CHECK(outcome->history.at("sample1").message == "the same code as sample3");
  }
}

TEST_CASE("an equal candidate is judged when the one before it got no verdict", "[flow][engine][equal]") {
  EqualWorld world(k_equal);
  std::atomic<int> calls = 0;
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (is_a(request.candidate.source) && ++calls <= 2) {
      std::this_thread::sleep_for(20ms);
      return Error{ErrorCode::Unavailable, "the worker died"};
    }
    return correct_record(1);
  });
  auto request = fake_request();
  request.parallel_requests = 3;
  const auto journal = make_memory_journal(real_time());
  const auto outcome =
      run_flow(request, *world.policy, {world.model, world.prompts, benchmarker, world.detector}, *journal, {}, {});
  REQUIRE(outcome);
  std::map<std::string_view, int> statuses;
  for (const auto& [id, result] : outcome->history) ++statuses[to_string(result.status)];
  CHECK(statuses == std::map<std::string_view, int>{{"evaluated", 2}, {"not_judged", 1}});
}

TEST_CASE("equal candidates use up one evaluation of the budget", "[flow][engine][equal][budget]") {
  EqualWorld world(k_equal);
  auto request = fake_request();
  request.parallel_requests = 1;
  request.budget.evaluations = 3;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = run_flow(request, *world.policy, {world.model, world.prompts, world.benchmarker, world.detector},
                                *journal, {}, {});
  REQUIRE(outcome);
  CHECK(outcome->reason == "all samples are done");
}

TEST_CASE("a stage that returns its kernel unchanged is told so, and costs no evaluation", "[flow][engine][equal]") {
  const std::string kernel = "score 2";
  auto commented = code_reply(kernel);
  commented.insert(commented.find("int kgen_run"), "\n// nothing is left to gain\n");
  const std::map<std::string, std::string> replies{{"seed1", code_reply(kernel)},
                                                   {"stage1", commented},
                                                   {"stage1-again1", code_reply(kernel)},
                                                   {"stage2", code_reply("score 3")},
                                                   {"stage2-again1", code_reply(kernel)}};
  int judged = 0;
  const auto run = [&](Journal& journal) {
    const EqualWorld world(replies);
    FakeModel model(replies);
    FakeBenchmarker benchmarker([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
      ++judged;
      return judge_source(request.candidate.source);
    });
    const auto policy = make_hybrid_policy({.seeds = 1, .analyze = false, .stages = {"one", "two"}, .stage_tries = 2});
    return run_flow(fake_request(), *policy, {model, world.prompts, benchmarker, world.detector}, journal, {}, {});
  };
  const auto journal = make_memory_journal(real_time());
  const auto outcome = run(*journal);
  REQUIRE(outcome);
  CHECK(judged == 2);
  const auto& unchanged = outcome->history.at("stage1");
  CHECK(unchanged.status == ActionStatus::Unchanged);
  CHECK(unchanged.message == "the kernel of seed1, unchanged");
  CHECK(unchanged.score() == outcome->history.at("seed1").score());
  CHECK(unchanged.candidate->source.find("nothing is left") != std::string::npos);
  const auto& again = outcome->history.at("stage1/again1");
  CHECK(again.action.instructions.find("was the kernel above, unchanged") != std::string::npos);
  CHECK(again.status == ActionStatus::Unchanged);
  // An old kernel that is not the one to change is a duplicate.
  CHECK(outcome->history.at("stage2/again1").action.base == "stage2");
  CHECK(outcome->history.at("stage2/again1").status == ActionStatus::Duplicate);
  CHECK(outcome->best == "stage2");
  // The journal says so, and a run that was cut anywhere goes on to the same end.
  for (std::size_t events = 1; events < journal->events().size(); ++events) {
    const auto cut = cut_journal(*journal, events);
    const auto resumed = run(*cut);
    REQUIRE(resumed);
    for (const auto& [id, result] : resumed->history) CHECK(result.status == outcome->history.at(id).status);
    CHECK(resumed->best == outcome->best);
  }
}
