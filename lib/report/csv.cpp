#include "report/csv.hpp"

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_cell = 4000;

std::string quoted(const std::string& cell) {
  std::string text = sanitize_line(cell, k_max_cell);
  if (text.find_first_of(",\"") == text.npos) return text;
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 2)) text.insert(at, 1, '"');
  return '"' + text + '"';
}

}  // namespace

std::string csv_row(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  row.reserve(cells.size());
  for (const auto& cell : cells) row.push_back(quoted(cell));
  return join(row, ",") + '\n';
}

}  // namespace v0
}  // namespace kernelgen
