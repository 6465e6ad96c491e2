#include "run_display.hpp"

#include <string>
#include <vector>

#include "cli/fixture.hpp"
#include "cli/screen.hpp"
#include "layout.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

namespace {

ActionResult result(int number, const std::string& id, EvaluationRecord record) {
  ActionResult made;
  made.action.id = id;
  made.number = number;
  made.status = ActionStatus::Evaluated;
  made.candidate = make_candidate(Target::Cpp, id);
  made.record = std::move(record);
  return made;
}

EvaluationRecord wrong_record(const std::string& message = "word " + std::string(60, 'x') +
                                                           " and \x1b[2J\nmore words") {
  EvaluationRecord record;
  record.outcome = {OutcomeKind::Accuracy, "mismatch", message};
  return record;
}

/// A display with a fake clock, and its output.
struct Shown : ShownOutput {
  explicit Shown(Terminal terminal, Budget budget = {})
      : ShownOutput(terminal), display(terminal, writer(), budget, clock()) {}

  void see(EventBody body) { display.see(Event{"", std::move(body)}); }
  void issue(int number, const std::string& id) {
    ActionIssued issued;
    issued.number = number;
    issued.action.id = id;
    see(issued);
    see(RequestSent{number});
  }
  void progress(FlowProgress told) { display.see(told); }

