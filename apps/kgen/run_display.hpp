#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <kernelgen/flow/engine.hpp>

#include "console.hpp"

namespace kernelgen::cli {

/// Shows a search: a line for each step that ended and each new best; on a terminal also a line at the bottom that says
/// what is running, the best so far and the tokens. One thread at a time.
class RunDisplay {
 public:
  using Sink = std::function<void(std::string_view)>;

  RunDisplay(Terminal terminal, Sink sink) : terminal_(terminal), sink_(std::move(sink)) {}
  ~RunDisplay() { clear(); }
  RunDisplay(const RunDisplay&) = delete;
  RunDisplay& operator=(const RunDisplay&) = delete;

  /// Takes note of an event of an earlier session and shows nothing.
  void remember(const Event& event);
  void see(const std::variant<Event, EvaluationStep>& seen);
  /// Erases the bottom line, so that ordinary ones can be written.
  void clear() noexcept;

 private:
  void note(const Event& event);
  void add_tokens(const TokenUsage& usage);
  [[nodiscard]] std::string name_of(int number) const;
  void finished(const ActionResult& result);
  void profiled(const ProfileTaken& taken);
  void line(const std::string& text);
  void show_status();

  Terminal terminal_;
  Sink sink_;
  /// What runs, by action id: "asking", "compile", "timing: 40 pairs".
  std::map<std::string, std::string> running_;
  std::map<int, std::string> ids_;
  std::map<std::string, std::optional<double>> scores_;
  std::string best_;
  std::int64_t tokens_ = 0;
  bool shown_ = false;
};

/// "1.52x", or "-" for nothing.
[[nodiscard]] std::string format_score(const std::optional<double>& score);
/// "950", "12.3k", "4.56M".
[[nodiscard]] std::string format_count(std::int64_t count);

}  // namespace kernelgen::cli
