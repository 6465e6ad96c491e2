#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_text = 4000;

/// Number of bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && seen++ == count) break;
  return end;
}

std::string cut(std::string_view text, std::size_t width) {
  if (text_width(text) <= width) return std::string(text);
  constexpr std::string_view k_mark = "...";
  const std::size_t keep = width > k_mark.size() ? width - k_mark.size() : 0;
  return std::string(text.substr(0, bytes_of(text, keep))) + std::string(k_mark.substr(0, width - keep));
}

std::string short_number(double number) {
  constexpr double k_ten = 10, k_hundred = 100;
  return fmt::format("{:.{}f}", number, number < k_ten ? 2 : number < k_hundred ? 1 : 0);
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string fit_left(std::string_view text, std::size_t width) {
  auto fitted = cut(text, width);
  return fitted + std::string(width - text_width(fitted), ' ');
}

std::string fit_right(std::string_view text, std::size_t width) {
  auto fitted = cut(text, width);
  return std::string(width - text_width(fitted), ' ') + fitted;
}

std::string wrap_text(std::string_view text, std::size_t indent, std::size_t width) {
  const std::string clean = sanitize_line(text, k_max_text);
  const std::string margin(indent, ' ');
  if (width <= indent) return margin + clean + '\n';
  const std::size_t room = width - indent;
  std::string lines, line;
  const auto end_line = [&] {
    lines += margin + line + '\n';
    line.clear();
  };
  for (auto word : split(clean, ' ')) {
    if (!line.empty() && text_width(line) + 1 + text_width(word) > room) end_line();
    for (; text_width(word) > room; word.remove_prefix(bytes_of(word, room))) {
      line = word.substr(0, bytes_of(word, room));
      end_line();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) end_line();
  return lines;
}

std::string interval_text(const Ratio& ratio) {
  return '[' + short_number(ratio.low) + ", " + short_number(ratio.high) + ']';
}

std::string score_text(const std::optional<double>& score) { return score ? fmt::format("{:.2f}x", *score) : "-"; }

}  // namespace v0
}  // namespace kernelgen
