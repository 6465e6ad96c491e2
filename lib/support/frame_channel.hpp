#pragma once

/// \file
/// Frames over a stream socket, with deadlines and descriptors. One thread at a time per direction.

#include <chrono>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "support/frames.hpp"
#include "support/socket.hpp"

namespace kernelgen {
inline namespace v0 {

class FrameChannel {
 public:
  explicit FrameChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Sends one frame; `fds` travel with its first byte. Never raises SIGPIPE. A peer that is gone is Unavailable.
  [[nodiscard]] Result<void> send(std::string_view body, std::span<const int> fds = {});
  /// Receives the next frame. Timeout, Cancelled, Protocol, or Unavailable when the peer closed the connection.
  [[nodiscard]] Result<std::string> receive(std::chrono::milliseconds timeout, const std::stop_token& stop);
  /// Takes the descriptors that arrived since the last call, in order.
  [[nodiscard]] std::vector<UniqueFd> take_fds() { return std::exchange(fds_, {}); }

 private:
  UniqueFd socket_;
  FrameDecoder decoder_;
  std::vector<UniqueFd> fds_;
};

}  // namespace v0
}  // namespace kernelgen
