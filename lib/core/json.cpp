#include "core/json.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "core/json_codec.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_record_schema = 1;

/// Bytes of the UTF-8 sequence at the front of `text`; 0 when it is not one (overlong forms, surrogates, cut ends).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

bool is_leaf(const json::value& value) { return !value.is_object() && !value.is_array(); }

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
  if (array == nullptr || std::all_of(array->begin(), array->end(), is_leaf)) {
    out += json::serialize(value);
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

}  // namespace

std::string json_codec::to_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0)
      clean += "\xEF\xBF\xBD";
    else
      clean += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

Result<json::value> parse_json(std::string_view text) try {
  boost::system::error_code error;
  json::parser parser;
  const std::size_t read = parser.write(text.data(), text.size(), error);
  if (error) {
    return Error{ErrorCode::InvalidArgument, "not JSON: " + error.message() + " at byte " + std::to_string(read), {}};
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

KERNELGEN_JSON_TYPES_()

std::string to_json(const EvaluationRecord& record) { return to_pretty_json(to_value(record)); }

Result<EvaluationRecord> parse_record(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return std::move(parsed).error();
  const auto* object = parsed->if_object();
  const auto* schema = object != nullptr ? object->if_contains("schema") : nullptr;
  // Without this any JSON file would pass for an empty record.
  if (schema == nullptr || !schema->is_int64())
    return Error{ErrorCode::InvalidArgument, "not an evaluation record: it has no schema number", {}};
  if (schema->get_int64() > k_record_schema || schema->get_int64() < 1) {
    return Error{ErrorCode::Unsupported,
                 "record schema " + std::to_string(schema->get_int64()) + " is not known; this kernelgen reads up to " +
                     std::to_string(k_record_schema),
                 {}};
  }
  return from_value<EvaluationRecord>(*parsed);
}

}  // namespace v0
}  // namespace kernelgen
