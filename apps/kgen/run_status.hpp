#pragma once

/// \file
/// The status of a search in words: how far it is, what it has spent, what runs.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/flow/engine.hpp>

namespace kernelgen::cli {

/// One action that is under way.
struct RunningAction {
  std::string id;
  /// "asking", "timing: 40 pairs", or why it waits.
  std::string doing;
  /// Time until it goes on; unset: it does not wait.
  std::optional<std::chrono::milliseconds> wait{};
};

/// Everything that the status tells.
struct RunStatus {
  FlowProgress progress;
  Budget budget;
  /// Time that the run has taken, in all its sessions.
  std::chrono::milliseconds elapsed{0};
  /// The time that this session has taken, and the actions that ended in it.
  std::chrono::milliseconds session{0};
  int session_actions = 0;
  std::vector<RunningAction> running{};
};

/// The most time that the run can still take, as far as that can be told: what its budget leaves, and what its
/// remaining actions take at the pace of this session. Nothing before some actions have ended. Pure.
[[nodiscard]] std::optional<std::chrono::milliseconds> estimate_remaining(const RunStatus& status);

/// "2:05 of 10:00 | 3 of at most 22 steps | best seed1 1.52x | tokens 45.2k of 100k (45 %)", in lines of at most
/// `width` characters; one line when `width` is 0. Pure.
[[nodiscard]] std::vector<std::string> render_progress(const RunStatus& status, std::size_t width);

/// The status in lines of at most `width` characters: progress first, then what runs, in at most two lines. Pure.
[[nodiscard]] std::vector<std::string> render_status(const RunStatus& status, std::size_t width);

/// "1.52x", or "-" for nothing.
[[nodiscard]] std::string format_score(const std::optional<double>& score);
/// "950", "12.3k", "4.56M".
[[nodiscard]] std::string format_count(std::int64_t count);
/// "0:42", "12:05", "1:02:03".
[[nodiscard]] std::string format_clock(std::chrono::milliseconds duration);

}  // namespace kernelgen::cli
