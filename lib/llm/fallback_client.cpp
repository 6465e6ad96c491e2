#include <algorithm>
#include <chrono>
#include <utility>

#include <kernelgen/llm/clients.hpp>

#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class FallbackClient final : public LLMClient {
 public:
  FallbackClient(std::unique_ptr<LLMClient> first, std::unique_ptr<LLMClient> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    auto answer = first_->complete(request, stop);
    auto* answered = first_.get();
    if (!answer && is_outage(answer.error().code) && !stop.stop_requested()) {
      if (request.on_retry)
        request.on_retry(answer.error().message + "; asking " + second_->identity(), std::chrono::milliseconds::zero());
      answer = second_->complete(request, std::move(stop));
      answered = second_.get();
    }
    KERNELGEN_TRY(auto reply, std::move(answer));
    if (reply.identity.empty()) reply.identity = answered->identity();
    return reply;
  }

  /// "openai a or else anthropic b".
  [[nodiscard]] std::string identity() const override { return first_->identity() + " or else " + second_->identity(); }
  [[nodiscard]] std::string endpoint() const override { return first_->endpoint() + " or else " + second_->endpoint(); }

  /// The higher prices, because either may be asked.
  [[nodiscard]] ModelTerms terms(PromptKind kind) const override {
    const auto a = first_->terms(kind), b = second_->terms(kind);
    ModelTerms terms;
    if (a.prices && b.prices)
      terms.prices = a.prices->per_million_output > b.prices->per_million_output ? a.prices : b.prices;
    if (a.max_output_tokens && b.max_output_tokens)
      terms.max_output_tokens = std::max(*a.max_output_tokens, *b.max_output_tokens);
    return terms;
  }

 private:
  std::unique_ptr<LLMClient> first_;
  std::unique_ptr<LLMClient> second_;
};

}  // namespace

std::unique_ptr<LLMClient> make_fallback_client(std::unique_ptr<LLMClient> first, std::unique_ptr<LLMClient> second) {
  return std::make_unique<FallbackClient>(std::move(first), std::move(second));
}

}  // namespace v0
}  // namespace kernelgen
