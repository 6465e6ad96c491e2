#include <fmt/format.h>

#include <algorithm>
#include <set>

#include <kernelgen/report/compare.hpp>

#include "report/layout.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_cell_text = 300;
constexpr std::size_t k_set_indent = 3;
constexpr std::size_t k_least_task = 12;
constexpr std::size_t k_cell = 19;
constexpr std::size_t k_ratio = 7;
constexpr std::size_t k_outcome = 7;
/// Width of the columns beside the task's name, and of the gaps.
constexpr std::size_t k_beside_task = 2 + k_cell + 2 + k_cell + 2 + k_ratio + 2 + k_outcome;

/// The name of a set: "A", "B".
std::string letter_of(std::size_t place) { return {static_cast<char>('A' + static_cast<int>(place))}; }

std::string without_end_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

template <class T>
std::string known_text(const std::optional<T>& number, fmt::format_string<const T&> format) {
  return number ? fmt::format(format, *number) : "-";
}

/// "model sonata-2", "models a, b", "5 models"; empty when no run has one.
std::string distinct_text(const std::string& what, const std::vector<RunReport>& runs, std::string RunReport::*member) {
  std::set<std::string> values;
  for (const auto& run : runs)
    if (!(run.*member).empty()) values.insert(sanitize_line(run.*member, k_max_cell_text));
  constexpr std::size_t k_most = 3;
  if (values.empty()) return "";
  const auto plural = what == "policy" ? "policies" : what + 's';
  if (values.size() > k_most) return fmt::format("{} {}", values.size(), plural);
  return (values.size() == 1 ? what : plural) + ' ' +
         join(std::vector<std::string>(values.begin(), values.end()), ", ");
}

std::string describe_set(std::size_t place, const ResultSet& set, std::size_t width) {
  std::vector<std::string> facts;
  for (const auto& fact :
       {distinct_text("policy", set.runs, &RunReport::policy), distinct_text("model", set.runs, &RunReport::model),
        distinct_text("target", set.runs, &RunReport::target), distinct_text("device", set.runs, &RunReport::device)})
    if (!fact.empty()) facts.push_back(fact);
  auto text = wrap_text(set.name, k_set_indent, width).replace(0, 1, letter_of(place));
  return facts.empty() ? text : text + wrap_text(join(facts, "; "), k_set_indent, width);
}

std::string totals_row(std::string_view letter, std::string_view tasks, std::string_view correct,
                       std::string_view faster, std::string_view mean, std::string_view requests,
                       std::string_view tokens, std::string_view cost, std::string_view minutes) {
  return fmt::format("{}  {}  {}  {}  {}  {}  {}  {}  {}\n", fit_left(letter, 1), fit_right(tasks, 5),
                     fit_right(correct, 7), fit_right(faster, 6), fit_right(mean, 9), fit_right(requests, 8),
                     fit_right(tokens, 10), fit_right(cost, 9), fit_right(minutes, 7));
}

std::string totals_text(std::string_view letter, const SideTotals& totals) {
  return totals_row(letter, std::to_string(totals.tasks), std::to_string(totals.correct), std::to_string(totals.faster),
                    known_text(totals.geometric_mean, "{:.3f}"), std::to_string(totals.usage.requests),
                    known_text(totals.usage.total_tokens(), "{}"), known_text(totals.usage.cost, "{:.4g}"),
                    fmt::format("{:.1f}", totals.minutes));
}

std::string task_cell(const TaskResult& task) {
  if (!task.is_correct) return sanitize_line(task.failure_class, k_max_cell_text);
  if (!task.score) return "correct, no time";
  return fmt::format("{:.2f} {}", task.score->value, interval_text(*task.score));
}

std::string outcome_text(PairOutcome outcome) {
  if (outcome == PairOutcome::NeitherCorrect) return "neither";
  if (outcome == PairOutcome::NotTimed) return "no time";
  return std::string(to_string(outcome));
}

std::string pair_row(std::size_t task_width, std::string_view task, std::string_view base, std::string_view other,
                     std::string_view ratio, std::string_view outcome) {
  return without_end_blanks(fmt::format("{}  {}  {}  {}  {}", fit_left(task, task_width), fit_left(base, k_cell),
                                        fit_left(other, k_cell), fit_right(ratio, k_ratio), outcome));
}

