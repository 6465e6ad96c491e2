#include "terminal_screen.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "layout.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/socket.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

// The other screen; no cursor; lines that are too wide, as those with wide characters, are cut instead of wrapped.
constexpr std::string_view k_enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view k_leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
// Terminals that know it show everything between the two at once; others ignore it.
constexpr std::string_view k_begin_update = "\x1b[?2026h";
constexpr std::string_view k_end_update = "\x1b[?2026l";
constexpr std::string_view k_terminal = "the terminal";

/// Without echo, line editing and signals by keys; output stays as it is.
termios raw_mode(termios mode) {
  mode.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
  mode.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG);
  mode.c_cc[VMIN] = 0;
  mode.c_cc[VTIME] = 0;
  return mode;
}

std::string_view style_sequence(FrameLine::Style style, TerminalScreen::Colors colors) {
  using Style = FrameLine::Style;
  const bool has_colors = colors == TerminalScreen::Colors::Yes;
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Title:
      return "\x1b[1m";
    case Style::Heading:
      return "\x1b[4m";
    case Style::Selected:
      return "\x1b[7m";
    case Style::Good:
      return has_colors ? k_green : "";
    case Style::Bad:
      return has_colors ? k_red : "";
    case Style::Dim:
      return has_colors ? "\x1b[2m" : "";
  }
  return "";
}

}  // namespace

std::string styled_line(const FrameLine& line, std::size_t width, TerminalScreen::Colors colors) {
  auto text = cut_to_width(line.text, width);
  const auto sequence = style_sequence(line.style, colors);
  if (sequence.empty()) return text;
  const bool fills = line.style == FrameLine::Style::Selected || line.style == FrameLine::Style::Heading;
  if (fills) text.append(width - count_characters(text), ' ');
  return std::string(sequence) + text + "\x1b[0m";
}

std::string screen_update(const std::vector<std::string>& before, const std::vector<std::string>& lines) {
  // A place below the last line would be the last line itself where these fill the terminal, so what is there is
  // cleared first.
  std::string text;
  if (before.size() != lines.size()) text += fmt::format("\x1b[{};1H\x1b[J", std::min(before.size(), lines.size()) + 1);
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (i >= before.size() || before[i] != lines[i]) text += fmt::format("\x1b[{};1H{}\x1b[K", i + 1, lines[i]);
  if (text.empty()) return text;
  return std::string(k_begin_update) + text + std::string(k_end_update);
}

Result<std::unique_ptr<TerminalScreen>> TerminalScreen::open(int input, int output, Colors colors) {
  std::unique_ptr<TerminalScreen> screen(new TerminalScreen(input, output, colors));
  KERNELGEN_CHECK(screen->take());
  return screen;
}

TerminalScreen::~TerminalScreen() { give_back(); }

Result<void> TerminalScreen::take() {
  if (::tcgetattr(input_, &before_) != 0) return errno_error(errno, "cannot read the settings of the terminal");
  const auto raw = raw_mode(before_);
  if (::tcsetattr(input_, TCSADRAIN, &raw) != 0)
    return errno_error(errno, "cannot change the settings of the terminal");
  is_taken_ = true;
  forget();
  return write_all(output_, k_enter, k_terminal);
}

void TerminalScreen::give_back() noexcept {
  if (!std::exchange(is_taken_, false)) return;
  try {
    static_cast<void>(write_all(output_, k_leave, k_terminal));
  } catch (...) {  // the settings are what matters
  }
  ::tcsetattr(input_, TCSADRAIN, &before_);
}

bool TerminalScreen::is_lost() const {
  termios now{};
  return ::tcgetattr(input_, &now) == 0 && (now.c_lflag & (ICANON | ECHO)) != 0;
}

FrameSize TerminalScreen::size() const {
  winsize size{};
  if (::ioctl(output_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.width = size.ws_col, .height = size.ws_row};
}

Result<void> TerminalScreen::show(const std::vector<FrameLine>& lines) {
  if (is_lost()) KERNELGEN_CHECK(take());
  const auto now = size();
  if (now.width != shown_size_.width || now.height != shown_size_.height) forget();
  shown_size_ = now;
  std::vector<std::string> texts;
  texts.reserve(lines.size());
  for (const auto& line : lines) texts.push_back(styled_line(line, now.width, colors_));
  const auto update = screen_update(shown_, texts);
  shown_ = std::move(texts);
  return update.empty() ? Result<void>() : write_all(output_, update, k_terminal);
}

Result<std::string> TerminalScreen::read(std::chrono::milliseconds timeout, const std::stop_token& stop) {
  KERNELGEN_TRY(const bool is_readable, wait_readable(input_, timeout, stop));
  if (!is_readable) return std::string();
  std::array<char, 256> bytes{};
  const auto got = ::read(input_, bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::string();
  if (got < 0) return errno_error(errno, "cannot read from the terminal");
  // Readable without a byte: the terminal was closed.
  if (got == 0) return Error{ErrorCode::Io, "the terminal is gone"};
  return std::string(bytes.data(), static_cast<std::size_t>(got));
}

Result<void> TerminalScreen::suspend() {
  give_back();
  // To this thread: it does not go on before the process has stopped.
  ::raise(SIGTSTP);
  return take();
}

}  // namespace kernelgen::cli
