#include "monitor_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "layout.hpp"
#include "run_status.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

using std::chrono::milliseconds;

/// A run without an event for so long is quiet.
constexpr std::chrono::minutes k_quiet{10};

/// "4 s", "12 min", "3 h": for columns.
std::string short_age(milliseconds age) {
  const auto text = format_duration(age);
  const auto first_unit = text.find(' ', text.find(' ') + 1);
  return text.substr(0, first_unit);
}

/// Text in a column: cut or padded.
std::string column(std::string_view text, std::size_t width) {
  auto cut = cut_to_width(text, width);
  return cut + std::string(width - count_characters(cut), ' ');
}
std::string right_column(std::string_view text, std::size_t width) {
  auto cut = cut_to_width(text, width);
  return std::string(width - count_characters(cut), ' ') + cut;
}

/// "5 asking, 2 judging".
std::string describe_phases(const std::map<MonitorPhase, int>& phases) {
  std::vector<std::string> pieces;
  pieces.reserve(phases.size());
  for (const auto& [phase, count] : phases) pieces.push_back(fmt::format("{} {}", count, to_string(phase)));
  return join(pieces, ", ");
}

std::string describe_remaining(const RemainingTime& remaining) {
  return fmt::format("{} left ({} to {}, from {} runs)", format_duration(remaining.expected),
                     format_duration(remaining.low), format_duration(remaining.high), remaining.known_runs);
}

std::vector<std::string> spent_pieces(const CampaignSnapshot& snapshot) {
  const auto& spent = snapshot.spent;
  const auto& limits = snapshot.limits;
  std::vector<std::string> pieces;
  pieces.push_back(limits.requests ? describe_count("requests", spent.requests, *limits.requests)
                                   : format_count(spent.requests) + " requests");
  pieces.push_back(fmt::format("{:.1f} a minute", snapshot.requests_per_minute));
  if (snapshot.unanswered > 0) pieces.push_back(fmt::format("{} unanswered", snapshot.unanswered));
  pieces.push_back(limits.tokens ? describe_count("tokens", spent.tokens, *limits.tokens)
                                 : format_count(spent.tokens) + " tokens");
  if (limits.cost || spent.cost > 0) pieces.push_back(describe_cost(spent.cost, limits.cost));
  pieces.push_back(format_count(spent.evaluations) + " evaluations");
  return pieces;
}

std::string status_text(const MonitoredRun& run) {
  if (run.status == CampaignRunStatus::Running && run.silent && *run.silent > k_quiet) return "quiet";
  return std::string(to_string(run.status));
}

std::string doing_text(const MonitoredRun& run) {
  if (run.status != CampaignRunStatus::Running) return run.reason;
  return describe_phases(run.phases);
}

std::string attempts_text(const MonitoredRun& run) {
  auto text = std::to_string(run.finished_attempts);
  if (run.max_attempts) text += '/' + std::to_string(*run.max_attempts);
  return text;
}

/// The columns of attempts; the message is what remains.
constexpr std::size_t k_number = 4, k_id = 24, k_class = 20, k_score = 8,
                      k_before_message = k_number + 2 + k_id + 1 + k_class + k_score + 2;

std::string attempt_line(const std::string& number, const std::string& id, const std::string& what,
                         const std::string& score, const std::string& message, std::size_t width) {
  return cut_to_width(right_column(number, k_number) + "  " + column(id, k_id) + ' ' + column(what, k_class) +
                          right_column(score, k_score) + "  " + message,
                      width);
}

/// The columns of runs with a fixed width.
constexpr std::size_t k_status_width = 9, k_score_width = 8, k_attempts_width = 7, k_failed_width = 5,
                      k_tokens_width = 7, k_cost_width = 7, k_time_width = 8, k_age_width = 7;

}  // namespace

