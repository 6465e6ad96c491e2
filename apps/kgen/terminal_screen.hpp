#pragma once

/// \file
/// The whole screen of a terminal: raw keys in, frames out.

#include <termios.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "monitor_frame.hpp"

namespace kernelgen::cli {

/// Takes the terminal: the other screen, no echo, keys at once. The destructor gives it back as it was, so that it must
/// run however the command ends. Signals are not touched: Ctrl-C and Ctrl-Z arrive as keys, and the size is asked for.
class TerminalScreen {
 public:
  enum class Colors { No, Yes };
  /// `input` and `output` are terminals. Io when they are none.
  [[nodiscard]] static Result<std::unique_ptr<TerminalScreen>> open(int input, int output, Colors colors);
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  [[nodiscard]] FrameSize size() const;
  /// Draws the lines that have changed.
  Result<void> show(const std::vector<FrameLine>& lines);
  /// The bytes that arrive within `timeout`; none after it. Cancelled when stopped, Io when the terminal is gone.
  [[nodiscard]] Result<std::string> read(std::chrono::milliseconds timeout, const std::stop_token& stop);
  /// Gives the terminal back, stops this process as Ctrl-Z does, and takes it again afterwards.
  Result<void> suspend();
  /// The next frame is drawn whole.
  void forget() { shown_.clear(); }

 private:
  TerminalScreen(int input, int output, Colors colors) : input_(input), output_(output), colors_(colors) {}
  Result<void> take();
  void give_back() noexcept;
  /// True if another program, such as a shell, has changed the terminal meanwhile.
  [[nodiscard]] bool is_lost() const;

  const int input_;
  const int output_;
  const Colors colors_;
  termios before_{};
  bool is_taken_ = false;
  FrameSize shown_size_{};
  std::vector<std::string> shown_;
};

/// The bytes that turn the screen from `before` into `lines`. An empty `before` draws everything. Pure.
[[nodiscard]] std::string screen_update(const std::vector<std::string>& before, const std::vector<std::string>& lines);
/// A line with the escape sequences of its style; `width` is that of the screen.
[[nodiscard]] std::string styled_line(const FrameLine& line, std::size_t width, TerminalScreen::Colors colors);

}  // namespace kernelgen::cli
