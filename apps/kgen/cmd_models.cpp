#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <ostream>

#include <fmt/format.h>

#include <kernelgen/llm/llm_client.hpp>
#include <kernelgen/llm/providers.hpp>

#include "commands.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds k_check_timeout{180'000};
constexpr std::size_t k_shown_reply_bytes = 60;
constexpr std::size_t k_json_reply_bytes = 10'000;

struct ModelsOptions {
  std::vector<std::string> providers;
  std::string check;
  bool json = false;
};

bool has_key(const Provider& provider, const Context& context) {
  return !provider.key_variable.empty() && context.is_set(provider.key_variable);
}

/// "OPENAI_API_KEY is set", "OPENAI_API_KEY is not set", "needs no key".
std::string key_text(const Provider& provider, const Context& context) {
  if (has_key(provider, context)) return provider.key_variable + " is set";
  return provider.needs_key ? provider.key_variable + " is not set" : "needs no key";
}

std::string address_of(const Provider& provider) {
  if (!provider.base_url.empty()) return provider.base_url;
  return provider.base_url_variable + " names it";
}

std::string price_text(const std::optional<double>& price) { return price ? fmt::format("{:g}", *price) : "-"; }
std::string count_text(const std::optional<std::int64_t>& count) { return count ? std::to_string(*count) : "-"; }

std::string render_providers(const std::vector<Provider>& providers, const Context& context) {
  std::size_t widest = 0;
  for (const auto& provider : providers) widest = std::max(widest, key_text(provider, context).size());
  std::string text;
  for (const auto& provider : providers)
    text += fmt::format("{:<18}{:<{}}  {}\n", provider.name, key_text(provider, context), widest, address_of(provider));
  return text +
         "\n--llm takes PROVIDER:MODEL or PROVIDER:MODEL@URL. Prices and limits: kgen models\n"
         "PROVIDER; a short request: kgen models --check PROVIDER:MODEL\n";
}

std::string render_models(const Provider& provider, const Context& context) {
  auto text = fmt::format("{}: {}, {}, {}\n", provider.name, key_text(provider, context), address_of(provider),
                          to_string(provider.protocol));
  if (provider.models.empty())
    return text + "  no prices and limits are known; --price-input and --price-output give them\n";
  std::size_t widest = 0;
  for (const auto& model : provider.models) widest = std::max(widest, model.name.size());
  text += fmt::format("  {:<{}}  {:>7}{:>8}{:>8}{:>9}{:>9}  {}\n", "", widest, "input", "cached", "output", "context",
                      "reply", "as of");
  for (const auto& [name, prices, context_tokens, max_output_tokens, source] : provider.models)
    text += fmt::format(
        "  {:<{}}  {:>7}{:>8}{:>8}{:>9}{:>9}  {}\n", name, widest, prices ? price_text(prices->per_million_input) : "-",
        prices ? price_text(prices->per_million_cached) : "-", prices ? price_text(prices->per_million_output) : "-",
        count_text(context_tokens), count_text(max_output_tokens), source);
  return text + "  Prices of a million tokens in US dollars, context and longest reply in tokens.\n";
}

json::value price_value(const std::optional<Prices>& prices) {
  if (!prices) return nullptr;
  json::object object{{"input", prices->per_million_input}, {"output", prices->per_million_output}};
  if (prices->per_million_cached) object["cached"] = *prices->per_million_cached;
  if (prices->per_million_cache_write) object["cache_write"] = *prices->per_million_cache_write;
  return object;
}

template <class Number>
json::value optional_value(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value();
}

std::string providers_to_json(const std::vector<Provider>& providers, const Context& context) {
  json::array list;
  for (const auto& provider : providers) {
    json::array models;
    for (const auto& model : provider.models)
      models.push_back(json::object{{"name", model.name},
                                    {"prices", price_value(model.prices)},
                                    {"context_tokens", optional_value(model.context_tokens)},
                                    {"max_output_tokens", optional_value(model.max_output_tokens)},
                                    {"source", model.source}});
    list.push_back(json::object{{"name", provider.name},
                                {"protocol", to_string(provider.protocol)},
                                {"base_url", provider.base_url},
                                {"base_url_variable", provider.base_url_variable},
                                {"key_variable", provider.key_variable},
                                {"needs_key", provider.needs_key},
                                {"has_key", has_key(provider, context)},
                                {"models", std::move(models)}});
  }
  return to_pretty_json(json::object{{"schema", 1}, {"providers", std::move(list)}});
}

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::string tokens_text(const TokenUsage& usage) {
  const auto part = [](const std::optional<std::int64_t>& count, const char* what) {
    return count ? fmt::format(" ({} {})", *count, what) : std::string();
  };
  if (!usage.input_tokens && !usage.output_tokens) return "no usage was told";
  return fmt::format("{} tokens in{}, {} out{}", count_text(usage.input_tokens), part(usage.cached_tokens, "cached"),
                     count_text(usage.output_tokens), part(usage.reasoning_tokens, "reasoning"));
}

