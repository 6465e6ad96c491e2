#include "profile/csv_text.hpp"

#include <charconv>
#include <cmath>

namespace kernelgen {
inline namespace v0 {

std::vector<std::string> split_csv_line(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

std::optional<double> read_csv_number(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ',') digits += c;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

}  // namespace v0
}  // namespace kernelgen
