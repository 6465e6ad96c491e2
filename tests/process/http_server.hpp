#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/unique_fd.hpp"

namespace kernelgen::testing {

/// A web server on this machine that answers as its test wants, above all wrongly. Every connection is served once.
class HttpServer {
 public:
  /// What a client sent.
  struct Request {
    std::string head;
    std::string body;
    /// The first is 1.
    int number = 0;
  };

  /// The other end of a client.
  class Connection {
   public:
    Connection(int fd, std::stop_token stop) : fd_(fd), stop_(std::move(stop)) {}
    /// As it is. False when the client is gone.
    bool send(std::string_view bytes) const;
    /// A whole answer: "HTTP/1.1 200 OK", with its length.
    void answer(std::string_view status, std::string_view body, std::string_view headers = {}) const;
    /// Returns early, with false, when the server goes away or the client does.
    bool wait(std::chrono::milliseconds time) const;

   private:
    int fd_;
    std::stop_token stop_;
  };

  /// The connection closes when it returns. Called on a thread of its own.
  using Script = std::function<void(const Request&, const Connection&)>;
  explicit HttpServer(Script script);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:PORT/v1".
  [[nodiscard]] std::string base_url() const;
  [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  /// What came so far.
  [[nodiscard]] std::vector<Request> requests() const;

 private:
  void accept_clients(const std::stop_token& stop);
  void serve(UniqueFd client, const std::stop_token& stop);

  Script script_;
  UniqueFd listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<std::jthread> clients_;
  std::jthread acceptor_;
};

/// A port of this machine where nobody listens.
[[nodiscard]] int unused_port();

}  // namespace kernelgen::testing
