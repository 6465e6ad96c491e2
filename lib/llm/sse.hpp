#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace v0 {

/// One server-sent event.
struct SseEvent {
  /// The field "event"; empty when there was none.
  std::string name;
  /// The lines of the field "data", joined by '\n'.
  std::string data;
  bool operator==(const SseEvent&) const = default;
};

/// Splits a stream into events (text/event-stream of the HTML standard), whatever pieces it arrives in. Lines may end
/// with "\r\n", '\n' or '\r'; comments and other fields are left out; an event without data is none.
class SseParser {
 public:
  /// Takes the next bytes and calls `take` for every event that they end.
  void feed(std::string_view bytes, const std::function<void(const SseEvent&)>& take);
  /// Whether the stream has stopped within an event, which then does not count.
  [[nodiscard]] bool is_within_event() const { return !line_.empty() || has_data_; }

 private:
  void end_line(const std::function<void(const SseEvent&)>& take);
  void take_field(std::string_view name, std::string_view value);

  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool is_after_return_ = false;
  bool is_at_start_ = true;
};

}  // namespace v0
}  // namespace kernelgen
