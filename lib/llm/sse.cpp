#include "llm/sse.hpp"

#include <utility>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {

void SseParser::feed(std::string_view bytes, const std::function<void(const SseEvent&)>& take) {
  while (!bytes.empty()) {
    // The second half of "\r\n" may be in the next piece.
    if (std::exchange(is_after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (end == bytes.npos) return;
    is_after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(take);
  }
}

void SseParser::end_line(const std::function<void(const SseEvent&)>& take) {
  const std::string whole = std::exchange(line_, {});
  const auto line = std::exchange(is_at_start_, false) ? without_byte_order_mark(whole) : std::string_view(whole);
  if (line.empty()) {
    const auto event = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) take(event);
    return;
  }
  const auto colon = line.find(':');
  auto value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "event") event_.name = value;
  if (name != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

}  // namespace v0
}  // namespace kernelgen
