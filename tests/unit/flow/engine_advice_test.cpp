// Tests of the engine: profiles, floors, critiques, corrections, costs.
#include <kernelgen/flow/engine.hpp>

#include <set>
#include <stdexcept>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

const std::map<std::string, std::string> k_advice_replies{
    {"seed1", code_reply("score 1.3")},          {"seed1-analysis", analysis_reply(true)},
    {"seed1-optimize", code_reply("score 1.9")}, {"stage1", code_reply("score 2.5")},
    {"stage2", code_reply("score 2.6")},         {"stage3", code_reply("score 0.3")}};

/// The services of a run.
struct AdviceWorld {
  explicit AdviceWorld(std::map<std::string, std::string> replies = k_advice_replies) : model(std::move(replies)) {}

  Result<FlowOutcome> run(Journal& journal, const FlowRequest& request = fake_request(), Profiler* by = nullptr) {
    return run_flow(request, *policy, {model, prompts, benchmarker, detector, by}, journal, {}, {});
  }

  FakeModel model;
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{[](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return judge_source(request.candidate.source);
  }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy = make_hybrid_policy({.seeds = 1, .profiles = ProfileUse::BeforeNextPrompt});
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("a profile is taken before advice, journaled, and shown to the model", "[flow][engine][profile]") {
  AdviceWorld world;
  FakeProfiler profiler([](const ProfileRequest&) -> Result<Profile> { return busy_profile(); });
  auto request = fake_request();
  request.gpu.emplace().uuid = "GPU-1";
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, request, &profiler);
  REQUIRE(outcome);
  // The grid of a busy kernel is left alone.
  CHECK_FALSE(outcome->history.contains("stage1"));
  CHECK(outcome->best == "stage2");
  std::vector<std::string> profiled;
  for (const auto& taken : events_of<ProfileTaken>(*journal)) profiled.push_back(taken.action_id);
  CHECK(profiled == std::vector<std::string>{"seed1", "seed1/optimize", "stage2"});
  REQUIRE(profiler.requests().size() == 3);
  CHECK(profiler.requests()[0].gpu.value().uuid == "GPU-1");
  CHECK(holds(profiler.requests()[0].candidate->source, "score 1.3"));
  CHECK(holds(world.model.prompts().at("task.seed1-analysis"),
              "finding=device memory at 30 % of its peak, multiprocessors at 80 %: compute-bound"));
  CHECK_FALSE(holds(world.model.prompts().at("task.seed1"), "finding="));
}

TEST_CASE("the prompt about a persistent kernel of a recurrent task has the cycles of a step",
          "[flow][engine][profile]") {
  auto replies = k_advice_replies;
  replies["seed1"] = code_reply("score 1.3, persistent");
  AdviceWorld world(std::move(replies));
  world.benchmarker.facts.emplace().recurrence =
      RecurrenceFact{.kind = RecurrenceKind::Gru, .steps = 512, .returns = {}};
  FakeProfiler profiler([](const ProfileRequest&) -> Result<Profile> {
    auto profile = busy_profile();
    profile.kernels.front().duration_ns = 1'024'000;
    profile.kernels.front().launches = 1;
    return profile;
  });
  auto request = fake_request();
  request.gpu.emplace().clock_khz = 1'000'000;
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal, request, &profiler));
  const std::string words = "512 dependent steps in 1 launch";
  const auto analysis = world.model.prompts().at("task.seed1-analysis");
  CHECK(holds(analysis, words));
  CHECK(holds(analysis, "2.00 us or 2000 cycles at 1000 MHz for each"));
  // The optimized kernel is not persistent.
  CHECK_FALSE(holds(world.model.prompts().at("task.stage2"), words));
}

TEST_CASE("a run that was cut around its profiles goes on to the same end", "[flow][engine][profile][resume]") {
  AdviceWorld first;
  FakeProfiler profiler([](const ProfileRequest&) -> Result<Profile> { return busy_profile(); });
  const auto whole = make_memory_journal(real_time());
  const auto expected = first.run(*whole, fake_request(), &profiler);
  REQUIRE(expected);
  for (std::size_t cut = 0; cut <= whole->events().size(); ++cut) {
    INFO("after " << cut << " events");
    AdviceWorld world;
    FakeProfiler again([](const ProfileRequest&) -> Result<Profile> { return busy_profile(); });
    const auto journal = cut_journal(*whole, cut);
    const auto before = events_of<ProfileTaken>(*journal).size();
    const auto outcome = world.run(*journal, fake_request(), &again);
    REQUIRE(outcome);
    CHECK(outcome->best == expected->best);
    CHECK(outcome->reason == expected->reason);
    CHECK(outcome->history.size() == expected->history.size());
    CHECK(before + again.requests().size() == 3);
  }
}

