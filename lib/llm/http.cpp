#include "llm/http.hpp"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <list>
#include <mutex>
#include <semaphore>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/core/version.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Data, new requests and cancellation wake the loop at once; only time limits depend on these.
constexpr milliseconds k_longest_poll{1'000};
constexpr milliseconds k_between_looks{100};
/// A server may ask for a wait of a month; with this limit no sum overflows.
constexpr curl_off_t k_longest_retry_after_s = 24 * 3600;
constexpr std::size_t k_max_headers = 200;
constexpr std::size_t k_max_header_bytes = 4'096;

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

HttpOutcome failed_transfer(ErrorCode code, std::string message, AttemptFailure kind = AttemptFailure::Final) {
  return {{}, {{code, std::move(message), {}}, kind}};
}

/// A whole number, rounded up, of at most a day.
std::optional<milliseconds> parse_milliseconds(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return std::nullopt;
  return milliseconds(static_cast<std::int64_t>(std::ceil(std::min(number, 1e3 * k_longest_retry_after_s))));
}

/// Whether trying again may help.
AttemptFailure kind_of(CURLcode code) {
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
      // CURLE_OPERATION_TIMEDOUT is among them: connecting took too long.
      return AttemptFailure::Final;
  }
}

/// One request on its way. The asking thread makes it and waits for it; between both it belongs to the loop.
class Transfer {
 public:
  Transfer(const HttpRequest& request, const std::stop_token& stop)
      : request_(request), stop_(stop), started_(Clock::now()), heard_(started_) {}

  bool prepare() {
    easy_.reset(curl_easy_init());
    return easy_ != nullptr && set_headers() && set_options();
  }

  [[nodiscard]] CURL* handle() const { return easy_.get(); }

  /// The failure of a transfer that was cancelled or has exceeded a limit; nothing while it may go on.
  std::optional<HttpOutcome> find_end(Clock::time_point now) {
    if (stop_.stop_requested() || is_abandoned_) return failed_transfer(ErrorCode::Cancelled, "cancelled");
    if (now >= started_ + request_.timeout) return failed_transfer(ErrorCode::Timeout, "no reply in time");
    if (std::exchange(heard_bytes_, received_) != received_) heard_ = now;
    const auto silence = longest_silence();
    if (!silence || now - heard_ < *silence) return std::nullopt;
    const double seconds = std::chrono::duration<double>(*silence).count();
    return received_ > 0
               ? failed_transfer(ErrorCode::Unavailable, fmt::format("the answer stopped for {:.3g} s", seconds),
                                 AttemptFailure::Stalled)
               : failed_transfer(ErrorCode::Unavailable, fmt::format("the server said nothing for {:.3g} s", seconds),
                                 AttemptFailure::Stalled);
  }

  /// The earliest time at which find_end() can find something.
  [[nodiscard]] Clock::time_point next_limit() const {
    const auto deadline = started_ + request_.timeout;
    const auto silence = longest_silence();
    return silence ? std::min(deadline, heard_ + *silence) : deadline;
  }

  /// Reads the answer of a transfer that has ended with `code`.
  HttpOutcome read_answer(CURLcode code) {
    if (code != CURLE_OK) return describe_failure(code);
    HttpResponse response;
    static_cast<HttpHead&>(response) = head_;
    response.status = current_status();
    const char* redirect = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &redirect);
    if (redirect != nullptr) response.redirect = redirect;
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
    // A gateway passes on the wait of the server behind it under a name of its own.
    const auto behind = parse_milliseconds(head_.header("llm_provider-retry-after"));
    if (const auto wait = parse_milliseconds(head_.header("retry-after-ms")))
      response.retry_after = *wait;
    else if (behind && seconds <= 0)
      response.retry_after = std::min<milliseconds>(*behind * 1'000, std::chrono::seconds(k_longest_retry_after_s));
    else if (seconds > 0)
      response.retry_after = std::chrono::seconds(std::min(seconds, k_longest_retry_after_s));
    return {std::move(response), {}};
  }

