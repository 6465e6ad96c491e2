#include <kernelgen/llm/llm_client.hpp>

#include "cli/fixture.hpp"
#include "search_setup.hpp"
#include "support/catch.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;

namespace {

/// A model with known prices, for one kind of prompts others.
class PricedModel final : public LLMClient {
 public:
  Result<Reply> complete(const LLMRequest&, std::stop_token) override {
    return Error{ErrorCode::Internal, "not asked"};
  }
  [[nodiscard]] std::string identity() const override { return "priced"; }
  [[nodiscard]] ModelTerms terms(PromptKind kind) const override {
    if (kind == unpriced) return {};
    return {.prices = Prices{.per_million_input = 1, .per_million_output = kind == PromptKind::Stage ? 9.0 : 2.0},
            .max_output_tokens = 128'000};
  }

  std::optional<PromptKind> unpriced{};
};

}  // namespace

TEST_CASE("models lists the providers and says which have a key", "[cli][models]") {
  Fixture kgen;
  kgen.set_variables = {"ANTHROPIC_API_KEY"};
  CHECK(kgen.run({"models"}) == 0);
  const auto text = kgen.out.str();
  CHECK(contains(text, "anthropic         ANTHROPIC_API_KEY is set"));
  CHECK(contains(text, "openai            OPENAI_API_KEY is not set"));
  CHECK(contains(text, "vllm              needs no key"));
  for (const auto line : split_lines(text)) CHECK(line.size() <= 100);
}

TEST_CASE("models PROVIDER shows prices and limits with their date", "[cli][models]") {
  Fixture kgen;
  CHECK(kgen.run({"models", "anthropic"}) == 0);
  CHECK(contains(kgen.out.str(), "claude-opus-5-5"));
  CHECK(contains(kgen.out.str(), "2026-10"));
  Fixture local;
  CHECK(local.run({"models", "vllm"}) == 0);
  CHECK(contains(local.out.str(), "no prices and limits are known"));
  Fixture unknown;
  CHECK(unknown.run({"models", "antropic"}) == 64);
  CHECK(contains(unknown.err.str(), "no provider is named antropic; did you mean anthropic?"));
}

TEST_CASE("models --json has every provider with its models", "[cli][models]") {
  Fixture kgen;
  kgen.set_variables = {"OPENAI_API_KEY"};
  CHECK(kgen.run({"models", "--json"}) == 0);
  const auto document = parse_json(kgen.out.str()).value();
  const auto& providers = document.at("providers").as_array();
  CHECK(providers.size() == known_providers().size());
  for (const auto& provider : providers)
    if (provider.at("name") == "openai") CHECK(provider.at("has_key") == true);
}

TEST_CASE("models --check shows what came back", "[cli][models]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest& request) {
    CHECK(contains(request.prompt, "ready"));
    auto reply = ScriptedLLMClient::reply("ready");
    reply.model = "big-2";
    reply.usage = {.input_tokens = 12, .output_tokens = 3, .cached_tokens = 4};
    reply.latency = std::chrono::milliseconds(1'500);
    reply.first_output = std::chrono::milliseconds(500);
    reply.request_id = "req_1";
    reply.left_out = "temperature";
    return reply;
  };
  CHECK(kgen.run({"models", "--check", "openai:big"}) == 0);
  CHECK(kgen.llm_spec == "openai:big");
  CHECK(kgen.out.str() ==
        "scripted at : \"ready\" in 1.50 s, the first output after 0.50 s\n"
        "  model big-2, finished by stop, 12 tokens in (4 cached), 3 out, request req_1\n"
        "  the model refuses temperature, which is left out\n");
  CHECK(kgen.run({"models", "--check", "openai:big", "--json"}) == 0);
}

TEST_CASE("models --check fails with the reason", "[cli][models]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest&) { return Error{ErrorCode::PermissionDenied, "HTTP 401: no such key"}; };
  CHECK(kgen.run({"models", "--check", "openai:big"}) == 64);
  CHECK(contains(kgen.err.str(), "HTTP 401: no such key"));
  // An outage is no verdict about the model.
  kgen.model = [](const LLMRequest&) { return Error{ErrorCode::Unavailable, "HTTP 429: slow down"}; };
  CHECK(kgen.run({"models", "--check", "openai:big"}) == 75);
  kgen.model = [](const LLMRequest&) { return ScriptedLLMClient::reply(" \n"); };
  CHECK(kgen.run({"models", "--check", "openai:big"}) == 69);
  CHECK(contains(kgen.err.str(), "answered without a word (finished by stop, no usage was told)"));
}

TEST_CASE("a search takes the prices that are known, unless others are given", "[cli][models]") {
  FlowRequest request;
  add_terms(request, PricedModel(), {}, true);
  CHECK_FALSE(request.prices);
  CHECK(request.prices_by_kind.at(PromptKind::Seed).per_million_output == 2);
  CHECK(request.prices_by_kind.at(PromptKind::Stage).per_million_output == 9);
  CHECK(request.max_output_tokens == 32'000);
  FlowRequest given;
  add_terms(given, PricedModel(), Prices{.per_million_input = 5, .per_million_output = 6}, false);
  CHECK(given.prices->per_million_output == 6);
  CHECK_FALSE(kind_without_prices(given));
  CHECK_FALSE(given.max_output_tokens);
}

TEST_CASE("a limit of cost is refused where one of the models has no known price", "[cli][models]") {
  PricedModel model;
  FlowRequest request;
  add_terms(request, model, {}, true);
  CHECK(check_prices(request, model, "--max-cost needs"));
  model.unpriced = PromptKind::Critic;
  FlowRequest unpriced;
  add_terms(unpriced, model, {}, true);
  CHECK(check_prices(unpriced, model, "--max-cost needs").error().message ==
        "--max-cost needs --price-input and --price-output: no prices are known for prompts of the kind critic of "
        "priced");
}
