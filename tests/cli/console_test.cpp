#include "console.hpp"

#include "layout.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;

namespace {

/// The output of a display for some steps and its end.
std::string shown(Terminal terminal, const std::vector<EvaluationProgress>& steps) {
  std::string text;
  {
    ProgressDisplay display(terminal, [&](std::string_view more) { text += more; });
    for (const auto& step : steps) display.show(step);
  }
  return text;
}

}  // namespace

TEST_CASE("progress into a pipe is a plain line per phase", "[cli][console]") {
  CHECK(shown({}, {{"compile", ""}, {"timing", "10 samples"}, {"timing", "20 samples"}}) ==
        "kgen: compile\nkgen: timing: 10 samples\n");
}

TEST_CASE("progress on a terminal is one line, erased at the end", "[cli][console]") {
  const Terminal terminal{.interactive = true, .color = true, .width = 80};
  CHECK(shown(terminal, {{"compile", ""}, {"timing", "20 samples"}}) ==
        "\r\x1b[Kcompile\r\x1b[Ktiming: 20 samples\r\x1b[K");
  CHECK(shown(terminal, {}).empty());
}

TEST_CASE("a progress line never fills the terminal's last column", "[cli][console]") {
  for (const std::size_t width : {1U, 20U, 80U, 200U}) {
    const auto text = shown({.interactive = true, .width = width}, {{"admit", std::string(300, 'x')}});
    const auto line = text.substr(4, text.rfind('\r') - 4);
    CHECK(line.size() <= width - 1);
  }
}

TEST_CASE("a candidate cannot write control characters through progress", "[cli][console]") {
  const auto text = shown({}, {{"compile", "a\x1b[31mb\nkgen: correct"}});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("text is cut between characters", "[cli][console]") {
  CHECK(cut_to_width("short", 5) == "short");
  CHECK(cut_to_width("longer", 5) == "lo...");
  CHECK(cut_to_width("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 4) == "\xC3\xA9...");
  CHECK(cut_to_width("long", 2) == "..");
  CHECK(cut_to_width("long", 0).empty());
}
