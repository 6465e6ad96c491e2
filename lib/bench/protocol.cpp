#include "bench/protocol.hpp"

#include <boost/json.hpp>

#include "bench/json.hpp"
#include "support/base64.hpp"
#include "support/frames.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

EvaluationRequest without_private_parts(EvaluationRequest request) {
  request.task.path.clear();
  return request;
}

TaskSource without_path(TaskSource task) {
  task.path.clear();
  return task;
}

json::value write_prebuilt(const Prebuilt& prebuilt) {
  auto value = to_value(prebuilt);
  value.as_object().emplace("bytes", to_base64(prebuilt.bytes));
  return value;
}

/// A profile with its schema number; null for one with a name that is no text.
json::value write_profile(const Profile& profile) {
  auto value = parse_json(to_json(profile));
  return value ? *std::move(value) : json::value(nullptr);
}

/// The members of a message besides its type.
json::object write_body(const Message& message) {
  return std::visit(
      Overloaded{
          [](const HelloMessage& m) -> json::object { return to_value(m).as_object(); },
          [](const EvaluateMessage& m) -> json::object {
            json::object members{{"id", m.id}, {"request", to_value(without_private_parts(m.request))}};
            if (m.prebuilt) members.emplace("prebuilt", write_prebuilt(*m.prebuilt));
            return members;
          },
          [](const DescribeMessage& m) -> json::object {
            return {{"id", m.id}, {"task", to_value(without_path(m.task))}, {"options", to_value(m.options)}};
          },
          [](const ProfileMessage& m) -> json::object {
            return {{"id", m.id},
                    {"request", to_value(without_private_parts(m.request.what))},
                    {"counters", m.request.counters == Counters::Read},
                    {"metric_set", m.request.metric_set}};
          },
          [](const CancelMessage& m) -> json::object {
            return {{"id", m.id}};
          },
          [](const PingMessage& m) -> json::object {
            return {{"id", m.id}};
          },
          [](const PongMessage& m) -> json::object {
            return {{"id", m.id}};
          },
          [](const ShutdownMessage&) -> json::object { return {}; },
          [](const ProgressMessage& m) -> json::object {
            return {{"id", m.id}, {"progress", to_value(m.progress)}};
          },
          [](const RecordMessage& m) -> json::object {
            return {{"id", m.id}, {"record", to_value(m.record)}};
          },
          [](const DescriptionMessage& m) -> json::object {
            return {{"id", m.id}, {"description", to_value(m.description)}};
          },
          [](const ProfiledMessage& m) -> json::object {
            return {{"id", m.id}, {"profile", write_profile(m.profile)}};
          },
          [](const ErrorMessage& m) -> json::object {
            return {{"id", m.id ? json::value(*m.id) : json::value(nullptr)},
                    {"error", to_value(WireError{m.error.code, m.error.message, m.error.context})}};
          },
          [](const UnknownMessage& m) -> json::object {
            auto parsed = parse_json(m.json);
            return parsed && parsed->is_object() ? parsed->as_object() : json::object{};
          },
      },
      message);
}

Error bad(std::string what) { return Error{ErrorCode::Protocol, "bad message: " + std::move(what)}; }

/// The members of one message, with errors that say which message was wrong.
class Reader {
 public:
  Reader(std::string_view type, const json::object& members) : type_(type), members_(members) {}

  /// Reads a required member.
  template <class T>
  Result<T> member(const char* name) const {
    if (!members_.contains(name)) return bad(type_ + " has no member " + name);
    return member_or_default<T>(name);
  }

  template <class T>
  Result<T> member_or_default(const char* name) const {
    const auto* found = members_.if_contains(name);
    if (found == nullptr) return T{};
    auto value = from_value<T>(*found);
    if (!value) return bad(type_ + '.' + name + ": " + value.error().message);
    return value;
  }

  Result<RequestId> id() const {
    KERNELGEN_TRY(const auto found, optional_id());
    if (!found) return bad(type_ + " has no id");
    return *found;
  }

  Result<std::optional<RequestId>> optional_id() const {
    const auto* found = members_.if_contains("id");
    if (found == nullptr || found->is_null()) return std::optional<RequestId>{};
    boost::system::error_code error;
    const auto id = found->to_number<RequestId>(error);
    if (error) return bad(type_ + ".id: expected a whole number that is not negative");
    return std::optional<RequestId>{id};
  }

 private:
  std::string type_;
  const json::object& members_;
};

