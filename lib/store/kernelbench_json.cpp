#include "store/kernelbench_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <new>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

/// Replaces NaN and Infinity outside of texts by texts of the same length, so that positions in messages stay right.
std::string without_python_numbers(std::string_view text) {
  std::string plain(text);
  bool in_text = false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (in_text && plain[i] == '\\') {
      ++i;
    } else if (plain[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && (plain[i] == 'N' || plain[i] == 'I')) {
      for (const std::string_view name : {"NaN", "Infinity"}) {
        if (!std::string_view(plain).substr(i).starts_with(name)) continue;
        if (i > 0 && plain[i - 1] == '-') plain[i - 1] = ' ';
        plain.replace(i, name.size(), '"' + std::string(name.size() - 2, '?') + '"');
        i += name.size() - 1;
        break;
      }
    }
  }
  return plain;
}

std::string position_text(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  return fmt::format("line {}, column {}", line, 1 + at - (start == before.npos ? 0 : start + 1));
}

const json::value* find(const json::object& members, std::string_view name) {
  const auto* value = members.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<double> number_in(const json::value& value) {
  double number = 0;
  if (value.is_number()) {
    number = value.to_number<double>();
  } else if (value.is_string()) {
    const auto text = trim(std::string_view(value.get_string()));
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc{} || end.ptr != text.data() + text.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string found_text(const json::value& value) {
  constexpr std::size_t k_most = 40;
  if (value.is_string() && value.get_string().find_first_not_of('?') == json::string::npos) return "no finite number";
  if (value.is_string() || value.is_number()) return sanitize_line(json::serialize(value), k_most);
  return kind_text(value);
}

}  // namespace

Result<json::value> parse_python_json(std::string_view text) try {
  const auto plain = without_python_numbers(text);
  boost::system::error_code error;
  json::parser parser;
  const auto read = parser.write(plain.data(), plain.size(), error);
  if (error)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("not JSON: {} at {}", error.message(), position_text(plain, read))};
  return parser.release();
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::InvalidArgument, fmt::format("not enough memory to read {} bytes of JSON", text.size())};
}

std::string kind_text(const json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_bool()) return "true or false";
  return value.is_null() ? "null" : "a number";
}

std::optional<bool> read_truth(const json::object& members, std::string_view name, std::vector<std::string>& problems) {
  const auto* value = find(members, name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  if (value->is_string()) {
    const auto text = std::string_view(value->get_string());
    if (text == "True" || text == "true") return true;
    if (text == "False" || text == "false") return false;
  }
  problems.push_back(fmt::format("{}: expected true or false, found {}", name, found_text(*value)));
  return std::nullopt;
}

std::optional<double> read_number(const json::object& members, std::string_view name,
                                  std::vector<std::string>& problems, NumberLimits limits) {
  const auto* value = find(members, name);
  if (value == nullptr) return std::nullopt;
  const auto number = number_in(*value);
  if (number && *number >= limits.least && *number <= limits.most) return number;
  problems.push_back(fmt::format("{}: expected a number from {} to {}, found {}", name, limits.least, limits.most,
                                 found_text(*value)));
  return std::nullopt;
}

std::optional<double> read_time(const json::object& members, std::string_view name,
                                std::vector<std::string>& problems) {
  constexpr double k_most_ms = 1e9;
  const auto* value = find(members, name);
  if (value == nullptr) return std::nullopt;
  const auto number = number_in(*value);
  if (number == -1.0) return std::nullopt;
  if (number && *number > 0 && *number <= k_most_ms) return number;
  problems.push_back(fmt::format("{}: expected milliseconds above 0, found {}", name, found_text(*value)));
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
