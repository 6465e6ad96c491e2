#pragma once

/// \file
/// The status of a search as text: its progress, its use of resources, and its running actions.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/flow/engine.hpp>

namespace kernelgen::cli {

/// A running action.
struct RunningAction {
  std::string id;
  /// Its current step, "asking" or "timing: 40 pairs", or the reason for its pause.
  std::string doing;
  /// Time until the end of its pause; unset: it does not wait.
  std::optional<std::chrono::milliseconds> wait{};
};

/// The contents of the status.
struct RunProgressView {
  FlowProgress progress;
  Budget budget;
  /// Time that the run has taken, in all its sessions.
  std::chrono::milliseconds elapsed{0};
  /// Time that this session has taken, and the number of actions that ended in it.
  std::chrono::milliseconds session{0};
  int session_actions = 0;
  std::vector<RunningAction> running{};
};

/// Upper estimate of the remaining time, from the rest of the budget and the time of the remaining actions at the pace
/// of this session. Nothing before some actions have ended. Pure.
[[nodiscard]] std::optional<std::chrono::milliseconds> estimate_remaining(const RunProgressView& status);

/// "2:05 of 10:00 | 3 of at most 22 steps | best seed1 1.52x | tokens 45.2k of 100k (45 %)", in lines of at most
/// `width` characters; one line when `width` is 0. Pure.
[[nodiscard]] std::vector<std::string> render_progress(const RunProgressView& status, std::size_t width);

/// The status in lines of at most `width` characters: progress first, then what runs, in at most two lines. Pure.
[[nodiscard]] std::vector<std::string> render_status(const RunProgressView& status, std::size_t width);

/// A score as text: "1.52x", or "-" for none.
[[nodiscard]] std::string format_score(const std::optional<double>& score);
/// A count as text: "950", "12.3k", "4.56M".
[[nodiscard]] std::string format_count(std::int64_t count);
/// The use of a limit as text: "tokens 45.2k of 100.0k (45 %)", "cost 0.50 of 2 (25 %)", "2:05 of 10:00 (21 %)".
[[nodiscard]] std::string describe_count(const char* name, std::int64_t used, std::int64_t limit);
[[nodiscard]] std::string describe_cost(double used, const std::optional<double>& limit);
[[nodiscard]] std::string describe_time(std::chrono::milliseconds used, std::chrono::milliseconds limit);
/// A duration as text: "0:42", "12:05", "1:02:03".
[[nodiscard]] std::string format_clock(std::chrono::milliseconds duration);

}  // namespace kernelgen::cli
