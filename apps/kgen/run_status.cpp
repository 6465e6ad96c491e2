#include "run_status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t k_running_lines = 2;
constexpr std::size_t k_max_doing = 200;

/// The share of a limit that is used, in percent.
std::string share(double used, double limit) { return fmt::format("{:.0f} %", limit > 0 ? 100 * used / limit : 100); }

std::string describe_action(const RunningAction& action) {
  const auto doing = sanitize_line(action.doing, k_max_doing);
  if (!action.wait) return action.id + ' ' + doing;
  const auto seconds = std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*action.wait).count(), 0);
  return fmt::format("{} again in {} s ({})", action.id, seconds, doing);
}

std::vector<std::string> describe_running(const RunProgressView& status, std::size_t width) {
  if (status.running.empty()) return {"deciding"};
  std::vector<std::string> pieces;
  pieces.reserve(status.running.size());
  // Waiting actions come first, and are counted even if there is no space for the reason.
  auto actions = status.running;
  std::stable_partition(actions.begin(), actions.end(), [](const auto& action) { return action.wait.has_value(); });
  for (const auto& action : actions) pieces.push_back(describe_action(action));
  for (std::size_t shown = pieces.size(); shown > 0; --shown) {
    auto some = std::vector(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(shown));
    if (shown < pieces.size()) some.push_back(fmt::format("{} more", pieces.size() - shown));
    auto lines = join_pieces(some, ", ", width);
    if (lines.size() <= k_running_lines) return lines;
  }
  return {cut_to_width(fmt::format("{} actions", pieces.size()), width)};
}

/// The parts of the progress.
std::vector<std::string> describe_progress(const RunProgressView& status) {
  const auto& [spent, finished, max_actions, best, best_score] = status.progress;
  const auto& budget = status.budget;
  std::vector<std::string> pieces{format_clock(status.elapsed)};
  if (budget.time) pieces.back() = describe_time(status.elapsed, *budget.time);
  pieces.push_back(max_actions ? fmt::format("{} of at most {} steps", finished, *max_actions)
                               : fmt::format("{} step{}", finished, finished == 1 ? "" : "s"));
  pieces.push_back(best.empty() ? "no correct kernel yet" : fmt::format("best {} {}", best, format_score(best_score)));
  pieces.push_back(budget.tokens ? describe_count("tokens", spent.tokens, *budget.tokens)
                                 : format_count(spent.tokens) + " tokens");
  if (budget.requests) pieces.push_back(describe_count("requests", spent.requests, *budget.requests));
  if (budget.evaluations) pieces.push_back(describe_count("evaluations", spent.evaluations, *budget.evaluations));
  if (budget.cost || spent.cost > 0) pieces.push_back(describe_cost(spent.cost, budget.cost));
  return pieces;
}

}  // namespace

std::string format_score(const std::optional<double>& score) { return score ? fmt::format("{:.2f}x", *score) : "-"; }

std::string format_count(std::int64_t count) {
  constexpr double k_thousand = 1000, k_million = 1e6;
  if (count < 1000) return std::to_string(count);
  const auto number = static_cast<double>(count);
  return number < k_million ? fmt::format("{:.1f}k", number / k_thousand) : fmt::format("{:.2f}M", number / k_million);
}

std::string format_clock(milliseconds duration) {
  const auto seconds = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(duration).count(), 0);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string describe_count(const char* name, std::int64_t used, std::int64_t limit) {
  return fmt::format("{} {} of {} ({})", name, format_count(used), format_count(limit),
                     share(static_cast<double>(used), static_cast<double>(limit)));
}

std::string describe_cost(double used, const std::optional<double>& limit) {
  return limit ? fmt::format("cost {:.2f} of {:g} ({})", used, *limit, share(used, *limit))
               : fmt::format("cost {:.2f}", used);
}

std::string describe_time(milliseconds used, milliseconds limit) {
  return fmt::format("{} of {} ({})", format_clock(used), format_clock(limit),
                     share(static_cast<double>(used.count()), static_cast<double>(limit.count())));
}

std::optional<milliseconds> estimate_remaining(const RunProgressView& status) {
  // With fewer ended actions the pace means nothing, because the first actions are asked for all at once.
  constexpr int k_least_actions = 3;
  std::optional<milliseconds> remaining;
  if (status.progress.max_actions && status.session_actions >= k_least_actions) {
    const int left = std::max(*status.progress.max_actions - status.progress.finished_actions, 0);
    remaining = status.session * left / status.session_actions;
  }
  if (status.budget.time) {
    const milliseconds left = std::max<milliseconds>(*status.budget.time - status.elapsed, milliseconds{0});
    remaining = remaining ? std::min(*remaining, left) : left;
  }
  return remaining;
}

std::vector<std::string> render_progress(const RunProgressView& status, std::size_t width) {
  return join_pieces(describe_progress(status), k_separator, width);
}

std::vector<std::string> render_status(const RunProgressView& status, std::size_t width) {
  auto pieces = describe_progress(status);
  if (const auto remaining = estimate_remaining(status))
    pieces.push_back("at most " + format_duration(*remaining) + " left");
  auto lines = join_pieces(pieces, k_separator, width);
  for (auto& line : describe_running(status, width)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace kernelgen::cli
