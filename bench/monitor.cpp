// What watching a campaign costs: reading its journals for the first time, looking at them again, drawing a frame,
// writing the data of the web page. `monitor [RUNS [ATTEMPTS]]`; default: 250 runs of 20 attempts.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <kernelgen/report/monitor.hpp>
#include <kernelgen/store/event.hpp>

#include "monitor_frame.hpp"
#include "support/clock.hpp"
#include "support/files.hpp"
#include "terminal_screen.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
namespace fs = std::filesystem;

namespace {

/// A journal with prompts, kernels and samples of the usual size.
class JournalWriter {
 public:
  explicit JournalWriter(const fs::path& directory) {
    fs::create_directories(directory);
    file_.open(directory / "events.jsonl");
    RunStarted started;
    started.task.name = directory.filename().string();
    started.policy = "hybrid";
    started.model = "openai gpt-5";
    add(std::move(started));
    add(TaskDescribed{});
  }

  void add_attempt(int number) {
    const auto id = "seed" + std::to_string(number);
    add(ActionIssued{number, {.id = id}, {.text = std::string(12'000, 'p'), .estimated_tokens = 3000}});
    add(RequestSent{number});
    add(ReplyArrived{number, {.text = std::string(6000, 'r'), .usage = {3000, 1500, {}, {}}, .model = "gpt-5"}});
    ActionResult result;
    result.action.id = id;
    result.number = number;
    result.status = ActionStatus::Evaluated;
    result.candidate = make_candidate(Target::Cpp, std::string(5000, 'k'));
    auto& record = result.record.emplace();
    record.environment.device = "cpu: a processor";
    record.phases = {{"compile", 900}, {"wait for the device", 10}, {"timing", 2000}};
    if (number % 3 == 0) {
      auto& timing = record.timing.emplace();
      timing.reference_ns.assign(200, 123456);
      timing.candidate_ns.assign(200, 98765);
      timing.speedup_call = {1.25, 1.2, 1.3};
    } else {
      record.outcome = {OutcomeKind::Accuracy, "mismatch", "output: 12 of 1024 elements differ"};
    }
    add(ActionFinished{std::move(result)});
    if (number == 3) add(BestChanged{id});
  }

  void add(EventBody body) {
    time_ += std::chrono::seconds{5};
    file_ << to_json({utc_iso8601(time_), std::move(body)}) << '\n';
  }

 private:
  std::ofstream file_;
  std::chrono::system_clock::time_point time_{std::chrono::hours{24 * 365 * 55}};
};

template <class Work>
void measure(const char* what, int times, const Work& work) {
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work();
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - before;
  std::printf("| %-44s | %9.2f |\n", what, passed.count() / times);
}

int run(int runs, int attempts) {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "monitor-").value();
  for (int i = 1; i <= runs; ++i) {
    JournalWriter writer(directory.path() / (std::to_string(i) + "_Task"));
    for (int number = 1; number <= attempts; ++number) writer.add_attempt(number);
    if (i % 10 != 0) writer.add(RunFinished{"all steps are done", i % 2 == 0});
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
    if (entry.is_regular_file()) bytes += entry.file_size();
  std::printf("%d runs of %d attempts, %.0f MB of journals\n\n| %-44s | %9s |\n|---|---|\n", runs, attempts,
              static_cast<double>(bytes) / 1e6, "step", "ms");
  const auto reader = make_campaign_reader({.directory = directory.path()});
  CampaignSnapshot snapshot;
  measure("first look at everything", 1, [&] {
    do snapshot = reader->poll();
    while (snapshot.unread_bytes > 0);
  });
  measure("another look", 50, [&] { snapshot = reader->poll(); });
  MonitorView view{.order = MonitorOrder::Score};
  for (const FrameSize size : {FrameSize{80, 24}, FrameSize{200, 60}}) {
    const auto name = "frame of " + std::to_string(size.width) + " x " + std::to_string(size.height);
    std::vector<std::string> shown;
    measure((name + ", drawn").c_str(), 100, [&] {
      std::vector<std::string> lines;
      for (const auto& line : render_frame(snapshot, view, size))
        lines.push_back(styled_line(line, size.width, TerminalScreen::Colors::Yes));
      shown = {};
      if (screen_update(shown, lines).empty()) std::abort();
    });
  }
  measure("campaign.json", 20, [&] {
    if (monitor_json(snapshot).empty()) std::abort();
  });
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("\n%ld MB of memory, %zu bytes of campaign.json\n", usage.ru_maxrss / 1024,
              monitor_json(snapshot).size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? std::atoi(argv[1]) : 250, argc > 2 ? std::atoi(argv[2]) : 20); }
