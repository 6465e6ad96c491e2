#include <kernelgen/store/event.hpp>

#include <array>
#include <utility>

#include "store/event_json.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_schema = 1;

/// Names in the order of EventBody's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<EventBody>> k_types{
    "run_started",     "run_resumed",   "task_described",   "action_issued",   "request_sent", "request_pending",
    "request_unknown", "reply_arrived", "request_failed",   "action_finished", "best_changed", "budget_exhausted",
    "run_finished",    "profile_taken", "request_deferred", "action_reopened", "run_continued"};

using Reader = Result<EventBody> (*)(const json::value&);

template <class Body>
Result<EventBody> read_body(const json::value& value) {
  KERNELGEN_TRY(auto body, from_value<Body>(value));
  return EventBody(std::move(body));
}

template <std::size_t... I>
constexpr std::array<Reader, sizeof...(I)> make_readers(std::index_sequence<I...>) {
  return {&read_body<std::variant_alternative_t<I, EventBody>>...};
}
constexpr auto k_readers = make_readers(std::make_index_sequence<std::variant_size_v<EventBody>>());

/// The index of the event's type.
Result<std::size_t> find_type(const json::object& object) {
  const auto* schema = object.if_contains("schema");
  const auto* type = object.if_contains("type");
  if (schema == nullptr || !schema->is_int64() || type == nullptr || !type->is_string())
    return Error{ErrorCode::InvalidArgument, "not an event: it lacks a schema number or a type"};
  if (schema->get_int64() > k_schema || schema->get_int64() < 1) {
    return Error{ErrorCode::Unsupported, "event schema " + std::to_string(schema->get_int64()) +
                                             " is not known; this kernelgen reads up to " + std::to_string(k_schema)};
  }
  const std::string_view name = type->get_string();
  for (std::size_t i = 0; i < k_types.size(); ++i)
    if (k_types[i] == name) return i;
  return Error{ErrorCode::InvalidArgument, "unknown event type \"" + std::string(name) + '"'};
}

}  // namespace

std::string_view type_of(const EventBody& body) { return k_types[body.index()]; }

std::string to_json(const Event& event) {
  json::object line{{"schema", k_schema}, {"type", type_of(event.body)}, {"time", event.time}};
  auto body = std::visit([](const auto& typed) { return to_value(typed); }, event.body);
  for (auto& member : body.as_object()) line.emplace(member.key(), std::move(member.value()));
  return json::serialize(line);
}

Result<Event> parse_event(std::string_view line) {
  KERNELGEN_TRY(const auto value, parse_json(line));
  const auto* object = value.if_object();
  if (object == nullptr) return Error{ErrorCode::InvalidArgument, "not an event: no JSON object"};
  KERNELGEN_TRY(const auto type, find_type(*object));
  Event event;
  if (const auto* time = object->if_contains("time"); time != nullptr && time->is_string())
    event.time = time->get_string();
  KERNELGEN_TRY(event.body, k_readers[type](value));
  return event;
}

}  // namespace v0
}  // namespace kernelgen
