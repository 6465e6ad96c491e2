#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/report/monitor.hpp>

#include "cli/fixture.hpp"
#include "layout.hpp"
#include "monitor_frame.hpp"
#include "monitor_text.hpp"
#include "monitor_view.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "terminal_screen.hpp"
#include "unit/report/sample_runs.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using Status = CampaignRunStatus;
using Kind = Key::Kind;

MonitoredRun shown_run(std::string name, Status status, std::optional<double> best_score = {}) {
  MonitoredRun run{.name = std::move(name), .status = status, .target = "triton", .model = "openai gpt-5"};
  if (status == Status::NotBegun) return run;
  run.best_score = best_score;
  run.best = best_score ? "seed1/repair1" : "";
  run.finished_attempts = 5;
  run.failed_attempts = 3;
  run.max_attempts = 22;
  run.spent = {.tokens = 45'200, .requests = 6, .evaluations = 4, .cost = 0.25, .time = 185s};
  run.silent = 12s;
  return run;
}

/// A campaign with something of everything.
CampaignSnapshot shown_campaign() {
  CampaignSnapshot snapshot{.directory = "campaign"};
  auto running = shown_run("1_Square_matrix_multiplication_", Status::Running, 1.25);
  running.policy = "hybrid";
  running.phases = {{MonitorPhase::Asking, 1}, {MonitorPhase::Judging, 1}};
  running.attempts = {{.number = 1,
                       .id = "seed1",
                       .result_class = "compile:undeclared",
                       .failed = true,
                       .message = "line 3: error: 'x' was not declared in this scope"},
                      {.number = 2, .id = "seed1/repair1", .result_class = "correct", .score = 1.25},
                      {.number = 3, .id = "seed2", .phase = MonitorPhase::Judging, .age = 75s}};
  running.omitted_attempts = 2;
  auto quiet = shown_run("19_ReLU", Status::Running);
  quiet.phases = {{MonitorPhase::Asking, 1}};
  quiet.silent = 3h;
  auto failed = shown_run("20_LeakyReLU", Status::Failed);
  failed.reason = "no seed is correct";
  auto paused = shown_run("21_Sigmoid", Status::Paused);
  paused.reason = "the model does not answer: HTTP 503 at localhost:8000";
  snapshot.runs = {running,
                   quiet,
                   failed,
                   paused,
                   shown_run("22_Tanh", Status::Success, 2.5),
                   shown_run("23_Softmax", Status::NotBegun)};
  for (const auto& run : snapshot.runs) ++snapshot.counts[run.status];
  snapshot.phases = {{MonitorPhase::Asking, 2}, {MonitorPhase::Judging, 1}};
  snapshot.spent = {.tokens = 1'230'000, .requests = 512, .evaluations = 402, .cost = 4.5, .time = 3725s};
  snapshot.unanswered = 1;
  snapshot.limits = {.tokens = 5'000'000, .cost = 50};
  snapshot.requests_per_minute = 8.43;
  snapshot.mean_score = 1.77;
  snapshot.scored_runs = 2;
  snapshot.remaining = {.expected = 7800s, .low = 6600s, .high = 9000s, .known_runs = 34};
  snapshot.devices = {{.name = "cuda: NVIDIA H100 GPU-1", .evaluations = 402, .busy = 1800s, .recent_use = 0.456}};
  snapshot.errors = {{.kind = MonitorErrorKind::Kernel,
                      .run = "1_Square_matrix_multiplication_",
                      .action = "seed1",
                      .message = "compile:undeclared: line 3: error",
                      .age = 4s},
                     {.kind = MonitorErrorKind::Model,
                      .run = "21_Sigmoid",
                      .action = "seed1",
                      .message = "HTTP 503 at localhost:8000",
                      .age = 130s}};
  snapshot.spool = SpoolStatus{};
  snapshot.spool->workers.push_back({.host = "node1", .pid = 4711, .jobs = 2, .silent = 3s});
  return snapshot;
}

std::string frame_text(const CampaignSnapshot& snapshot, MonitorView view, FrameSize size) {
  std::string text;
  const auto lines = render_frame(snapshot, view, size);
  CHECK(lines.size() == size.height);
  for (const auto& line : lines) {
    CHECK(count_characters(line.text) <= size.width);
    text += line.text + '\n';
  }
  return text;
}

std::vector<std::string> names_of(const CampaignSnapshot& snapshot, const MonitorView& view) {
  std::vector<std::string> names;
  for (const auto* run : visible_runs(snapshot, view)) names.push_back(run->name.substr(0, run->name.find('_')));
  return names;
}

MonitorRequest press(MonitorView& view, const CampaignSnapshot& snapshot, std::string_view bytes) {
  auto request = MonitorRequest::None;
  for (const auto& key : parse_keys(bytes)) request = apply_key(view, key, snapshot, 10);
  return request;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("frames of the monitor", "[cli][monitor]") {
  const auto snapshot = shown_campaign();
  for (const std::size_t width : {80u, 200u}) {
    const FrameSize size{.width = width, .height = 24};
    const auto suffix = "_" + std::to_string(width) + ".txt";
    check_golden("monitor_runs" + suffix, frame_text(snapshot, {}, size));
    check_golden("monitor_run" + suffix,
                 frame_text(snapshot, {.page = MonitorView::Page::Run, .selected = snapshot.runs[0].name}, size));
    check_golden("monitor_help" + suffix, frame_text(snapshot, {.page = MonitorView::Page::Help}, size));
  }
  check_golden("monitor_snapshot.txt", render_snapshot(snapshot, 80));
}

TEST_CASE("frames of every size fit, with a campaign and without one", "[cli][monitor]") {
  for (const auto& snapshot :
       {shown_campaign(), CampaignSnapshot{.directory = "results", .problem = "it is not there"}})
    for (const auto page : {MonitorView::Page::Runs, MonitorView::Page::Run, MonitorView::Page::Help})
      for (std::size_t width : {1u, 2u, 7u, 19u, 40u, 119u, 120u, 500u})
        for (std::size_t height : {1u, 2u, 3u, 9u, 60u}) {
          MonitorView view{.page = page, .selected = "22_Tanh", .scroll = 1000};
          const auto lines = render_frame(snapshot, view, {.width = width, .height = height});
          CHECK(lines.size() == height);
          for (const auto& line : lines) CHECK(count_characters(line.text) <= width);
        }
}

TEST_CASE("the cursor is always among the runs on the screen", "[cli][monitor]") {
  CampaignSnapshot snapshot{.directory = "many"};
  for (int i = 0; i < 250; ++i) snapshot.runs.push_back(shown_run(std::to_string(i) + "_Task", Status::Failed));
  for (const int cursor : {0, 1, 100, 248, 249}) {
    MonitorView view{.selected = std::to_string(cursor) + "_Task"};
    const auto lines = render_frame(snapshot, view, {});
    const auto selected = std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
      return line.style == FrameLine::Style::Selected && line.text.find(view.selected + ' ') == 0;
    });
    CHECK(selected == 1);
  }
}