TEST_CASE("where there is no profiler, the search goes on without", "[flow][engine][profile]") {
  AdviceWorld world;
  const auto journal = make_memory_journal(real_time());
  std::string reason;
  SECTION("no profiler") {
    REQUIRE(world.run(*journal));
    reason = "there is no profiler for it here";
  }
  SECTION("one that fails") {
    FakeProfiler profiler([](const ProfileRequest&) -> Result<Profile> {
      return Error{ErrorCode::MissingTool, "no Python with torch"};
    });
    REQUIRE(world.run(*journal, fake_request(), &profiler));
    reason = "no Python with torch";
  }
  SECTION("one that throws") {
    FakeProfiler profiler([](const ProfileRequest&) -> Result<Profile> { throw std::runtime_error("my bug"); });
    REQUIRE(world.run(*journal, fake_request(), &profiler));
    reason = "the profiler threw an exception: my bug";
  }
  const auto taken = events_of<ProfileTaken>(*journal);
  REQUIRE(taken.size() == 4);
  for (const auto& one : taken) {
    REQUIRE(one.profile.unavailable);
    CHECK(holds(one.profile.unavailable->reason, reason));
  }
  CHECK(history_of(journal->events()).contains("stage3"));
}

TEST_CASE("a profile that is taken elsewhere pauses the run, which goes on when it is there",
          "[flow][engine][profile]") {
  AdviceWorld world;
  const auto journal = make_memory_journal(real_time());
  FakeProfiler elsewhere([](const ProfileRequest&) -> Result<Profile> {
    return Error{ErrorCode::Pending, "no worker has answered"};
  });
  const auto paused = world.run(*journal, fake_request(), &elsewhere);
  REQUIRE_FALSE(paused);
  CHECK(paused.error().code == ErrorCode::Pending);
  CHECK(events_of<ProfileTaken>(*journal).empty());
  FakeProfiler there([](const ProfileRequest&) -> Result<Profile> { return busy_profile(); });
  REQUIRE(world.run(*journal, fake_request(), &there));
  CHECK(events_of<ProfileTaken>(*journal).size() == 3);
}

TEST_CASE("no profile is taken after a budget has ended", "[flow][engine][profile][budget]") {
  AdviceWorld world;
  FakeProfiler profiler([](const ProfileRequest&) -> Result<Profile> { return busy_profile(); });
  auto request = fake_request();
  request.budget.requests = 1;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, request, &profiler);
  REQUIRE(outcome);
  CHECK(outcome->best == "seed1");
  CHECK(outcome->reason == "the budget of 1 request is used up");
  CHECK(profiler.requests().empty());
}

TEST_CASE("a policy that profiles what is no correct kernel is a bug that is named", "[flow][engine][profile]") {
  class Wrong final : public Policy {
    [[nodiscard]] std::string name() const override { return "wrong"; }
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override { return {}; }
    [[nodiscard]] Decision next(const History&) const override {
      Decision decision;
      decision.profiles = {"nothing"};
      return decision;
    }
  };
  AdviceWorld world;
  world.policy = std::make_unique<Wrong>();
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE_FALSE(outcome);
  CHECK(holds(outcome.error().message, "policy wrong wants a profile of nothing"));
}

TEST_CASE("rounds: a critique is journaled, and the coder reads it", "[flow][engine][rounds]") {
  AdviceWorld world({{"round1", code_reply("wrong")},
                     {"round1-critic", "the sum starts at one"},
                     {"round2", code_reply("score 1")},
                     {"round2-critic", "<think>hm</think>"},
                     {"round3", code_reply("score 2")}});
  world.policy = make_rounds_policy({.rounds = 3});
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "round3");
  CHECK(outcome->history.at("round1/critic").status == ActionStatus::Analyzed);
  CHECK(outcome->history.at("round1/critic").critique == "the sum starts at one");
  CHECK(outcome->history.at("round2/critic").status == ActionStatus::NoCode);
  CHECK(world.model.prompts().at("task.round2") ==
        "repair variant= base=round1 history= critique=the sum starts at one");
  CHECK(world.model.prompts().at("task.round3") == "reflect variant= base=round2 history=round1 ");
  CHECK(world.model.prompts().at("task.round2-critic") == "critic variant=optimization base=round2 history=round1 ");
  CHECK(world.benchmarker.requests().size() == 3);
}

TEST_CASE("an analysis that contradicts the reference is corrected, and the correction is kept", "[flow][engine]") {
  AdviceWorld world({{"seed1", code_reply("score 1")},
                     {"seed1-analysis", R"({"worth_optimizing": true, "output_requirement": "full sequence"})"},
                     {"seed1-optimize", code_reply("score 2")}});
  world.policy = make_hybrid_policy({.seeds = 1, .stages = {}});
  world.benchmarker.facts.emplace().recurrence = RecurrenceFact{.kind = RecurrenceKind::Gru,
                                                                .layers = 1,
                                                                .directions = 1,
                                                                .steps = 7,
                                                                .hidden_size = 4,
                                                                .returns = OutputRequirement::FinalStateOnly};
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal));
  const std::string correction =
      "the reference returns final_state_only, not full_sequence as the analysis says: so its GRU of 7 steps behaved "
      "when it was run";
  CHECK(holds(world.model.prompts().at("task.seed1-optimize"), "correction=" + correction));
  CHECK(history_of(journal->events()).at("seed1/analysis").analysis->correction == correction);
}

