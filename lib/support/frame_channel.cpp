#include "support/frame_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "support/errno_error.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

Error peer_is_gone() { return {ErrorCode::Unavailable, "the process at the other end is gone"}; }

}  // namespace

Result<void> FrameChannel::send(std::string_view body, std::span<const int> fds) {
  if (body.size() > k_max_frame_body_bytes || fds.size() > k_max_passed_fds)
    return Error{ErrorCode::Protocol, "a message is larger than a frame may be"};
  const auto frame = encode_frame(body);
  std::string_view rest = frame;
  while (!rest.empty()) {
    const auto sent = send_with_fds(socket_.get(), rest, rest.size() == frame.size() ? fds : std::span<const int>{});
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return peer_is_gone();
    if (sent < 0) return errno_error(errno, "cannot send a message");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> FrameChannel::receive(std::chrono::milliseconds timeout, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  while (true) {
    KERNELGEN_TRY(auto body, decoder_.next());
    if (body) return *std::move(body);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    KERNELGEN_TRY(const bool readable,
                  wait_readable(socket_.get(), std::max(left, std::chrono::milliseconds(0)), stop));
    if (!readable) return Error{ErrorCode::Timeout, "no answer in time"};
    std::array<char, 64 * 1024> buffer;
    const auto count = receive_with_fds(socket_.get(), buffer, fds_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != ECONNRESET) return errno_error(errno, "cannot receive a message");
    if (count <= 0) return peer_is_gone();
    decoder_.feed({buffer.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace v0
}  // namespace kernelgen
