#include "llm/http.hpp"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/core/version.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Limit of name resolution, connection and TLS together: far above what a reachable server needs.
constexpr milliseconds k_connect_timeout{30'000};
/// Waking up serves the idle limit only: data and cancellation wake the transfer at once.
constexpr milliseconds k_longest_poll{1'000};
/// A server may ask for a wait of a month; with this limit no sum overflows.
constexpr curl_off_t k_longest_retry_after_s = 24 * 3600;

struct DeleteEasy {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct DeleteMulti {
  void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
};
struct DeleteList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, DeleteEasy>;
using Multi = std::unique_ptr<CURLM, DeleteMulti>;
using List = std::unique_ptr<curl_slist, DeleteList>;

/// Never undone: another part of the program may use libcurl, too, and must not lose it.
bool initialize_once() {
  static const CURLcode k_code = curl_global_init(CURL_GLOBAL_DEFAULT);
  return k_code == CURLE_OK;
}

/// TLS writes to its socket with write(2), which raises SIGPIPE when the peer is gone. CURLOPT_NOSIGNAL keeps libcurl
/// from changing the handler of the whole process, so this thread holds the signal back and takes it itself.
class SigpipeBlocker {
 public:
  SigpipeBlocker() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  SigpipeBlocker(const SigpipeBlocker&) = delete;
  SigpipeBlocker& operator=(const SigpipeBlocker&) = delete;
  ~SigpipeBlocker() {
    const timespec none{};
    if (!was_pending_) {
      while (sigtimedwait(&signal_, nullptr, &none) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

/// The data that libcurl's callback collects.
struct Body {
  std::string text;
  std::size_t max_bytes = 0;
  bool too_large = false;
  /// Bytes received, headers included.
  std::size_t received = 0;
};

std::size_t count_header(char*, std::size_t size, std::size_t count, void* user) {
  static_cast<Body*>(user)->received += size * count;
  return size * count;
}

std::size_t append_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& body = *static_cast<Body*>(user);
  const std::size_t bytes = size * count;
  body.received += bytes;
  if (bytes > body.max_bytes - body.text.size()) {
    body.too_large = true;
    return bytes == 0 ? 1 : 0;  // anything but `bytes` ends the transfer
  }
  body.text.append(data, bytes);
  return bytes;
}

HttpOutcome failed_transfer(ErrorCode code, std::string message, AttemptFailure kind = AttemptFailure::Final) {
  return {{}, {{code, std::move(message), {}}, kind}};
}

/// One transfer. Lives on the stack of the caller.
class Transfer {
 public:
  Transfer(const HttpRequest& request, const std::stop_token& stop) : request_(request), stop_(stop) {}

  HttpOutcome run() {
    if (!initialize_once()) return failed_transfer(ErrorCode::Internal, "libcurl cannot be initialized");
    easy_.reset(curl_easy_init());
    multi_.reset(curl_multi_init());
    if (easy_ == nullptr || multi_ == nullptr || !set_headers() || !set_options() ||
        curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK)
      return failed_transfer(ErrorCode::Internal, "libcurl cannot prepare a request");
    const SigpipeBlocker hold;
    auto outcome = drive();
    if (!outcome.response) abandon_name_resolution();
    curl_multi_remove_handle(multi_.get(), easy_.get());
    // Closing sends a last message to the peer, which may be gone.
    multi_.reset();
    return outcome;
  }

 private:
  bool set_headers() {
    // "Expect:" removes a header that libcurl adds to long requests; servers that ignore it cost a second each.
    for (const auto& header : request_.headers)
      if (!add_header(header)) return false;
    return add_header("Expect:");
  }

  bool add_header(const std::string& header) {
    curl_slist* longer = curl_slist_append(headers_.get(), header.c_str());
    if (longer == nullptr) return false;
    static_cast<void>(headers_.release());
    headers_.reset(longer);
    return true;
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK) options_ok_ = false;
  }

  bool set_options() {
    static const std::string k_agent = "kernelgen/" + std::string(version());
    body_.max_bytes = request_.max_body_bytes;
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_USERAGENT, k_agent.c_str());
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.c_str());
    set(CURLOPT_WRITEFUNCTION, &append_body);
    set(CURLOPT_WRITEDATA, &body_);
    set(CURLOPT_HEADERFUNCTION, &count_header);
    set(CURLOPT_HEADERDATA, &body_);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // the reply of a proxy must not count as the beginning of the answer
    set(CURLOPT_ERRORBUFFER, error_text_.data());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    // Set even when empty; otherwise libcurl reads the environment.
    set(CURLOPT_PROXY, request_.proxy.c_str());
    set(CURLOPT_NOPROXY, request_.no_proxy.c_str());
    if (!request_.ca_file.empty()) set(CURLOPT_CAINFO, request_.ca_file.c_str());
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(k_connect_timeout.count()));
    // Keep-alive probes stop routers from dropping the connection while a model thinks in silence, and detect a dead
    // peer.
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_TCP_KEEPIDLE, 30L);
    set(CURLOPT_TCP_KEEPINTVL, 15L);
    return options_ok_;
  }

  HttpOutcome drive() {
    const auto started = Clock::now();
    const auto deadline = started + request_.timeout;
    // The wake-up may come from any thread, and must not outlive the handle.
    const std::stop_callback wake(stop_, [multi = multi_.get()] { curl_multi_wakeup(multi); });
    auto heard = started;
    std::size_t received = 0;
    while (true) {
      if (stop_.stop_requested()) return failed_transfer(ErrorCode::Cancelled, "cancelled");
      int running = 0;
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK)
        return failed_transfer(ErrorCode::Unavailable, "the transfer broke off", AttemptFailure::CutOff);
      if (running == 0) return result();
      const auto now = Clock::now();
      if (now >= deadline) return failed_transfer(ErrorCode::Timeout, "no reply in time");
      const std::size_t so_far = body_.received;
      if (std::exchange(received, so_far) != so_far) heard = now;
      if (so_far > 0 && now - heard >= request_.idle_timeout)
        return failed_transfer(ErrorCode::Unavailable,
                               fmt::format("the answer stopped for {:.3g} s",
                                           std::chrono::duration<double>(request_.idle_timeout).count()),
                               AttemptFailure::Stalled);
      auto wait = deadline - now;
      if (so_far > 0) wait = std::min<Clock::duration>(wait, heard + request_.idle_timeout - now);
      // Rounded up: waking a moment too early would repeat the loop without waiting.
      const auto poll = std::min(k_longest_poll, std::chrono::ceil<milliseconds>(wait));
      if (curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(poll.count()), nullptr) != CURLM_OK)
        return failed_transfer(ErrorCode::Unavailable, "the transfer broke off", AttemptFailure::CutOff);
    }
  }

  HttpOutcome result() {
    int left = 0;
    CURLcode code = CURLE_GOT_NOTHING;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left))
      if (message->msg == CURLMSG_DONE) code = message->data.result;
    if (code != CURLE_OK) return describe_failure(code);
    HttpResponse response;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &response.status);
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0) response.retry_after = std::chrono::seconds(std::min(seconds, k_longest_retry_after_s));
    const char* redirect = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &redirect);
    if (redirect != nullptr) response.redirect = redirect;
    response.body = std::move(body_.text);
    return {std::move(response), {}};
  }

  HttpOutcome describe_failure(CURLcode code) const {
    if (body_.too_large)
      return failed_transfer(ErrorCode::Unavailable,
                             fmt::format("the answer is longer than {} bytes", request_.max_body_bytes));
    const char* text = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
    return failed_transfer(ErrorCode::Unavailable, sanitize_line(text, 200), kind_of(code));
  }

  static AttemptFailure kind_of(CURLcode code) {
    switch (code) {
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_CONNECT:
        return AttemptFailure::NotConnected;
      case CURLE_WEIRD_SERVER_REPLY:
      case CURLE_PARTIAL_FILE:
      case CURLE_GOT_NOTHING:
      case CURLE_SEND_ERROR:
      case CURLE_RECV_ERROR:
      case CURLE_HTTP2:
      case CURLE_HTTP2_STREAM:
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_BAD_CONTENT_ENCODING:
        return AttemptFailure::CutOff;
      default:
        // CURLE_OPERATION_TIMEDOUT is among them: connecting took longer than half a minute.
        return AttemptFailure::Final;
    }
  }

  /// A name server that does not answer must not delay the end of a cancelled request.
  void abandon_name_resolution() {
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy_.get(), CURLOPT_QUICK_EXIT, 1L);
#endif
  }

  const HttpRequest& request_;
  const std::stop_token& stop_;
  // The handles use the members above until they are destroyed.
  List headers_;
  Body body_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  bool options_ok_ = true;
  Easy easy_;
  Multi multi_;
};

}  // namespace

HttpOutcome http_post(const HttpRequest& request, const std::stop_token& stop) { return Transfer(request, stop).run(); }

}  // namespace v0
}  // namespace kernelgen
