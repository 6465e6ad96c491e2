#include "channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

namespace kgen_runner {

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

kgen_reply make_reply(std::uint16_t op, std::uint64_t sequence) {
  kgen_reply reply{};
  reply.magic = KGEN_REPLY_MAGIC;
  reply.version = KGEN_RUNNER_PROTOCOL_VERSION;
  reply.op = op;
  reply.sequence = sequence;
  return reply;
}

void set_text(kgen_reply& reply, std::string_view text) {
  const std::size_t length = std::min(text.size(), sizeof reply.text);
  std::memcpy(reply.text, text.data(), length);
  reply.text_length = static_cast<std::uint32_t>(length);
}

std::optional<Command> Channel::receive() const {
  for (;;) {
    Command command;
    iovec buffer{&command.record, sizeof command.record};
    constexpr std::size_t k_max_fds = 8;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(k_max_fds * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &buffer;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
        command.fds.emplace_back(fd);
      }
    }
    const bool whole = got == sizeof command.record && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (whole && command.record.magic == KGEN_COMMAND_MAGIC && command.record.version == KGEN_RUNNER_PROTOCOL_VERSION) {
      return command;
    }
    kgen_reply reply = make_reply(command.record.op, command.record.sequence);
    reply.status = KGEN_STATUS_PROTOCOL;
    set_text(reply, "not a command of version 1");
    if (!send(reply)) return std::nullopt;
  }
}

bool Channel::send(const kgen_reply& reply) const {
  for (;;) {
    if (::send(socket_, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace kgen_runner
