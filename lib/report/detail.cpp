#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>
#include <kernelgen/report/report.hpp>

#include "report/layout.hpp"
#include "report/report_json.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_detail_schema = 1;
constexpr std::size_t k_columns = 100;
/// Characters of the title, to leave room for the status.
constexpr std::size_t k_max_title = 80;
constexpr std::size_t k_fact_indent = 12;
constexpr std::size_t k_message_indent = 6;

json::value recurrence_json(const std::optional<Recurrence>& recurrence) {
  return recurrence ? json::value(to_string(*recurrence)) : json::value(nullptr);
}

json::object attempt_json(const AttemptReport& attempt) {
  return {{"number", attempt.number},
          {"id", attempt.id},
          {"kind", to_string(attempt.kind)},
          {"status", attempt.status ? to_string(*attempt.status) : "unfinished"},
          {"class", attempt.result_class},
          {"error_class", attempt.error_class},
          {"score", or_null(attempt.score)},
          {"message", attempt.message},
          {"recurrence", recurrence_json(attempt.recurrence)},
          {"code_file", attempt.code_file}};
}

json::object detail_json(const RunReport& run) {
  auto object = run_to_json(run);
  json::array attempts, labels;
  for (const auto& attempt : run.attempts) attempts.push_back(attempt_json(attempt));
  if (run.best)
    for (const auto& label : run.best->labels) labels.emplace_back(label);
  object["attempts"] = std::move(attempts);
  object["best_file"] = run.best ? run.best->code_file : "";
  object["best_recurrence"] = run.best ? recurrence_json(run.best->recurrence) : json::value(nullptr);
  object["best_labels"] = std::move(labels);
  object["best_headroom"] = run.best ? run.best->headroom : "";
  object["failures"] = counts_to_json(run.failures());
  object["usage"] = to_json_object(usage_of(run.requests));
  return object;
}

/// Formats "name        text", wrapped under the text; nothing for an empty text.
std::string fact(std::string_view name, const std::string& text) {
  if (text.empty()) return "";
  auto lines = wrap_text(text, k_fact_indent, k_columns);
  return lines.replace(0, name.size(), name);
}

/// In words: where the time loop of a kernel runs.
std::string describe_recurrence(Recurrence recurrence) {
  switch (recurrence) {
    case Recurrence::Persistent:
      return "time loop on the device";
    case Recurrence::PerStep:
      return "a launch for each time step";
    case Recurrence::NotRecurrent:
      return "no time loop";
    case Recurrence::Unknown:
      return "time loop not understood";
  }
  return "";
}

std::string best_text(const BestReport& best) {
  std::string text = best.id;
  if (best.score)
    text += fmt::format(", {:.3f}x [{:.3f}, {:.3f}]", best.score->value, best.score->low, best.score->high);
  else
    text += ", without a time that counts";
  if (best.reference_ms && best.kernel_ms)
    text += fmt::format(", reference {:.4g} ms, kernel {:.4g} ms", *best.reference_ms, *best.kernel_ms);
  if (best.recurrence) text += ", " + describe_recurrence(*best.recurrence);
  return text + ", " + best.code_file;
}

std::string number_text(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : "-"; }

std::string spent_text(const RunReport& run) {
  const auto usage = usage_of(run.requests);
  std::string text = fmt::format("requests {}", usage.requests);
  if (usage.failed > 0) text += fmt::format(", failed {}", usage.failed);
  if (usage.deferred > 0) text += fmt::format(", without an answer yet {}", usage.deferred);
  if (usage.unknown > 0) text += fmt::format(", without a known answer {}", usage.unknown);
  const auto& tokens = usage.tokens;
  text += fmt::format("; prompt tokens {}", number_text(tokens.input_tokens));
  if (tokens.input_tokens.value_or(0) > 0 && tokens.cached_tokens)
    text += fmt::format(" ({:.0f} % from a cache)",
                        100.0 * static_cast<double>(*tokens.cached_tokens) / static_cast<double>(*tokens.input_tokens));
  text += fmt::format(", reply tokens {}", number_text(tokens.output_tokens));
  return text + fmt::format("; evaluations {}; minutes {:.1f}", run.evaluations, run.minutes);
}

std::string failures_text(const RunReport& run) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : run.failures()) parts.push_back(fmt::format("{} {}", count, name));
  return join(parts, ", ");
}

std::string attempt_text(const AttemptReport& attempt) {
  constexpr std::size_t k_max_cell = 300;
  std::string line =
      fmt::format("{:>4}  {}  {}  {}  {}", attempt.number, fit_left(sanitize_line(attempt.id, k_max_cell), 36),
                  fit_left(sanitize_line(attempt.result_class, k_max_cell), 28),
                  fit_right(score_text(attempt.score), 8), attempt.code_file);
  line.erase(line.find_last_not_of(' ') + 1);
  line += '\n';
  const std::string error =
      is_more_specific(attempt.error_class, attempt.result_class) ? attempt.error_class + ": " : "";
  const std::string said = error + attempt.message;
  return said.empty() ? line : line + wrap_text(said, k_message_indent, k_columns);
}

std::string unfinished_text(const RunReport& run) { return run.reason.empty() ? "not yet" : "not yet; " + run.reason; }

std::string run_text(const RunReport& run) {
  const std::string title = sanitize_line(run.name.empty() ? run.task : run.task + '/' + run.name, k_max_title);
  std::string text = fmt::format("{}: {}\n", title, to_string(run.status));
  text += std::string(k_columns, '-') + '\n';
  if (run.status == RunStatus::Damaged) return text + fact("problem", run.reason);
  text += fact("target", run.target) + fact("policy", run.policy) + fact("model", run.model);
  text += fact("best", run.best ? best_text(*run.best) : "none: no kernel is correct");
  if (run.best) text += fact("labels", join(run.best->labels, "; ")) + fact("floor", run.best->headroom);
  text += fact("spent", spent_text(run)) + fact("failures", failures_text(run));
  text += fact("ended", run.status == RunStatus::Unfinished ? unfinished_text(run) : run.reason);
  if (!run.attempts.empty()) text += '\n';
  for (const auto& attempt : run.attempts) text += attempt_text(attempt);
  return text;
}

}  // namespace

std::string detailed_json(const std::vector<RunReport>& runs) {
  json::array list;
  for (const auto& run : runs) list.push_back(detail_json(run));
  return to_pretty_json(json::object{{"schema", k_detail_schema}, {"runs", std::move(list)}});
}

std::string detailed_text(const std::vector<RunReport>& runs) {
  std::string text = summary_table(runs, k_columns);
  for (const auto& run : runs) text += '\n' + run_text(run);
  return text;
}

}  // namespace v0
}  // namespace kernelgen