TEST_CASE("keys sort, reverse and filter the runs", "[cli][monitor]") {
  const auto snapshot = shown_campaign();
  MonitorView view;
  CHECK(names_of(snapshot, view) == Names{"1", "19", "20", "21", "22", "23"});
  press(view, snapshot, "r");
  CHECK(names_of(snapshot, view) == Names{"23", "22", "21", "20", "19", "1"});
  press(view, snapshot, "rs");
  CHECK(names_of(snapshot, view) == Names{"1", "19", "21", "22", "20", "23"});
  press(view, snapshot, "s");
  CHECK(view.order == MonitorOrder::Score);
  CHECK(names_of(snapshot, view) == Names{"22", "1", "19", "20", "21", "23"});
  press(view, snapshot, "SSS");
  CHECK(view.order == MonitorOrder::Latest);
  press(view, snapshot, "s/reLU");
  CHECK(view.is_filtering);
  CHECK(names_of(snapshot, view) == Names{"19", "20"});
  press(view, snapshot,
        "\x7f\x7f\x7f\x7f"
        "judging\r");
  CHECK_FALSE(view.is_filtering);
  CHECK(names_of(snapshot, view) == Names{"1"});
  CHECK(press(view, snapshot, "\x1b") == MonitorRequest::None);
  CHECK(names_of(snapshot, view).size() == 6);
  // While a filter is typed, q is a letter.
  CHECK(press(view, snapshot, "/q") == MonitorRequest::None);
  CHECK(view.filter == "q");
  CHECK(press(view, snapshot, "\x03") == MonitorRequest::Interrupt);
}

