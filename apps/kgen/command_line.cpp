#include "command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_shown_bytes = 80;

/// A value as it is shown in a message.
std::string shown(const std::string& text) { return text.empty() ? "\"\"" : sanitize_line(text, k_shown_bytes); }

Error expected(const std::string& what, const std::string& text) {
  return {ErrorCode::InvalidArgument, fmt::format("expected {}, not {}", what, shown(text))};
}

std::string describe(Range<double> range) {
  const bool has_most = range.most < std::numeric_limits<double>::max();
  if (has_most) return fmt::format("a number from {} to {}", range.least, range.most);
  if (range.least == std::numeric_limits<double>::min()) return "a number above 0";
  return fmt::format("a number of at least {}", range.least);
}

std::string describe(Range<std::int64_t> range) {
  if (range.most == std::numeric_limits<std::int64_t>::max())
    return fmt::format("a whole number of at least {}", range.least);
  return fmt::format("a whole number from {} to {}", range.least, range.most);
}

Value stored_text(std::string& place, Completion completion) {
  return {.store = [&place](const std::string& text) -> Result<void> {
            if (text.empty()) return Error{ErrorCode::InvalidArgument, "expected a value, not an empty one"};
            place = text;
            return {};
          },
          .default_text = place,
          .completion = completion};
}

Value stored_texts(std::vector<std::string>& place, Completion completion) {
  return {.store = [&place](const std::string& text) -> Result<void> {
            if (text.empty()) return Error{ErrorCode::InvalidArgument, "expected a value, not an empty one"};
            place.push_back(text);
            return {};
          },
          .completion = completion};
}

/// The factor of "MB", "mib", "m"; nothing for an unknown unit.
std::optional<double> unit_factor(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (unit.empty() || unit == "b") return 1;
  constexpr std::string_view k_prefixes = "kmgt";
  const auto power = k_prefixes.find(unit.front());
  const auto rest = unit.substr(1);
  if (power == k_prefixes.npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return std::ldexp(1.0, static_cast<int>(10 * (power + 1)));
}

}  // namespace

const Option* Command::find(std::string_view option_name) const {
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), option_name) != names.end();
  };
  for (const auto& option : options)
    if (option.name == option_name || among(option.aliases) || among(option.retired)) return &option;
  return nullptr;
}

Result<std::int64_t> parse_whole_number(const std::string& text, Range<std::int64_t> range) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < range.least || value > range.most)
    return expected(describe(range), text);
  return value;
}

Result<double> parse_number(const std::string& text, Range<double> range) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  if (!is_number || value < range.least || value > range.most) return expected(describe(range), text);
  return value;
}

Result<std::uint64_t> parse_size(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto factor =
      error == std::errc() ? unit_factor(std::string(trim({end, text.data() + text.size()}))) : std::optional<double>();
  constexpr double k_most = 1e18;
  if (!factor || !std::isfinite(number) || number * *factor < 1 || number * *factor > k_most)
    return expected("a size such as 512MB or 8GB", text);
  return static_cast<std::uint64_t>(std::llround(number * *factor));
}

Error unknown_name(const std::string& text, const std::vector<std::string>& names) {
  auto error = expected(list_alternatives(names), text);
  error.message += did_you_mean(text, names);
  return error;
}

std::string to_text(double number) { return fmt::format("{}", number); }

namespace values {

Value flag(bool& place) {
  return {.store = [&place](const std::string& text) -> Result<void> {
            if (text != "true" && text != "false") return expected("true or false", text);
            place = text == "true";
            return {};
          },
          .notation = Notation::Boolean};
}

Value text(std::string& place) { return stored_text(place, Completion::None); }
Value texts(std::vector<std::string>& place) { return stored_texts(place, Completion::None); }
Value file(std::string& place) { return stored_text(place, Completion::Files); }
Value files(std::vector<std::string>& place) { return stored_texts(place, Completion::Files); }
Value directory(std::string& place) { return stored_text(place, Completion::Directories); }
Value directories(std::vector<std::string>& place) { return stored_texts(place, Completion::Directories); }
Value program(std::string& place) { return stored_text(place, Completion::Programs); }

Value choice(std::string& place, std::vector<std::string> names) {
  Value value{.default_text = place, .completions = names};
  value.store = [&place, names = std::move(names)](const std::string& text) -> Result<void> {
    if (std::find(names.begin(), names.end(), text) == names.end()) return unknown_name(text, names);
    place = text;
    return {};
  };
  return value;
}

Value size(std::uint64_t& place) {
  constexpr std::uint64_t k_gigabyte = 1ULL << 30;
  const bool is_whole = place > 0 && place % k_gigabyte == 0;
  return {.store = [&place](const std::string& text) -> Result<void> {
            auto bytes = parse_size(text);
            if (!bytes) return std::move(bytes).error();
            place = *bytes;
            return {};
          },
          .default_text = is_whole ? std::to_string(place / k_gigabyte) + "GB" : std::to_string(place)};
}

Value seconds(double& place, double least) { return number(place, {least, k_day_seconds}); }

}  // namespace values
}  // namespace kernelgen::cli
