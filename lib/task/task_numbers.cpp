#include "task/task_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::string_view k_digits = "0123456789";
/// All of these fit an int.
constexpr std::size_t k_most_digits = 9;

std::optional<int> parse_task_number(std::string_view text) {
  if (text.empty() || text.size() > k_most_digits || text.find_first_not_of(k_digits) != text.npos) return std::nullopt;
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<NumberRange> parse_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_task_number(trim(text.substr(0, dash)));
  const auto last = dash == text.npos ? first : parse_task_number(trim(text.substr(dash + 1)));
  if (!first || !last)
    return Error{ErrorCode::InvalidArgument,
                 "\"" + std::string(text) + "\" is no number and no range; expected numbers such as 33-42 or 1,5,9-12"};
  if (*first > *last)
    return Error{ErrorCode::InvalidArgument, "the range " + std::to_string(*first) + '-' + std::to_string(*last) +
                                                 " ends before it begins; did you mean " + std::to_string(*last) + '-' +
                                                 std::to_string(*first) + "?"};
  return NumberRange{*first, *last};
}

int distance(const NumberRange& range, int number) {
  return number < range.first ? range.first - number : std::max(number - range.last, 0);
}

}  // namespace

std::optional<int> leading_number(std::string_view file_name) {
  const auto end = std::min(file_name.find_first_not_of(k_digits), file_name.size());
  const bool is_letter = end < file_name.size() && ((file_name[end] | 0x20) >= 'a' && (file_name[end] | 0x20) <= 'z');
  return is_letter ? std::nullopt : parse_task_number(file_name.substr(0, end));
}

bool looks_like_numbers(std::string_view text) {
  return text.find_first_of(k_digits) != text.npos && text.find_first_not_of("0123456789,- ") == text.npos;
}

Result<std::vector<NumberRange>> parse_numbers(std::string_view text) {
  std::vector<NumberRange> ranges;
  for (const auto part : split(text, ',')) {
    KERNELGEN_TRY(ranges.emplace_back(), parse_range(trim(part)));
  }
  return ranges;
}

std::string describe_missing(const NumberRange& range, const std::vector<int>& existing) {
  std::string text = "has no task " + std::to_string(range.first);
  if (range.first != range.last)
    text = "has no task from " + std::to_string(range.first) + " to " + std::to_string(range.last);
  if (existing.empty()) return text + "; none has a number";
  auto near = existing;
  const auto is_nearer = [&](int a, int b) {
    return std::pair(distance(range, a), a) < std::pair(distance(range, b), b);
  };
  std::sort(near.begin(), near.end(), is_nearer);
  near.erase(std::unique(near.begin(), near.end()), near.end());
  constexpr std::size_t k_most = 3;
  near.resize(std::min(near.size(), k_most));
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  names.reserve(near.size());
  for (const int number : near) names.push_back(std::to_string(number));
  return text + (names.size() == 1 ? "; the nearest is " : "; the nearest are ") + join(names, ", ");
}

}  // namespace v0
}  // namespace kernelgen
