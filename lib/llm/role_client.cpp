#include <utility>

#include <kernelgen/llm/clients.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

class RoleClient final : public LLMClient {
 public:
  RoleClient(std::unique_ptr<LLMClient> others, std::map<PromptKind, std::unique_ptr<LLMClient>> by_kind)
      : others_(std::move(others)), by_kind_(std::move(by_kind)) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    const auto found = by_kind_.find(request.kind);
    return (found == by_kind_.end() ? others_ : found->second)->complete(request, std::move(stop));
  }

  /// "models openai a, crossover by openai b".
  [[nodiscard]] std::string identity() const override {
    auto text = "models " + others_->identity();
    for (const auto& [kind, client] : by_kind_)
      text += ", " + std::string(to_string(kind)) + " by " + client->identity();
    return text;
  }

  [[nodiscard]] std::string endpoint() const override {
    auto text = others_->endpoint();
    for (const auto& [kind, client] : by_kind_)
      if (client->endpoint() != others_->endpoint())
        text += ", " + std::string(to_string(kind)) + " at " + client->endpoint();
    return text;
  }

 private:
  std::unique_ptr<LLMClient> others_;
  std::map<PromptKind, std::unique_ptr<LLMClient>> by_kind_;
};

}  // namespace

std::unique_ptr<LLMClient> make_role_client(std::unique_ptr<LLMClient> others,
                                            std::map<PromptKind, std::unique_ptr<LLMClient>> by_kind) {
  return std::make_unique<RoleClient>(std::move(others), std::move(by_kind));
}

}  // namespace v0
}  // namespace kernelgen
