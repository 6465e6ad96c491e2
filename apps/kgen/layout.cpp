#include "layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

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

std::vector<std::string> join_pieces(const std::vector<std::string>& pieces, std::string_view separator,
                                     std::size_t width) {
  const auto most = width == 0 ? std::numeric_limits<std::size_t>::max() / 2 : width;
  std::vector<std::string> lines;
  for (const auto& piece : pieces) {
    const auto needed = separator.size() + count_characters(piece);
    if (!lines.empty() && count_characters(lines.back()) + needed <= most)
      lines.back() += std::string(separator) + piece;
    else
      lines.push_back(cut_to_width(piece, most));
  }
  return lines;
}

std::string format_duration(std::chrono::milliseconds duration) {
  constexpr std::int64_t k_minute = 60, k_hour = 60 * k_minute, k_day = 24 * k_hour;
  const auto seconds = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(duration).count(), 0);
  if (seconds < k_minute) return fmt::format("{} s", seconds);
  if (seconds < k_hour) return fmt::format("{} min {} s", seconds / k_minute, seconds % k_minute);
  if (seconds < k_day) return fmt::format("{} h {} min", seconds / k_hour, seconds % k_hour / k_minute);
  return fmt::format("{} d {} h", seconds / k_day, seconds % k_day / k_hour);
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
