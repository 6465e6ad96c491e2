#include "run_display.hpp"

#include <fmt/format.h>

#include <utility>

#include "layout.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_max_message = 300;
/// Logs keep whole messages up to here.
constexpr std::size_t k_plain_width = 200;

/// "correct", "compile:redefinition", "analysis: worth optimizing", "no_code".
std::string outcome_of(const ActionResult& result) {
  if (result.analysis) return result.analysis->worth_optimizing ? "worth optimizing" : "not worth optimizing";
  if (result.critique) return "critique";
  if (result.record) return result.record->outcome.to_class();
  return std::string(to_string(result.status));
}

std::string message_of(const ActionResult& result) {
  if (result.analysis)
    return result.analysis->correction.empty() ? result.analysis->reason : "corrected: " + result.analysis->correction;
  if (result.correct()) return "";
  if (!result.message.empty()) return result.message;
  return result.record ? result.record->outcome.message : "";
}

}  // namespace

std::string format_score(const std::optional<double>& score) { return score ? fmt::format("{:.2f}x", *score) : "-"; }

std::string format_count(std::int64_t count) {
  constexpr double k_thousand = 1000, k_million = 1e6;
  if (count < 1000) return std::to_string(count);
  const auto number = static_cast<double>(count);
  return number < k_million ? fmt::format("{:.1f}k", number / k_thousand) : fmt::format("{:.2f}M", number / k_million);
}

void RunDisplay::see(const std::variant<Event, EvaluationStep>& seen) {
  if (const auto* step = std::get_if<EvaluationStep>(&seen)) {
    auto& text = running_[step->action_id];
    text = step->progress.phase;
    if (!step->progress.detail.empty()) text += ": " + step->progress.detail;
    if (step->progress.phase == k_pause_phase)
      line(fmt::format("{:<24} {}", step->action_id, sanitize_line(text, k_max_message)));
  } else {
    note(std::get<Event>(seen));
  }
  show_status();
}

void RunDisplay::remember(const Event& event) {
  if (const auto* issued = std::get_if<ActionIssued>(&event.body)) ids_[issued->number] = issued->action.id;
  if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) add_tokens(arrived->reply.usage);
  if (const auto* finished_event = std::get_if<ActionFinished>(&event.body))
    scores_[finished_event->result.action.id] = finished_event->result.score();
  if (const auto* changed = std::get_if<BestChanged>(&event.body)) best_ = changed->action_id;
  if (std::holds_alternative<RunStarted>(event.body)) best_.clear();
}

void RunDisplay::add_tokens(const TokenUsage& usage) {
  tokens_ += usage.input_tokens.value_or(0) + usage.output_tokens.value_or(0);
}

std::string RunDisplay::name_of(int number) const {
  const auto found = ids_.find(number);
  return found == ids_.end() ? "request " + std::to_string(number) : found->second;
}

void RunDisplay::note(const Event& event) {
  if (const auto* issued = std::get_if<ActionIssued>(&event.body)) ids_[issued->number] = issued->action.id;
  if (const auto* sent = std::get_if<RequestSent>(&event.body)) running_[name_of(sent->number)] = "asking";
  if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) {
    running_[name_of(arrived->number)] = "answered";
    add_tokens(arrived->reply.usage);
  }
  if (const auto* failed = std::get_if<RequestFailed>(&event.body)) running_.erase(name_of(failed->number));
  if (const auto* pending = std::get_if<RequestPending>(&event.body)) running_.erase(name_of(pending->number));
  if (const auto* deferred = std::get_if<RequestDeferred>(&event.body)) {
    running_.erase(name_of(deferred->number));
    line(fmt::format("{:<24} {:<32} {:>7}  {}", name_of(deferred->number), "no answer, asked again later", "-",
                     sanitize_line(deferred->message, k_max_message)));
  }
  if (const auto* finished_event = std::get_if<ActionFinished>(&event.body)) finished(finished_event->result);
  if (const auto* changed = std::get_if<BestChanged>(&event.body)) {
    best_ = changed->action_id;
    line("best so far: " + best_ + ' ' + format_score(scores_[best_]));
  }
  if (const auto* taken = std::get_if<ProfileTaken>(&event.body)) profiled(*taken);
  if (const auto* exhausted = std::get_if<BudgetExhausted>(&event.body)) line(exhausted->message);
  if (std::holds_alternative<RunResumed>(event.body)) line("going on with a run that was started before");
}

void RunDisplay::finished(const ActionResult& result) {
  running_.erase(result.action.id);
  running_.erase(name_of(result.number));
  scores_[result.action.id] = result.score();
  std::string text = fmt::format("{:<24} {:<32} {:>7}", result.action.id, outcome_of(result),
                                 result.analysis ? "" : format_score(result.score()));
  const auto message = sanitize_line(message_of(result), k_max_message);
  if (!message.empty()) text += "  " + message;
  line(text);
}

void RunDisplay::profiled(const ProfileTaken& taken) {
  const auto& profile = taken.profile;
  line(fmt::format("{:<24} {}", taken.action_id,
                   profile.unavailable ? "not profiled: " + sanitize_line(profile.unavailable->reason, k_max_message)
                                       : fmt::format("profiled: {} launches of {} kernels", profile.launches(),
                                                     profile.kernels.size())));
}

void RunDisplay::line(const std::string& text) {
  clear();
  sink_(cut_to_width(text, terminal_.interactive && terminal_.width > 0 ? terminal_.width : k_plain_width) + '\n');
}

void RunDisplay::show_status() {
  if (!terminal_.interactive) return;
  std::string text;
  for (const auto& [id, what] : running_) text += (text.empty() ? "" : ", ") + id + " (" + what + ')';
  text = fmt::format("best {} | {} tokens | {}", best_.empty() ? "-" : format_score(scores_[best_]),
                     format_count(tokens_), text.empty() ? "deciding" : text);
  // A line that fills the last column would wrap, and a wrapped line cannot be erased.
  sink_(std::string(k_erase_line) +
        cut_to_width(sanitize_line(text, k_max_message), terminal_.width > 0 ? terminal_.width - 1 : 0));
  shown_ = true;
}

void RunDisplay::clear() noexcept {
  if (!shown_) return;
  shown_ = false;
  try {
    sink_(k_erase_line);
  } catch (...) {  // a lost erasure is no reason to lose the run
  }
}

}  // namespace kernelgen::cli
