#include "run_display.hpp"

#include <fmt/format.h>

#include <utility>

#include "action_text.hpp"
#include "layout.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t k_max_message = 300;
/// Indentation of a message below its step.
constexpr std::size_t k_indent = 4;
/// Minimal number of columns for a message on the line of its step.
constexpr std::size_t k_least_message = 40;

}  // namespace

RunDisplay::RunDisplay(Terminal terminal, Sink sink, Budget budget, Clock clock)
    : terminal_(terminal),
      sink_(std::move(sink)),
      budget_(budget),
      clock_(std::move(clock)),
      began_(clock_()),
      status_lines_(sink_) {}

RunDisplay::~RunDisplay() {
  try {
    erase();
  } catch (...) {  // a status that stays on the terminal is no reason to lose the run
  }
}

void RunDisplay::remember(const Event& event) {
  const std::scoped_lock lock(mutex_);
  if (const auto* issued = std::get_if<ActionIssued>(&event.body)) ids_[issued->number] = issued->action.id;
}

void RunDisplay::see(const FlowNotice& notice) {
  const std::scoped_lock lock(mutex_);
  std::visit([this](const auto& told) { note(told); }, notice);
  show_status();
}

void RunDisplay::tell(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  write_line(terminal_.interactive ? cut_to_width(line, terminal_.width) : line);
  show_status();
}

void RunDisplay::refresh() {
  const std::scoped_lock lock(mutex_);
  show_status();
}

void RunDisplay::clear() {
  const std::scoped_lock lock(mutex_);
  erase();
}

void RunDisplay::finish() {
  const std::scoped_lock lock(mutex_);
  erase();
  if (!progress_time_) return;
  for (const auto& line : render_progress(status(), terminal_.interactive ? terminal_.width : 0)) sink_(line + '\n');
}

std::string RunDisplay::name_of(int number) const {
  const auto found = ids_.find(number);
  return found == ids_.end() ? "request " + std::to_string(number) : found->second;
}

void RunDisplay::note(const FlowProgress& progress) {
  progress_ = progress;
  progress_time_ = clock_();
}

void RunDisplay::note(const EvaluationStep& step) {
  auto& running = running_[step.action_id];
  running = {step.progress.phase};
  if (!step.progress.detail.empty()) running.doing += ": " + step.progress.detail;
}

void RunDisplay::note(const ActionPaused& pause) {
  running_[pause.action_id] = {pause.reason, clock_() + pause.wait};
  // Shorter pauses end before their line can be read.
  constexpr std::chrono::seconds k_shortest_shown_pause{2};
  if (pause.wait < k_shortest_shown_pause) return;
  const auto again = fmt::format("again in {} s", std::chrono::ceil<std::chrono::seconds>(pause.wait).count());
  write_step(pause.action_id, again, "", "", pause.reason);
}

void RunDisplay::note(const ReplyProgress& reply) {
  const auto found = running_.find(reply.action_id);
  if (found == running_.end()) return;
  auto& running = found->second;
  if (!running.replied_since) running.replied_since = clock_();
  const auto& [text, reasoning] = reply.progress;
  // Four bytes a token; the provider's own count arrives at the end.
  constexpr double k_bytes_per_token = 4;
  const double tokens = static_cast<double>(text + reasoning) / k_bytes_per_token;
  const double seconds = std::chrono::duration<double>(clock_() - *running.replied_since).count();
  running.doing =
      text == 0 ? fmt::format("thinks: {:.0f} tokens", tokens) : fmt::format("writes: {:.0f} tokens", tokens);
  if (seconds >= 1) running.doing += fmt::format(", {:.0f}/s", tokens / seconds);
}

