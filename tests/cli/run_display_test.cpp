#include "run_display.hpp"

#include <string>
#include <vector>

#include "cli/fixture.hpp"
#include "render.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;

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

EvaluationRecord wrong_record() {
  EvaluationRecord record;
  record.outcome = {OutcomeKind::Accuracy, "mismatch", std::string(400, 'x') + "\x1b[2J\nmore"};
  return record;
}

/// Everything that a display writes about a small search, piece by piece.
std::vector<std::string> shown(Terminal terminal) {
  std::vector<std::string> pieces;
  RunDisplay display(terminal, [&](std::string_view text) { pieces.emplace_back(text); });
  const auto see = [&](EventBody body) { display.see(Event{"", std::move(body)}); };
  for (int number = 1; number <= 2; ++number) {
    ActionIssued issued;
    issued.number = number;
    issued.action.id = "seed" + std::to_string(number);
    see(issued);
    see(RequestSent{number});
  }
  see(ReplyArrived{1, {.text = "code", .usage = {12'000, 345, std::nullopt, std::nullopt}}});
  display.see(EvaluationStep{"seed1", {"timing", "40 pairs"}});
  see(ActionFinished{result(1, "seed1", correct_record(1.5))});
  see(BestChanged{"seed1"});
  see(ReplyArrived{2, {.text = "code"}});
  see(ActionFinished{result(2, "seed2", wrong_record())});
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const auto& piece : pieces) text += piece;
  return text;
}

}  // namespace

TEST_CASE("into a pipe a search is a line for each step that ended", "[cli][run_display]") {
  const auto text = joined(shown({}));
  CHECK(text.find("seed1                    correct                            1.50x\n"
                  "best so far: seed1 1.50x\n"
                  "seed2                    accuracy:mismatch                      -  xxx") == 0);
  CHECK(text.find('\x1b') == text.npos);
  CHECK(text.find('\r') == text.npos);
  CHECK(text.back() == '\n');
}

TEST_CASE("a pause for a busy machine is a line, too", "[cli][run_display]") {
  std::string text;
  RunDisplay display({}, [&](std::string_view piece) { text += piece; });
  display.see(EvaluationStep{"seed1", {std::string(k_pause_phase), "30 s; other work"}});
  CHECK(text == "seed1                    pause: 30 s; other work\n");
}

TEST_CASE("after a resume every step has its name, and the best and the tokens are those of all sessions",
          "[cli][run_display]") {
  std::string text;
  RunDisplay display({.interactive = true, .width = 200}, [&](std::string_view piece) { text += piece; });
  const auto remember = [&](EventBody body) { display.remember(Event{"", std::move(body)}); };
  for (int number = 1; number <= 2; ++number) {
    ActionIssued issued;
    issued.number = number;
    issued.action.id = "seed" + std::to_string(number);
    remember(issued);
    remember(RequestSent{number});
  }
  remember(ReplyArrived{1, {.text = "code", .usage = {12'000, 345, std::nullopt, std::nullopt}}});
  remember(ActionFinished{result(1, "seed1", correct_record(1.5))});
  remember(BestChanged{"seed1"});
  CHECK(text.empty());
  display.see(Event{"", RunResumed{"0.1.0"}});
  display.see(Event{"", RequestUnknown{2}});
  display.see(Event{"", RequestSent{2}});
  CHECK(text.find("best 1.50x | 12.3k tokens | seed2 (asking)") != text.npos);
  display.see(Event{"", ReplyArrived{2, {.text = "code"}}});
  display.see(Event{"", ActionFinished{result(2, "seed2", correct_record(1.2))}});
  text.clear();
  display.see(Event{"", BestChanged{"seed1"}});
  CHECK(text.find("| deciding") != text.npos);
}

TEST_CASE("a step whose beginning was not seen has a name, and goes away", "[cli][run_display]") {
  std::string text;
  RunDisplay display({.interactive = true, .width = 200}, [&](std::string_view piece) { text += piece; });
  display.see(Event{"", RequestSent{7}});
  CHECK(text.find("request 7 (asking)") != text.npos);
  CHECK(text.find("| (asking)") == text.npos);
  text.clear();
  display.see(Event{"", ActionFinished{result(7, "seed7", correct_record(1.2))}});
  CHECK(text.find("| deciding") != text.npos);
}

TEST_CASE("a request without an answer is a line, and runs no more", "[cli][run_display]") {
  std::string text;
  RunDisplay display({.interactive = true, .width = 200}, [&](std::string_view piece) { text += piece; });
  ActionIssued issued;
  issued.number = 1;
  issued.action.id = "seed1";
  display.see(Event{"", issued});
  display.see(Event{"", RequestSent{1}});
  display.see(Event{"", RequestDeferred{1, ErrorCode::Unavailable, "HTTP 429: quota", "localhost:9"}});
  CHECK(text.find("seed1                    no answer, asked again later           -  HTTP 429: quota\n") != text.npos);
  CHECK(text.rfind("| deciding") != text.npos);
}

TEST_CASE("on a terminal the bottom line says what runs, the best and the tokens", "[cli][run_display]") {
  for (const std::size_t width : {std::size_t{80}, std::size_t{200}}) {
    const auto pieces = shown({.interactive = true, .color = true, .width = width});
    const auto text = joined(pieces);
    CHECK(text.find("best - | 12.3k tokens | seed1 (timing: 40 pairs), seed2 (asking)") != text.npos);
    CHECK(text.find("best 1.50x | 12.3k tokens | seed2 (answered)") != text.npos);
    CHECK(text.find("best 1.50x | 12.3k tokens | deciding") != text.npos);
    // No line wraps, and nothing of a message reaches the terminal as a command.
    for (const auto& piece : pieces) CHECK(piece.size() <= width + 5);
    CHECK(text.find("\x1b[2J") == text.npos);
  }
}

TEST_CASE("numbers are short", "[cli][run_display]") {
  CHECK(format_count(999) == "999");
  CHECK(format_count(12'345) == "12.3k");
  CHECK(format_count(4'560'000) == "4.56M");
  CHECK(format_score(std::nullopt) == "-");
  CHECK(format_score(2.345) == "2.35x");
}
