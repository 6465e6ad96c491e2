// Tests of the engine with an endpoint that does not answer, and with journals that fail: no reply of a model is lost.
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/flow/engine.hpp>

#include "flow/steps.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "unit/flow/fake_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

const Error k_quota{ErrorCode::Unavailable, "HTTP 429: quota"};
const Error k_timeout{ErrorCode::Timeout, "no reply within 600 s"};

/// The services of a run. The model answers by `answer`; "samples" kernels are wanted.
struct OutageWorld {
  OutageWorld(int samples, FakeModel::Answer answer)
      : model(std::move(answer)), policy(make_one_shot_policy({.samples = samples})) {}

  Result<FlowOutcome> run(Journal& journal, int parallel = 1) {
    request.parallel_requests = parallel;
    return run_flow(request, *policy, {model, prompts, benchmarker, detector}, journal, observer, {});
  }

  FlowRequest request = fake_request();
  FlowObserver observer;
  FakeModel model;
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{
      [](const EvaluationRequest& asked) -> Result<EvaluationRecord> { return judge_source(asked.candidate.source); }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy;
};

Reply good_reply(const LLMRequest& request) { return Reply{.text = code_reply("score 1 of " + request.id)}; }

int total(const std::map<std::string, int>& counts) {
  int sum = 0;
  for (const auto& [id, count] : counts) sum += count;
  return sum;
}

}  // namespace

TEST_CASE("an outage pauses a run, which goes on as if nothing had happened", "[flow][engine][outage]") {
  const auto error = GENERATE_COPY(k_quota, k_timeout);
  const int parallel = GENERATE(1, 4);
  std::atomic<int> left = 2;
  std::atomic<int> arrived = 0;
  std::atomic<bool> is_back = false;
  OutageWorld world(5, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (is_back || left-- > 0) return good_reply(request);
    // A reply that arrives during the outage would have everything asked again.
    while (arrived < 2) std::this_thread::sleep_for(1ms);
    return error;
  });
  world.observer = [&](const FlowNotice& notice) {
    if (const auto* event = std::get_if<Event>(&notice); event && std::holds_alternative<ReplyArrived>(event->body))
      ++arrived;
  };
  const auto journal = make_memory_journal(real_time());
  const auto paused = world.run(*journal, parallel);
  REQUIRE_FALSE(paused);
  CHECK(paused.error().code == ErrorCode::Pending);
  CHECK(paused.error().message.find("the model does not answer: fake at fake-host:1: " + error.message) == 0);
  // Nothing was blamed on the model, and the endpoint was not asked for long.
  CHECK(history_of(journal->events()).size() == 2);
  CHECK(events_of<RequestFailed>(*journal).empty());
  const auto deferred = events_of<RequestDeferred>(*journal);
  CHECK(deferred.size() >= 2);
  CHECK(deferred.size() <= 3);
  CHECK(deferred.front().code == error.code);
  CHECK(deferred.front().endpoint == "fake-host:1");
  CHECK(total(world.model.asked()) == 2 + static_cast<int>(deferred.size()));

  is_back = true;
  const auto outcome = world.run(*journal, parallel);
  REQUIRE(outcome);
  CHECK(outcome->history.size() == 5);
  for (const auto& [id, result] : outcome->history) CHECK(result.status == ActionStatus::Evaluated);
  CHECK(events_of<ReplyArrived>(*journal).size() == 5);
  CHECK(events_of<ReplyArrived>(*journal).front().endpoint == "fake-host:1");
}

TEST_CASE("a paused run that is resumed too early pauses again", "[flow][engine][outage]") {
  OutageWorld world(3, [&](const LLMRequest&, std::stop_token) -> Result<Reply> { return k_quota; });
  const auto journal = make_memory_journal(real_time());
  for (int session = 1; session <= 4; ++session) {
    const auto paused = world.run(*journal);
    REQUIRE_FALSE(paused);
    CHECK(paused.error().code == ErrorCode::Pending);
    CHECK(total(world.model.asked()) == 2 * session);
  }
  // Two requests were sent; no session sent a third.
  CHECK(events_of<ActionIssued>(*journal).size() == 2);
}

