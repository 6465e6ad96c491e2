#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"
#include "support/catch.hpp"

namespace kernelgen::testing {

/// The screen of a terminal after some output. It supports the escape sequences of the display only.
class Screen {
 public:
  explicit Screen(std::size_t width) : width_(width) {}

  void write(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') {
        ++row_;
        column_ = 0;
      } else if (text[i] == '\r') {
        column_ = 0;
      } else if (text.substr(i, 3) == "\x1b[K") {
        row().resize(column_);
        i += 2;
      } else if (text.substr(i, 4) == "\x1b[1A") {
        REQUIRE(row_ > 0);
        --row_;
        i += 3;
      } else if (text[i] == '\x1b') {
        const auto end = text.find('m', i);
        REQUIRE(end < i + 6);
        i = end;
      } else {
        row().resize(std::max(row().size(), column_ + 1), ' ');
        row()[column_++] = text[i];
        // A wrapped line could not be erased.
        CHECK(column_ <= width_);
      }
    }
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& row : rows_) text += row + '\n';
    return text.substr(0, text.find_last_not_of('\n') + 1);
  }

 private:
  std::string& row() {
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
    return rows_[row_];
  }

  std::size_t width_;
  std::size_t row_ = 0, column_ = 0;
  std::vector<std::string> rows_;
};

/// The output of a display, and its clock, which stands still until a test moves it. Not movable, because the display
/// refers to it.
struct ShownOutput {
  explicit ShownOutput(const cli::Terminal& terminal) : screen(terminal.interactive ? terminal.width : 1000) {}
  ShownOutput(const ShownOutput&) = delete;
  ShownOutput& operator=(const ShownOutput&) = delete;

  [[nodiscard]] auto writer() {
    return [this](std::string_view text) {
      written += text;
      screen.write(text);
    };
  }
  [[nodiscard]] auto clock() const {
    return [this] { return now; };
  }

  std::chrono::steady_clock::time_point now{std::chrono::hours{1000}};
  std::string written;
  Screen screen;
};

}  // namespace kernelgen::testing
