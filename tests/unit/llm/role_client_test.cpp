#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/scripted_client.hpp>

#include <utility>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// A model that answers with its own name.
class NamedModel final : public LLMClient {
 public:
  NamedModel(std::string name, std::string host) : name_(std::move(name)), host_(std::move(host)) {}
  Result<Reply> complete(const LLMRequest&, std::stop_token) override { return ScriptedLLMClient::reply(name_); }
  [[nodiscard]] std::string identity() const override { return name_; }
  [[nodiscard]] std::string endpoint() const override { return host_; }

 private:
  std::string name_, host_;
};

std::unique_ptr<LLMClient> crossover_by(const std::string& host) {
  std::map<PromptKind, std::unique_ptr<LLMClient>> by_kind;
  by_kind[PromptKind::Crossover] = std::make_unique<NamedModel>("openai big", host);
  return make_role_client(std::make_unique<NamedModel>("openai small", "here:1"), std::move(by_kind));
}

}  // namespace

TEST_CASE("a kind of prompt that has a model of its own is answered by it", "[llm][role_client]") {
  const auto client = crossover_by("here:1");
  CHECK(client->complete({.kind = PromptKind::Crossover}, {}).value().text == "openai big");
  CHECK(client->complete({.kind = PromptKind::Seed}, {}).value().text == "openai small");
  CHECK(client->complete({.kind = PromptKind::Repair}, {}).value().text == "openai small");
}

TEST_CASE("the identity of several models names all of them, and so does their endpoint", "[llm][role_client]") {
  CHECK(crossover_by("here:1")->identity() == "models openai small, crossover by openai big");
  CHECK(crossover_by("here:1")->endpoint() == "here:1");
  CHECK(crossover_by("there:2")->endpoint() == "here:1, crossover at there:2");
}
