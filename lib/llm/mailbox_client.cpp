#include <kernelgen/llm/clients.hpp>

#include "support/file_exchange.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::steady_clock;

/// Far above any model's reply; keeps a mistaken file out of memory.
constexpr std::size_t k_max_file = 16u << 20;

class MailboxClient final : public LLMClient {
 public:
  MailboxClient(MailboxClientOptions options, FileExchange exchange)
      : options_(std::move(options)), exchange_(std::move(exchange)) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    const auto start = steady_clock::now();
    AskOptions ask{.waiting = options_.waiting};
    if (options_.timeout) ask.deadline = start + *options_.timeout;
    KERNELGEN_TRY(auto text, exchange_.ask(request.id, request.prompt, ask, stop));
    Reply reply;
    // A stray byte in a comment is no reason to lose an answer.
    reply.text = is_valid_utf8(text) ? std::move(text) : sanitize_text(text, k_max_file);
    reply.latency = steady_clock::now() - start;
    return reply;
  }

  [[nodiscard]] std::string identity() const override { return "mailbox"; }
  [[nodiscard]] std::string endpoint() const override { return options_.directory.string(); }

 private:
  MailboxClientOptions options_;
  FileExchange exchange_;
};

}  // namespace

Result<std::unique_ptr<LLMClient>> make_mailbox_client(MailboxClientOptions options) {
  if (options.directory.empty()) return Error{ErrorCode::InvalidArgument, "a mailbox needs a directory"};
  KERNELGEN_TRY(auto exchange, FileExchange::open({.directory = options.directory,
                                                   .request_suffix = ".prompt.md",
                                                   .reply_suffix = ".reply.md",
                                                   .max_bytes = k_max_file,
                                                   .quiet_period = options.quiet_period,
                                                   .poll = options.poll})
                                   .context("opening the mailbox"));
  return std::unique_ptr<LLMClient>(std::make_unique<MailboxClient>(std::move(options), std::move(exchange)));
}

}  // namespace v0
}  // namespace kernelgen
