#include "support/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

bool is_leaf(const json::value& value) { return !value.is_object() && !value.is_array(); }

/// 1.5 and 190.0, where the library writes 1.5E0 and 1.9E2. A reader that tells integers apart gets what was written.
std::string write_leaf(const json::value& leaf) {
  const auto* number = leaf.if_double();
  if (number == nullptr || !std::isfinite(*number)) return json::serialize(leaf);
  auto text = fmt::format("{}", *number);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

void write_pretty(const json::value& value, const std::string& indent, std::string& out) {
  const std::string deeper = indent + "  ";
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    const char* separator = "{\n";
    for (const auto& member : *object) {
      out += separator + deeper + json::serialize(member.key()) + ": ";
      write_pretty(member.value(), deeper, out);
      separator = ",\n";
    }
    out += '\n' + indent + '}';
    return;
  }
  const auto* array = value.if_array();
  if (array == nullptr || array->empty()) {
    out += write_leaf(value);
    return;
  }
  if (std::all_of(array->begin(), array->end(), is_leaf)) {
    char separator = '[';
    for (const auto& leaf : *array) out += std::exchange(separator, ',') + write_leaf(leaf);
    out += ']';
    return;
  }
  const char* separator = "[\n";
  for (const auto& element : *array) {
    out += separator + deeper;
    write_pretty(element, deeper, out);
    separator = ",\n";
  }
  out += '\n' + indent + ']';
}

/// "in line 2, column 7", for an editor.
std::string place_of(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_end = before.rfind('\n');
  const auto column = line_end == before.npos ? offset + 1 : offset - line_end;
  return "in line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<json::value> parse_json(std::string_view text) try {
  boost::system::error_code error;
  json::parser parser;
  const std::size_t read = parser.write(text.data(), text.size(), error);
  if (error) {
    return Error{ErrorCode::InvalidArgument, "not JSON: " + error.message() + ' ' + place_of(text, read), {}};
  }
  return parser.release();
} catch (const std::bad_alloc&) {
  return Error{
      ErrorCode::InvalidArgument, "not enough memory to read " + std::to_string(text.size()) + " bytes of JSON", {}};
}

std::string to_pretty_json(const json::value& value) {
  std::string text;
  write_pretty(value, "", text);
  text += '\n';
  return text;
}

}  // namespace v0
}  // namespace kernelgen
