#include <kernelgen/flow/engine.hpp>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// A whole search: seed1 is repaired, seed2 is right, an analysis pays, stage 2 helps, the others do not.
const std::map<std::string, std::string> k_replies{{"seed1", code_reply("broken")},
                                                   {"seed1-repair1", code_reply("score 1.1")},
                                                   {"seed1-analysis", analysis_reply(false)},
                                                   {"seed2", code_reply("score 1.3")},
                                                   {"seed2-analysis", analysis_reply(true)},
                                                   {"seed2-optimize", code_reply("wrong")},
                                                   {"seed2-optimize-repair1", code_reply("persistent score 1.9")},
                                                   {"stage1", code_reply("score 0.4")},
                                                   {"stage2", code_reply("score 2.5")},
                                                   {"stage3", code_reply("score 2.51")}};

/// The services of a run.
struct World {
  explicit World(FakeModel::Answer answer) : model(std::move(answer)) {}
  explicit World(std::map<std::string, std::string> replies = k_replies) : model(std::move(replies)) {}

  Result<FlowOutcome> run(Journal& journal, const FlowRequest& request = fake_request(),
                          const FlowObserver& observer = {}, std::stop_token stop = {}) {
    return run_flow(request, *policy, {model, prompts, benchmarker, detector}, journal, observer, std::move(stop));
  }

  FakeModel model;
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{[](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return judge_source(request.candidate.source);
  }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy = make_hybrid_policy({.stages = choose_stages("three").value(), .stage_tries = 1});
};

/// The facts that must not depend on timing: ids, actions, candidates and outcomes.
std::map<std::string, std::string> facts_of(const History& history) {
  std::map<std::string, std::string> facts;
  for (const auto& [id, result] : history) {
    facts[id] = std::string(to_string(result.status)) + ' ' + result.action.base + ' ' +
                (result.candidate ? result.candidate->id : "") + ' ' +
                (result.record ? result.record->outcome.to_class() : "") + ' ' + result.message;
  }
  return facts;
}

std::set<std::string> ids(const History& history) {
  std::set<std::string> found;
  for (const auto& [id, result] : history) found.insert(id);
  return found;
}

}  // namespace

TEST_CASE("a whole search finds its best kernel", "[flow][engine]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "stage2");
  CHECK(outcome->reached);
  CHECK(outcome->reason == "all stages are done");
  CHECK(outcome->history.size() == k_replies.size());
  CHECK(outcome->history.at("seed2/optimize/repair1").recurrence == Recurrence::Persistent);
  for (const auto& [id, times] : world.model.asked()) CHECK(times == 1);
  // The best one only ever changes for the better.
  std::vector<std::string> bests;
  for (const auto& changed : events_of<BestChanged>(*journal)) bests.push_back(changed.action_id);
  REQUIRE(bests.size() >= 2);
  CHECK(bests.back() == "stage2");
}

TEST_CASE("a search that starts from a kernel judges it first, once", "[flow][engine]") {
  struct StartWorld : World {
    StartWorld() : World({{"start-analysis", analysis_reply(true)}, {"start-optimize", code_reply("score 3")}}) {
      policy = make_hybrid_policy({.seeds = 0, .has_start = true, .stages = {}});
    }
  };
  auto request = fake_request();
  request.start = make_candidate(Target::Cpp, "persistent score 1.2");
  StartWorld world;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, request);
  REQUIRE(outcome);
  CHECK(ids(outcome->history) == std::set<std::string>{"start", "start/analysis", "start/optimize"});
  CHECK(outcome->best == "start/optimize");
  CHECK(outcome->history.at("start").recurrence == Recurrence::Persistent);
  CHECK(world.benchmarker.requests().size() == 2);
  for (std::size_t events = 1; events < journal->events().size(); ++events) {
    StartWorld again;
    const auto cut = cut_journal(*journal, events);
    const auto resumed = again.run(*cut, request);
    REQUIRE(resumed);
    CHECK(facts_of(resumed->history) == facts_of(outcome->history));
  }
  // Another kernel to start from is another run.
  request.start = make_candidate(Target::Cpp, "score 1.3");
  const auto other = StartWorld().run(*journal, request);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("this run was started with start ") == 0);
}

