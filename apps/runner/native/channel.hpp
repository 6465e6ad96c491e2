#pragma once

/// \file
/// The control socket: commands with file descriptors in, replies out.

#include <optional>
#include <string_view>
#include <vector>

#include "../runner_protocol.h"

namespace kgen_runner {

/// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Command {
  kgen_command record{};
  std::vector<Fd> fds;
};

/// Makes a reply without content.
[[nodiscard]] kgen_reply make_reply(std::uint16_t op, std::uint64_t sequence);
/// Puts text, cut to the available size, into a reply.
void set_text(kgen_reply& reply, std::string_view text);

/// A connection to the worker. One thread at a time. Does not own the socket.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  /// Waits for the next command. Nothing when the worker is gone. Malformed packets are answered here.
  [[nodiscard]] std::optional<Command> receive() const;
  /// False when the worker is gone.
  bool send(const kgen_reply& reply) const;

 private:
  int socket_;
};

}  // namespace kgen_runner
