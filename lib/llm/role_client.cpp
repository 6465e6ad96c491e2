#include <charconv>
#include <string_view>
#include <utility>

#include <kernelgen/llm/clients.hpp>

#include "llm/model_terms.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The number behind the last "seed" in the id of a request; 1 where there is none.
std::size_t seed_of(std::string_view id) {
  constexpr std::string_view k_word = "seed";
  const auto at = id.rfind(k_word);
  std::size_t number = 1;
  if (at != id.npos) std::from_chars(id.data() + at + k_word.size(), id.data() + id.size(), number);
  return number == 0 ? 1 : number;
}

class RoleClient final : public LLMClient {
 public:
  RoleClient(std::unique_ptr<LLMClient> others, ModelsByKind by_kind)
      : others_(std::move(others)), by_kind_(std::move(by_kind)) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    const auto found = by_kind_.find(request.kind);
    auto& client =
        found == by_kind_.end() ? *others_ : *found->second[(seed_of(request.id) - 1) % found->second.size()];
    KERNELGEN_TRY(auto reply, client.complete(request, std::move(stop)));
    if (reply.identity.empty()) reply.identity = client.identity();
    return reply;
  }

  /// "models openai a, crossover by openai b, seed by openai c and openai d".
  [[nodiscard]] std::string identity() const override {
    auto text = "models " + others_->identity();
    for (const auto& [kind, clients] : by_kind_)
      for (const auto& client : clients)
        text +=
            (&client == &clients.front() ? ", " + std::string(to_string(kind)) + " by " : " and ") + client->identity();
    return text;
  }

  [[nodiscard]] std::string endpoint() const override {
    auto text = others_->endpoint();
    for (const auto& [kind, clients] : by_kind_)
      for (const auto& client : clients)
        if (client->endpoint() != others_->endpoint())
          text += ", " + std::string(to_string(kind)) + " at " + client->endpoint();
    return text;
  }

  /// Any of several models may be asked, so their highest prices and longest reply count.
  [[nodiscard]] ModelTerms terms(PromptKind kind) const override {
    const auto found = by_kind_.find(kind);
    if (found == by_kind_.end()) return others_->terms(kind);
    auto terms = found->second.front()->terms(kind);
    for (const auto& client : found->second) terms = highest_terms(terms, client->terms(kind));
    return terms;
  }

 private:
  std::unique_ptr<LLMClient> others_;
  ModelsByKind by_kind_;
};

}  // namespace

std::unique_ptr<LLMClient> make_role_client(std::unique_ptr<LLMClient> others, ModelsByKind by_kind) {
  return std::make_unique<RoleClient>(std::move(others), std::move(by_kind));
}

}  // namespace v0
}  // namespace kernelgen