Result<Message> read_hello(const json::object& members) {
  // A default could claim a version that the peer does not have.
  if (!members.contains("protocol")) return bad("hello has no protocol number");
  auto hello = from_value<HelloMessage>(members);
  if (!hello) return bad("hello." + hello.error().message);
  return Message{*std::move(hello)};
}

Result<Message> read_evaluate(const Reader& reader) {
  EvaluateMessage evaluate;
  KERNELGEN_TRY(evaluate.id, reader.id());
  KERNELGEN_TRY(evaluate.request, reader.member<EvaluationRequest>("request"));
  return Message{std::move(evaluate)};
}

Result<Message> read_evaluate_prebuilt(const Reader& reader, const json::object& members) {
  EvaluateMessage evaluate;
  KERNELGEN_TRY(evaluate.id, reader.id());
  KERNELGEN_TRY(evaluate.request, reader.member<EvaluationRequest>("request"));
  KERNELGEN_TRY(evaluate.prebuilt, reader.member<Prebuilt>("prebuilt"));
  const auto& sent = members.at("prebuilt").as_object();
  // A default could make a shared object of a Python module.
  for (const char* name : {"artifact", "device"})
    if (!sent.contains(name)) return bad(std::string("evaluate_prebuilt.prebuilt has no member ") + name);
  if (const auto* bytes = sent.if_contains("bytes"); bytes != nullptr) {
    auto decoded = bytes->is_string() ? from_base64(bytes->get_string()) : std::nullopt;
    if (!decoded) return bad("evaluate_prebuilt.prebuilt.bytes: expected base64");
    evaluate.prebuilt->bytes = *std::move(decoded);
  }
  return Message{std::move(evaluate)};
}

Result<Message> read_describe(const Reader& reader) {
  DescribeMessage describe;
  KERNELGEN_TRY(describe.id, reader.id());
  KERNELGEN_TRY(describe.task, reader.member<TaskSource>("task"));
  KERNELGEN_TRY(describe.options, reader.member_or_default<EvaluationOptions>("options"));
  return Message{std::move(describe)};
}

Result<Message> read_profile(const Reader& reader, const json::object& members) {
  ProfileMessage profile;
  KERNELGEN_TRY(profile.id, reader.id());
  KERNELGEN_TRY(profile.request.what, reader.member<EvaluationRequest>("request"));
  if (members.contains("counters")) {
    KERNELGEN_TRY(const auto counters, reader.member<bool>("counters"));
    profile.request.counters = counters ? Counters::Read : Counters::None;
  }
  if (members.contains("metric_set")) {
    KERNELGEN_TRY(profile.request.metric_set, reader.member<std::string>("metric_set"));
  }
  return Message{std::move(profile)};
}

Result<Message> read_profiled(const Reader& reader, const json::object& members) {
  ProfiledMessage profiled;
  KERNELGEN_TRY(profiled.id, reader.id());
  const auto* profile = members.if_contains("profile");
  if (profile == nullptr) return bad("profiled has no member profile");
  auto read = parse_profile(json::serialize(*profile));
  if (!read) return bad("profiled.profile: " + read.error().message);
  profiled.profile = *std::move(read);
  return Message{std::move(profiled)};
}

Result<Message> read_error(const Reader& reader) {
  ErrorMessage message;
  KERNELGEN_TRY(message.id, reader.optional_id());
  KERNELGEN_TRY(auto error, reader.member<WireError>("error"));
  message.error = {error.code, std::move(error.message), std::move(error.context)};
  return Message{std::move(message)};
}

/// Reads a message that has an id and at most one other member.
template <class M>
Result<Message> read_id(const Reader& reader) {
  KERNELGEN_TRY(const auto id, reader.id());
  return Message{M{id}};
}
template <class M, class Part>
Result<Message> read_part(const Reader& reader, const char* name) {
  KERNELGEN_TRY(const auto id, reader.id());
  KERNELGEN_TRY(auto part, reader.member<Part>(name));
  return Message{M{id, std::move(part)}};
}

