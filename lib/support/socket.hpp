#pragma once

/// \file
/// Local sockets: connected pairs, passing of descriptors, waiting with a deadline and a stop token.

#include <sys/types.h>

#include <chrono>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// A connected pair of stream sockets, close-on-exec.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
[[nodiscard]] Result<SocketPair> make_stream_pair();
/// The same with message boundaries, for fixed-size records.
[[nodiscard]] Result<SocketPair> make_packet_pair();

/// Duplicates a descriptor, close-on-exec.
[[nodiscard]] Result<UniqueFd> duplicate_fd(int fd);

/// Waits until `fd` is readable. False when `timeout` passed first; Cancelled when `stop` was triggered.
[[nodiscard]] Result<bool> wait_readable(int fd, std::chrono::milliseconds timeout, const std::stop_token& stop);

/// Sends as much as fits; `fds` (at most eight) travel with the first byte. Never raises SIGPIPE. Otherwise like
/// send(2).
[[nodiscard]] ssize_t send_with_fds(int socket, std::string_view bytes, std::span<const int> fds);

inline constexpr std::size_t k_max_passed_fds = 8;

/// Receives what has arrived; received descriptors are appended to `fds`, close-on-exec. Otherwise like recv(2).
[[nodiscard]] ssize_t receive_with_fds(int socket, std::span<char> bytes, std::vector<UniqueFd>& fds);

}  // namespace v0
}  // namespace kernelgen
