#include "support/socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "support/errno_error.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

Result<SocketPair> make_pair(int type) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds.data()) != 0) return errno_error(errno, "cannot make a socket");
  return SocketPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace

ssize_t send_with_fds(int socket, std::string_view bytes, std::span<const int> fds) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * k_max_passed_fds)> control{};
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

Result<SocketPair> make_stream_pair() { return make_pair(SOCK_STREAM); }
Result<SocketPair> make_packet_pair() { return make_pair(SOCK_SEQPACKET); }

Result<UniqueFd> duplicate_fd(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return errno_error(errno, "cannot duplicate a descriptor");
  return UniqueFd(copy);
}

Result<bool> wait_readable(int fd, std::chrono::milliseconds timeout, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  // A descriptor of its own wakes the wait at cancellation, without polling.
  UniqueFd cancelled;
  if (stop.stop_possible()) cancelled.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::stop_callback wake(stop, [&] {
    if (cancelled.valid()) ::eventfd_write(cancelled.get(), 1);
  });
  while (true) {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    std::array<pollfd, 2> watched{pollfd{fd, POLLIN, 0}, pollfd{cancelled.get(), POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<long>(left, 0, 1L << 30)));
    if (ready < 0 && errno != EINTR) return errno_error(errno, "cannot wait for a descriptor");
    if (ready > 0 && watched[0].revents != 0) return true;
    if (ready == 0) return false;
  }
}

ssize_t receive_with_fds(int socket, std::span<char> bytes, std::vector<UniqueFd>& fds) {
  iovec buffer{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(k_max_passed_fds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const auto passed = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < passed; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return count;
}

}  // namespace v0
}  // namespace kernelgen