Result<Message> read_message(const std::string& type, const json::object& members, std::string_view text) {
  const Reader reader(type, members);
  if (type == "hello") return read_hello(members);
  if (type == "evaluate") return read_evaluate(reader);
  if (type == "evaluate_prebuilt") return read_evaluate_prebuilt(reader, members);
  if (type == "describe") return read_describe(reader);
  if (type == "profile") return read_profile(reader, members);
  if (type == "profiled") return read_profiled(reader, members);
  if (type == "cancel") return read_id<CancelMessage>(reader);
  if (type == "ping") return read_id<PingMessage>(reader);
  if (type == "pong") return read_id<PongMessage>(reader);
  if (type == "shutdown") return Message{ShutdownMessage{}};
  if (type == "progress") return read_part<ProgressMessage, EvaluationProgress>(reader, "progress");
  if (type == "record") return read_part<RecordMessage, EvaluationRecord>(reader, "record");
  if (type == "description") return read_part<DescriptionMessage, TaskDescription>(reader, "description");
  if (type == "error") return read_error(reader);
  KERNELGEN_TRY(const auto id, reader.optional_id());
  return Message{UnknownMessage{type, id, std::string(text)}};
}

}  // namespace

std::string_view type_of(const Message& message) {
  return std::visit(
      Overloaded{
          [](const HelloMessage&) -> std::string_view { return "hello"; },
          [](const EvaluateMessage& m) -> std::string_view { return m.prebuilt ? "evaluate_prebuilt" : "evaluate"; },
          [](const DescribeMessage&) -> std::string_view { return "describe"; },
          [](const ProfileMessage&) -> std::string_view { return "profile"; },
          [](const ProfiledMessage&) -> std::string_view { return "profiled"; },
          [](const CancelMessage&) -> std::string_view { return "cancel"; },
          [](const PingMessage&) -> std::string_view { return "ping"; },
          [](const PongMessage&) -> std::string_view { return "pong"; },
          [](const ShutdownMessage&) -> std::string_view { return "shutdown"; },
          [](const ProgressMessage&) -> std::string_view { return "progress"; },
          [](const RecordMessage&) -> std::string_view { return "record"; },
          [](const DescriptionMessage&) -> std::string_view { return "description"; },
          [](const ErrorMessage&) -> std::string_view { return "error"; },
          [](const UnknownMessage& m) -> std::string_view { return m.type; },
      },
      message);
}

std::string to_json(const Message& message) {
  json::object members{{"type", type_of(message)}};
  for (auto& member : write_body(message)) members.insert(member);
  return json::serialize(members);
}

Result<Message> parse_message(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return bad(parsed.error().message);
  const auto* members = parsed->if_object();
  const auto* type = members != nullptr ? members->if_contains("type") : nullptr;
  if (type == nullptr || !type->is_string()) return bad("it has no type");
  return read_message(std::string(type->get_string()), *members, text);
}

Result<std::string> encode_message(const Message& message) {
  const std::string body = to_json(message);
  if (body.size() > k_max_frame_body_bytes) {
    return Error{ErrorCode::InvalidArgument, "a message \"" + std::string(type_of(message)) + "\" of " +
                                                 std::to_string(body.size()) +
                                                 " bytes is larger than the protocol allows (64 MiB)"};
  }
  return encode_frame(body);
}

namespace {

/// The id of an otherwise invalid message.
std::optional<RequestId> find_id(std::string_view text) {
  const auto parsed = parse_json(text);
  const auto* members = parsed ? parsed->if_object() : nullptr;
  if (members == nullptr) return std::nullopt;
  const auto id = Reader("", *members).optional_id();
  return id ? *id : std::nullopt;
}

}  // namespace

struct MessageDecoder::State {
  FrameDecoder frames;
  bool lost = false;
  std::optional<RequestId> failed_id;
};

MessageDecoder::MessageDecoder() : state_(std::make_unique<State>()) {}
MessageDecoder::~MessageDecoder() = default;
MessageDecoder::MessageDecoder(MessageDecoder&&) noexcept = default;
MessageDecoder& MessageDecoder::operator=(MessageDecoder&&) noexcept = default;

void MessageDecoder::feed(std::string_view bytes) { state_->frames.feed(bytes); }

Result<std::optional<Message>> MessageDecoder::next() {
  state_->failed_id.reset();
  auto body = state_->frames.next();
  state_->lost = !body;
  if (!body) return std::move(body).error();
  if (!*body) return std::optional<Message>{};
  auto message = parse_message(**body);
  if (message) return std::optional<Message>{*std::move(message)};
  state_->failed_id = find_id(**body);
  return std::move(message).error();
}

bool MessageDecoder::is_lost() const { return state_->lost; }
std::optional<RequestId> MessageDecoder::failed_id() const { return state_->failed_id; }

bool MessageDecoder::has_partial_message() const { return state_->frames.has_partial_frame(); }

}  // namespace v0
}  // namespace kernelgen
