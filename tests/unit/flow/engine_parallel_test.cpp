// Tests of the engine with parallel evaluations, and of work that must run exclusively.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <kernelgen/flow/engine.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// "sample1" has score 1, and so on.
std::map<std::string, std::string> sample_replies(int count) {
  std::map<std::string, std::string> replies;
  for (int i = 1; i <= count; ++i) replies["sample" + std::to_string(i)] = code_reply("score " + std::to_string(i));
  return replies;
}

/// The services of a run except the benchmarker.
struct ParallelWorld {
  explicit ParallelWorld(FakeModel::Answer answer) : model(std::move(answer)) {}
  explicit ParallelWorld(std::map<std::string, std::string> replies) : model(std::move(replies)) {}
  explicit ParallelWorld(int samples)
      : model(sample_replies(samples)), policy(make_one_shot_policy({.samples = samples})) {}

  Result<FlowOutcome> run(Journal& journal, const FlowRequest& request, Benchmarker& benchmarker,
                          Profiler* profiler = nullptr, std::stop_token stop = {}) {
    return run_flow(request, *policy, {model, prompts, benchmarker, detector, profiler}, journal, {}, std::move(stop));
  }

  FakeModel model;
  FakePromptBuilder prompts;
  FakeDetector detector;
  std::unique_ptr<Policy> policy;
};

FlowRequest parallel_request(int evaluations, int requests) {
  auto request = fake_request();
  request.parallel_requests = requests;
  request.parallel_evaluations = evaluations;
  return request;
}

/// Judges with judge_source(), and counts the running evaluations.
class CountingBenchmarker : public Benchmarker {
 public:
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback&,
                                    std::stop_token stop) final {
    std::unique_lock lock(mutex_);
    ++begun;
    most = std::max(most, ++now);
    changed_.notify_all();
    auto record = judge(request.candidate.source, lock, stop);
    --now;
    return record;
  }
  Result<TaskDescription> describe(const TaskSource&, const EvaluationOptions&, std::stop_token) final {
    return TaskDescription{};
  }

  std::atomic<int> now = 0;
  std::atomic<int> begun = 0;
  int most = 0;

 protected:
  /// Everything of this object is guarded by the lock. Notified when an evaluation begins.
  virtual Result<EvaluationRecord> judge(const std::string& source, std::unique_lock<std::mutex>& lock,
                                         std::stop_token stop) = 0;
  std::condition_variable_any changed_;

 private:
  std::mutex mutex_;
};

/// Answers once `wanted` evaluations ran at the same time, or after a while.
class CrowdedBenchmarker final : public CountingBenchmarker {
 public:
  explicit CrowdedBenchmarker(int wanted) : wanted_(wanted) {}

 private:
  Result<EvaluationRecord> judge(const std::string& source, std::unique_lock<std::mutex>& lock,
                                 std::stop_token) override {
    changed_.wait_for(lock, 5s, [&] { return most >= wanted_; });
    lock.unlock();
    std::this_thread::sleep_for(10ms);
    lock.lock();
    return judge_source(source);
  }
  const int wanted_;
};

/// A single worker, which the candidate with score 2 kills; no evaluation that runs at that time gets an answer.
class MortalBenchmarker final : public CountingBenchmarker {
 public:
  explicit MortalBenchmarker(int crowd) : crowd_(crowd) {}
  int deaths = 0;
  /// Number of evaluations in flight when the worker died, except the first time.
  int later_victims = 0;

 private:
  Result<EvaluationRecord> judge(const std::string& source, std::unique_lock<std::mutex>& lock,
                                 std::stop_token) override {
    const int mine = deaths;
    // The first time all are there; after that, candidates have some time to arrive.
    const auto patience = mine == 0 ? 5s : 100ms;
    if (source.find("score 2") != source.npos) {
      changed_.wait_for(lock, patience / 2, [&] { return (mine == 0 && now == crowd_) || deaths != mine; });
      if (deaths == mine) die();
    } else {
      changed_.wait_for(lock, patience, [&] { return deaths != mine; });
    }
    if (deaths == mine) return judge_source(source);
    return Error{ErrorCode::Unavailable, "the worker died"};
  }
  void die() {
    if (++deaths > 1) later_victims += now;
    changed_.notify_all();
  }
  const int crowd_;
};

/// An evaluation ends when another one has begun after it, so that there is always one; or after a while.
class OverlappingBenchmarker final : public CountingBenchmarker {
 public:
  explicit OverlappingBenchmarker(int first) : first_(first) {}

 private:
  Result<EvaluationRecord> judge(const std::string& source, std::unique_lock<std::mutex>& lock,
                                 std::stop_token) override {
    const int mine = begun;
    changed_.wait_for(lock, 200ms, [&] { return begun > std::max(mine, first_ - 1); });
    return judge_source(source);
  }
  const int first_;
};