std::string pairs_table(const SetComparison& comparison, const std::string& letter, std::size_t width) {
  std::size_t task_width = k_least_task;
  const auto name_of = [](const TaskPair& pair) { return sanitize_line(pair.base.task, k_max_cell_text); };
  for (const auto& pair : comparison.pairs) task_width = std::max(task_width, text_width(name_of(pair)));
  if (width > 0) task_width = std::min(task_width, std::max(width, k_beside_task + k_least_task) - k_beside_task);
  std::string text = pair_row(task_width, "task", "A", letter, letter + "/A", "result");
  for (const auto& pair : comparison.pairs)
    text += pair_row(task_width, name_of(pair), task_cell(pair.base), task_cell(pair.other),
                     known_text(pair.ratio, "{:.3f}"), outcome_text(pair.outcome));
  return text;
}

std::string mean_ratio_text(const MeanRatio& ratio, const std::string& letter) {
  if (!ratio.value) return "score " + letter + "/A: no task has a score on both sides";
  auto text = fmt::format("score {}/A: geometric mean {:.3f}", letter, *ratio.value);
  if (ratio.low && ratio.high) text += fmt::format(", 95 % interval [{:.3f}, {:.3f}]", *ratio.low, *ratio.high);
  text += fmt::format(", over {} task{}", ratio.tasks, ratio.tasks == 1 ? "" : "s");
  if (!ratio.low) text += fmt::format("; {} are needed for an interval", k_bootstrap_least);
  return text;
}

std::string names_line(const std::string& what, const std::vector<std::string>& names, std::size_t width) {
  return names.empty() ? "" : wrap_text(fmt::format("{} ({}): {}", what, names.size(), join(names, ", ")), 0, width);
}

std::string cost_text(const UsageReport& usage) {
  return fmt::format("{} request{}, {} tokens, cost {}", usage.requests, usage.requests == 1 ? "" : "s",
                     known_text(usage.total_tokens(), "{}"), known_text(usage.cost, "{:.4g}"));
}

std::string comparison_text(const SetComparison& comparison, const std::string& letter, bool is_one_of_several,
                            std::size_t width) {
  const auto line = [&](const std::string& text) { return wrap_text(text, 0, width); };
  const auto& table = comparison.correctness;
  const auto tasks = comparison.pairs.size();
  std::string text = line(fmt::format("{} against A, {} task{} of both", letter, tasks, tasks == 1 ? "" : "s"));
  text += line(fmt::format("{} won {}, lost {}, tied {}; neither correct {}, no time {}", letter, comparison.won,
                           comparison.lost, comparison.tied, comparison.neither_correct, comparison.not_timed));
  text += line(mean_ratio_text(comparison.ratio, letter));
  const auto adjusted = is_one_of_several ? fmt::format(", by Holm's method {:.3g}", comparison.adjusted_p) : "";
  text += line(fmt::format("correct: both {}, only A {}, only {} {}, neither {}; McNemar's exact test p = {:.3g}{}",
                           table.both, table.only_base, letter, table.only_other, table.neither,
                           comparison.correctness_p, adjusted));
  text += line("spent on these tasks: A " + cost_text(comparison.base_totals.usage) + "; " + letter + ' ' +
               cost_text(comparison.other_totals.usage));
  if (!comparison.pairs.empty()) text += '\n' + pairs_table(comparison, letter, width);
  auto notes = names_line("only in A", comparison.only_base, width);
  notes += names_line("only in " + letter, comparison.only_other, width);
  for (const auto& task : comparison.excluded) notes += line("not compared: " + task);
  for (const auto& warning : comparison.warnings) notes += line("warning: " + warning);
  return notes.empty() ? text : text + '\n' + notes;
}

}  // namespace

std::string comparison_table(const ComparisonReport& report, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < report.sets.size(); ++i) text += describe_set(i, report.sets[i], width);
  text += '\n' + totals_row("", "tasks", "correct", "faster", "geo. mean", "requests", "tokens", "cost", "minutes");
  for (std::size_t i = 0; i < report.totals.size(); ++i) text += totals_text(letter_of(i), report.totals[i]);
  for (std::size_t i = 0; i < report.comparisons.size(); ++i)
    text += '\n' + comparison_text(report.comparisons[i], letter_of(i + 1), report.comparisons.size() > 1, width);
  return text;
}

}  // namespace v0
}  // namespace kernelgen
