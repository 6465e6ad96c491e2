#include "layout.hpp"

#include <algorithm>

#include "support/text.hpp"

namespace kernelgen::cli {

std::string colored(std::string_view text, std::string_view color, bool use_color) {
  constexpr std::string_view k_plain = "\x1b[0m";
  if (!use_color) return std::string(text);
  return std::string(color) + std::string(text) + std::string(k_plain);
}

std::size_t count_characters(std::string_view text) {
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  if (width == 0) return {std::string(text)};
  std::vector<std::string> lines(1);
  for (const auto word : split(text, ' ')) {
    auto& line = lines.back();
    if (!line.empty() && count_characters(line) + 1 + count_characters(word) > width)
      lines.emplace_back(word);
    else
      line += (line.empty() ? "" : " ") + std::string(word);
  }
  return lines;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (count_characters(text) <= width) return std::string(text);
  constexpr std::string_view k_mark = "...";
  const std::size_t keep = width > k_mark.size() ? width - k_mark.size() : 0;
  std::size_t end = 0;
  for (std::size_t kept = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && kept++ == keep) break;
  return std::string(text.substr(0, end)) + std::string(k_mark.substr(0, std::min(width, k_mark.size())));
}

}  // namespace kernelgen::cli
