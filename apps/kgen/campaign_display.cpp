#include "campaign_display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "action_text.hpp"
#include "layout.hpp"
#include "run_status.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t k_max_shown = 300;
/// Columns for the name of a run in the lines of events.
constexpr std::size_t k_run_name_width = 24;
/// Shorter pauses end before their line can be read.
constexpr std::chrono::seconds k_shortest_shown_wait{2};

constexpr std::array k_statuses{
    CampaignRunStatus::Success, CampaignRunStatus::Partial, CampaignRunStatus::Failed,
    CampaignRunStatus::Running, CampaignRunStatus::Paused,  CampaignRunStatus::BudgetExhausted,
    CampaignRunStatus::Busy,    CampaignRunStatus::Error,   CampaignRunStatus::NotBegun};

std::string_view color_of_status(CampaignRunStatus status) {
  switch (status) {
    case CampaignRunStatus::Success:
      return k_green;
    case CampaignRunStatus::Failed:
    case CampaignRunStatus::Error:
      return k_red;
    case CampaignRunStatus::Running:
    case CampaignRunStatus::NotBegun:
      return "";
    default:
      return k_yellow;
  }
}

int count_over(const std::vector<CampaignRunSummary>& runs) {
  return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const auto& run) { return is_over(run.status); }));
}

/// "3 success, 1 failed, 2 not begun", without statuses that no run has.
std::vector<std::string> describe_counts(const std::vector<CampaignRunSummary>& runs) {
  std::vector<std::string> pieces;
  for (const auto status : k_statuses) {
    const auto count = std::count_if(runs.begin(), runs.end(), [&](const auto& run) { return run.status == status; });
    if (count > 0) pieces.push_back(fmt::format("{} {}", count, to_string(status)));
  }
  return pieces;
}

/// The use of resources, with the share of each limit.
std::vector<std::string> describe_spent(const ResourceUsage& spent, const CampaignLimits& limits) {
  std::vector<std::string> pieces;
  pieces.push_back(limits.requests ? describe_count("requests", spent.requests, *limits.requests)
                                   : format_count(spent.requests) + " requests");
  pieces.push_back(limits.tokens ? describe_count("tokens", spent.tokens, *limits.tokens)
                                 : format_count(spent.tokens) + " tokens");
  if (limits.cost || spent.cost > 0) pieces.push_back(describe_cost(spent.cost, limits.cost));
  return pieces;
}

std::string describe_steps(const CampaignRunSummary& run) {
  return run.max_actions ? fmt::format("{}/{}", run.finished_actions, *run.max_actions)
                         : std::to_string(run.finished_actions);
}

/// "relu 3/22 1.52x".
std::string describe_running_run(const CampaignRunSummary& run) {
  auto text = sanitize_line(run.name, k_max_shown) + ' ' + describe_steps(run);
  if (!run.best.empty()) text += ' ' + format_score(run.best_score);
  return text;
}

}  // namespace

CampaignDisplay::CampaignDisplay(Terminal terminal, Sink sink, CampaignLimits limits, Clock clock)
    : terminal_(terminal), sink_(std::move(sink)), limits_(limits), clock_(std::move(clock)), status_lines_(sink_) {}

CampaignDisplay::~CampaignDisplay() {
  try {
    finish();
  } catch (...) {  // a status that stays on the terminal is no reason to lose the outcome
  }
}

void CampaignDisplay::see(const CampaignNotice& notice, const CampaignProgress& progress) {
  const std::scoped_lock lock(mutex_);
  spent_ = progress.spent;
  used_fraction_ = progress.used_fraction;
  noticed_ = clock_();
  std::visit(
      [&](const auto& told) {
        if constexpr (requires { told.run; }) {
          // The other runs, perhaps hundreds, have not changed.
          if (runs_.size() == progress.runs.size())
            runs_[told.run] = progress.runs[told.run];
          else
            runs_ = progress.runs;
        }
        note(told);
      },
      notice);
  show_status();
}

void CampaignDisplay::tell(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  status_lines_.erase();
  // A status below wrapped lines could not be erased.
  sink_(terminal_.interactive ? cut_to_width(line, terminal_.width) + '\n'
                              : fmt::format("{:>7} {:>7}  {}\n", format_clock(elapsed()),
                                            fmt::format("{}/{}", count_over(runs_), runs_.size()), line));
  show_status();
}

void CampaignDisplay::refresh() {
  const std::scoped_lock lock(mutex_);
  show_status();
}

void CampaignDisplay::finish() {
  const std::scoped_lock lock(mutex_);
  status_lines_.erase();
}

void CampaignDisplay::note(const CampaignRunStarted& started) {
  const auto& run = runs_[started.run];
  write_event(started.run, run.spent.requests > 0 || run.finished_actions > 0 ? "goes on" : "started", "");
}

