#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/flow/engine.hpp>

#include "console.hpp"
#include "run_status.hpp"

namespace kernelgen::cli {

/// Shows a search: a line for each step that ended, each new best and each pause. On a terminal the status is below
/// them and updated in place; elsewhere each line begins with the progress. Thread-safe.
class RunDisplay {
 public:
  using Sink = std::function<void(std::string_view)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// The used share of `budget` is shown. The clock is for tests.
  RunDisplay(Terminal terminal, Sink sink, Budget budget = {}, Clock clock = std::chrono::steady_clock::now);
  ~RunDisplay();
  RunDisplay(const RunDisplay&) = delete;
  RunDisplay& operator=(const RunDisplay&) = delete;

  /// Adds an event of an earlier session without showing it.
  void remember(const Event& event);
  void see(const FlowNotice& notice);
  /// Shows a line about something beside the search.
  void tell(const std::string& line);
  /// Updates the status, because time has passed.
  void refresh();
  /// Erases the status, so that other output can be written. The next notice shows it again.
  void clear();
  /// Ends the display with a last line: the time and the resources that the search took.
  void finish();

 private:
  struct Running {
    std::string doing;
    /// The end of its pause; unset: it does not wait.
    std::optional<std::chrono::steady_clock::time_point> until{};
    /// The first sign of its reply; unset before that.
    std::optional<std::chrono::steady_clock::time_point> replied_since{};
  };

  void note(const Event& event);
  void note(const EvaluationStep& step);
  void note(const ActionPaused& pause);
  void note(const ReplyProgress& reply);
  void note(const FlowProgress& progress);
  void note_end(const ActionResult& result);
  void note_profile(const ProfileTaken& taken);
  [[nodiscard]] std::string name_of(int number) const;
  [[nodiscard]] RunProgressView status() const;

  /// Writes "id outcome score", colored, and the message after or below it.
  void write_step(const std::string& id, const std::string& outcome, const std::string& score, std::string_view color,
                  const std::string& message);
  void write_line(const std::string& text);
  void show_status();
  void erase();

  const Terminal terminal_;
  const Sink sink_;
  const Budget budget_;
  const Clock clock_;
  const std::chrono::steady_clock::time_point began_;
  std::mutex mutex_;
  /// Running actions by id.
  std::map<std::string, Running> running_;
  std::map<int, std::string> ids_;
  FlowProgress progress_;
  /// Time of the last progress notice; unset: there was none yet.
  std::optional<std::chrono::steady_clock::time_point> progress_time_;
  int session_actions_ = 0;
  StatusLines status_lines_;
};

}  // namespace kernelgen::cli