  /// A name server that does not answer must not delay the end of a request.
  void abandon_name_resolution() {
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy_.get(), CURLOPT_QUICK_EXIT, 1L);
#endif
  }

  void finish(HttpOutcome outcome) {
    outcome_ = std::move(outcome);
    done_.release();
  }

  HttpOutcome wait() {
    if (!request_.on_news)
      done_.acquire();
    else
      while (!done_.try_acquire_for(k_between_looks))
        if (has_news_.exchange(false)) request_.on_news();
    return std::move(outcome_);
  }

  /// Makes the loop end it as if it had been cancelled.
  void abandon() { is_abandoned_ = true; }
  void wait_for_end() { done_.acquire(); }

 private:
  [[nodiscard]] std::optional<milliseconds> longest_silence() const {
    const bool has_begun = received_ > 0 && (!request_.has_begun || request_.has_begun());
    return has_begun ? std::optional(request_.idle_timeout) : request_.first_byte_timeout;
  }

  bool set_headers() {
    // "Expect:" removes a header that libcurl adds to long requests; servers that ignore it cost a second each.
    for (const auto& header : request_.headers)
      if (!add_header(header)) return false;
    return add_header("Expect:");
  }

  bool add_header(const std::string& header) {
    curl_slist* longer = curl_slist_append(header_list_.get(), header.c_str());
    if (longer == nullptr) return false;
    static_cast<void>(header_list_.release());
    header_list_.reset(longer);
    return true;
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK) options_ok_ = false;
  }

  bool set_options() {
    static const std::string k_agent = "kernelgen/" + std::string(version());
    set(CURLOPT_PRIVATE, static_cast<void*>(this));
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_USERAGENT, k_agent.c_str());
    set(CURLOPT_HTTPHEADER, header_list_.get());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.c_str());
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_ACCEPT_ENCODING, "");           // whatever this libcurl can decompress
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
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max(request_.connect_timeout, milliseconds{1}).count()));
    // Keep-alive probes stop routers from dropping the connection while a model thinks in silence, and detect a dead
    // peer.
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_TCP_KEEPIDLE, 30L);
    set(CURLOPT_TCP_KEEPINTVL, 15L);
    return options_ok_;
  }

  static std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) {
    static_cast<Transfer*>(user)->note_header({data, size * count});
    return size * count;
  }

  void note_header(std::string_view line) {
    received_ += line.size();
    // Those of an interim answer (100, 103) do not count.
    if (line.starts_with("HTTP/")) head_.headers.clear();
    const auto colon = line.find(':');
    if (colon == line.npos || head_.headers.size() >= k_max_headers || line.size() > k_max_header_bytes) return;
    std::string name(trim(line.substr(0, colon)));
    std::transform(name.begin(), name.end(), name.begin(), to_lower);
    head_.headers[std::move(name)] = trim(line.substr(colon + 1));
  }

  static char to_lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; }

  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    // Any number but that of the bytes ends the transfer.
    return self.note_body({data, size * count}) ? size * count : ~std::size_t{0};
  }

  /// False when the answer is too long.
  bool note_body(std::string_view bytes) {
    received_ += bytes.size();
    body_bytes_ += bytes.size();
    if (body_bytes_ > request_.max_body_bytes) return false;
    head_.status = current_status();
    request_.on_body(head_, bytes);
    has_news_ = true;
    return true;
  }

  [[nodiscard]] long current_status() const {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  [[nodiscard]] HttpOutcome describe_failure(CURLcode code) const {
    if (body_bytes_ > request_.max_body_bytes)
      return failed_transfer(ErrorCode::Unavailable,
                             fmt::format("the answer is longer than {} bytes", request_.max_body_bytes));
    const char* text = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
    return failed_transfer(ErrorCode::Unavailable, sanitize_line(text, 200), kind_of(code));
  }

  const HttpRequest& request_;
  const std::stop_token& stop_;
  std::atomic<bool> is_abandoned_ = false;
  std::atomic<bool> has_news_ = false;
  Clock::time_point started_;
  /// The last time at which the server was heard, and how many bytes it had sent by then, headers included.
  Clock::time_point heard_;
  std::size_t heard_bytes_ = 0;
  std::size_t received_ = 0;
  HttpHead head_;
  std::size_t body_bytes_ = 0;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  List header_list_;
  bool options_ok_ = true;
  // It uses the members above until it is destroyed.
  Easy easy_;
  HttpOutcome outcome_;
  std::binary_semaphore done_{0};
};