TEST_CASE("what had no answer is asked again when others are answered", "[flow][engine][outage]") {
  std::atomic<int> asked_first = 0;
  OutageWorld world(3, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (request.id == "task.sample1" && ++asked_first <= 2) return k_quota;
    return good_reply(request);
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  for (const auto& [id, result] : outcome->history) CHECK(result.status == ActionStatus::Evaluated);
  CHECK(asked_first == 3);
}

TEST_CASE("what is in flight when the endpoint dies is waited for, and its answer goes on", "[flow][engine][outage]") {
  std::atomic<int> dead = 0;
  OutageWorld world(3, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (request.id == "task.sample1") {
      while (dead < 2) std::this_thread::sleep_for(1ms);
      return good_reply(request);
    }
    return ++dead <= 2 ? Result<Reply>(k_quota) : good_reply(request);
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, 3);
  REQUIRE(outcome);
  CHECK(outcome->history.size() == 3);
  for (const auto& [id, result] : outcome->history) CHECK(result.status == ActionStatus::Evaluated);
}

TEST_CASE("only a timeout that comes back while others are answered is the model's failure", "[flow][engine][outage]") {
  OutageWorld world(6, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (request.id == "task.sample1") return k_timeout;
    return good_reply(request);
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->history.at("sample1").status == ActionStatus::ModelFailed);
  CHECK(outcome->history.at("sample1").message == "no reply in time, 3 times, while others were answered");
  CHECK(outcome->best == "sample2");
  CHECK(world.model.asked().at("task.sample1") == 3);
  CHECK(events_of<RequestDeferred>(*journal).size() == 3);
  CHECK(events_of<RequestFailed>(*journal).size() == 1);
  // It is final: no later session asks for it.
  REQUIRE(world.run(*journal));
  CHECK(world.model.asked().at("task.sample1") == 3);
}

TEST_CASE("a refusal that comes back while others are answered is never the model's failure",
          "[flow][engine][outage]") {
  std::atomic<bool> repaired = false;
  OutageWorld world(6, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (request.id == "task.sample1" && !repaired) return k_quota;
    return good_reply(request);
  });
  const auto journal = make_memory_journal(real_time());
  const auto paused = world.run(*journal);
  REQUIRE_FALSE(paused);
  CHECK(paused.error().code == ErrorCode::Pending);
  CHECK(history_of(journal->events()).size() == 5);
  repaired = true;
  CHECK(world.run(*journal)->history.size() == 6);
}

TEST_CASE("a run that was cut anywhere around an outage goes on to the same end", "[flow][engine][outage][resume]") {
  const auto answer = [](std::atomic<int>& left) {
    return [&left](const LLMRequest& request, std::stop_token) -> Result<Reply> {
      if (left-- > 0) return good_reply(request);
      return k_quota;
    };
  };
  std::atomic<int> left = 2;
  OutageWorld first(4, answer(left));
  const auto whole = make_memory_journal(real_time());
  REQUIRE_FALSE(first.run(*whole, 2));
  for (std::size_t cut = 1; cut <= whole->events().size(); ++cut) {
    INFO("after " << cut << " events");
    const auto journal = cut_journal(*whole, cut);
    std::atomic<int> enough = 100;
    OutageWorld world(4, answer(enough));
    const auto outcome = world.run(*journal, 2);
    REQUIRE(outcome);
    CHECK(outcome->history.size() == 4);
    for (const auto& [id, result] : outcome->history) CHECK(result.status == ActionStatus::Evaluated);
  }
}

TEST_CASE("a refusal uses up no budget, a timeout may have been paid for", "[flow][engine][outage][budget]") {
  const auto error = GENERATE_COPY(k_quota, k_timeout);
  std::atomic<bool> is_back = false;
  OutageWorld world(3, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (is_back) return good_reply(request);
    return error;
  });
  world.request.budget.requests = 4;
  const auto journal = make_memory_journal(real_time());
  REQUIRE_FALSE(world.run(*journal));
  is_back = true;
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  const bool refused = error.code == ErrorCode::Unavailable;
  CHECK(outcome->history.size() == (refused ? 3 : 2));
  CHECK(outcome->reason == (refused ? "all samples are done" : "the budget of 4 requests is used up"));
}