void CampaignDisplay::note(const CampaignAttempt& attempt) {
  const auto& result = attempt.result;
  const auto score = result.analysis ? "" : format_score(result.score());
  const auto what =
      fmt::format("{:<20} {:<24} {:>7}", sanitize_line(result.action.id, k_max_shown), outcome_text(result), score);
  write_event(attempt.run, what, outcome_color(result), outcome_message(result));
}

void CampaignDisplay::note(const CampaignBetterKernel& better) {
  const auto& run = runs_[better.run];
  write_event(better.run, "best so far: " + run.best + ' ' + format_score(run.best_score), k_green);
}

void CampaignDisplay::note(const CampaignWait& wait) {
  const auto& pause = wait.pause;
  if (pause.wait < k_shortest_shown_wait) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(pause.wait).count();
  write_event(wait.run, fmt::format("{:<20} again in {} s", sanitize_line(pause.action_id, k_max_shown), seconds), "",
              pause.reason);
}

void CampaignDisplay::note(const CampaignRunEnded& ended) {
  const auto& run = runs_[ended.run];
  const auto score = run.best.empty() ? std::string() : ' ' + run.best + ' ' + format_score(run.best_score);
  write_event(ended.run, std::string(to_string(run.status)) + score, color_of_status(run.status), run.reason);
}

void CampaignDisplay::note(const CampaignBudgetWarning&) {
  status_lines_.erase();
  const auto text = fmt::format("{:.0f} % of the campaign's budget are used", 100 * used_fraction_);
  sink_((terminal_.interactive ? colored(text, k_yellow, terminal_.color) : text) + '\n');
}

void CampaignDisplay::write_event(std::size_t run, const std::string& what, std::string_view color,
                                  const std::string& message) {
  status_lines_.erase();
  const auto name = sanitize_line(runs_[run].name, k_max_shown);
  const auto clean = sanitize_line(message, k_max_shown);
  if (!terminal_.interactive) {
    const auto text = clean.empty() ? what : what + "  " + clean;
    return sink_(fmt::format("{:>7} {:>7}  {:<{}}  {}\n", format_clock(elapsed()),
                             fmt::format("{}/{}", count_over(runs_), runs_.size()), name, k_run_name_width, text));
  }
  constexpr std::size_t k_below = 4, k_least_columns = 30;
  // On a narrow terminal everything is cut, because a status below wrapped lines could not be erased.
  const auto width = terminal_.width;
  const auto name_width = std::min(k_run_name_width, width / 3);
  const auto left = fmt::format("{:<{}} ", cut_to_width(name, name_width), name_width);
  const auto shown = cut_to_width(what, width > count_characters(left) ? width - count_characters(left) : 1);
  auto line = left + colored(shown, color, terminal_.color && !color.empty());
  const auto used = count_characters(left + shown) + 2;
  // A message that does not fit on the line of its event is written below it.
  const bool fits = !clean.empty() && width >= used + k_least_columns;
  if (fits) line += "  " + cut_to_width(clean, width - used);
  sink_(line + '\n');
  if (clean.empty() || fits) return;
  sink_(std::string(k_below, ' ') + cut_to_width(clean, width > k_below ? width - k_below : 1) + '\n');
}

milliseconds CampaignDisplay::elapsed() const {
  return spent_.time + (noticed_ ? duration_cast<milliseconds>(clock_() - *noticed_) : milliseconds{0});
}

void CampaignDisplay::show_status() {
  if (!terminal_.interactive || !noticed_) return;
  auto spent = spent_;
  spent.time = elapsed();
  // A line that fills the last column would wrap, and a wrapped line cannot be erased.
  status_lines_.show(render_campaign_status(runs_, spent, limits_, terminal_.width > 1 ? terminal_.width - 1 : 1));
}

std::vector<std::string> render_campaign_status(const std::vector<CampaignRunSummary>& runs, const ResourceUsage& spent,
                                                const CampaignLimits& limits, std::size_t width) {
  std::vector<std::string> pieces{limits.time ? describe_time(spent.time, *limits.time) : format_clock(spent.time)};
  pieces.push_back(fmt::format("{} of {} runs over", count_over(runs), runs.size()));
  for (auto& piece : describe_counts(runs)) pieces.push_back(std::move(piece));
  for (auto& piece : describe_spent(spent, limits)) pieces.push_back(std::move(piece));
  auto lines = join_pieces(pieces, k_separator, width);
  std::vector<std::string> running;
  for (const auto& run : runs)
    if (run.status == CampaignRunStatus::Running) running.push_back(describe_running_run(run));
  constexpr std::size_t k_run_lines = 3;
  auto below = join_pieces(running, ", ", width);
  if (below.size() > k_run_lines) {
    below.resize(k_run_lines);
    below.back() = cut_to_width(below.back() + ", and more", width);
  }
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

}  // namespace kernelgen::cli