/// The thread of the transfers. Other threads only leave a transfer in `waiting_`, and wake it.
class Loop {
 public:
  explicit Loop(Multi multi) : multi_(std::move(multi)), thread_([this] { run(); }) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    is_ending_ = true;
    wake();
    thread_.join();
  }

  void add(Transfer& transfer) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(&transfer);
    }
    wake();
  }

  /// Thread-safe.
  void wake() { curl_multi_wakeup(multi_.get()); }

  /// Makes the loop look for cancelled transfers.
  void note_cancellation() {
    is_cancelling_ = true;
    wake();
  }

 private:
  void run() {
    // TLS writes to its socket with write(2), which raises SIGPIPE when the peer is gone. No signal is for this thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (!is_ending_) {
      take_new();
      int running = 0;
      const bool works = curl_multi_perform(multi_.get(), &running) == CURLM_OK;
      take_ended();
      end_exceeded(works);
      const auto wait = active_.empty() ? k_longest_poll : time_to_next_limit();
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr);
    }
  }

  void take_new() {
    std::vector<Transfer*> added;
    {
      const std::scoped_lock lock(mutex_);
      added.swap(waiting_);
    }
    for (auto* transfer : added) {
      if (curl_multi_add_handle(multi_.get(), transfer->handle()) != CURLM_OK) {
        transfer->finish(failed_transfer(ErrorCode::Internal, "libcurl cannot take a request"));
        continue;
      }
      active_.push_back(transfer);
      next_limit_ = std::min(next_limit_, Clock::now() + k_between_looks);
    }
  }

  void take_ended() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto code = message->data.result;
      void* data = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &data);
      auto* transfer = static_cast<Transfer*>(data);
      active_.remove(transfer);
      end(*transfer, transfer->read_answer(code));
    }
  }

  /// Ends what was cancelled or took too long; everything when libcurl does not work any more.
  void end_exceeded(bool works) {
    const auto now = Clock::now();
    if (!is_cancelling_.exchange(false) && works && now < next_limit_) return;
    // The first byte of an answer brings the limit nearer.
    next_limit_ = now + k_between_looks;
    for (auto at = active_.begin(); at != active_.end();) {
      auto outcome = works ? (*at)->find_end(now)
                           : failed_transfer(ErrorCode::Unavailable, "the transfer broke off", AttemptFailure::CutOff);
      if (!outcome) {
        next_limit_ = std::min(next_limit_, (*at)->next_limit());
        ++at;
        continue;
      }
      (*at)->abandon_name_resolution();
      end(**at, *std::move(outcome));
      at = active_.erase(at);
    }
  }

  /// The transfer is gone when this returns.
  void end(Transfer& transfer, HttpOutcome outcome) {
    curl_multi_remove_handle(multi_.get(), transfer.handle());
    transfer.finish(std::move(outcome));
  }

  [[nodiscard]] milliseconds time_to_next_limit() const {
    // Rounded up: waking a moment too early would repeat the loop without waiting.
    const auto left = std::chrono::ceil<milliseconds>(next_limit_ - Clock::now());
    return std::clamp(left, milliseconds::zero(), k_longest_poll);
  }

  Multi multi_;
  std::mutex mutex_;
  std::vector<Transfer*> waiting_;
  std::list<Transfer*> active_;
  Clock::time_point next_limit_ = Clock::time_point::max();
  std::atomic<bool> is_cancelling_ = false;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

class CurlEngine final : public HttpEngine {
 public:
  explicit CurlEngine(Multi multi) : loop_(std::move(multi)) {}

  HttpOutcome send(const HttpRequest& request, const std::stop_token& stop) override {
    Transfer transfer(request, stop);
    if (!transfer.prepare()) return failed_transfer(ErrorCode::Internal, "libcurl cannot prepare a request");
    loop_.add(transfer);
    const std::stop_callback cancel(stop, [this] { loop_.note_cancellation(); });
    try {
      return transfer.wait();
    } catch (...) {
      // The loop has pointers into this frame.
      transfer.abandon();
      loop_.note_cancellation();
      transfer.wait_for_end();
      throw;
    }
  }

 private:
  Loop loop_;
};

}  // namespace

std::string_view HttpHead::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::unique_ptr<HttpEngine>> make_http_engine() {
  Multi multi;
  if (initialize_once()) multi.reset(curl_multi_init());
  if (multi == nullptr) return Error{ErrorCode::Internal, "libcurl cannot be initialized", {}};
  return std::unique_ptr<HttpEngine>(std::make_unique<CurlEngine>(std::move(multi)));
}

}  // namespace v0
}  // namespace kernelgen