std::vector<std::string> describe_campaign(const CampaignSnapshot& snapshot, std::size_t width) {
  const auto& limits = snapshot.limits;
  const auto over =
      std::count_if(snapshot.runs.begin(), snapshot.runs.end(), [](const auto& run) { return is_over(run.status); });
  std::vector<std::string> pieces{limits.seconds
                                      ? describe_time(snapshot.spent.time, std::chrono::seconds(*limits.seconds))
                                      : format_clock(snapshot.spent.time)};
  pieces.push_back(fmt::format("{} of {} runs over", over, snapshot.runs.size()));
  for (const auto& [status, count] : snapshot.counts) pieces.push_back(fmt::format("{} {}", count, to_string(status)));
  auto lines = join_pieces(pieces, k_separator, width);
  const auto add = [&](const std::vector<std::string>& more) {
    for (auto& line : join_pieces(more, k_separator, width)) lines.push_back(std::move(line));
  };
  add(spent_pieces(snapshot));
  std::vector<std::string> now;
  if (!snapshot.phases.empty()) now.push_back("now " + describe_phases(snapshot.phases));
  if (snapshot.mean_score)
    now.push_back(fmt::format("geometric mean {} of {} runs", format_score(snapshot.mean_score), snapshot.scored_runs));
  if (snapshot.remaining) now.push_back(describe_remaining(*snapshot.remaining));
  if (snapshot.unread_bytes > 0)
    now.push_back(fmt::format("{:.0f} MB of journals to read", static_cast<double>(snapshot.unread_bytes) / 1e6));
  add(now);
  return lines;
}

std::vector<std::string> describe_devices(const CampaignSnapshot& snapshot, std::size_t width) {
  const auto limit = width == 0 ? std::string::npos : width;
  constexpr double k_percent = 100;
  std::vector<std::string> lines;
  for (const auto& device : snapshot.devices)
    lines.push_back(cut_to_width(
        fmt::format("{}: {:.0f} % in use, {} evaluation{}, {} together", device.name, k_percent * device.recent_use,
                    device.evaluations, device.evaluations == 1 ? "" : "s", format_duration(device.busy)),
        limit));
  if (!snapshot.spool_problem.empty()) lines.push_back(cut_to_width("spool: " + snapshot.spool_problem, limit));
  if (!snapshot.spool) return lines;
  const auto& spool = *snapshot.spool;
  lines.push_back(
      cut_to_width(fmt::format("spool: {} workers, {} dead; {} requests wait, {} are judged, {} abandoned, {} answered",
                               spool.workers.size(), spool.dead_workers.size(), spool.waiting.size(),
                               spool.judged.size(), spool.abandoned.size(), spool.answered),
                   limit));
  for (const auto& worker : spool.workers)
    lines.push_back(cut_to_width(fmt::format("  worker {} on {}: {} at a time, last sign {} ago", worker.pid,
                                             worker.host, worker.jobs, short_age(worker.silent)),
                                 limit));
  return lines;
}

std::vector<std::string> describe_errors(const CampaignSnapshot& snapshot, std::size_t width, std::size_t most) {
  std::vector<std::string> lines;
  const auto add = [&](bool of_kernels) {
    for (const auto& error : snapshot.errors) {
      if (lines.size() >= most) return;
      if ((error.kind == MonitorErrorKind::Kernel) != of_kernels) continue;
      const auto where = error.action.empty() ? error.run : error.run + ' ' + error.action;
      lines.push_back(cut_to_width(fmt::format("{} ago  {}: {}", short_age(error.age), where, error.message),
                                   width == 0 ? std::string::npos : width));
    }
  };
  add(false);
  add(true);
  return lines;
}