TEST_CASE("a budget of time that ends during an outage ends the run", "[flow][engine][outage][budget]") {
  auto now = std::chrono::system_clock::time_point(std::chrono::hours(24 * 20000));
  const auto journal = make_memory_journal([&] { return now; });
  OutageWorld world(2, [&](const LLMRequest&, std::stop_token) -> Result<Reply> {
    now += 10s;
    return k_timeout;
  });
  world.request.budget.time = 15s;
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->reason == "the budget of 15 seconds is used up");
}

TEST_CASE("an error that is no outage ends the run and is asked again", "[flow][engine][outage]") {
  const auto code = GENERATE(ErrorCode::PermissionDenied, ErrorCode::InvalidArgument, ErrorCode::MissingTool,
                             ErrorCode::NoSpace, ErrorCode::Io, ErrorCode::Protocol);
  std::atomic<bool> broken = true;
  OutageWorld world(2, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (broken) return Error{code, "it is broken"};
    return good_reply(request);
  });
  const auto journal = make_memory_journal(real_time());
  const auto ended = world.run(*journal);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == code);
  CHECK(history_of(journal->events()).empty());
  broken = false;
  CHECK(world.run(*journal)->history.size() == 2);
}

TEST_CASE("a prompt that the model finds too long is asked again without what can be left out",
          "[flow][engine][outage]") {
  std::vector<std::string> prompts;
  OutageWorld world(1, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    prompts.push_back(request.prompt);
    if (prompts.size() < 3) return Error{ErrorCode::PromptTooLong, "HTTP 400: too long"};
    return good_reply(request);
  });
  world.prompts.tokens = 1'000;
  world.prompts.least_tokens = 700;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "sample1");
  REQUIRE(prompts.size() == 3);
  CHECK(prompts[1] == prompts[0] + " tokens=750");
  CHECK(prompts[2] == prompts[0] + " tokens=749");
  // The journal has the prompt that was answered, and a refusal costs no request.
  CHECK(events_of<ActionIssued>(*journal).back().prompt.text == prompts[2]);
  CHECK(events_of<RequestDeferred>(*journal).size() == 2);
  CHECK(history_of(journal->events()).size() == 1);
}

TEST_CASE("a prompt that is too long without anything to leave out ends the run", "[flow][engine][outage]") {
  int asked = 0;
  OutageWorld world(1, [&](const LLMRequest&, std::stop_token) -> Result<Reply> {
    ++asked;
    return Error{ErrorCode::PromptTooLong, "HTTP 400: too long"};
  });
  world.prompts.tokens = world.prompts.least_tokens = 700;
  const auto journal = make_memory_journal(real_time());
  const auto ended = world.run(*journal);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == ErrorCode::PromptTooLong);
  CHECK(ended.error().message == "HTTP 400: too long; nothing more can be left out of the prompt of sample1");
  CHECK(asked == 1);
  CHECK(events_of<RequestFailed>(*journal).size() == 1);
}

TEST_CASE("a run goes on where the model is now, and under the name that earlier versions gave it",
          "[flow][engine][resume]") {
  struct Named final : public LLMClient {
    Result<Reply> complete(const LLMRequest& request, std::stop_token) override { return good_reply(request); }
    [[nodiscard]] std::string identity() const override { return name; }
    std::string name;
  };
  OutageWorld world(2, {});
  const auto run = [&](const std::string& recorded, const std::string& now) {
    Named model;
    model.name = recorded;
    const auto journal = make_memory_journal(real_time());
    REQUIRE(run_flow(world.request, *world.policy, {model, world.prompts, world.benchmarker, world.detector}, *journal,
                     {}, {}));
    model.name = now;
    return run_flow(world.request, *world.policy, {model, world.prompts, world.benchmarker, world.detector}, *journal,
                    {}, {})
        .has_value();
  };
  CHECK(run("openai gpt-5 at node7:8000", "openai gpt-5"));
  CHECK(run("openai a at b at node7:8000", "openai a at b"));
  CHECK(run("command /opt/bin/my-model", "command my-model"));
  CHECK(run("mailbox /tmp/mail", "mailbox"));
  CHECK(run("replay replies.jsonl", "replay"));
  CHECK(run("openai a at b", "openai a at b"));
  CHECK(run("my own client", "my own client"));
  CHECK_FALSE(run("openai gpt-5 at node7:8000", "openai gpt-6"));
  CHECK_FALSE(run("openai gpt-5", "openai gpt-5-mini"));
  CHECK_FALSE(run("command /opt/bin/my-model", "command other"));
  CHECK_FALSE(run("mailbox /tmp/mail", "openai gpt-5"));
}

