#pragma once

/// \file
/// Framing of all connections that carry JSON: "KGF1", a little-endian length, a UTF-8 body. docs/protocol.md is the
/// specification.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

constexpr std::size_t k_frame_header_bytes = 8;
constexpr std::size_t k_max_frame_body_bytes = 64u << 20;

/// Encodes one frame. Requires: body.size() <= k_max_frame_body_bytes.
[[nodiscard]] std::string encode_frame(std::string_view body);

/// Splits a byte stream into frames. Pure: no I/O. After an error, every call returns it.
class FrameDecoder {
 public:
  void feed(std::string_view bytes);
  /// The next whole body; nothing when more bytes are needed; Protocol for a stream without frames.
  [[nodiscard]] Result<std::optional<std::string>> next();
  /// Whether bytes of an unfinished frame were received: an end of file now would mean a torn frame.
  [[nodiscard]] bool has_partial_frame() const { return consumed_ < buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;
  bool broken_ = false;
};

}  // namespace v0
}  // namespace kernelgen