  RunDisplay display;
};

/// Shows the notices of a small search.
void play(Shown& shown) {
  shown.progress({.max_actions = 22});
  shown.issue(1, "seed1");
  shown.issue(2, "seed2");
  shown.now += 42s;
  shown.progress({.spent = {.tokens = 12'345, .requests = 2, .time = 42s}, .max_actions = 22});
  shown.see(ReplyArrived{1, {.text = "code"}});
  shown.display.see(EvaluationStep{"seed1", {"timing", "40 pairs"}});
  shown.now += 18s;
  shown.progress({.spent = {.tokens = 12'345, .requests = 2, .evaluations = 1, .time = 60s},
                  .finished_actions = 1,
                  .max_actions = 22});
  shown.see(ActionFinished{result(1, "seed1", correct_record(1.5))});
  shown.progress({.spent = {.tokens = 12'345, .requests = 2, .evaluations = 1, .time = 60s},
                  .finished_actions = 1,
                  .max_actions = 22,
                  .best = "seed1",
                  .best_score = 1.5});
  shown.see(BestChanged{"seed1"});
}

}  // namespace

TEST_CASE("into a pipe a search is a line for each step that ended, at once", "[cli][run_display]") {
  Shown shown({});
  play(shown);
  CHECK(shown.written ==
        " 1:00   1/22  seed1                    correct                            1.50x\n"
        " 1:00   1/22  best so far: seed1 1.50x\n");
  shown.written.clear();
  shown.see(ActionFinished{result(2, "seed2", wrong_record())});
  CHECK(shown.written == " 1:00   1/22  seed2                    accuracy:mismatch                      -  word " +
                             std::string(60, 'x') + " and more words\n");
  shown.written.clear();
  shown.display.finish();
  CHECK(shown.written == "1:00 | 1 of at most 22 steps | best seed1 1.50x | 12.3k tokens\n");
}

TEST_CASE("a kernel that was watched at the end is told from one that has become correct", "[cli][run_display]") {
  Shown shown({});
  auto record = correct_record(1.5);
  record.sanitizers = {
      {.tool = "thread", .status = SanitizerStatus::Clean},
      {.tool = "address", .status = SanitizerStatus::NotFinished, .reason = "it was not done in 120 s"}};
  shown.see(ActionFinished{result(1, "seed1", std::move(record))});
  CHECK(shown.written.find("correct, watched") != std::string::npos);
  CHECK(shown.written.find("thread clean; address not finished: it was not done in 120 s") != std::string::npos);
}

TEST_CASE("on a terminal of 80 columns nothing is cut short", "[cli][run_display]") {
  Shown shown({.interactive = true, .color = true, .width = 80});
  play(shown);
  shown.see(ActionFinished{result(2, "seed2", wrong_record())});
  CHECK(shown.screen.text() ==
        "seed1                    correct                            1.50x\n"
        "best so far: seed1 1.50x\n"
        "seed2                    accuracy:mismatch                      -\n"
        "    word " +
            std::string(60, 'x') +
            " and more\n"
            "    words\n"
            "1:00 | 1 of at most 22 steps | best seed1 1.50x | 12.3k tokens\n"
            "deciding");
  shown.display.clear();
  CHECK(shown.screen.text().find("deciding") == std::string::npos);
}

TEST_CASE("on a terminal of 200 columns a message stands behind its step", "[cli][run_display]") {
  Shown shown({.interactive = true, .width = 200});
  play(shown);
  shown.see(ActionFinished{result(2, "seed2", wrong_record("max error 3 at [0, 5]"))});
  CHECK(shown.screen.text().find("accuracy:mismatch                      -  max error 3 at [0, 5]\n") !=
        std::string::npos);
  CHECK(shown.written.find("\x1b[32m") == std::string::npos);
}

TEST_CASE("outcomes are colored as eval colors them, and not without color", "[cli][run_display]") {
  Shown shown({.interactive = true, .color = true, .width = 100});
  shown.see(ActionFinished{result(1, "a", correct_record(1.5))});
  shown.see(ActionFinished{result(2, "b", correct_record(0.5))});
  shown.see(ActionFinished{result(3, "c", wrong_record())});
  CHECK(shown.written.find(std::string(k_green) + "correct ") != std::string::npos);
  CHECK(shown.written.find(std::string(k_yellow) + "correct ") != std::string::npos);
  CHECK(shown.written.find(std::string(k_red) + "accuracy:mismatch ") != std::string::npos);
  // No escape sequence in a message reaches the terminal.
  CHECK(shown.written.find("\x1b[2J") == std::string::npos);
}

TEST_CASE("the status tells time, steps, shares of budgets, the best, and what runs", "[cli][run_display]") {
  const Budget budget{.tokens = 100'000, .requests = 20, .cost = 5, .time = 600s};
  for (const std::size_t width : {std::size_t{80}, std::size_t{200}}) {
    Shown shown({.interactive = true, .width = width}, budget);
    shown.progress({.spent = {.tokens = 45'200, .requests = 7, .cost = 0.1, .time = 125s},
                    .finished_actions = 3,
                    .max_actions = 20,
                    .best = "seed1",
                    .best_score = 1.52});
    shown.issue(4, "seed2/repair1");
    shown.display.see(EvaluationStep{"seed1/optimize", {"timing", "40 pairs"}});
    const auto text = shown.screen.text();
    for (const char* piece : {"2:05 of 10:00 (21 %)", "3 of at most 20 steps", "tokens 45.2k of 100.0k (45 %)",
                              "requests 7 of 20 (35 %)", "cost 0.10 of 5 (2 %)", "best seed1 1.52x",
                              "at most 7 min 55 s left", "seed1/optimize timing: 40 pairs", "seed2/repair1 asking"})
      CHECK(text.find(piece) != std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == (width == 80 ? 3 : 1));
  }
}

TEST_CASE("time passes on the terminal while nothing else happens", "[cli][run_display]") {
  Shown shown({.interactive = true, .width = 80});
  shown.progress({});
  shown.issue(1, "seed1");
  shown.now += 65s;
  shown.display.refresh();
  CHECK(shown.screen.text() == "1:05 | 0 steps | no correct kernel yet | 0 tokens\nseed1 asking");
}

TEST_CASE("a pause is a line, and the status counts down to its end", "[cli][run_display]") {
  Shown piped({});
  piped.display.see(ActionPaused{"seed1", "busy machine: others work", 30s});
  CHECK(piped.written ==
        " 0:00      0  seed1                    again in 30 s                     "
        "busy machine: others work\n");
  Shown shown({.interactive = true, .width = 100});
  shown.progress({});
  shown.issue(1, "seed1");
  shown.display.see(ActionPaused{"seed1", "HTTP 429: slow down", 8s});
  CHECK(shown.screen.text().find("seed1 again in 8 s (HTTP 429: slow down)") != std::string::npos);
  shown.now += 5s;
  shown.display.refresh();
  CHECK(shown.screen.text().find("seed1 again in 3 s (HTTP 429: slow down)") != std::string::npos);
  // A short pause gets no line.
  shown.written.clear();
  shown.display.see(ActionPaused{"seed1", "HTTP 429: slow down", 500ms});
  CHECK(shown.written.find("again in 1 s  ") == std::string::npos);
}

TEST_CASE("a reply on its way shows how much there is of it, and how fast it grows", "[cli][run_display]") {
  Shown shown({.interactive = true, .width = 100});
  shown.progress({});
  shown.issue(1, "seed1");
  shown.display.see(ReplyProgress{"seed1", {.text_bytes = 0, .reasoning_bytes = 400}});
  CHECK(shown.screen.text().find("seed1 thinks: 100 tokens") != std::string::npos);
  shown.now += 10s;
  shown.display.see(ReplyProgress{"seed1", {.text_bytes = 1'600, .reasoning_bytes = 400}});
  CHECK(shown.screen.text().find("seed1 writes: 500 tokens, 50/s") != std::string::npos);
  // A step that is not known is not shown.
  shown.display.see(ReplyProgress{"seed9", {.text_bytes = 1}});
  CHECK(shown.screen.text().find("seed9") == std::string::npos);
  Shown piped({});
  piped.issue(1, "seed1");
  piped.display.see(ReplyProgress{"seed1", {.text_bytes = 1'600}});
  CHECK(piped.written.empty());
}

TEST_CASE("after a resume every step has its name, and the best and the tokens are those of all sessions",
          "[cli][run_display]") {
  Shown shown({.interactive = true, .width = 200});
  ActionIssued issued;
  issued.number = 2;
  issued.action.id = "seed2";
  shown.display.remember(Event{"", issued});
  CHECK(shown.written.empty());
  shown.progress(
      {.spent = {.tokens = 12'345, .time = 3600s}, .finished_actions = 1, .best = "seed1", .best_score = 1.5});
  shown.see(RunResumed{"0.1.0"});
  shown.see(RunContinued{"0.1.0", "hybrid", {}, "scripted"});
  shown.see(RequestUnknown{2});
  shown.see(RequestSent{2});
  CHECK(shown.screen.text() ==
        "going on with a run that was started before\n"
        "continuing a run: what it has found stays\n"
        "1:00:00 | 1 step | best seed1 1.50x | 12.3k tokens\n"
        "seed2 asking");
  shown.see(ReplyArrived{2, {.text = "code"}});
  shown.see(ActionFinished{result(2, "seed2", correct_record(1.2))});
  CHECK(shown.screen.text().find("\ndeciding") != std::string::npos);
}

TEST_CASE("a step whose beginning was not seen has a name, and goes away", "[cli][run_display]") {
  Shown shown({.interactive = true, .width = 200});
  shown.progress({});
  shown.see(RequestSent{7});
  CHECK(shown.screen.text().find("\nrequest 7 asking") != std::string::npos);
  shown.see(ActionFinished{result(7, "seed7", correct_record(1.2))});
  CHECK(shown.screen.text().find("\ndeciding") != std::string::npos);
}

TEST_CASE("a request without an answer is a line, and runs no more", "[cli][run_display]") {
  Shown shown({.interactive = true, .width = 200});
  shown.progress({});
  shown.issue(1, "seed1");
  shown.see(RequestDeferred{1, ErrorCode::Unavailable, "HTTP 429: quota", "localhost:9"});
  const auto text = shown.screen.text();
  CHECK(text.find("seed1                    no answer, asked again later           -  HTTP 429: quota\n") !=
        std::string::npos);
  CHECK(text.find("\ndeciding") != std::string::npos);
}

TEST_CASE("a remaining time is told only where it can be", "[cli][run_display]") {
  RunProgressView status;
  CHECK_FALSE(estimate_remaining(status));
  status.progress.max_actions = 20;
  status.progress.finished_actions = 10;
  status.session = 100s;
  status.session_actions = 2;
  CHECK_FALSE(estimate_remaining(status));
  // Five steps of this session took 100 s, and at most ten remain.
  status.session_actions = 5;
  CHECK(estimate_remaining(status) == 200s);
  status.budget.time = 150s;
  status.elapsed = 100s;
  CHECK(estimate_remaining(status) == 50s);
  status.progress.max_actions.reset();
  status.elapsed = 200s;
  CHECK(estimate_remaining(status) == 0s);
}

TEST_CASE("what runs takes two lines at most, and the rest is counted", "[cli][run_display]") {
  RunProgressView status;
  for (int i = 0; i < 30; ++i) status.running.push_back({"round" + std::to_string(i), "timing: 40 pairs"});
  status.running.push_back({"late", "HTTP 429", 9s});
  const auto lines = render_status(status, 79);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].find("late again in 9 s (HTTP 429), round0 timing: 40 pairs") == 0);
  CHECK(lines[2].find(", 26 more") != std::string::npos);
  for (const auto& line : lines) CHECK(line.size() <= 79);
}

TEST_CASE("numbers are short", "[cli][run_display]") {
  CHECK(format_count(999) == "999");
  CHECK(format_count(12'345) == "12.3k");
  CHECK(format_count(4'560'000) == "4.56M");
  CHECK(format_score(std::nullopt) == "-");
  CHECK(format_score(2.345) == "2.35x");
  CHECK(format_clock(9s) == "0:09");
  CHECK(format_clock(3723s) == "1:02:03");
  CHECK(format_duration(45s) == "45 s");
  CHECK(format_duration(125s) == "2 min 5 s");
  CHECK(format_duration(7300s) == "2 h 1 min");
  CHECK(format_duration(200'000s) == "2 d 7 h");
}
