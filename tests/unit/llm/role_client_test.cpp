// Clients that are made of several: roles, turns, fallbacks.

#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/scripted_client.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llm/model_terms.hpp"
#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// A model that answers with its own name, or fails.
class NamedModel final : public LLMClient {
 public:
  NamedModel(std::string name, std::string host, std::optional<Error> failure = {}, ModelTerms terms = {})
      : name_(std::move(name)), host_(std::move(host)), failure_(std::move(failure)), terms_(terms) {}
  Result<Reply> complete(const LLMRequest&, std::stop_token) override {
    if (failure_) return *failure_;
    return ScriptedLLMClient::reply(name_);
  }
  [[nodiscard]] std::string identity() const override { return name_; }
  [[nodiscard]] std::string endpoint() const override { return host_; }
  [[nodiscard]] ModelTerms terms(PromptKind) const override { return terms_; }

 private:
  std::string name_, host_;
  std::optional<Error> failure_;
  ModelTerms terms_;
};

std::unique_ptr<LLMClient> model(std::string name, std::optional<Error> failure = {}, ModelTerms terms = {}) {
  return std::make_unique<NamedModel>(std::move(name), "host:1", std::move(failure), terms);
}

std::unique_ptr<LLMClient> crossover_by(const std::string& host) {
  ModelsByKind by_kind;
  by_kind[PromptKind::Crossover].push_back(std::make_unique<NamedModel>("openai big", host));
  return make_role_client(std::make_unique<NamedModel>("openai small", "here:1"), std::move(by_kind));
}

std::unique_ptr<LLMClient> seeds_in_turn() {
  ModelsByKind by_kind;
  by_kind[PromptKind::Seed].push_back(model("a"));
  by_kind[PromptKind::Seed].push_back(model("b"));
  return make_role_client(model("c"), std::move(by_kind));
}

ModelTerms priced(double output, std::int64_t limit) {
  return {.prices = Prices{.per_million_input = 1, .per_million_output = output}, .max_output_tokens = limit};
}

}  // namespace

TEST_CASE("a kind of prompt that has a model of its own is answered by it", "[llm][role_client]") {
  const auto client = crossover_by("here:1");
  const auto crossover = client->complete({.kind = PromptKind::Crossover}, {}).value();
  CHECK(crossover.text == "openai big");
  CHECK(crossover.identity == "openai big");
  CHECK(client->complete({.kind = PromptKind::Seed}, {}).value().identity == "openai small");
  CHECK(client->complete({.kind = PromptKind::Repair}, {}).value().text == "openai small");
}

TEST_CASE("the identity of several models names all of them, and so does their endpoint", "[llm][role_client]") {
  CHECK(crossover_by("here:1")->identity() == "models openai small, crossover by openai big");
  CHECK(crossover_by("here:1")->endpoint() == "here:1");
  CHECK(crossover_by("there:2")->endpoint() == "here:1, crossover at there:2");
  CHECK(seeds_in_turn()->identity() == "models c, seed by a and b");
}

TEST_CASE("models of one kind take turns by the seed that a request belongs to", "[llm][role_client]") {
  const auto client = seeds_in_turn();
  const auto answered = [&](const char* id) {
    return client->complete({.id = id, .kind = PromptKind::Seed}, {}).value().text;
  };
  CHECK(answered("relu.seed1") == "a");
  CHECK(answered("relu.seed2") == "b");
  CHECK(answered("relu.seed3") == "a");
  CHECK(answered("seed9_task.seed2-repair1") == "b");
  for (const char* id : {"", "relu", "relu.seed", "relu.seed0", "relu.seed99999999999999999999999"}) {
    INFO(id);
    CHECK(answered(id) == "a");
  }
}

TEST_CASE("the terms of several models are those of the dearest", "[llm][role_client]") {
  ModelsByKind by_kind;
  by_kind[PromptKind::Seed].push_back(model("a", {}, priced(5, 100)));
  by_kind[PromptKind::Seed].push_back(model("b", {}, priced(9, 50)));
  by_kind[PromptKind::Stage].push_back(model("d", {}, priced(2, 100)));
  by_kind[PromptKind::Stage].push_back(model("unknown"));
  const auto client = make_role_client(model("c", {}, priced(1, 10)), std::move(by_kind));
  CHECK(client->terms(PromptKind::Seed).prices->per_million_output == 9);
  CHECK(client->terms(PromptKind::Seed).max_output_tokens == 100);
  CHECK_FALSE(client->terms(PromptKind::Stage).prices);
  CHECK(client->terms(PromptKind::Repair).prices->per_million_output == 1);
}

TEST_CASE("no request costs more than the highest prices of two models", "[llm][role_client]") {
  const ModelTerms dear_output{.prices = Prices{.per_million_input = 1, .per_million_output = 9},
                               .max_output_tokens = 10};
  const ModelTerms dear_input{
      .prices = Prices{.per_million_input = 3, .per_million_output = 5, .per_million_cached = 0.5},
      .max_output_tokens = 20};
  for (const auto& terms : {highest_terms(dear_output, dear_input), highest_terms(dear_input, dear_output)}) {
    CHECK(terms.prices == Prices{.per_million_input = 3, .per_million_output = 9, .per_million_cached = 1});
    CHECK(terms.max_output_tokens == 20);
  }
  CHECK_FALSE(highest_terms(dear_input, {}).prices);
  CHECK_FALSE(highest_terms({}, dear_input).max_output_tokens);
}

TEST_CASE("in an outage the fallback is asked, and the reply says so", "[llm][fallback_client]") {
  const auto client = make_fallback_client(model("a", Error{ErrorCode::Unavailable, "HTTP 503"}), model("b"));
  std::vector<std::string> told;
  const auto reply =
      client
          ->complete(
              {.on_retry = [&](const std::string& reason, std::chrono::milliseconds) { told.push_back(reason); }}, {})
          .value();
  CHECK(reply.identity == "b");
  CHECK(told == std::vector<std::string>{"HTTP 503; asking b"});
  CHECK(client->identity() == "a or else b");
  CHECK(client->endpoint() == "host:1 or else host:1");
}

TEST_CASE("the fallback is asked in outages only", "[llm][fallback_client]") {
  for (const auto code : {ErrorCode::InvalidArgument, ErrorCode::PermissionDenied, ErrorCode::PromptTooLong,
                          ErrorCode::Cancelled, ErrorCode::Pending}) {
    const auto client = make_fallback_client(model("a", Error{code, "no"}), model("b"));
    CHECK(client->complete({}, {}).error().code == code);
  }
  const auto both = make_fallback_client(model("a", Error{ErrorCode::Timeout, "first"}),
                                         model("b", Error{ErrorCode::Unavailable, "second"}));
  CHECK(both->complete({}, {}).error().message == "second");
  const auto works = make_fallback_client(model("a", {}, priced(1, 10)), model("b", {}, priced(3, 5)));
  CHECK(works->complete({}, {}).value().identity == "a");
  CHECK(works->terms(PromptKind::Seed).prices->per_million_output == 3);
}
