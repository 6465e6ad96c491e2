#include <fmt/format.h>

#include <algorithm>

#include <kernelgen/report/report.hpp>

#include "report/layout.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_min_name = 12;
constexpr std::size_t k_max_best = 24;
constexpr std::size_t k_longest_name = 300;
/// Width of the gaps and of the columns with a fixed width: status, score, interval, attempts, tokens, minutes.
constexpr std::size_t k_fixed = 2 + 10 + 2 + 8 + 2 + 14 + 2 + 5 + 2 + 8 + 2 + 7;

std::string label_of(const RunReport& run) {
  return sanitize_line(run.name.empty() ? run.task : run.task + '/' + run.name, k_longest_name);
}

struct Columns {
  std::size_t name = k_min_name;
  /// 0: no such column.
  std::size_t best = 0;
};

/// The name of the best candidate is shown where there is room for it.
Columns choose_columns(const std::vector<RunReport>& runs, std::size_t width) {
  Columns columns;
  std::size_t best = 4;
  for (const auto& run : runs) {
    columns.name = std::max(columns.name, text_width(label_of(run)));
    if (run.best) best = std::max(best, text_width(run.best->id));
  }
  if (width == 0) return {columns.name, best};
  const std::size_t room = width > k_fixed + k_min_name ? width - k_fixed : k_min_name;
  columns.name = std::min(columns.name, room);
  best = std::min(best, k_max_best);
  if (room >= columns.name + 2 + best) columns.best = best;
  return columns;
}

std::string row(const Columns& columns, std::string_view name, std::string_view status, std::string_view score,
                std::string_view interval, std::string_view attempts, std::string_view tokens, std::string_view minutes,
                std::string_view best) {
  std::string line =
      fmt::format("{}  {}  {}  {}  {}  {}  {}", fit_left(name, columns.name), fit_left(status, 10), fit_right(score, 8),
                  fit_left(interval, 14), fit_right(attempts, 5), fit_right(tokens, 8), fit_right(minutes, 7));
  if (columns.best > 0) line += "  " + fit_left(best, columns.best);
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

std::string run_row(const Columns& columns, const RunReport& run) {
  const auto* score = run.best && run.best->score ? &*run.best->score : nullptr;
  const auto tokens = usage_of(run.requests).total_tokens();
  return row(columns, label_of(run), to_string(run.status), score ? score_text(score->value) : "-",
             score ? interval_text(*score) : "", std::to_string(run.attempts.size()),
             tokens ? std::to_string(*tokens) : "-", fmt::format("{:.1f}", run.minutes),
             run.best ? sanitize_line(run.best->id, k_longest_name) : "-");
}

std::string statistics_text(const Totals& totals) {
  std::string text = fmt::format("{} run{}", totals.runs, totals.runs == 1 ? "" : "s");
  for (const auto& [status, count] : totals.by_status)
    if (count > 0) text += fmt::format(", {} {}", count, to_string(status));
  text += fmt::format("\nsuccess {:.1f} %, correct {:.1f} %, faster than the reference {:.1f} %\n",
                      totals.success_percent, totals.correct_percent, 100 * totals.fast_1);
  if (!totals.median) return text;
  text += fmt::format("score: mean {:.2f} ({:.2f} over all runs), geometric mean {:.2f}\n", *totals.mean_scored,
                      totals.mean, *totals.geometric_mean);
  return text + fmt::format("       median {:.2f}, quartiles {:.2f} and {:.2f}\n", *totals.median,
                            *totals.lower_quartile, *totals.upper_quartile);
}

/// True if the models of a run told less than all of its tokens.
bool lacks_tokens(const RunReport& run) {
  const auto usage = usage_of(run.requests);
  return usage.requests > 0 && (!usage.tokens.input_tokens || !usage.tokens.output_tokens);
}

}  // namespace

std::string summary_table(const std::vector<RunReport>& runs, std::size_t width) {
  const auto columns = choose_columns(runs, width);
  std::string text = row(columns, "task", "status", "score", "95 %", "tries", "tokens", "minutes", "best");
  for (const auto& run : runs) text += run_row(columns, run);
  if (std::any_of(runs.begin(), runs.end(), lacks_tokens))
    text += wrap_text("tokens -: the model did not report them; budgets count an estimate", 0, width);
  text += '\n' + statistics_text(totals_of(runs));
  for (const auto& run : runs)
    if (run.status == RunStatus::Damaged) text += wrap_text("damaged: " + run.reason, 0, width);
  return text;
}

}  // namespace v0
}  // namespace kernelgen