std::string render_check(const LLMClient& client, const Reply& reply) {
  auto text = fmt::format("{} at {}: \"{}\" in {:.2f} s", client.identity(), client.endpoint(),
                          sanitize_line(reply.text, k_shown_reply_bytes), seconds_of(reply.latency));
  if (reply.first_output) text += fmt::format(", the first output after {:.2f} s", seconds_of(*reply.first_output));
  text += fmt::format("\n  model {}, finished by {}, {}", reply.model.empty() ? "unknown" : reply.model,
                      to_string(reply.finish), tokens_text(reply.usage));
  if (!reply.request_id.empty()) text += ", request " + reply.request_id;
  if (!reply.left_out.empty()) text += fmt::format("\n  the model refuses {0}, which is left out", reply.left_out);
  return text + '\n';
}

Result<ExitCode> check(const ModelsOptions& options, Context& context) {
  KERNELGEN_TRY(const auto client, context.make_llm(options.check, Waiting::Return, ReplayMode::Strict));
  auto answered = client->complete(
      {.id = "check", .prompt = "Reply with the single word: ready\n", .temperature = 0, .timeout = k_check_timeout},
      context.stop);
  // It may answer later, as a search would wait for it.
  if (!answered && is_outage(answered.error().code)) answered.error().code = ErrorCode::Pending;
  KERNELGEN_TRY(const auto reply, std::move(answered));
  if (trim(reply.text).empty())
    return Error{ErrorCode::Unavailable,
                 fmt::format("{} at {} answered without a word (finished by {}, {})", client->identity(),
                             client->endpoint(), to_string(reply.finish), tokens_text(reply.usage)),
                 {}};
  if (!options.json) {
    context.out << render_check(*client, reply);
    return ExitCode::Success;
  }
  json::object answer{{"schema", 1}, {"identity", client->identity()}, {"endpoint", client->endpoint()}};
  answer["text"] = sanitize_text(reply.text, k_json_reply_bytes);
  answer["model"] = reply.model;
  answer["finish"] = to_string(reply.finish);
  answer["usage"] = json::object{{"input_tokens", optional_value(reply.usage.input_tokens)},
                                 {"output_tokens", optional_value(reply.usage.output_tokens)},
                                 {"cached_tokens", optional_value(reply.usage.cached_tokens)},
                                 {"reasoning_tokens", optional_value(reply.usage.reasoning_tokens)},
                                 {"cache_write_tokens", optional_value(reply.usage.cache_write_tokens)}};
  answer["latency_s"] = seconds_of(reply.latency);
  if (reply.first_output) answer["first_output_s"] = seconds_of(*reply.first_output);
  answer["request_id"] = reply.request_id;
  answer["left_out"] = reply.left_out;
  context.out << to_pretty_json(answer);
  return ExitCode::Success;
}

Result<ExitCode> run(const ModelsOptions& options, Context& context) {
  if (!options.check.empty()) return check(options, context);
  KERNELGEN_TRY(const auto all, context.find_providers());
  std::vector<Provider> chosen;
  for (const auto& name : options.providers) {
    const auto* provider = find_provider(all, name);
    if (provider == nullptr) {
      std::vector<std::string> names;
      names.reserve(all.size());
      for (const auto& known : all) names.push_back(known.name);
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("no provider is named {}{}", sanitize_line(name, k_shown_reply_bytes),
                               did_you_mean(name, names))};
    }
    chosen.push_back(*provider);
  }
  if (options.json) {
    context.out << providers_to_json(chosen.empty() ? all : chosen, context);
  } else if (chosen.empty()) {
    context.out << render_providers(all, context);
  } else {
    for (const auto& provider : chosen) context.out << render_models(provider, context);
  }
  return ExitCode::Success;
}

}  // namespace

Command make_models_command(Context& context) {
  const auto options = std::make_shared<ModelsOptions>();
  return {.name = "models",
          .summary = "The providers of models, which have a key, and what they cost",
          .options = {{.name = "provider",
                       .value_name = "PROVIDER",
                       .help = "Show the models of these providers, with prices and limits",
                       .value = values::texts(options->providers),
                       .is_repeatable = true},
                      {.name = "--check",
                       .value_name = "MODEL",
                       .help = "Send this model one short request, and show what came back",
                       .value = values::text(options->check)},
                      {.name = "--json", .help = "Print it as JSON", .value = values::flag(options->json)}},
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
