#include <kernelgen/report/monitor_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "report/monitor_pages.hpp"
#include "support/errno_error.hpp"
#include "support/sleep.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

/// A browser opens six connections.
constexpr int k_max_connections = 128;
constexpr std::uint32_t k_max_header_bytes = 16 << 10;
/// A connection that asks nothing for so long is closed.
constexpr std::chrono::seconds k_idle_limit{60};

using Response = http::response<http::string_body>;

Response to_response(const http::request<http::empty_body>& request, const MonitorPages& pages) {
  const auto method = request.method() == http::verb::get || request.method() == http::verb::head;
  auto answer = pages.answer({.is_read = method, .host = request[http::field::host], .target = request.target()});
  Response response{static_cast<http::status>(answer.status), request.version()};
  for (const auto& [name, value] : answer.headers) response.set(name, value);
  response.keep_alive(request.keep_alive());
  const auto size = answer.body.size();
  if (request.method() != http::verb::head) response.body() = std::move(answer.body);
  response.content_length(size);
  return response;
}

/// One connection: reads a request, answers, and so on. Lives as long as one of its handlers is pending.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, const MonitorPages& pages, int& connections)
      : stream_(std::move(socket)), pages_(pages), connections_(connections) {
    ++connections_;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { --connections_; }

  void read() {
    parser_.emplace();
    parser_->header_limit(k_max_header_bytes);
    parser_->body_limit(0);
    stream_.expires_after(k_idle_limit);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error) return self->write(to_response(self->parser_->get(), self->pages_));
      // A message that is no request, or that has a body, gets one answer; then the connection ends.
      if (error == http::error::end_of_stream || error == beast::error::timeout) return;
      Response refusal{http::status::bad_request, 11};
      refusal.keep_alive(false);
      refusal.prepare_payload();
      self->write(std::move(refusal));
    });
  }

 private:
  void write(Response response) {
    response_ = std::move(response);
    stream_.expires_after(k_idle_limit);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error && self->response_.keep_alive()) return self->read();
      self->stream_.socket().shutdown(Tcp::socket::shutdown_send, error);
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  Response response_;
  const MonitorPages& pages_;
  int& connections_;
};

/// Accepts connections. One thread runs everything.
class Server {
 public:
  explicit Server(const MonitorPages& pages) : pages_(pages), acceptor_(context_) {}

  Result<std::uint16_t> listen(std::uint16_t port) {
    const Tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
    beast::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) return acceptor_.local_endpoint().port();
    const auto what = "cannot listen on 127.0.0.1:" + std::to_string(port);
    if (error == asio::error::address_in_use)
      return Error{ErrorCode::Busy, what + ": the port is in use; choose another one, or 0 for one that is free"};
    return errno_error(error.value(), what);
  }

  void run(const std::stop_token& stop) {
    accept();
    const std::stop_callback stopper(stop, [this] { context_.stop(); });
    context_.run();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      // Too many connections: the new one is closed. Without descriptors, accepting again at once would fail again.
      if (!error && connections_ < k_max_connections)
        std::make_shared<Connection>(std::move(socket), pages_, connections_)->read();
      else if (error)
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
      accept();
    });
  }

  const MonitorPages& pages_;
  int connections_ = 0;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_;
};

}  // namespace

Result<void> serve_monitor(CampaignReader& reader, const MonitorServerOptions& options, std::stop_token stop) {
  MonitorPages pages;
  Server server(pages);
  KERNELGEN_TRY(const auto port, server.listen(options.port));
  pages.show(reader.poll());
  if (options.ready) options.ready(port);
  // Journals may lie on a network file system that does not answer, which must not keep viewers waiting.
  std::jthread follower([&](const std::stop_token& ended) {
    while (sleep_for(options.interval, ended)) pages.show(reader.poll());
  });
  server.run(stop);
  return {};
}

}  // namespace v0
}  // namespace kernelgen
