// What streamed replies of a server cost: processor time and memory of this process, and the time from the last byte
// that the server sends to the reply in the hands of the caller.
//
//     build/bin/streams [STREAMS] [REPLIES]      200 streams at once, 3 replies each
//
// The server is a process of its own on this machine. It sends a reply of 100 events, one every 20 ms; the last one
// carries the time at which it was sent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/llm/clients.hpp>

using namespace kernelgen;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int k_events = 100;
constexpr auto k_between_events = 20ms;

std::int64_t now_ns() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

/// One connection of the server.
struct Stream {
  int fd = -1;
  std::string request;
  /// Events sent so far; -1: the request is not there yet.
  int sent = -1;
  Clock::time_point next;
};

std::string event_of(int number) {
  std::string text = "line " + std::to_string(number) + " of a kernel that is written here\\n";
  const bool is_last = number + 1 == k_events;
  if (is_last) text = "T" + std::to_string(now_ns());
  std::string event = R"(data: {"choices":[{"index":0,"delta":{"content":")" + text + "\"}";
  event += is_last ? R"(,"finish_reason":"stop"}]})" : "}]}";
  return event + "\n\n" + (is_last ? "data: [DONE]\n\n" : "");
}

void send_text(int fd, const std::string& text) {
  if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) std::perror("send");
}

/// Takes the next step of a stream. False when it is over.
bool advance(Stream& stream) {
  if (stream.sent < 0) {
    char buffer[65536];
    const auto count = ::recv(stream.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count == 0) return false;
    if (count > 0) stream.request.append(buffer, static_cast<std::size_t>(count));
    // The body of the request ends with a brace.
    if (stream.request.find("\r\n\r\n") == std::string::npos || stream.request.back() != '}') return true;
    send_text(stream.fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    stream.sent = 0;
    // Replies do not beat in time.
    stream.next = Clock::now() + std::chrono::microseconds(stream.fd * 7919 % 20'000);
  }
  if (Clock::now() < stream.next) return true;
  send_text(stream.fd, event_of(stream.sent));
  stream.next += k_between_events;
  return ++stream.sent < k_events;
}

[[noreturn]] void serve(int listener) {
  std::vector<Stream> streams;
  while (true) {
    pollfd ready{.fd = listener, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, 1);
    for (int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); fd >= 0;
         fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      streams.push_back({.fd = fd});
    }
    std::erase_if(streams, [](Stream& stream) {
      if (advance(stream)) return false;
      ::close(stream.fd);
      return true;
    });
  }
}

int listen_here(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 1024) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  port = ntohs(address.sin_port);
  return fd;
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The largest memory of this process so far.
double peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double at_share(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  const int streams = argc > 1 ? std::atoi(argv[1]) : 200;
  const int replies = argc > 2 ? std::atoi(argv[2]) : 3;
  int port = 0;
  const int listener = listen_here(port);
  const auto server = ::fork();
  if (server == 0) serve(listener);
  ::close(listener);

  ServerClientOptions options;
  options.base_url = "http://127.0.0.1:" + std::to_string(port) + "/v1";
  options.model = "bench";
  const auto client = make_server_client(options).value();
  const double memory_before = peak_megabytes();
  std::mutex mutex;
  std::vector<double> added_ms;
  int failed = 0;
  const auto began = Clock::now();
  {
    std::vector<std::jthread> askers;
    for (int i = 0; i < streams; ++i)
      askers.emplace_back([&] {
        for (int k = 0; k < replies; ++k) {
          // A prompt of 32 KiB, as searches have.
          const auto reply = client->complete({.id = "bench", .prompt = std::string(32'768, 'x')}, {});
          const auto back = now_ns();
          const std::scoped_lock lock(mutex);
          const auto mark = reply ? reply->text.rfind('T') : std::string::npos;
          if (mark == std::string::npos)
            ++failed;
          else
            added_ms.push_back(1e-6 * static_cast<double>(back - std::stoll(reply->text.substr(mark + 1))));
        }
      });
  }
  const double wall = std::chrono::duration<double>(Clock::now() - began).count();
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  if (added_ms.empty()) {
    std::printf("no reply arrived\n");
    return 1;
  }
  std::printf("%d streams at once, %zu replies of %d events, %d failed, %.1f s\n\n", streams, added_ms.size(), k_events,
              failed, wall);
  std::printf("processor       %6.2f cores\n", processor_seconds() / wall);
  std::printf("memory          %6.1f MB, %.1f MB before\n", peak_megabytes(), memory_before);
  std::printf("added latency   %6.2f ms median, %.2f ms 95 %%, %.2f ms longest\n", at_share(added_ms, 0.5),
              at_share(added_ms, 0.95), at_share(added_ms, 1.0));
  return failed == 0 ? 0 : 1;
}
