#include "event_program.hpp"

#include <boost/json.hpp>
#include <utility>

namespace kernelgen::cli {
namespace {

/// Limit of one start of the program.
constexpr std::chrono::seconds k_event_timeout{30};

boost::json::object event_of_run(const char* type, const CampaignRunSummary& run) {
  boost::json::object object{{"event", type}, {"run", run.name}, {"directory", run.directory.string()}};
  object["status"] = to_string(run.status);
  object["best"] = run.best.empty() ? boost::json::value(nullptr) : boost::json::value(run.best);
  object["score"] = run.best_score ? boost::json::value(*run.best_score) : boost::json::value(nullptr);
  object["reason"] = run.reason;
  return object;
}

}  // namespace

std::optional<std::string> event_line(const CampaignNotice& notice, const CampaignProgress& progress) {
  if (const auto* ended = std::get_if<CampaignRunEnded>(&notice))
    return boost::json::serialize(event_of_run("run_ended", progress.runs[ended->run]));
  if (const auto* better = std::get_if<CampaignBetterKernel>(&notice))
    return boost::json::serialize(event_of_run("better_kernel", progress.runs[better->run]));
  if (std::holds_alternative<CampaignBudgetWarning>(notice))
    return boost::json::serialize(
        boost::json::object{{"event", "budget_warning"}, {"used_fraction", progress.used_fraction}});
  return std::nullopt;
}

std::string end_line(const CampaignOutcome& outcome) {
  boost::json::object counts;
  for (const auto& [status, count] : outcome.counts()) counts[to_string(status)] = count;
  return boost::json::serialize(boost::json::object{{"event", "campaign_ended"},
                                                    {"interrupted", outcome.cancelled},
                                                    {"counts", std::move(counts)},
                                                    {"requests", outcome.spent.requests},
                                                    {"tokens", outcome.spent.tokens},
                                                    {"cost", outcome.spent.cost}});
}

EventProgram::EventProgram(std::vector<std::string> command, std::map<std::string, std::string> environment,
                           ProcessRunner& runner)
    : command_(std::move(command)),
      environment_(std::move(environment)),
      runner_(runner),
      thread_([this] { work(); }) {}

EventProgram::~EventProgram() { static_cast<void>(finish()); }

void EventProgram::tell(std::string line) {
  {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  changed_.notify_one();
}

std::optional<Error> EventProgram::finish() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  return failure_;
}

void EventProgram::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !lines_.empty(); });
    if (lines_.empty()) return;
    const auto line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    run_program(line);
    lock.lock();
    // At the end a program that hangs, or cannot be started, would hold up the exit for every line that is left.
    if (closing_ && gives_up_) return;
  }
}

void EventProgram::run_program(const std::string& line) {
  const auto outcome = runner_.run(
      {.command = command_, .environment = environment_, .standard_input = line + '\n', .timeout = k_event_timeout},
      {});
  gives_up_ = !outcome || outcome->timed_out;
  if (outcome && outcome->success()) return;
  auto error = outcome ? Error{ErrorCode::Unavailable, command_.front() + ": " + outcome->to_line()} : outcome.error();
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(error);
}

}  // namespace kernelgen::cli