TEST_CASE("keys move the cursor, open a run and close it", "[cli][monitor]") {
  const auto snapshot = shown_campaign();
  MonitorView view;
  press(view, snapshot, "\x1b[B\x1b[B");
  CHECK(view.selected == "20_LeakyReLU");
  press(view, snapshot, "k");
  CHECK(view.selected == "19_ReLU");
  press(view, snapshot, "\x1b[F");
  CHECK(view.selected == "23_Softmax");
  press(view, snapshot, "\x1b[H\r");
  CHECK(view.page == MonitorView::Page::Run);
  CHECK(view.selected == snapshot.runs[0].name);
  press(view, snapshot, "n");
  CHECK(view.selected == "19_ReLU");
  CHECK(press(view, snapshot, "q") == MonitorRequest::None);
  CHECK(view.page == MonitorView::Page::Runs);
  press(view, snapshot, "?");
  CHECK(view.page == MonitorView::Page::Help);
  press(view, snapshot, "\x1b");
  CHECK(press(view, snapshot, "q") == MonitorRequest::Quit);
  // The open run is gone.
  view = {.page = MonitorView::Page::Run, .selected = "gone"};
  static_cast<void>(render_frame(snapshot, view, {}));
  CHECK(view.page == MonitorView::Page::Runs);
  CHECK(press(view, CampaignSnapshot{}, "jk\r\x1b[5~Gn") == MonitorRequest::None);
}

TEST_CASE("bytes of a terminal are read as keys", "[cli][monitor]") {
  const auto kinds = [](std::string_view bytes) {
    std::vector<Kind> found;
    for (const auto& key : parse_keys(bytes)) found.push_back(key.kind);
    return found;
  };
  CHECK(kinds("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b") ==
        std::vector{Kind::Up, Kind::Down, Kind::PageUp, Kind::PageDown, Kind::Escape});
  CHECK(kinds("\x1b[200;5uq") == std::vector{Kind::Text});
  CHECK(kinds("\x1b[<0;12;3M") == std::vector<Kind>{});
  CHECK(kinds("\xff\xfe\x01") == std::vector<Kind>{});
  CHECK(kinds("\x1a\x0c") == std::vector{Kind::Suspend, Kind::Redraw});
  const auto keys = parse_keys("\xC3\xA9\xE2\x82");
  REQUIRE(keys.size() == 1);
  CHECK(keys[0].text == "\xC3\xA9");
}

TEST_CASE("only lines that have changed are drawn", "[cli][monitor]") {
  CHECK(screen_update({"a", "b"}, {"a", "b"}).empty());
  CHECK(screen_update({"a", "b"}, {"a", "c"}) == "\x1b[?2026h\x1b[2;1Hc\x1b[K\x1b[?2026l");
  CHECK(screen_update({}, {"a"}) == "\x1b[?2026h\x1b[1;1H\x1b[J\x1b[1;1Ha\x1b[K\x1b[?2026l");
  CHECK(screen_update({"a", "b", "c"}, {"a"}) == "\x1b[?2026h\x1b[2;1H\x1b[J\x1b[?2026l");
  const auto yes = TerminalScreen::Colors::Yes, no = TerminalScreen::Colors::No;
  CHECK(styled_line({"good", FrameLine::Style::Good}, 10, yes) == "\x1b[32mgood\x1b[0m");
  CHECK(styled_line({"good", FrameLine::Style::Good}, 10, no) == "good");
  CHECK(styled_line({"chosen", FrameLine::Style::Selected}, 8, no) == "\x1b[7mchosen  \x1b[0m");
  CHECK(styled_line({"too long", FrameLine::Style::Plain}, 6, no) == "too...");
}

TEST_CASE("without a terminal the monitor prints what is known, and ends", "[cli][monitor]") {
  Fixture kgen;
  CHECK(kgen.run({"monitor", kgen.path("gone")}) == 64);
  CHECK(kgen.err.str().find("is no results directory: it does not exist") != std::string::npos);
  fs::create_directories(kgen.path("out/9_GRU"));
  {
    std::ofstream journal(kgen.path("out/9_GRU/events.jsonl"));
    for (const auto& event : successful_events()) journal << to_json(event) << '\n';
  }
  CHECK(kgen.run({"monitor", kgen.path("out")}) == 0);
  CHECK(kgen.out.str().find("1 of 1 runs over | 1 success\n") != std::string::npos);
  CHECK(kgen.out.str().find("9_GRU        success     2.50x      4    1") != std::string::npos);
  CHECK_FALSE(fs::exists(kgen.path("out/.lock")));
  kgen.out.str("");
  CHECK(kgen.run({"monitor", kgen.path("out"), "--json"}) == 0);
  CHECK(kgen.out.str().find("{\"schema\":1,") == 0);
  kgen.err.str("");
  CHECK(kgen.run({"monitor", "--serve", "results"}) == 64);
  CHECK(kgen.err.str().find("--serve: expected a whole number from 0 to 65535") != std::string::npos);
  CHECK(kgen.run({"monitor", "--serve", "--json"}) == 64);
  CHECK(kgen.run({"monitor", "--interval", "0"}) == 64);
}