TEST_CASE("a stage that is asked for again shows the answers before it", "[flow][engine]") {
  auto replies = k_replies;
  replies["stage1-again1"] = code_reply("score 0.5");
  replies["stage2-again1"] = code_reply("score 2.6");
  replies["stage2-again2"] = code_reply("score 2.4");
  World world(replies);
  world.policy = make_hybrid_policy({});
  REQUIRE(world.run(*make_memory_journal(real_time())));
  const auto prompts = world.model.prompts();
  CHECK(prompts.at("task.stage1-again1").find("history=seed2 seed2/optimize stage1 ") != std::string::npos);
  CHECK(prompts.at("task.stage2-again2").find("base=stage2/again1 ") != std::string::npos);
  CHECK(prompts.at("task.stage2-again2").find(" stage2 ") != std::string::npos);
}

TEST_CASE("without the detector no kernel counts as persistent", "[flow][engine]") {
  World world;
  auto request = fake_request();
  request.detect_persistence = false;
  const auto outcome = world.run(*make_memory_journal(real_time()), request);
  REQUIRE(outcome);
  CHECK(outcome->history.at("seed2/optimize/repair1").recurrence == Recurrence::NotRecurrent);
}

TEST_CASE("every step is journaled before it is used", "[flow][engine]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  std::map<int, std::string> seen;
  for (const auto& event : journal->events()) {
    if (const auto* issued = std::get_if<ActionIssued>(&event.body)) seen[issued->number] += 'i';
    if (const auto* sent = std::get_if<RequestSent>(&event.body)) seen[sent->number] += 's';
    if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) seen[arrived->number] += 'r';
    if (const auto* finished = std::get_if<ActionFinished>(&event.body)) seen[finished->result.number] += 'f';
  }
  CHECK(seen.size() == k_replies.size());
  for (const auto& [number, steps] : seen) CHECK(steps == "isrf");
  CHECK(std::holds_alternative<RunStarted>(journal->events().front().body));
  CHECK(std::holds_alternative<RunFinished>(journal->events().back().body));
}

TEST_CASE("a prompt knows the steps before it", "[flow][engine]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  const auto prompts = world.model.prompts();
  CHECK(prompts.at("task.seed1-repair1").find("repair variant= base=seed1 history=") == 0);
  CHECK(prompts.at("task.seed2-optimize-repair1") == "repair variant= base=seed2/optimize history=seed2 ");
  CHECK(prompts.at("task.stage3") ==
        "stage variant=memory_and_tuning base=stage2 "
        "history=seed2 seed2/optimize seed2/optimize/repair1 stage1 ");
}

TEST_CASE("what replies said they changed is kept, and shown to later steps", "[flow][engine]") {
  auto replies = k_replies;
  for (auto& [id, reply] : replies) reply.insert(0, "Change: " + id + " is other\n");
  World world(replies);
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->history.at("stage1").change == "stage1 is other");
  CHECK(history_of(journal->events()).at("seed2").change == "seed2 is other");
  CHECK(world.model.prompts().at("task.stage3") ==
        "stage variant=memory_and_tuning base=stage2 history=seed2(seed2 is other) "
        "seed2/optimize(seed2-optimize is other, from seed2 of 1.3) "
        "seed2/optimize/repair1(seed2-optimize-repair1 is other, from seed2/optimize) "
        "stage1(stage1 is other, from seed2/optimize/repair1 of 1.9) "
        "(stage2 is other, from seed2/optimize/repair1 of 1.9)");
}

TEST_CASE("the first prompts know the reference's time", "[flow][engine]") {
  World world;
  world.benchmarker.reference_time = ReferenceTime{.call_ns = 9200};
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  CHECK(world.model.prompts().at("task.seed1").find(" reference=9200") != std::string::npos);
}

TEST_CASE("a run that was cut anywhere goes on to the same end", "[flow][engine][resume]") {
  World first;
  const auto whole = make_memory_journal(real_time());
  const auto expected = first.run(*whole);
  REQUIRE(expected);
  for (std::size_t cut = 0; cut <= whole->events().size(); ++cut) {
    INFO("after " << cut << " events");
    World world;
    const auto journal = cut_journal(*whole, cut);
    const auto before = events_of<ReplyArrived>(*journal);
    const auto sent = events_of<RequestSent>(*journal).size();
    const auto outcome = world.run(*journal);
    REQUIRE(outcome);
    CHECK(facts_of(outcome->history) == facts_of(expected->history));
    CHECK(outcome->best == expected->best);
    CHECK(outcome->reason == expected->reason);
    // Replies that had arrived were not requested again; requests in flight are recorded as unknown.
    std::size_t asked = 0;
    for (const auto& [id, times] : world.model.asked()) asked += static_cast<std::size_t>(times);
    CHECK(asked == k_replies.size() - before.size());
    CHECK(events_of<RequestUnknown>(*journal).size() == sent - before.size());
  }
}

