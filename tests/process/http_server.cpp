#include "process/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace kernelgen::testing {
namespace {

constexpr int k_poll_ms = 10;

struct Listener {
  UniqueFd fd;
  int port = 0;
};

Listener bind_somewhere() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!fd.valid() || ::bind(fd.get(), generic, length) != 0 || ::getsockname(fd.get(), generic, &length) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot bind a socket");
  return {std::move(fd), ntohs(address.sin_port)};
}

bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, k_poll_ms) > 0;
}

/// Reads until `text` has the length that `wanted` computes; false when the client closes first.
template <class Wanted>
bool read_until(int fd, std::string& text, const std::stop_token& stop, Wanted wanted) {
  while (!stop.stop_requested()) {
    if (wanted()) return true;
    if (!readable(fd)) continue;
    char buffer[4096];
    const auto count = ::recv(fd, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return false;
}

std::size_t content_length(const std::string& head) {
  constexpr std::string_view k_name = "Content-Length: ";
  const auto at = head.find(k_name);
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + k_name.size(), nullptr, 10);
}

}  // namespace

bool HttpServer::Connection::send(std::string_view bytes) const {
  while (!bytes.empty() && !stop_.stop_requested()) {
    pollfd entry{fd_, POLLOUT, 0};
    if (::poll(&entry, 1, k_poll_ms) == 0) continue;
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return bytes.empty();
}

void HttpServer::Connection::answer(std::string_view status, std::string_view body, std::string_view headers) const {
  std::string text = "HTTP/1.1 " + std::string(status) + "\r\nConnection: close\r\nContent-Length: ";
  text += std::to_string(body.size()) + "\r\n" + std::string(headers) + "\r\n" + std::string(body);
  send(text);
}

bool HttpServer::Connection::wait(std::chrono::milliseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (stop_.stop_requested()) return false;
    if (!readable(fd_)) continue;
    char byte = 0;
    if (::recv(fd_, &byte, 1, MSG_DONTWAIT) == 0) return false;
  }
  return true;
}

HttpServer::HttpServer(Script script) : script_(std::move(script)) {
  auto listener = bind_somewhere();
  if (::listen(listener.fd.get(), 64) != 0) throw std::runtime_error("cannot listen");
  listener_ = std::move(listener.fd);
  port_ = listener.port;
  acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_clients(stop); });
}

HttpServer::~HttpServer() {
  acceptor_.request_stop();
  acceptor_.join();
  // Joined here, because their threads use the members below.
  for (auto& client : clients_) client.request_stop();
  clients_.clear();
}

std::string HttpServer::base_url() const { return "http://" + host() + "/v1"; }

std::vector<HttpServer::Request> HttpServer::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void HttpServer::accept_clients(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!readable(listener_.get())) continue;
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    clients_.emplace_back(
        [this, fd = client.release()](const std::stop_token& stopped) { serve(UniqueFd(fd), stopped); });
  }
}

void HttpServer::serve(UniqueFd client, const std::stop_token& stop) {
  std::string text;
  std::size_t head = 0;
  const bool whole = read_until(client.get(), text, stop, [&] {
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    head = end + 4;
    return text.size() >= head + content_length(text.substr(0, head));
  });
  if (!whole) return;
  Request request{text.substr(0, head), text.substr(head), 0};
  {
    const std::scoped_lock lock(mutex_);
    request.number = static_cast<int>(requests_.size()) + 1;
    requests_.push_back(request);
  }
  script_(request, Connection(client.get(), stop));
}

int unused_port() { return bind_somewhere().port; }

}  // namespace kernelgen::testing
