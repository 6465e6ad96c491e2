#include "console.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "layout.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_max_line = 200;

}  // namespace

Terminal inspect_terminal(int fd, bool no_color, std::size_t columns) {
  Terminal terminal;
  terminal.interactive = ::isatty(fd) == 1;
  terminal.color = terminal.interactive && !no_color;
  winsize size{};
  if (columns > 0)
    terminal.width = columns;
  else if (terminal.interactive && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.width = size.ws_col;
  return terminal;
}

bool has_lost_reader(int fd) {
  pollfd watched{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&watched, 1, 0) == 1 && (watched.revents & POLLERR) != 0;
}

void StatusLines::show(const std::vector<std::string>& lines) {
  // A single write, so that the status does not flicker.
  auto text = take_erasure();
  for (const auto& line : lines) text += (&line == &lines.front() ? "" : "\n") + line;
  sink_(text);
  shown_ = lines.size();
}

void StatusLines::erase() {
  if (const auto text = take_erasure(); !text.empty()) sink_(text);
}

std::string StatusLines::take_erasure() {
  if (shown_ == 0) return {};
  std::string text(k_erase_line);
  for (; shown_ > 1; --shown_) text += "\x1b[1A\x1b[K";
  shown_ = 0;
  return text;
}

ProgressDisplay::ProgressDisplay(Terminal terminal, Sink sink) : terminal_(terminal), sink_(std::move(sink)) {}
ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::show(const EvaluationProgress& progress) {
  std::string line = sanitize_line(progress.phase, k_max_line);
  if (!terminal_.interactive) {
    // A log gets one line per phase, and none for progress within it.
    if (progress.phase == phase_) return;
    phase_ = progress.phase;
  }
  if (!progress.detail.empty()) line += ": " + sanitize_line(progress.detail, k_max_line);
  if (!terminal_.interactive) {
    sink_("kgen: " + line + '\n');
    return;
  }
  // A line that fills the last column would wrap, and a wrapped line cannot be erased.
  sink_(std::string(k_erase_line) + cut_to_width(line, terminal_.width > 0 ? terminal_.width - 1 : 0));
  shown_ = true;
}

void ProgressDisplay::clear() noexcept {
  if (!shown_) return;
  shown_ = false;
  try {
    sink_(k_erase_line);
  } catch (...) {  // a lost erasure is no reason to lose the verdict
  }
}

}  // namespace kernelgen::cli
