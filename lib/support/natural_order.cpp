#include "support/natural_order.hpp"

#include <cctype>
#include <cstddef>

namespace kernelgen {
inline namespace v0 {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Takes the digits at `location`, without leading zeros, and moves `location` past them.
std::string_view take_number(std::string_view text, std::size_t& location) {
  const auto begin = location;
  while (location < text.size() && is_digit(text[location])) ++location;
  auto digits = text.substr(begin, location - begin);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

bool naturally_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto left = take_number(a, i), right = take_number(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  if ((i < a.size()) != (j < b.size())) return j < b.size();
  return a < b;
}

}  // namespace v0
}  // namespace kernelgen