TEST_CASE("a run that was cut before it knew where to start knows it when it goes on", "[flow][engine][resume]") {
  auto request = fake_request();
  ActionResult start;
  start.action.id = "start";
  start.status = ActionStatus::Evaluated;
  start.candidate = make_candidate(Target::Cpp, "broken");
  start.record = judge_source("broken");
  request.known = {start};
  World first({{"start-repair1", code_reply("score 1")}});
  first.policy = make_repair_policy({});
  const auto whole = make_memory_journal(real_time());
  REQUIRE(first.run(*whole, request));
  for (std::size_t cut = 0; cut <= whole->events().size(); ++cut) {
    World world({{"start-repair1", code_reply("score 1")}});
    world.policy = make_repair_policy({});
    const auto journal = cut_journal(*whole, cut);
    const auto outcome = world.run(*journal, request);
    REQUIRE(outcome);
    CHECK(outcome->best == "start/repair1");
  }
}

TEST_CASE("a finished run is not run again", "[flow][engine][resume]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  const auto events = journal->events().size();
  World again;
  const auto outcome = again.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "stage2");
  CHECK(again.model.asked().empty());
  CHECK(journal->events().size() == events);
}

TEST_CASE("a run with other options is refused by the name of what differs", "[flow][engine][resume]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  const auto refused = [&](const FlowRequest& request) {
    const auto outcome = world.run(*journal, request);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::InvalidArgument);
    return outcome.error().message;
  };
  auto request = fake_request();
  request.task.content_id = "other";
  CHECK(refused(request).find("task file changed") != std::string::npos);
  request = fake_request();
  request.goal = 3;
  CHECK(refused(request).find("goal 1, not 3") != std::string::npos);
  request = fake_request();
  request.target = Target::Triton;
  CHECK(refused(request).find("target cpp, not triton") != std::string::npos);
  request = fake_request();
  request.evaluation.mode = EvaluationMode::Quick;
  CHECK(refused(request).find("evaluation_mode full, not quick") != std::string::npos);
  request = fake_request();
  request.evaluation.measure.warmup_calls = 3;
  CHECK(refused(request).find("warmup_calls 0, not 3") != std::string::npos);
  request = fake_request();
  world.policy = make_hybrid_policy({.seeds = 3});
  CHECK(refused(request).find("policy.seeds 2, not 3") != std::string::npos);
  world.policy = make_one_shot_policy({});
  CHECK(refused(request).find("policy hybrid, not one-shot") != std::string::npos);
}

TEST_CASE("a run that no model ever answered may begin anew with other options", "[flow][engine][resume]") {
  World world([](const LLMRequest&, std::stop_token) -> Result<Reply> {
    return Error{ErrorCode::MissingTool, "no such program"};
  });
  const auto journal = make_memory_journal(real_time());
  REQUIRE_FALSE(world.run(*journal));
  World other;
  other.policy = make_hybrid_policy({.seeds = 2, .stages = {}});
  const auto outcome = other.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "seed2/optimize/repair1");
  // Numbers are not given twice.
  std::set<int> numbers;
  for (const auto& issued : events_of<ActionIssued>(*journal)) CHECK(numbers.insert(issued.number).second);
  CHECK_FALSE(other.run(*journal, [] {
    auto request = fake_request();
    request.goal = 5;
    return request;
  }()));
}

TEST_CASE("a key that is refused ends the run, which can go on later", "[flow][engine][resume]") {
  std::atomic<bool> refused = true;
  World world([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    if (refused) return Error{ErrorCode::PermissionDenied, "the key is not accepted"};
    return Reply{.text = k_replies.at(request.id.substr(5))};
  });
  const auto journal = make_memory_journal(real_time());
  const auto first = world.run(*journal);
  REQUIRE_FALSE(first);
  CHECK(first.error().code == ErrorCode::PermissionDenied);
  refused = false;
  const auto second = world.run(*journal);
  REQUIRE(second);
  CHECK(second->best == "stage2");
}

