#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>

namespace kernelgen::cli {

/// Properties of the terminal behind an output stream.
struct Terminal {
  bool interactive = false;
  bool color = false;
  std::size_t width = 80;
};

/// Queries the terminal behind a descriptor. `columns`, from COLUMNS, overrides the width of the terminal.
[[nodiscard]] Terminal inspect_terminal(int fd, bool no_color, std::size_t columns);

/// Whether a descriptor is a pipe or socket from which its reader has gone.
[[nodiscard]] bool has_lost_reader(int fd);

/// Lines at the end of a terminal that are updated in place. One thread at a time.
class StatusLines {
 public:
  using Sink = std::function<void(std::string_view)>;

  explicit StatusLines(Sink sink) : sink_(std::move(sink)) {}

  /// Replaces the lines. None of them may fill the last column, because a line that wraps cannot be erased.
  void show(const std::vector<std::string>& lines);
  /// Erases the lines, so that other output can be written.
  void erase();

 private:
  /// Returns the characters that erase the lines, and forgets the lines.
  [[nodiscard]] std::string take_erasure();

  Sink sink_;
  std::size_t shown_ = 0;
};

/// Shows the steps of an evaluation: one line that is rewritten in place on a terminal and erased at the end, one
/// plain line per phase elsewhere. One thread at a time.
class ProgressDisplay {
 public:
  using Sink = std::function<void(std::string_view)>;

  ProgressDisplay(Terminal terminal, Sink sink);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void show(const EvaluationProgress& progress);
  /// Erases the line, so that other output can be written.
  void clear() noexcept;

 private:
  Terminal terminal_;
  Sink sink_;
  std::string phase_;
  bool shown_ = false;
};

}  // namespace kernelgen::cli
