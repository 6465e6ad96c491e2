#include "campaign_display.hpp"

#include "cli/fixture.hpp"
#include "cli/screen.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;
using namespace std::chrono_literals;
using Status = CampaignRunStatus;

namespace {

CampaignRunSummary summary_of_run(const std::string& name) {
  CampaignRunSummary run;
  run.name = name;
  run.max_actions = 22;
  return run;
}

/// A display with a fake clock, its output, and the campaign that it shows.
struct ShownCampaign : ShownOutput {
  explicit ShownCampaign(Terminal terminal, CampaignLimits limits = {})
      : ShownOutput(terminal), display(terminal, writer(), limits, clock()) {}

  void see(const CampaignNotice& notice) { display.see(notice, {.runs = runs, .spent = spent, .used_fraction = 0.8}); }

  std::vector<CampaignRunSummary> runs{summary_of_run("level1/19_ReLU"), summary_of_run("level3/40_GRUHidden"),
                                       summary_of_run("c")};
  ResourceUsage spent{};
  CampaignDisplay display;
};

/// Shows one event of each kind.
void play_campaign(ShownCampaign& shown) {
  shown.runs[0].status = Status::Running;
  shown.see(CampaignRunStarted{0});
  shown.now += 12s;
  shown.spent = {.tokens = 12'345, .requests = 2, .cost = 0.5, .time = 12s};
  ActionResult result;
  result.action.id = "seed1/repair1";
  result.status = ActionStatus::Evaluated;
  result.candidate = make_candidate(Target::Cpp, "x");
  result.record = correct_record(1.5);
  shown.runs[0].finished_actions = 1;
  shown.see(CampaignAttempt{0, result});
  shown.runs[0].best = "seed1/repair1";
  shown.runs[0].best_score = 1.5;
  shown.see(CampaignBetterKernel{0});
  shown.runs[1].status = Status::Running;
  shown.runs[1].spent.requests = 3;
  shown.see(CampaignRunStarted{1});
  result.record->outcome = {OutcomeKind::Accuracy, "mismatch", "element 3 is wrong by far \x1b[2J and more"};
  shown.see(CampaignAttempt{1, result});
  shown.see(CampaignWait{1, {"seed2", "HTTP 429: slow down", 8s}});
  shown.see(CampaignWait{1, {"seed2", "too short to read", 500ms}});
  shown.see(CampaignBudgetWarning{});
  shown.runs[0].status = Status::Success;
  shown.runs[0].reason = "all stages are done";
  shown.see(CampaignRunEnded{0});
}

}  // namespace

TEST_CASE("into a pipe a campaign is a line for each event", "[cli][campaign_display]") {
  ShownCampaign shown({});
  play_campaign(shown);
  shown.display.finish();
  CHECK(
      shown.written ==
      "   0:00     0/3  level1/19_ReLU            started\n"
      "   0:12     0/3  level1/19_ReLU            seed1/repair1        correct                    1.50x\n"
      "   0:12     0/3  level1/19_ReLU            best so far: seed1/repair1 1.50x\n"
      "   0:12     0/3  level3/40_GRUHidden       goes on\n"
      "   0:12     0/3  level3/40_GRUHidden       seed1/repair1        accuracy:mismatch              -  element 3 is "
      "wrong by far and more\n"
      "   0:12     0/3  level3/40_GRUHidden       seed2                again in 8 s  HTTP 429: slow down\n"
      "80 % of the campaign's budget are used\n"
      "   0:12     1/3  level1/19_ReLU            success seed1/repair1 1.50x  all stages are done\n");
}

TEST_CASE("on a terminal the status of a campaign stands below its events", "[cli][campaign_display]") {
  for (const std::size_t width : {40, 80, 200}) {
    INFO(width);
    ShownCampaign shown({.interactive = true, .color = true, .width = width},
                        {.requests = 10, .cost = 2, .time = 600s});
    play_campaign(shown);
    shown.now += 30s;
    shown.display.refresh();
    const auto text = shown.screen.text();
    CHECK(text.find("0:42 of 10:00 (7 %) | 1 of 3 runs over") != std::string::npos);
    CHECK(text.find("level3/40_GRUHidden 0/22") != std::string::npos);
    shown.display.finish();
    CHECK(shown.screen.text().find("runs over") == std::string::npos);
  }
  ShownCampaign shown({.interactive = true, .width = 80}, {.requests = 10, .cost = 2, .time = 600s});
  play_campaign(shown);
  CHECK(shown.screen.text() ==
        "level1/19_ReLU           started\n"
        "level1/19_ReLU           seed1/repair1        correct                    1.50x\n"
        "level1/19_ReLU           best so far: seed1/repair1 1.50x\n"
        "level3/40_GRUHidden      goes on\n"
        "level3/40_GRUHidden      seed1/repair1        accuracy:mismatch              -\n"
        "    element 3 is wrong by far and more\n"
        "level3/40_GRUHidden      seed2                again in 8 s\n"
        "    HTTP 429: slow down\n"
        "80 % of the campaign's budget are used\n"
        "level1/19_ReLU           success seed1/repair1 1.50x\n"
        "    all stages are done\n"
        "0:12 of 10:00 (2 %) | 1 of 3 runs over | 1 success | 1 running | 1 not begun\n"
        "requests 2 of 10 (20 %) | 12.3k tokens | cost 0.50 of 2 (25 %)\n"
        "level3/40_GRUHidden 0/22");
}

TEST_CASE("the status of many runs in progress stays short", "[cli][campaign_display]") {
  std::vector<CampaignRunSummary> runs;
  for (int i = 0; i < 64; ++i) {
    runs.push_back(summary_of_run("level1/" + std::to_string(i) + "_Some_Long_Name"));
    runs.back().status = Status::Running;
  }
  const auto lines = render_campaign_status(runs, {}, {}, 79);
  CHECK(lines.size() == 4);
  for (const auto& line : lines) CHECK(line.size() <= 79);
}

TEST_CASE("a table of a campaign tells each reason once", "[cli][campaign_display]") {
  CampaignOutcome outcome;
  for (const char* name : {"a", "b", "c_with_a_name_that_is_longer_than_the_terminal_allows_for_it"}) {
    outcome.runs.push_back(summary_of_run(name));
    outcome.runs.back().status = Status::Paused;
    outcome.runs.back().reason = "the model does not answer";
  }
  outcome.runs[0].status = Status::Success;
  outcome.runs[0].best_score = 3.25;
  const auto text = render_campaign(outcome, {.interactive = true, .width = 80});
  CHECK(text.find("2 runs: the model does not answer\n") != std::string::npos);
  CHECK(text.find("3 runs: 1 success, 2 paused\n") != std::string::npos);
  CHECK(text.find("3.25x") != std::string::npos);
  for (std::size_t at = 0, end = text.find('\n'); end != text.npos; at = end + 1, end = text.find('\n', at))
    CHECK(end - at <= 80);
}

TEST_CASE("the exit code of a campaign tells first what a later call can change", "[cli][campaign_display]") {
  const auto code_of = [](std::vector<Status> statuses, bool cancelled = false) {
    CampaignOutcome outcome{.cancelled = cancelled};
    for (const auto status : statuses) {
      outcome.runs.push_back(summary_of_run("x"));
      outcome.runs.back().status = status;
      if (status == Status::Success || status == Status::Partial) outcome.runs.back().best = "seed1";
      if (status == Status::Error) outcome.runs.back().error = Error{ErrorCode::MissingDevice, "no GPU"};
    }
    return static_cast<int>(exit_code_for(outcome));
  };
  CHECK(code_of({Status::Success, Status::Success}) == 0);
  CHECK(code_of({Status::Success, Status::Partial}) == 1);
  CHECK(code_of({Status::Success, Status::Failed}) == 1);
  CHECK(code_of({Status::Failed, Status::Failed}) == 2);
  CHECK(code_of({Status::BudgetExhausted, Status::Success}) == 1);
  CHECK(code_of({Status::BudgetExhausted}) == 2);
  CHECK(code_of({Status::Error, Status::Success}) == 69);
  CHECK(code_of({Status::Error, Status::Busy}) == 73);
  CHECK(code_of({Status::Error, Status::Busy, Status::Paused}) == 75);
  CHECK(code_of({Status::Paused, Status::NotBegun}, true) == 130);
  CHECK(code_of({}) == 0);
}
