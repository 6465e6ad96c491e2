// The file with which processes share the budget of a campaign.
#include "flow/budget_ledger.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "flow/campaign_state.hpp"
#include "flow/shared_budget.hpp"
#include "support/catch.hpp"
#include "support/file_size_limit.hpp"
#include "support/files.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

constexpr CampaignLimits k_ten{.requests = 10};

/// A results directory of processes that agree.
class Shared {
 public:
  [[nodiscard]] fs::path file() const { return directory_.path() / ".budget.json"; }
  [[nodiscard]] fs::path directory() const { return directory_.path(); }

  Result<std::unique_ptr<BudgetLedger>> join(CampaignTerms terms = {{"limit of requests", "10"}}) {
    return BudgetLedger::join({.directory = directory(), .terms = std::move(terms), .read_start = [this] {
                                 ++starts;
                                 return LedgerStart{.spent = spent_before};
                               }});
  }
  SharedBudget budget(CampaignLimits limits = k_ten) {
    return {limits, join().value(), [] { return std::chrono::system_clock::time_point{}; }};
  }
  [[nodiscard]] LedgerState state() const { return parse_ledger(read_file(file()).value()).value(); }
  void write(const LedgerState& state) const { REQUIRE(write_file_atomic(file(), to_json(state) + "\n")); }

  Spending spent_before;
  int starts = 0;

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "kgen-").value();
};

Spending requests(int count) { return {.requests = count}; }

}  // namespace

TEST_CASE("two processes reserve and spend one budget", "[flow][budget][ledger]") {
  Shared shared;
  shared.spent_before = requests(4);
  auto first = shared.budget(), second = shared.budget();
  // The journals were read once: the second one begins from the same numbers.
  CHECK(shared.starts == 1);
  auto held = first.reserve(requests(3), {});
  REQUIRE(held);
  auto other = second.reserve(requests(3), {});
  REQUIRE(other);
  // 10 are spent or reserved. A request that fits without the reservation of the other process waits for it.
  std::jthread settles([&] {
    std::this_thread::sleep_for(50ms);
    held->settle(requests(1));
  });
  CHECK(second.reserve(requests(2), {}));
  other->settle(requests(3));
  CHECK(second.reserve(requests(3), {}).error().message == "the campaign's budget of 10 requests is used up");
  CHECK(second.spent() == requests(8));
  CHECK(first.reserve(requests(2), {}));
  CHECK(first.spent() == requests(8));
}

TEST_CASE("what a process that ended has spent counts for the other, and a next campaign begins from the journals",
          "[flow][budget][ledger]") {
  Shared shared;
  {
    auto stays = shared.budget();
    {
      auto ends = shared.budget();
      ends.reserve(requests(6), {})->settle(requests(6));
    }
    CHECK(stays.reserve(requests(5), {}).error().code == ErrorCode::Pending);
    CHECK(stays.reserve(requests(4), {}));
    CHECK(shared.starts == 1);
  }
  shared.spent_before = requests(10);
  auto next = shared.budget();
  CHECK(shared.starts == 2);
  CHECK(next.reserve(requests(1), {}).error().code == ErrorCode::Pending);
}

TEST_CASE("the reservations of a process that died count as spent", "[flow][budget][ledger]") {
  Shared shared;
  auto budget = shared.budget();
  auto state = shared.state();
  // It has no lock file, so it is dead.
  state.sessions.push_back({.id = "dead", .share = {.spent = requests(2), .reserved = requests(5)}});
  shared.write(state);
  CHECK(budget.reserve(requests(4), {}).error().code == ErrorCode::Pending);
  CHECK(budget.reserve(requests(3), {}));
  CHECK(budget.spent() == requests(7));
  const auto after = shared.state();
  const auto dead = std::find_if(after.sessions.begin(), after.sessions.end(), [](auto& s) { return s.id == "dead"; });
  REQUIRE(dead != after.sessions.end());
  CHECK(dead->has_ended);
  CHECK(dead->share.reserved == Spending{});
}

TEST_CASE("a process that was taken for dead goes on counting", "[flow][budget][ledger]") {
  Shared shared;
  auto budget = shared.budget();
  budget.reserve(requests(6), {})->settle(requests(6));
  fs::remove(shared.file());
  CHECK(budget.reserve(requests(5), {}).error().code == ErrorCode::Pending);
  CHECK(budget.reserve(requests(4), {}));
  CHECK(shared.state().sessions.size() == 1);
}

TEST_CASE("processes with other terms are refused, naming the first difference", "[flow][budget][ledger]") {
  CHECK(difference_of({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "2"}}) == std::nullopt);
  CHECK(difference_of({{"a", "1"}}, {{"a", "1"}, {"b", "2"}}) == "b none, and this one has 2");
  CHECK(difference_of({{"a", "1"}, {"b", "2"}}, {{"a", "3"}}) == "a 1, and this one has 3");
  Shared shared;
  {
    const auto first = shared.join({{"limit of cost", "5"}, {"policy", "hybrid"}});
    REQUIRE(first);
    const auto refused = shared.join({{"limit of cost", "10"}, {"policy", "hybrid"}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::Busy);
    const auto& text = refused.error().message;
    CHECK(text.find("another kgen (process " + std::to_string(::getpid()) + " on ") == 0);
    CHECK(text.find(" works on the campaign in " + shared.directory().string() +
                    " with the limit of cost 5, and this one has 10; give both the same options, or wait") !=
          text.npos);
    CHECK(shared.join({{"limit of cost", "5"}, {"policy", "reflect"}})
              .error()
              .message.find("with the policy hybrid, and this one has reflect") != std::string::npos);
    CHECK(shared.state().sessions.size() == 1);
  }
  // No process is left.
  CHECK(shared.join({{"limit of cost", "10"}}));
}