/// Three candidates; when "sample1" is known, its profile, and then `more` candidates at once.
class ProfilingPolicy final : public Policy {
 public:
  explicit ProfilingPolicy(int more) : more_(more) {}
  [[nodiscard]] std::string name() const override { return "profiling"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override { return {}; }
  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision;
    const auto first = history.find("sample1");
    const bool known = first != history.end();
    const int wanted = known ? 3 + more_ : 3;
    if (known && !first->second.profile) decision.profiles = {"sample1"};
    for (int i = 1; i <= wanted; ++i) {
      decision.actions.emplace_back().id = "sample" + std::to_string(i);
      if (history.contains(decision.actions.back().id)) decision.actions.pop_back();
    }
    decision.finished = decision.actions.empty() && decision.profiles.empty();
    return decision;
  }

 private:
  const int more_;
};

std::map<std::string_view, int> statuses_of(const History& history) {
  std::map<std::string_view, int> count;
  for (const auto& [id, result] : history) ++count[to_string(result.status)];
  return count;
}

/// The number of times that each action finished.
std::map<std::string, int> verdicts_of(const Journal& journal) {
  std::map<std::string, int> count;
  for (const auto& event : events_of<ActionFinished>(journal)) ++count[event.result.action.id];
  return count;
}

}  // namespace

TEST_CASE("as many evaluations at once as asked for", "[flow][engine][parallel]") {
  for (const int evaluations : {1, 3}) {
    ParallelWorld world(6);
    CrowdedBenchmarker benchmarker(evaluations);
    const auto journal = make_memory_journal(real_time());
    const auto outcome = world.run(*journal, parallel_request(evaluations, 6), benchmarker);
    REQUIRE(outcome);
    CHECK(outcome->best == "sample6");
    CHECK(benchmarker.most == evaluations);
  }
}

TEST_CASE("several requests are in flight at once, and never more than asked for", "[flow][engine][parallel]") {
  std::atomic<int> now = 0, most = 0;
  ParallelWorld world([&](const LLMRequest&, std::stop_token) -> Result<Reply> {
    const int mine = ++now;
    int seen = most;
    while (mine > seen && !most.compare_exchange_weak(seen, mine)) {
    }
    std::this_thread::sleep_for(20ms);
    --now;
    return Reply{.text = code_reply("score 1")};
  });
  world.policy = make_one_shot_policy({.samples = 8});
  CrowdedBenchmarker benchmarker(1);
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal, parallel_request(1, 3), benchmarker));
  CHECK(most == 3);
}

TEST_CASE("a candidate that takes the worker down costs no other its verdict", "[flow][engine][parallel]") {
  const int count = GENERATE(3, 7);
  ParallelWorld world(count);
  MortalBenchmarker benchmarker(3);
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, parallel_request(3, 3), benchmarker);
  REQUIRE(outcome);
  CHECK(statuses_of(outcome->history) == std::map<std::string_view, int>{{"evaluated", count - 1}, {"not_judged", 1}});
  CHECK(outcome->history.at("sample2").status == ActionStatus::NotJudged);
  CHECK(outcome->history.at("sample2").message == "the worker died");
  CHECK(benchmarker.most == 3);
  // Once in parallel with others, which proves nothing, and twice exclusively.
  CHECK(benchmarker.deaths == 3);
  CHECK(benchmarker.later_victims == 2);
}

TEST_CASE("nothing is evaluated while something is profiled", "[flow][engine][parallel][profile]") {
  ParallelWorld world(std::map<std::string, std::string>{{"seed1", code_reply("score 1.1")},
                                                         {"seed1-analysis", analysis_reply(true)},
                                                         {"seed1-optimize", code_reply("score 1.2")},
                                                         {"seed2", code_reply("score 1.3")},
                                                         {"seed2-analysis", analysis_reply(true)},
                                                         {"seed2-optimize", code_reply("score 1.9")}});
  world.policy = make_hybrid_policy({.seeds = 2, .profiles = ProfileUse::BeforeNextPrompt});
  CrowdedBenchmarker benchmarker(1);
  std::atomic<int> most = 0;
  FakeProfiler profiler([&](const ProfileRequest&) -> Result<Profile> {
    for (int i = 0; i < 20; ++i) {
      most = std::max(most.load(), benchmarker.now.load());
      std::this_thread::sleep_for(1ms);
    }
    return busy_profile();
  });
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal, parallel_request(4, 4), benchmarker, &profiler));
  CHECK(profiler.requests().size() >= 2);
  CHECK(most == 0);
}

TEST_CASE("a profile that is taken elsewhere waits for no evaluation", "[flow][engine][parallel][profile]") {
  /// Judges the second kernel when a profile was taken, or after a while.
  class PatientBenchmarker final : public CountingBenchmarker {
   public:
    void note_profile() {
      profiled = true;
      changed_.notify_all();
    }
    std::atomic<bool> profiled = false;
    bool saw_profile = false;

   private:
    Result<EvaluationRecord> judge(const std::string& source, std::unique_lock<std::mutex>& lock,
                                   std::stop_token) override {
      if (source.find("score 2") != source.npos)
        saw_profile = changed_.wait_for(lock, 5s, [&] { return profiled.load(); });
      return judge_source(source);
    }
  };
  ParallelWorld world(3);
  world.policy = std::make_unique<ProfilingPolicy>(0);
  PatientBenchmarker benchmarker;
  FakeProfiler profiler([&](const ProfileRequest&) -> Result<Profile> {
    benchmarker.note_profile();
    return busy_profile();
  });
  profiler.is_elsewhere = true;
  const auto journal = make_memory_journal(real_time());
  REQUIRE(world.run(*journal, parallel_request(3, 3), benchmarker, &profiler));
  CHECK(benchmarker.saw_profile);
}

