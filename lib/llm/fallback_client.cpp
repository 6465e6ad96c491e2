#include <chrono>
#include <utility>

#include <kernelgen/llm/clients.hpp>

#include "llm/model_terms.hpp"
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

  [[nodiscard]] ModelTerms terms(PromptKind kind) const override {
    return highest_terms(first_->terms(kind), second_->terms(kind));
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