TEST_CASE("a damaged ledger is refused with what to do", "[flow][budget][ledger]") {
  Shared shared;
  for (const char* text : {"{\"terms\": [[\"a\"", "[]", "{\"sessions\": 3}", "\x01\x02"}) {
    INFO(text);
    REQUIRE(write_file_atomic(shared.file(), text));
    const auto refused = shared.join();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
    CHECK(refused.error().message.find(shared.file().string() + " is damaged (") == 0);
    CHECK(refused.error().message.find("; remove it once no kgen works on this campaign") != std::string::npos);
  }
  // The end of a longer text after the first line is none.
  REQUIRE(write_file_atomic(shared.file(), to_json(LedgerState{}) + "\nrest\": 1}"));
  CHECK(shared.join());
}

TEST_CASE("a ledger with any bytes is read or refused", "[flow][budget][ledger]") {
  const auto whole = to_json({.terms = {{"limit of cost", "5"}},
                              .start = {.spent = {3, 400, 0.5}, .milliseconds = 7, .began = 9},
                              .sessions = {{.id = "a", .has_ended = true, .share = {.spent = {1, 2, 3}}}}});
  const auto read = parse_ledger(whole).value();
  CHECK(to_json(read) == whole);
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    auto text = whole.substr(0, random() % (whole.size() + 1));
    for (int changes = static_cast<int>(random() % 4); changes > 0 && !text.empty(); --changes)
      text[random() % text.size()] = static_cast<char>(random());
    const auto any = parse_ledger(text);
    if (!any) CHECK(any.error().code == ErrorCode::InvalidArgument);
  }
}

TEST_CASE("a full disk ends a request, not the ledger", "[flow][budget][ledger]") {
  Shared shared;
  auto budget = shared.budget();
  const auto before = read_file(shared.file()).value();
  {
    const FileSizeLimit full(before.size() - 10);
    const auto refused = budget.reserve(requests(1), {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::NoSpace);
    CHECK(refused.error().message.find("cannot write " + shared.file().string()) == 0);
    CHECK(budget.reserved() == Spending{});
  }
  CHECK(shared.state().sessions.size() == 1);
  CHECK(budget.reserve(requests(10), {}));
}

TEST_CASE("campaigns that share a budget side by side never overrun it", "[flow][campaign][budget][ledger]") {
  CampaignWorld world(4);
  auto request = world.request_of(run_names(12));
  request.limits.requests = 17;
  std::vector<Result<CampaignOutcome>> outcomes(3, Error{ErrorCode::Internal, "not run"});
  {
    std::vector<std::jthread> processes;
    for (auto& outcome : outcomes) processes.emplace_back([&] { outcome = run_campaign(request, {}, {}); });
  }
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    CHECK(outcome->spent.requests <= 17);
  }
  CHECK(world.count_requests() == 17);
  // The same command goes on with more.
  request.limits.requests = 100;
  const auto rest = world.run(request);
  REQUIRE(rest);
  CHECK(rest->spent.requests == 48);
  for (const auto& [id, times] : world.model.asked()) CHECK(times == 1);
}

TEST_CASE("a campaign is refused beside one with other limits, runs or options", "[flow][campaign][budget][ledger]") {
  CampaignWorld world;
  auto request = world.request_of({"a", "b"});
  request.limits.requests = 10;
  const auto held = BudgetLedger::join(
      {.directory = world.results(), .terms = terms_of(request), .read_start = [] { return LedgerStart{}; }});
  REQUIRE(held);
  const auto refused = [&](const std::function<void(CampaignRequest&)>& change) {
    auto other = request;
    change(other);
    const auto outcome = world.run(other);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::Busy);
    return outcome.error().message;
  };
  CHECK(refused([](auto& other) {
          other.limits.requests = 11;
        }).find("with the limit of requests 10, and this one has 11") != std::string::npos);
  CHECK(refused([](auto& other) { other.limits = {}; }).find("with the limit of requests 10, and this one has none") !=
        std::string::npos);
  CHECK(refused([](auto& other) {
          other.limits.time = 60s;
        }).find("with the limit of seconds none, and this one has 60") != std::string::npos);
  CHECK(refused([](auto& other) { other.runs.pop_back(); }).find("with the runs 2 with the id ") != std::string::npos);
  CHECK(refused([](auto& other) {
          other.runs[1].request.goal = 7;
        }).find("with the option goal 1, and this one has 1 7") != std::string::npos);
  CHECK(world.count_requests() == 0);
  // The same ones share it.
  CHECK(world.run(request));
}
