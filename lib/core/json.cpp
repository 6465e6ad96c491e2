#include "core/json.hpp"

#include <boost/json.hpp>

#include "core/json_codec.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_record_schema = 1;

}  // namespace

KERNELGEN_JSON_TYPES_()

std::string to_json(const EvaluationRecord& record) { return to_pretty_json(to_value(record)); }

Result<EvaluationRecord> parse_record(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return std::move(parsed).error();
  const auto* object = parsed->if_object();
  const auto* schema = object != nullptr ? object->if_contains("schema") : nullptr;
  // Without this check, any JSON file would be read as an empty record.
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