TEST_CASE("a profile gets its turn between evaluations that overlap", "[flow][engine][parallel][profile]") {
  constexpr int k_more = 40;
  ParallelWorld world(3 + k_more);
  world.policy = std::make_unique<ProfilingPolicy>(k_more);
  OverlappingBenchmarker benchmarker(3);
  int begun = 0;
  FakeProfiler profiler([&](const ProfileRequest&) -> Result<Profile> {
    begun = benchmarker.begun;
    return busy_profile();
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, parallel_request(3, k_more), benchmarker, &profiler);
  REQUIRE(outcome);
  CHECK(statuses_of(outcome->history)["evaluated"] == 3 + k_more);
  CHECK(begun >= 3);
  CHECK(begun < 3 + k_more / 2);
}

TEST_CASE("a pause for a busy machine keeps no device from a profile", "[flow][engine][parallel][profile]") {
  ParallelWorld world(3);
  world.policy = std::make_unique<ProfilingPolicy>(0);
  std::atomic<int> judged = 0;
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) {
    if (request.candidate.source.find("score 2") == std::string::npos) return judge_source(request.candidate.source);
    ++judged;
    return judge_source("busy");
  });
  auto request = parallel_request(3, 3);
  request.busy_pauses.assign(1, 20s);
  std::stop_source stop;
  int pauses = 0;
  FakeProfiler profiler([&](const ProfileRequest&) -> Result<Profile> {
    pauses = judged;
    stop.request_stop();
    return busy_profile();
  });
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal, request, benchmarker, &profiler, stop.get_token());
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::Cancelled);
  REQUIRE(profiler.requests().size() == 1);
  // It was not asked about again before the profile was taken.
  CHECK(pauses <= 1);
}

TEST_CASE("a run that was interrupted amid evaluations gives each candidate one verdict",
          "[flow][engine][parallel][resume]") {
  /// Stops the run when three evaluations run, and answers correctly when stopped.
  class InterruptedBenchmarker final : public CountingBenchmarker {
   public:
    std::stop_source user;

   private:
    Result<EvaluationRecord> judge(const std::string& source, std::unique_lock<std::mutex>& lock,
                                   std::stop_token stop) override {
      if (begun <= 1) return judge_source(source);
      if (now == 3) user.request_stop();
      if (changed_.wait_for(lock, stop, 5s, [&] { return stop.stop_requested(); }) || stop.stop_requested())
        return Error{ErrorCode::Cancelled, "cancelled"};
      return judge_source(source);
    }
  };
  ParallelWorld world(8);
  auto request = parallel_request(3, 4);
  request.budget.evaluations = 5;
  const auto journal = make_memory_journal(real_time());
  InterruptedBenchmarker interrupted;
  const auto first = world.run(*journal, request, interrupted, nullptr, interrupted.user.get_token());
  REQUIRE_FALSE(first);
  CHECK(first.error().code == ErrorCode::Cancelled);
  CHECK(interrupted.most == 3);
  CHECK(verdicts_of(*journal).size() == 1);
  CrowdedBenchmarker benchmarker(3);
  const auto second = world.run(*journal, request, benchmarker);
  REQUIRE(second);
  CHECK(benchmarker.begun == 4);
  CHECK(verdicts_of(*journal).size() == 5);
  for (const auto& [id, times] : verdicts_of(*journal)) CHECK(times == 1);
  CHECK(statuses_of(second->history) == std::map<std::string_view, int>{{"evaluated", 5}});
}

TEST_CASE("a run of several evaluations at once that was cut anywhere keeps its budget of them",
          "[flow][engine][parallel][resume]") {
  auto request = parallel_request(3, 4);
  request.budget.evaluations = 5;
  ParallelWorld whole_world(8);
  CrowdedBenchmarker whole_benchmarker(3);
  const auto whole = make_memory_journal(real_time());
  REQUIRE(whole_world.run(*whole, request, whole_benchmarker));
  REQUIRE(whole_benchmarker.begun == 5);
  for (std::size_t cut = 0; cut <= whole->events().size(); ++cut) {
    INFO("after " << cut << " events");
    const auto journal = cut_journal(*whole, cut);
    const auto before = verdicts_of(*journal).size();
    ParallelWorld world(8);
    CrowdedBenchmarker benchmarker(1);
    const auto outcome = world.run(*journal, request, benchmarker);
    REQUIRE(outcome);
    CHECK(outcome->reason == "the budget of 5 evaluations is used up");
    CHECK(benchmarker.begun == 5 - static_cast<int>(before));
    CHECK(verdicts_of(*journal).size() == 5);
    for (const auto& [id, times] : verdicts_of(*journal)) CHECK(times == 1);
  }
}