TEST_CASE("a run that an earlier version ended by an outage is open again, unless it reached its goal",
          "[flow][engine][outage][resume]") {
  // The journal as it was written then: two seeds answered, then HTTP 429 for the rest.
  OutageWorld world(4, [](const LLMRequest& request, std::stop_token) -> Result<Reply> { return good_reply(request); });
  const bool reached = GENERATE(false, true);
  const auto journal = make_memory_journal(real_time());
  world.request.budget.requests = 2;
  REQUIRE(world.run(*journal));
  auto old = make_memory_journal(real_time());
  for (const auto& event : journal->events()) {
    const bool over =
        std::holds_alternative<BudgetExhausted>(event.body) || std::holds_alternative<RunFinished>(event.body);
    if (!over) REQUIRE(old->append(event.body));
  }
  for (const int number : {3, 4}) {
    const Action action{.id = "sample" + std::to_string(number)};
    REQUIRE(old->append(ActionIssued{number, action, {}}));
    REQUIRE(old->append(RequestSent{number}));
    REQUIRE(old->append(RequestFailed{number, ErrorCode::Unavailable, "HTTP 429: quota"}));
    ActionResult failed{.action = action, .number = number, .status = ActionStatus::ModelFailed};
    REQUIRE(old->append(ActionFinished{failed}));
  }
  REQUIRE(old->append(RunFinished{"all samples are done", reached}));
  world.request.budget = {};
  const auto outcome = world.run(*old);
  REQUIRE(outcome);
  CHECK(outcome->history.size() == 4);
  CHECK(events_of<ActionReopened>(*old).size() == (reached ? 0 : 2));
  for (const char* id : {"sample3", "sample4"})
    CHECK(outcome->history.at(id).status == (reached ? ActionStatus::ModelFailed : ActionStatus::Evaluated));
  const auto events = old->events().size();
  REQUIRE(world.run(*old));
  CHECK(old->events().size() == events);
}

TEST_CASE("options that an earlier version named otherwise, or did not know, are no other options",
          "[flow][engine][resume]") {
  OutageWorld world(1, [](const LLMRequest& request, std::stop_token) -> Result<Reply> { return good_reply(request); });
  world.policy = make_repair_policy({.escalations = {"rethink"}});
  ActionResult start;
  start.action.id = "start";
  start.status = ActionStatus::Evaluated;
  start.candidate = make_candidate(Target::Cpp, "broken");
  start.record = judge_source("broken");
  world.request.known = {start};
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  const auto resumed = [&](auto change) {
    const auto old = make_memory_journal(real_time());
    for (auto event : journal->events()) {
      if (auto* started = std::get_if<RunStarted>(&event.body)) change(started->options);
      REQUIRE(old->append(event.body));
    }
    return world.run(*old);
  };
  using Options = std::vector<std::pair<std::string, std::string>>;
  const auto rename = [](std::string value) {
    return [value = std::move(value)](Options& options) {
      for (auto& [name, recorded] : options)
        if (name == "policy.escalations") name = "policy.rescues", recorded = value;
    };
  };
  CHECK(resumed(rename("rethink")));
  const auto other = resumed(rename("simplify"));
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("policy.escalations simplify, not rethink") != std::string::npos);
  CHECK(resumed([](Options& options) {
    std::erase_if(options, [](const auto& option) { return option.first == "policy.escalations"; });
  }));
  CHECK(resumed([](Options& options) {
    for (auto& [name, recorded] : options)
      if (name == "build_timeout_ms") name = "compile_timeout_ms", recorded = "120000";
  }));
  const auto threads = [](std::string value) {
    return [value = std::move(value)](Options& options) {
      for (auto& [name, recorded] : options)
        if (name == "threads") recorded = value;
    };
  };
  // An earlier version recorded the number of cores for "one per core".
  CHECK(resumed(threads(std::to_string(read_cpu_facts().value().usable_cores))));
  CHECK_FALSE(resumed(threads("100000")));
}