std::vector<std::string> describe_run(const MonitoredRun& run, std::size_t width) {
  std::vector<std::string> pieces{status_text(run)};
  if (!run.phases.empty()) pieces.push_back(describe_phases(run.phases));
  if (run.silent) pieces.push_back("last event " + format_duration(*run.silent) + " ago");
  if (!run.target.empty()) pieces.push_back(run.target);
  if (!run.policy.empty()) pieces.push_back(run.policy);
  if (!run.model.empty()) pieces.push_back(run.model);
  auto lines = join_pieces(pieces, k_separator, width);
  std::vector<std::string> numbers{
      run.best.empty() ? "no correct kernel yet" : fmt::format("best {} {}", run.best, format_score(run.best_score)),
      fmt::format("{} attempts, {} failed", attempts_text(run), run.failed_attempts),
      format_count(run.spent.requests) + " requests", format_count(run.spent.tokens) + " tokens"};
  if (run.spent.cost > 0) numbers.push_back(describe_cost(run.spent.cost, std::nullopt));
  numbers.push_back(format_clock(run.spent.time));
  for (auto& line : join_pieces(numbers, k_separator, width)) lines.push_back(std::move(line));
  if (!run.reason.empty())
    for (auto& line : wrap(run.reason, width)) lines.push_back(cut_to_width(line, width));
  return lines;
}

std::string attempt_heading(std::size_t width) {
  return attempt_line("n", "attempt", "result", "score", "message", width);
}

std::vector<std::string> describe_attempt(const MonitoredAttempt& attempt, std::size_t width) {
  constexpr std::size_t k_indent = 6;
  const auto what = attempt.phase ? std::string(to_string(*attempt.phase)) : attempt.result_class;
  const auto message = attempt.phase ? "for " + format_duration(attempt.age) : attempt.message;
  const auto line = [&](const std::string& beside) {
    auto text =
        attempt_line(std::to_string(attempt.number), attempt.id, what, format_score(attempt.score), beside, width);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  if (k_before_message + count_characters(message) <= width) return {line(message)};
  std::vector<std::string> lines{line("")};
  for (const auto& part : wrap(message, width > 2 * k_indent ? width - k_indent : width))
    lines.push_back(cut_to_width(std::string(k_indent, ' ') + part, width));
  return lines;
}

RunColumns::RunColumns(const CampaignSnapshot& snapshot, std::size_t width) : width_(width) {
  constexpr std::size_t k_least_name = 12, k_most_name = 40, k_wide = 120, k_model = 22, k_target = 9;
  for (const auto& run : snapshot.runs) {
    name_width_ = std::max(name_width_, count_characters(run.name));
    has_cost_ = has_cost_ || run.spent.cost > 0;
  }
  name_width_ = std::clamp(name_width_, k_least_name, width < k_wide ? k_most_name * 5 / 8 : k_most_name);
  if (width < k_wide) return;
  model_width_ = k_model;
  target_width_ = k_target;
}

std::string RunColumns::heading() const {
  std::string text = column("run", name_width_) + ' ' + column("status", k_status_width) +
                     right_column("best", k_score_width) + right_column("tries", k_attempts_width) +
                     right_column("bad", k_failed_width);
  if (model_width_ > 0)
    text += right_column("tokens", k_tokens_width + 1) + (has_cost_ ? right_column("cost", k_cost_width + 1) : "") +
            right_column("time", k_time_width + 1);
  text += right_column("last", k_age_width) + "  ";
  if (model_width_ > 0) text += column("target", target_width_) + ' ' + column("model", model_width_) + ' ';
  return cut_to_width(text + "doing", width_);
}

std::string RunColumns::row(const MonitoredRun& run) const {
  std::string text = column(run.name, name_width_) + ' ' + column(status_text(run), k_status_width) +
                     right_column(format_score(run.best_score), k_score_width) +
                     right_column(attempts_text(run), k_attempts_width) +
                     right_column(std::to_string(run.failed_attempts), k_failed_width);
  if (model_width_ > 0)
    text += right_column(format_count(run.spent.tokens), k_tokens_width + 1) +
            (has_cost_ ? right_column(fmt::format("{:.2f}", run.spent.cost), k_cost_width + 1) : "") +
            right_column(format_clock(run.spent.time), k_time_width + 1);
  text += right_column(run.silent ? short_age(*run.silent) : "-", k_age_width) + "  ";
  if (model_width_ > 0) text += column(run.target, target_width_) + ' ' + column(run.model, model_width_) + ' ';
  text = cut_to_width(text + doing_text(run), width_);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace kernelgen::cli