TEST_CASE("a reply without code is an outcome", "[flow][engine]") {
  World world(std::map<std::string, std::string>{});
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best.empty());
  CHECK_FALSE(outcome->reached);
  // Each seed was asked for once, and again as often as repairs are allowed.
  CHECK(outcome->history.size() == 10);
  for (const auto& [id, result] : outcome->history) CHECK(result.status == ActionStatus::NoCode);
  CHECK(world.benchmarker.requests().empty());
}

TEST_CASE("answers that are made elsewhere are waited for by coming back", "[flow][engine][resume]") {
  std::mutex mutex;
  std::set<std::string> answered;
  World world([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    const std::scoped_lock lock(mutex);
    if (!answered.contains(request.id)) return Error{ErrorCode::Pending, "no reply to " + request.id + " yet"};
    return Reply{.text = k_replies.at(request.id.substr(5))};
  });
  const auto journal = make_memory_journal(real_time());
  int visits = 0;
  while (true) {
    const auto outcome = world.run(*journal);
    if (outcome) {
      CHECK(outcome->best == "stage2");
      break;
    }
    REQUIRE(outcome.error().code == ErrorCode::Pending);
    REQUIRE(++visits < 20);
    for (const auto& [id, times] : world.model.asked()) answered.insert(id);
  }
  CHECK(visits >= 3);
  // Each request was the same one all along.
  CHECK(events_of<RequestUnknown>(*journal).empty());
  CHECK(events_of<RequestSent>(*journal).size() == events_of<RequestPending>(*journal).size() + k_replies.size());
}

TEST_CASE("a judge that fails twice leaves the candidate unjudged", "[flow][engine]") {
  World world;
  int calls = 0;
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (request.candidate.source.find("score 1.3") == std::string::npos) return judge_source(request.candidate.source);
    ++calls;
    return Error{ErrorCode::Unavailable, "the worker died"};
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = run_flow(fake_request(), *world.policy,
                                {world.model, world.prompts, benchmarker, world.detector}, *journal, {}, {});
  REQUIRE(outcome);
  CHECK(calls == 2);
  CHECK(outcome->history.at("seed2").status == ActionStatus::NotJudged);
  CHECK(outcome->history.at("seed2").message == "the worker died");
}

TEST_CASE("a machine that cannot judge ends the run; the reply is kept", "[flow][engine][resume]") {
  World world;
  bool lacking = true;
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (lacking) return Error{ErrorCode::MissingTool, "no Python with torch"};
    return judge_source(request.candidate.source);
  });
  const auto journal = make_memory_journal(real_time());
  const auto run = [&] {
    return run_flow(fake_request(), *world.policy, {world.model, world.prompts, benchmarker, world.detector}, *journal,
                    {}, {});
  };
  const auto first = run();
  REQUIRE_FALSE(first);
  CHECK(first.error().code == ErrorCode::MissingTool);
  lacking = false;
  REQUIRE(run());
  for (const auto& [id, times] : world.model.asked()) CHECK(times == 1);
}

TEST_CASE("a suspect verdict is asked for again before it counts", "[flow][engine]") {
  World world;
  std::map<std::string, int> calls;
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    const int call = ++calls[request.candidate.source];
    if (request.candidate.source.find("score 1.3") != std::string::npos && call == 1) return judge_source("suspect");
    return judge_source(request.candidate.source);
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = run_flow(fake_request(), *world.policy,
                                {world.model, world.prompts, benchmarker, world.detector}, *journal, {}, {});
  REQUIRE(outcome);
  CHECK(outcome->history.at("seed2").correct());
}

TEST_CASE("a machine that is busy for a while makes no candidate suspect", "[flow][engine]") {
  World world;
  int calls = 0;
  FakeBenchmarker benchmarker(
      [&](const EvaluationRequest& request) { return judge_source(++calls <= 2 ? "busy" : request.candidate.source); });
  auto request = fake_request();
  request.busy_pauses.assign(2, 1ms);
  const auto journal = make_memory_journal(real_time());
  const auto outcome =
      run_flow(request, *world.policy, {world.model, world.prompts, benchmarker, world.detector}, *journal, {}, {});
  REQUIRE(outcome);
  for (const auto& [id, result] : outcome->history)
    if (result.record) CHECK(result.record->outcome.kind != OutcomeKind::Suspect);
}

