#include "flow/campaign_state.hpp"

#include "support/catch.hpp"
#include "support/clock.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
using Status = CampaignRunStatus;

namespace {

/// Events one minute after the other.
class EventList {
 public:
  explicit EventList(std::chrono::minutes start = 0min) : time_(std::chrono::hours(24 * 20'000) + start) {}
  EventList& add(EventBody body, std::chrono::seconds after = 60s) {
    time_ += after;
    events.push_back({utc_iso8601(std::chrono::system_clock::time_point(time_)), std::move(body)});
    return *this;
  }
  /// An action that is issued and sent, with a prompt of 40 tokens by estimate and 200 bytes.
  EventList& send(int number) {
    Prompt prompt{.text = std::string(200, 'x'), .estimated_tokens = 40};
    add(ActionIssued{number, {.id = "sample" + std::to_string(number)}, prompt});
    return add(RequestSent{number});
  }
  EventList& answer(int number, std::optional<double> cost = std::nullopt) {
    return add(ReplyArrived{number, {.text = "reply", .usage = {30, 7, std::nullopt, std::nullopt}}, cost});
  }
  std::vector<Event> events;

 private:
  std::chrono::seconds time_;
};

FlowRequest priced_request() {
  FlowRequest request;
  request.max_output_tokens = 1000;
  request.prices = Prices{.per_million_input = 2, .per_million_output = 10};
  return request;
}

CampaignRunSummary summary_of(const std::string& model, Status status, std::int64_t requests,
                              std::optional<double> score = std::nullopt) {
  CampaignRunSummary summary;
  summary.model = model;
  summary.status = status;
  summary.spent.requests = requests;
  summary.best_score = score;
  summary.max_actions = 10;
  return summary;
}

}  // namespace

TEST_CASE("the most that a request can use follows from its prompt and its limit", "[flow][campaign]") {
  const Prompt prompt{.text = std::string(200, 'x'), .estimated_tokens = 40};
  const auto most = most_of_request(prompt, priced_request());
  CHECK(most.requests == 1);
  // Two bytes a token are more than the estimate.
  CHECK(most.tokens == 1100);
  CHECK(most.cost == Approx((100 * 2 + 1000 * 10) / 1e6));
  auto request = priced_request();
  request.prices.reset();
  CHECK(most_of_request(prompt, request) == Spending{1, 1100, 0});
}

TEST_CASE("spending is what replies used, and the most for answers that are not known", "[flow][campaign]") {
  const auto request = priced_request();
  const double most_cost = (100 * 2 + 1000 * 10) / 1e6;
  const auto spent = [&](const EventList& list) { return spending_of(list.events, request); };
  CHECK(spent(EventList()) == Spending{});
  // Its cost is the one that was journaled, else it follows from the prices.
  CHECK(spent(EventList().send(1).answer(1, 0.5)) == Spending{1, 37, 0.5});
  CHECK(spent(EventList().send(1).answer(1)).cost == Approx((30 * 2 + 7 * 10) / 1e6));
  // In flight at a crash, with and without the resume that follows.
  CHECK(spent(EventList().send(1)).tokens == 1100);
  CHECK(spent(EventList().send(1)).cost == Approx(most_cost));
  CHECK(spent(EventList().send(1).add(RequestUnknown{1})).tokens == 1100);
  CHECK(spent(EventList().send(1).add(RequestUnknown{1}).add(RequestSent{1}).answer(1, 0)) ==
        Spending{2, 1137, most_cost});
  CHECK(spent(EventList().send(1).add(RequestDeferred{1, ErrorCode::Timeout, "late"})).tokens == 1100);
  // What a server refuses costs nothing, and a request that is rejected is one.
  CHECK(spent(EventList().send(1).add(RequestDeferred{1, ErrorCode::Unavailable, "503"})) == Spending{});
  CHECK(spent(EventList().send(1).add(RequestPending{1})) == Spending{});
  CHECK(spent(EventList().send(1).add(RequestDeferred{1, ErrorCode::PromptTooLong, "too long"})) == Spending{});
  CHECK(spent(EventList().send(1).add(RequestFailed{1, ErrorCode::InvalidArgument, "too long"})) == Spending{1, 0, 0});
}

TEST_CASE("the time of a campaign is that in which at least one run was in progress", "[flow][campaign]") {
  EventList first, second(1min);
  first.add(RunStarted{}).send(1).add(RunResumed{}, 1h).add(RequestUnknown{1});
  second.add(RunStarted{}).send(1).answer(1);
  auto sessions = sessions_of(first.events);
  REQUIRE(sessions.size() == 2);
  CHECK(time_within(sessions) == 2min + 1min);
  const auto other = sessions_of(second.events);
  sessions.insert(sessions.begin(), other.begin(), other.end());
  // From minute 1 to 3, from 2 to 5, and one minute later on.
  CHECK(time_within(sessions) == 4min + 1min);
  CHECK(time_within({}) == 0ms);
}

TEST_CASE("a summary tells what a journal tells", "[flow][campaign]") {
  CampaignWorld world;
  const auto run = world.run_of("a");
  CHECK(summarize_run(run).status == Status::NotBegun);
  CHECK(summarize_run(run, {}).status == Status::NotBegun);
  EventList list;
  list.add(RunStarted{}).send(1).answer(1);
  CHECK(summarize_run(run, list.events).status == Status::Paused);
  ActionResult result;
  result.action.id = "sample1";
  result.number = 1;
  result.status = ActionStatus::Evaluated;
  result.record = correct_record(1.5);
  result.record->phases = {{"compile", 700}, {"wait for the device", 900}, {"timing", 300.5}};
  list.add(ActionFinished{result}).add(BestChanged{"sample1"});
  auto summary = summarize_run(run, list.events);
  CHECK(summary.best == "sample1");
  CHECK(summary.best_score == 1.5);
  CHECK(summary.finished_actions == 1);
  CHECK(summary.max_actions == 1);
  CHECK(summary.model == "fake");
  CHECK(summary.device_time == 300ms);
  CHECK(summarize_run(run, EventList(list).add(RunFinished{"done", true}).events).status == Status::Success);
  CHECK(summarize_run(run, EventList(list).add(RunFinished{"done", false}).events).status == Status::Partial);
  list.add(BestChanged{""});
  summary = summarize_run(run, list.add(RunFinished{"done", false}).events);
  CHECK(summary.status == Status::Failed);
  CHECK(summary.reason == "done");
}

TEST_CASE("a run that its own budget ended goes on with a larger one", "[flow][campaign]") {
  CampaignWorld world;
  auto run = world.run_of("a");
  EventList list;
  list.add(RunStarted{})
      .send(1)
      .answer(1)
      .add(BudgetExhausted{"requests", "used up"})
      .add(RunFinished{"used up", false});
  run.request.budget.requests = 1;
  CHECK(summarize_run(run, list.events).status == Status::Failed);
  run.request.budget.requests = 2;
  CHECK(summarize_run(run, list.events).status == Status::Paused);
  // What has reached its goal needs nothing more.
  CHECK(summarize_run(run, list.add(RunFinished{"used up", true}).events).status == Status::Success);
}

TEST_CASE("a run is not over while its winner is still to be watched", "[flow][campaign]") {
  CampaignWorld world;
  auto run = world.run_of("a");
  ActionResult result;
  result.action.id = "sample1";
  result.number = 1;
  result.status = ActionStatus::Evaluated;
  result.record = correct_record(1.5);
  EventList list;
  list.add(RunStarted{}).send(1).answer(1).add(ActionFinished{result}).add(BestChanged{"sample1"});
  list.add(RunFinished{"done", true});
  CHECK(summarize_run(run, list.events).status == Status::Success);
  run.request.sanitize_winner = true;
  CHECK(summarize_run(run, list.events).status == Status::Paused);
  result.record->sanitizers.push_back(
      {.tool = "none", .version = {}, .status = SanitizerStatus::NotFinished, .reason = ""});
  CHECK(summarize_run(run, list.add(ActionFinished{result}).events).status == Status::Success);
}

TEST_CASE("each selection takes up its kinds of runs", "[flow][campaign]") {
  const auto selected = [](RunSelection selection) {
    std::string letters;
    for (const auto& [status, letter] :
         {std::pair{Status::NotBegun, 'n'}, std::pair{Status::Paused, 'p'}, std::pair{Status::Error, 'e'},
          std::pair{Status::Success, 's'}, std::pair{Status::Partial, 'a'}, std::pair{Status::Failed, 'f'}})
      if (is_selected(selection, status)) letters += letter;
    return letters;
  };
  CHECK(selected(RunSelection::Unfinished) == "npe");
  CHECK(selected(RunSelection::Paused) == "pe");
  CHECK(selected(RunSelection::Failed) == "f");
  CHECK(selected(RunSelection::All) == "npef");
}

TEST_CASE("what is promising and cheap is started first", "[flow][campaign]") {
  const auto next = [](const std::vector<CampaignRunSummary>& all) {
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!is_over(all[i].status)) waiting.push_back(i);
    return choose_next(RunOrder::ByValue, waiting, all);
  };
  const auto fresh = [](const std::string& model) { return summary_of(model, Status::NotBegun, 0); };
  // Nothing is known: the first one.
  CHECK(next({fresh("m"), fresh("n")}) == 0);
  // The model that reached its goals goes first, and the one that needed fewer requests.
  CHECK(next({summary_of("m", Status::Failed, 10), summary_of("n", Status::Success, 10), fresh("m"), fresh("n")}) == 3);
  CHECK(next({summary_of("m", Status::Success, 8), summary_of("n", Status::Success, 2), fresh("m"), fresh("n")}) == 3);
  // A run that is close to its goal goes before one that is far from it, and before a new one.
  CHECK(next({fresh("m"), summary_of("m", Status::Paused, 3, 0.3), summary_of("m", Status::Paused, 3, 0.9)}) == 2);
  // A run with many steps and no kernel goes last, unless little is left of it.
  auto unlucky = summary_of("m", Status::Paused, 5);
  unlucky.finished_actions = 5;
  CHECK(next({unlucky, fresh("m")}) == 1);
  // Money decides where it is known.
  auto dear = summary_of("m", Status::Success, 2), cheap = summary_of("n", Status::Success, 4);
  dear.spent.cost = 8;
  cheap.spent.cost = 1;
  CHECK(next({dear, cheap, fresh("m"), fresh("n")}) == 3);
  CHECK(choose_next(RunOrder::Given, {2, 3}, {dear, cheap, fresh("m"), fresh("n")}) == 2);
}
