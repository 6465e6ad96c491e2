#include "support/frames.hpp"

#include <algorithm>
#include <cstring>

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::string_view k_magic = "KGF1";

std::uint32_t read_length(const char* bytes) {
  std::uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = (length << 8) | static_cast<unsigned char>(bytes[i]);
  return length;
}

}  // namespace

std::string encode_frame(std::string_view body) {
  std::string frame(k_magic);
  const auto length = static_cast<std::uint32_t>(body.size());
  for (unsigned shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>((length >> shift) & 0xff));
  frame += body;
  return frame;
}

void FrameDecoder::feed(std::string_view bytes) {
  // Consumed bytes are dropped only now and then, so that feeding takes linear time.
  if (consumed_ > (1u << 20) || consumed_ == buffer_.size()) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_ += bytes;
}

Result<std::optional<std::string>> FrameDecoder::next() {
  const auto available = buffer_.size() - consumed_;
  const char* head = buffer_.data() + consumed_;
  const auto magic_bytes = std::min(available, k_magic.size());
  if (broken_ || std::memcmp(head, k_magic.data(), magic_bytes) != 0) {
    broken_ = true;
    return Error{ErrorCode::Protocol, "the stream does not start with a KGF1 frame"};
  }
  if (available < k_frame_header_bytes) return std::optional<std::string>{};
  const auto length = read_length(head + k_magic.size());
  if (length > k_max_frame_body_bytes) {
    broken_ = true;
    return Error{ErrorCode::Protocol, "a frame of " + std::to_string(length) + " bytes is larger than the limit"};
  }
  if (available < k_frame_header_bytes + length) return std::optional<std::string>{};
  std::string body(head + k_frame_header_bytes, length);
  consumed_ += k_frame_header_bytes + length;
  return std::optional<std::string>(std::move(body));
}

}  // namespace v0
}  // namespace kernelgen