TEST_CASE("a machine that stays busy ends the run, which goes on later", "[flow][engine][resume]") {
  World world;
  bool busy = true;
  FakeBenchmarker benchmarker(
      [&](const EvaluationRequest& request) { return judge_source(busy ? "busy" : request.candidate.source); });
  auto request = fake_request();
  request.busy_pauses.assign(1, 1ms);
  const auto journal = make_memory_journal(real_time());
  const auto run = [&] {
    return run_flow(request, *world.policy, {world.model, world.prompts, benchmarker, world.detector}, *journal, {},
                    {});
  };
  const auto first = run();
  REQUIRE_FALSE(first);
  CHECK(first.error().code == ErrorCode::Pending);
  CHECK(first.error().message == "the machine is too busy to time a kernel: others work; 1 more step waits");
  busy = false;
  REQUIRE(run());
  for (const auto& [id, times] : world.model.asked()) CHECK(times == 1);
}

TEST_CASE("the run pauses while other processes hold the device's memory, and then the verdict counts",
          "[flow][engine]") {
  World world;
  FakeBenchmarker benchmarker(
      [](const EvaluationRequest&) { return failed_record(OutcomeKind::Suspect, "memory in use", "others hold it"); });
  auto request = fake_request();
  request.busy_pauses.assign(2, 1ms);
  int pauses = 0;
  const auto observe = [&](const FlowNotice& notice) {
    const auto* paused = std::get_if<ActionPaused>(&notice);
    if (paused == nullptr || paused->action_id != "seed1") return;
    ++pauses;
    CHECK(paused->reason == "memory in use: others hold it");
  };
  const auto outcome = run_flow(request, *world.policy, {world.model, world.prompts, benchmarker, world.detector},
                                *make_memory_journal(real_time()), observe, {});
  REQUIRE(outcome);
  CHECK(pauses == 2);
  CHECK(outcome->history.at("seed1").record->outcome.to_class() == "suspect:memory in use");
}

TEST_CASE("a pause for a busy machine ends with the run", "[flow][engine]") {
  World world;
  world.policy = make_hybrid_policy({.seeds = 1});
  FakeBenchmarker benchmarker([](const EvaluationRequest&) { return judge_source("busy"); });
  auto request = fake_request();
  request.busy_pauses.assign(1, 1h);
  std::stop_source stop;
  std::optional<ActionPaused> paused;
  const auto observe = [&](const FlowNotice& notice) {
    if (!std::holds_alternative<ActionPaused>(notice)) return;
    paused = std::get<ActionPaused>(notice);
    stop.request_stop();
  };
  const auto journal = make_memory_journal(real_time());
  const auto outcome = run_flow(request, *world.policy, {world.model, world.prompts, benchmarker, world.detector},
                                *journal, observe, stop.get_token());
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::Cancelled);
  REQUIRE(paused);
  CHECK(paused->action_id == "seed1");
  CHECK(paused->reason == "busy machine: others work");
  CHECK(paused->wait == 1h);
}

TEST_CASE("the same code again is not judged again", "[flow][engine]") {
  World world({{"seed1", code_reply("broken")},
               {"seed1-repair1", code_reply("broken")},
               {"seed1-repair2", code_reply("score 1")}});
  world.policy = make_hybrid_policy({.seeds = 1, .stages = {}});
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->history.at("seed1/repair1").status == ActionStatus::Duplicate);
  CHECK(outcome->history.at("seed1/repair1").record->outcome.to_class() == "compile:other");
  CHECK(world.benchmarker.requests().size() == 2);
  CHECK(world.model.prompts().at("task.seed1-repair2").find("variant=rethink") != std::string::npos);
}

TEST_CASE("whichever budget ends first ends the run", "[flow][engine][budget]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  auto request = fake_request();
  request.parallel_requests = 1;
  SECTION("requests") { request.budget.requests = 3; }
  SECTION("tokens") { request.budget.tokens = 250; }
  SECTION("evaluations") { request.budget.evaluations = 2; }
  const auto outcome = world.run(*journal, request);
  REQUIRE(outcome);
  CHECK(outcome->reason.find("budget of") != std::string::npos);
  CHECK(outcome->best == "seed2");
  CHECK(events_of<BudgetExhausted>(*journal).size() == 1);
  // A larger budget goes on from there.
  request.budget = {};
  const auto more = world.run(*journal, request);
  REQUIRE(more);
  CHECK(more->best == "stage2");
  for (const auto& [id, times] : world.model.asked()) CHECK(times == 1);
}

