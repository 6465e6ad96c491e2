#include <set>

#include <kernelgen/llm/providers.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

using namespace kernelgen;

namespace {

struct ProvidersFile {
  TemporaryDirectory directory =
      TemporaryDirectory::create(std::filesystem::temp_directory_path(), "kgen-providers-").value();
  Result<std::vector<Provider>> load(const std::string& text) {
    const auto file = directory.path() / "providers.json";
    REQUIRE(write_file_atomic(file, text));
    return load_providers(file);
  }
  std::string refusal(const std::string& text) {
    const auto loaded = load(text);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == ErrorCode::InvalidArgument);
    return loaded.error().to_line();
  }
};

}  // namespace

TEST_CASE("the known providers are complete, sorted, and none is there twice", "[llm][providers]") {
  const auto& providers = known_providers();
  std::set<std::string> names;
  for (const auto& provider : providers) {
    INFO(provider.name);
    CHECK(names.insert(provider.name).second);
    CHECK((!provider.base_url.empty() || !provider.base_url_variable.empty()));
    CHECK((!provider.needs_key || !provider.key_variable.empty()));
    CHECK((!provider.needs_key || provider.base_url.empty() || provider.base_url.starts_with("https://")));
    for (const auto& model : provider.models) {
      INFO(model.name);
      CHECK_FALSE(model.name.empty());
      CHECK_FALSE(model.source.empty());
      if (model.prices && model.prices->per_million_cached)
        CHECK(*model.prices->per_million_cached <= model.prices->per_million_input);
    }
  }
  for (const char* name :
       {"openai", "anthropic", "gemini", "deepseek", "together", "fireworks", "sambanova", "openrouter", "groq",
        "mistral", "xai", "azure", "ollama", "llamacpp", "vllm", "sglang", "gateway"}) {
    INFO(name);
    CHECK(find_provider(providers, name) != nullptr);
  }
  CHECK(find_provider(providers, "nobody") == nullptr);
}

TEST_CASE("a file extends and overrides what is known", "[llm][providers]") {
  ProvidersFile world;
  const auto providers = world
                             .load(R"({"schema": 1, "providers": [
      {"name": "anthropic", "max_concurrent": 4, "models": [{"name": "my-tune", "prices": {"input": 1, "output": 2,
       "cached": 0.1, "cache_write": 1.25}, "max_output_tokens": 1000, "source": "contract"}]},
      {"name": "lab", "base_url": "http://lab:9000/v1", "protocol": "responses", "streams": false}]})")
                             .value();
  // Names of models have colons: "qwen3:8b".
  CHECK(
      world.load("\xEF\xBB\xBF"
                 R"({"providers": [{"name": "deepseek", "models": [{"name": "r1:free", "source": "x"}]}]})"));
  const auto* changed = find_provider(providers, "anthropic");
  REQUIRE(changed != nullptr);
  CHECK(changed->max_concurrent == 4);
  CHECK(changed->protocol == LLMProtocol::Messages);
  CHECK(changed->key_variable == "ANTHROPIC_API_KEY");
  const auto* tuned = find_model(*changed, "my-tune-20260101");
  REQUIRE(tuned != nullptr);
  CHECK(tuned->prices == Prices{1, 2, 0.1, 1.25});
  CHECK(tuned->max_output_tokens == 1000);
  const auto* added = find_provider(providers, "lab");
  REQUIRE(added != nullptr);
  CHECK(added->protocol == LLMProtocol::Responses);
  CHECK_FALSE(added->streams);
  CHECK_FALSE(added->needs_key);
}

TEST_CASE("the facts of a model count for its dated versions, and for no other model", "[llm][providers]") {
  const Provider provider{.name = "p", .models = {{.name = "gpt-5"}, {.name = "gpt-5-mini"}}};
  CHECK(find_model(provider, "gpt-5")->name == "gpt-5");
  CHECK(find_model(provider, "gpt-5-2026-08-07")->name == "gpt-5");
  CHECK(find_model(provider, "gpt-5-mini-20260807")->name == "gpt-5-mini");
  CHECK(find_model(provider, "gpt-5-nano") == nullptr);
  CHECK(find_model(provider, "gpt-51") == nullptr);
}

TEST_CASE("a missing file changes nothing", "[llm][providers]") {
  CHECK(load_providers("/no/such/file").value().size() == known_providers().size());
  CHECK(load_providers("").value().size() == known_providers().size());
}

TEST_CASE("a file of providers that cannot be read is refused with the place", "[llm][providers]") {
  ProvidersFile world;
  CHECK(contains(world.refusal("{"), "providers.json"));
  CHECK(contains(world.refusal(R"({"provider": []})"), R"("provider" is not known; did you mean providers?)"));
  CHECK(contains(world.refusal(R"({"providers": {}})"), "providers: a list is expected"));
  CHECK(contains(world.refusal(R"({"providers": [{"base_url": "http://x/v1"}]})"), "needs a name"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "a b"}]})"), "has no blank, colon or @"));
  const auto refusal_of = [&](const std::string& members) {
    return world.refusal(R"({"providers": [{"name": "lab", "base_url": "http://lab/v1")" + members + "}]}");
  };
  CHECK(contains(refusal_of(R"(, "models": {})"), "models must be a list"));
  CHECK(contains(refusal_of(R"(, "models": [{"source": "x"}])"), "a model needs a name"));
  CHECK(contains(refusal_of(R"(, "key_header": "X-Key")"), "key_header is the beginning of a header"));
  CHECK(contains(refusal_of(R"(, "key_header": "X-Key: a\r\nX-More: ")"), "without control characters"));
  CHECK(contains(refusal_of(R"(, "key_variable": "A B")"), "is no name of a variable"));
  CHECK(contains(refusal_of(R"(, "needs_key": true)"), "needs_key needs key_variable"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab"}]})"), "base_url or base_url_variable is needed"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "replay", "base_url": "http://x/v1"}]})"),
                 "replay is no name"));
  CHECK(contains(world.refusal(R"({"schema": 2, "providers": []})"), "schema must be 1"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab", "base_ulr": "x"}]})"),
                 R"(lab: "base_ulr" is not known)"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab", "base_url": 7}]})"), "lab: base_url must be a text"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab", "base_url": "lab:9"}]})"), "begins with neither"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab", "base_url": "http://x/v1", "protocol": "smoke"}]})"),
                 R"(protocol "smoke" is not known)"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab", "base_url": "http://x/v1", "max_concurrent": 0}]})"),
                 "must be a whole number"));
  CHECK(contains(world.refusal(R"({"providers": [{"name": "lab", "base_url": "http://x/v1", "needs_key": "yes"}]})"),
                 "must be true or false"));
  CHECK(contains(
      world.refusal(
          R"({"providers": [{"name": "lab", "base_url": "http://x/v1", "models": [{"name": "m", "prices": {"input": 1}}]}]})"),
      "lab.models[0]: prices need input and output"));
  CHECK(contains(
      world.refusal(
          R"({"providers": [{"name": "lab", "base_url": "http://x/v1", "models": [{"name": "m", "prices": {"input": -1, "output": 1}}]}]})"),
      "input must be a price"));
}