TEST_CASE("money is a budget where prices are known", "[flow][engine][budget]") {
  AdviceWorld world;
  world.policy = make_one_shot_policy({.samples = 50});
  auto request = fake_request();
  request.parallel_requests = 1;
  // Each request: 100 tokens in, 10 out.
  request.prices = Prices{.per_million_input = 1000, .per_million_output = 10000, .per_million_cached = {}};
  request.budget.cost = 0.5;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, request);
  REQUIRE(outcome);
  CHECK(outcome->reason == "the budget of 0.5 cost is used up");
  CHECK(events_of<BudgetExhausted>(*journal).at(0).which == "cost");
  double spent = 0;
  for (const auto& reply : events_of<ReplyArrived>(*journal)) spent += reply.cost.value();
  CHECK_THAT(spent, Catch::WithinAbs(0.2 * static_cast<double>(events_of<ReplyArrived>(*journal).size()), 1e-9));
  CHECK(spent >= 0.5);
  // Without a budget for it the cost is counted as well, and does not end the run.
  request.budget = {};
  CHECK(world.run(*journal, request)->reason == "all samples are done");
}

TEST_CASE("what a provider had seen before has a price of its own", "[flow][engine][budget]") {
  AdviceWorld world(std::map<std::string, std::string>{});
  FakeModel model([](const LLMRequest&, std::stop_token) -> Result<Reply> {
    return Reply{.text = code_reply("score 1"), .usage = {1'000'000, 0, 900'000, std::nullopt}};
  });
  world.policy = make_one_shot_policy({.samples = 1});
  auto request = fake_request();
  request.prices = Prices{.per_million_input = 10, .per_million_output = 20, .per_million_cached = 1};
  const auto journal = make_memory_journal(real_time());
  REQUIRE(
      run_flow(request, *world.policy, {model, world.prompts, world.benchmarker, world.detector}, *journal, {}, {}));
  CHECK_THAT(events_of<ReplyArrived>(*journal).at(0).cost.value(), Catch::WithinAbs(1.9, 1e-9));
}

TEST_CASE("a reply counts with the prices of the model that gave it, unless others are given",
          "[flow][engine][budget]") {
  AdviceWorld world(std::map<std::string, std::string>{});
  FakeModel model([](const LLMRequest&, std::stop_token) -> Result<Reply> {
    Reply reply{.text = code_reply("score 1"), .usage = {1'000'000, 0, std::nullopt, std::nullopt}};
    reply.prices = Prices{.per_million_input = 3};
    return reply;
  });
  world.policy = make_one_shot_policy({.samples = 1});
  auto request = fake_request();
  request.prices_by_kind[PromptKind::Seed] = Prices{.per_million_input = 10};
  const auto cost = [&] {
    const auto journal = make_memory_journal(real_time());
    REQUIRE(
        run_flow(request, *world.policy, {model, world.prompts, world.benchmarker, world.detector}, *journal, {}, {}));
    return events_of<ReplyArrived>(*journal).at(0).cost.value();
  };
  CHECK_THAT(cost(), Catch::WithinAbs(3, 1e-9));
  request.prices = Prices{.per_million_input = 7};
  CHECK_THAT(cost(), Catch::WithinAbs(7, 1e-9));
}

TEST_CASE("tokens that the provider did not count are estimated", "[flow][engine][budget]") {
  AdviceWorld world(std::map<std::string, std::string>{});
  FakeModel model(
      [](const LLMRequest&, std::stop_token) -> Result<Reply> { return Reply{.text = std::string(4000, 'x')}; });
  world.policy = make_one_shot_policy({.samples = 50});
  auto request = fake_request();
  request.parallel_requests = 1;
  request.budget.tokens = 2500;
  const auto journal = make_memory_journal(real_time());
  const auto outcome =
      run_flow(request, *world.policy, {model, world.prompts, world.benchmarker, world.detector}, *journal, {}, {});
  REQUIRE(outcome);
  CHECK(outcome->reason == "the budget of 2500 tokens is used up");
  CHECK(outcome->history.size() < 50);
}

TEST_CASE("evaluations are never more than their budget, however many requests are in flight",
          "[flow][engine][budget]") {
  for (const int parallel : {1, 8}) {
    AdviceWorld world({{"sample3", code_reply("score 1")},
                       {"sample4", code_reply("score 2")},
                       {"sample5", code_reply("score 3")},
                       {"sample6", code_reply("score 4")}});
    world.policy = make_one_shot_policy({.samples = 20});
    auto request = fake_request();
    request.parallel_requests = parallel;
    request.budget.evaluations = 3;
    const auto journal = make_memory_journal(real_time());
    const auto outcome = world.run(*journal, request);
    REQUIRE(outcome);
    CHECK(outcome->reason == "the budget of 3 evaluations is used up");
    CHECK(world.benchmarker.requests().size() == 3);
  }
}