void RunDisplay::note(const Event& event) {
  if (const auto* issued = std::get_if<ActionIssued>(&event.body)) ids_[issued->number] = issued->action.id;
  if (const auto* sent = std::get_if<RequestSent>(&event.body)) running_[name_of(sent->number)] = {"asking"};
  if (const auto* arrived = std::get_if<ReplyArrived>(&event.body))
    running_[name_of(arrived->number)] = {"waits for the judge"};
  if (const auto* failed = std::get_if<RequestFailed>(&event.body)) running_.erase(name_of(failed->number));
  if (const auto* pending = std::get_if<RequestPending>(&event.body)) running_.erase(name_of(pending->number));
  if (const auto* deferred = std::get_if<RequestDeferred>(&event.body)) {
    const auto id = name_of(deferred->number);
    running_.erase(id);
    const bool is_too_long = deferred->code == ErrorCode::PromptTooLong;
    write_step(id, is_too_long ? "too long, asked again shorter" : "no answer, asked again later", "-", k_yellow,
               deferred->message);
  }
  if (const auto* ended = std::get_if<ActionFinished>(&event.body)) note_end(ended->result);
  if (const auto* changed = std::get_if<BestChanged>(&event.body); changed != nullptr && !changed->action_id.empty())
    write_line(colored("best so far: " + changed->action_id + ' ' + format_score(progress_.best_score), k_green,
                       terminal_.color));
  if (const auto* taken = std::get_if<ProfileTaken>(&event.body)) note_profile(*taken);
  if (const auto* exhausted = std::get_if<BudgetExhausted>(&event.body)) write_line(exhausted->message);
  if (std::holds_alternative<RunResumed>(event.body)) write_line("going on with a run that was started before");
  if (std::holds_alternative<RunContinued>(event.body)) write_line("continuing a run: what it has found stays");
}

void RunDisplay::note_end(const ActionResult& result) {
  running_.erase(result.action.id);
  running_.erase(name_of(result.number));
  ++session_actions_;
  write_step(result.action.id, outcome_text(result), result.analysis ? "" : format_score(result.score()),
             outcome_color(result), outcome_message(result));
}

void RunDisplay::note_profile(const ProfileTaken& taken) {
  const auto& profile = taken.profile;
  if (profile.unavailable) return write_step(taken.action_id, "not profiled", "", "", profile.unavailable->reason);
  write_step(taken.action_id, "profiled", "", "",
             fmt::format("{} launches of {} kernels", profile.launches(), profile.kernels.size()));
}

RunProgressView RunDisplay::status() const {
  const auto now = clock_();
  const auto since = progress_time_ ? duration_cast<milliseconds>(now - *progress_time_) : milliseconds{0};
  RunProgressView status{.progress = progress_,
                         .budget = budget_,
                         .elapsed = progress_.spent.time + since,
                         .session = duration_cast<milliseconds>(now - began_),
                         .session_actions = session_actions_};
  for (const auto& [id, running] : running_) {
    RunningAction action{.id = id, .doing = running.doing};
    if (running.until) action.wait = duration_cast<milliseconds>(*running.until - now);
    status.running.push_back(std::move(action));
  }
  return status;
}

void RunDisplay::write_step(const std::string& id, const std::string& outcome, const std::string& score,
                            std::string_view color, const std::string& message) {
  const auto left = fmt::format("{:<24} ", sanitize_line(id, k_max_message));
  // A pause has no text after its outcome.
  const auto shown = score.empty() && terminal_.interactive ? outcome : fmt::format("{:<32}", outcome);
  const auto right = score.empty() ? std::string() : fmt::format(" {:>7}", score);
  auto text = left + colored(shown, color, terminal_.color && !color.empty()) + right;
  const auto clean = sanitize_line(message, k_max_message);
  const auto width = terminal_.interactive ? terminal_.width : 0;
  const auto used = count_characters(left + shown + right) + 2;
  if (clean.empty() || width == 0) return write_line(clean.empty() ? text : text + "  " + clean);
  // A message that does not fit on the line of its step is written below it in full.
  if (width >= used + k_least_message && used + count_characters(clean) <= width)
    return write_line(text + "  " + clean);
  write_line(text);
  for (const auto& line : wrap(clean, width > 2 * k_indent ? width - k_indent : 0))
    sink_(std::string(k_indent, ' ') + line + '\n');
}

void RunDisplay::write_line(const std::string& text) {
  erase();
  if (terminal_.interactive) return sink_(text + '\n');
  const auto& [spent, finished, max_actions, best, best_score] = progress_;
  const auto steps = max_actions ? fmt::format("{}/{}", finished, *max_actions) : std::to_string(finished);
  sink_(fmt::format("{:>5} {:>6}  {}\n", format_clock(status().elapsed), steps, text));
}

void RunDisplay::show_status() {
  if (!terminal_.interactive || !progress_time_) return;
  // A line that fills the last column would wrap, and a wrapped line cannot be erased.
  status_lines_.show(render_status(status(), terminal_.width > 1 ? terminal_.width - 1 : 1));
}

void RunDisplay::erase() { status_lines_.erase(); }

}  // namespace kernelgen::cli