TEST_CASE("time is spent by sessions, not between them", "[flow][engine][budget]") {
  auto now = std::chrono::system_clock::time_point(std::chrono::hours(24 * 20000));
  const auto journal = make_memory_journal([&] { return now += std::chrono::seconds(1); });
  World world;
  auto request = fake_request();
  request.parallel_requests = 1;
  request.budget.time = std::chrono::seconds(12);
  const auto outcome = world.run(*journal, request);
  REQUIRE(outcome);
  CHECK(outcome->reason == "the budget of 12 seconds is used up");
  now += std::chrono::hours(5);
  request.budget.time = std::chrono::hours(1);
  REQUIRE(world.run(*journal, request));
}

TEST_CASE("an interrupted run says so and goes on later", "[flow][engine][resume]") {
  std::stop_source stop;
  World world([&](const LLMRequest& request, std::stop_token token) -> Result<Reply> {
    if (request.id == "task.seed1-repair1" && !stop.stop_requested()) {
      stop.request_stop();
      return Error{ErrorCode::Cancelled, "cancelled"};
    }
    if (token.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    return Reply{.text = k_replies.at(request.id.substr(5))};
  });
  const auto journal = make_memory_journal(real_time());
  const auto first = world.run(*journal, fake_request(), {}, stop.get_token());
  REQUIRE_FALSE(first);
  CHECK(first.error().code == ErrorCode::Cancelled);
  const auto second = world.run(*journal);
  REQUIRE(second);
  CHECK(second->best == "stage2");
}

TEST_CASE("a client that throws ends the run with one line", "[flow][engine]") {
  World world([](const LLMRequest&, std::stop_token) -> Result<Reply> { throw std::runtime_error("my own bug"); });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message == "the model client threw an exception: my own bug");
}

TEST_CASE("a policy that wants nothing and is not finished is a bug that is named", "[flow][engine]") {
  class Stuck final : public Policy {
    [[nodiscard]] std::string name() const override { return "stuck"; }
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override { return {}; }
    [[nodiscard]] Decision next(const History&) const override { return {}; }
  };
  World world;
  world.policy = std::make_unique<Stuck>();
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::Internal);
  CHECK(outcome.error().message.find("policy stuck") != std::string::npos);
}

TEST_CASE("a journal that cannot be written ends the run", "[flow][engine]") {
  class FullJournal final : public Journal {
   public:
    explicit FullJournal(std::size_t room) : room_(room), inner_(make_memory_journal(real_time())) {}
    [[nodiscard]] const std::vector<Event>& events() const override { return inner_->events(); }
    Result<void> append(EventBody body) override {
      if (events().size() >= room_) return Error{ErrorCode::NoSpace, "no space left on device"};
      return inner_->append(std::move(body));
    }

   private:
    std::size_t room_;
    std::unique_ptr<Journal> inner_;
  };
  for (std::size_t room = 0; room < 12; ++room) {
    World world;
    FullJournal journal(room);
    const auto outcome = world.run(journal);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::NoSpace);
  }
}

TEST_CASE("an observer sees what the journal gets, and the steps of evaluations", "[flow][engine]") {
  World world;
  const auto journal = make_memory_journal(real_time());
  std::size_t events = 0, steps = 0;
  std::vector<FlowProgress> progress;
  REQUIRE(world.run(*journal, fake_request(), [&](const FlowNotice& notice) {
    if (std::holds_alternative<Event>(notice)) ++events;
    if (std::holds_alternative<EvaluationStep>(notice)) ++steps;
    if (std::holds_alternative<FlowProgress>(notice)) progress.push_back(std::get<FlowProgress>(notice));
  }));
  CHECK(events == journal->events().size());
  CHECK(steps == 4 * world.benchmarker.requests().size());
  REQUIRE(progress.size() == events);
  const auto& last = progress.back();
  CHECK(last.finished_actions == static_cast<int>(events_of<ActionFinished>(*journal).size()));
  CHECK(last.spent.requests == static_cast<std::int64_t>(events_of<RequestSent>(*journal).size()));
  CHECK(last.best == "stage2");
  CHECK(last.best_score > 1);
  REQUIRE(last.max_actions);
  CHECK(last.finished_actions <= *last.max_actions);
}