TEST_CASE("options of policies have their current names and values, whatever a journal calls them", "[flow][resume]") {
  struct Case {
    const char* recorded;
    const char* recorded_value;
    const char* name;
    const char* value;
  };
  const auto [recorded, recorded_value, name, value] =
      GENERATE(Case{"policy.threshold", "0", "policy.skip_stages_score", "0"},
               Case{"policy.epsilon", "0.02", "policy.min_stage_gain", "0.02"},
               Case{"policy.stop_at_score", "1.5", "policy.stop_score", "1.5"},
               Case{"policy.goal", "1", "policy.stop_score", "1"},
               Case{"policy.profiles", "before advice", "policy.profiles", "before the next prompt"});
  RunStarted wanted;
  wanted.options = {{name, value}};
  auto started = wanted;
  started.options = {{recorded, recorded_value}};
  CHECK(check_same_run(started, wanted, 1));
  wanted.options = {{name, "another"}};
  const auto differs = check_same_run(started, wanted, 1);
  REQUIRE_FALSE(differs);
  CHECK(differs.error().message.find(std::string(name) + ' ' + value + ", not another") != std::string::npos);
}

// ---- nothing that came from a model is lost

namespace {

/// A journal that refuses events of one kind.
class PickyJournal final : public Journal {
 public:
  [[nodiscard]] const std::vector<Event>& events() const override { return inner_->events(); }
  Result<void> append(EventBody body) override {
    if (full || std::holds_alternative<ReplyArrived>(body)) {
      full = true;
      return Error{ErrorCode::NoSpace, "cannot write events.jsonl: no space left on device"};
    }
    return inner_->append(std::move(body));
  }
  bool full = false;

 private:
  std::unique_ptr<Journal> inner_ = make_memory_journal(real_time());
};

}  // namespace

TEST_CASE("replies that a full journal cannot take are in files that the error names", "[flow][engine][lost]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  std::atomic<int> asked = 0;
  OutageWorld world(3, [&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    // All are in flight when the first one cannot be journaled; the others arrive later.
    ++asked;
    while (asked < 3) std::this_thread::sleep_for(1ms);
    if (request.id != "task.sample2") std::this_thread::sleep_for(20ms);
    return good_reply(request);
  });
  world.request.fallback_directory = directory.path();
  PickyJournal journal;
  const auto outcome = world.run(journal, 3);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::NoSpace);
  CHECK(outcome.error().message.find("cannot write events.jsonl: no space left on device; the reply to task.sample2") ==
        0);
  std::set<std::string> kept;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    CHECK(outcome.error().message.find(" is in " + entry.path().string()) != std::string::npos);
    kept.insert(read_file(entry.path()).value());
  }
  CHECK(kept.size() == 3);
  for (const char* id : {"task.sample1", "task.sample2", "task.sample3"})
    CHECK(kept.contains(good_reply({.id = id}).text));
}

TEST_CASE("an error of ours waits for the replies under way", "[flow][engine][lost]") {
  class Broken final : public PromptBuilder {
    [[nodiscard]] Result<Prompt> build(const PromptRequest& request) const override {
      if (++built_ == 3) return Error{ErrorCode::InvalidArgument, "the prompt is too long"};
      return FakePromptBuilder().build(request);
    }
    [[nodiscard]] std::vector<std::string> variants(PromptKind, Target) const override { return {}; }
    mutable std::atomic<int> built_ = 0;
  };
  OutageWorld world(3, [&](const LLMRequest& request, std::stop_token stop) -> Result<Reply> {
    std::this_thread::sleep_for(20ms);
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    return good_reply(request);
  });
  const Broken prompts;
  world.request.parallel_requests = 3;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = run_flow(world.request, *world.policy, {world.model, prompts, world.benchmarker, world.detector},
                                *journal, {}, {});
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().to_line() == "building the prompt of sample3: the prompt is too long");
  CHECK(events_of<ReplyArrived>(*journal).size() == 2);
}
