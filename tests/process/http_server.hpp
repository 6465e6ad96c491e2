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

/// A local web server with answers scripted by the test, mostly wrong ones. Every connection is served once.
class HttpServer {
 public:
  /// A request of a client.
  struct Request {
    std::string head;
    std::string body;
    /// 1-based number of the request.
    int number = 0;
  };

  /// A connection to a client.
  class Connection {
   public:
    Connection(int fd, std::stop_token stop) : fd_(fd), stop_(std::move(stop)) {}
    /// Sends bytes unchanged. False when the client is gone.
    bool send(std::string_view bytes) const;
    /// Sends a whole answer: "HTTP/1.1 200 OK", with its length.
    void answer(std::string_view status, std::string_view body, std::string_view headers = {}) const;
    /// Waits; returns early, with false, when the server ends or the client disconnects.
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
  /// All requests so far.
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

/// A port of this machine without a listener.
[[nodiscard]] int unused_port();

}  // namespace kernelgen::testing
