#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/providers.hpp>

#include "support/command_text.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Client = Result<std::unique_ptr<LLMClient>>;

/// Bytes of an address that a message shows.
constexpr std::size_t k_max_shown = 100;

/// The first variable that is set and not empty.
std::string first_of(const std::map<std::string, std::string>& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = environment.find(name); found != environment.end() && !found->second.empty())
      return found->second;
  return {};
}

bool begins_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

/// Splits "MODEL" or "MODEL@URL". Names of models may contain an @ themselves, so the one before "://" counts.
std::pair<std::string, std::string> split_model(std::string_view text) {
  const auto scheme = text.find("://");
  const auto at = scheme == std::string_view::npos ? scheme : text.substr(0, scheme).rfind('@');
  if (at == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

/// Whether `text` is an address without a scheme: "localhost:9", "node7:8000/v1", "10.0.0.1/v1". Revisions of models,
/// which may also stand behind an @, look different.
bool looks_like_address(std::string_view text) {
  const auto host = text.substr(0, text.find('/'));
  const auto colon = host.find(':');
  const auto name = host.substr(0, colon);
  const auto is_number = [](std::string_view part, std::string_view more) {
    return !part.empty() && part.find_first_not_of("0123456789" + std::string(more)) == part.npos;
  };
  if (name.empty()) return false;
  if (colon != host.npos) return is_number(host.substr(colon + 1), "");
  constexpr auto k_ipv4_dots = 3;
  const bool numeric = is_number(name, ".") && std::count(name.begin(), name.end(), '.') == k_ipv4_dots;
  const auto dot = name.rfind('.');
  const auto last = dot == name.npos ? std::string_view() : name.substr(dot + 1);
  const bool is_domain =
      last.size() > 1 && std::all_of(last.begin(), last.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return name == "localhost" || numeric || is_domain || text.ends_with("/v1");
}

/// The model and the address of "MODEL[@URL]".
struct ModelAddress {
  std::string model;
  std::string url;
};
/// InvalidArgument for an address without its scheme; `kind` is for the message.
Result<ModelAddress> model_and_address(std::string_view kind, std::string_view text) {
  ModelAddress found;
  std::tie(found.model, found.url) = split_model(text);
  if (const auto at = text.rfind('@'); found.url.empty() && at != text.npos && looks_like_address(text.substr(at + 1)))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the address {1} lacks its scheme: write {0}:MODEL@http://{1} or https://{1}", kind,
                             sanitize_line(text.substr(at + 1), k_max_shown)),
                 {}};
  return found;
}

/// Takes the proxy and the certificates that the environment names.
void read_network_variables(ServerClientOptions& options, const std::map<std::string, std::string>& environment) {
  // The names that curl and similar programs agree on. HTTP_PROXY in capitals is not among them: web servers set it to
  // what a client sends as the header "Proxy".
  options.proxy = begins_with(options.base_url, "https:") ? first_of(environment, {"https_proxy", "HTTPS_PROXY"})
                                                          : first_of(environment, {"http_proxy"});
  if (options.proxy.empty()) options.proxy = first_of(environment, {"all_proxy", "ALL_PROXY"});
  options.no_proxy = first_of(environment, {"no_proxy", "NO_PROXY"});
  options.ca_file = first_of(environment, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
}

Client make_server(const Provider& provider, std::string_view text, const LLMSpecContext& context) {
  const auto missing = [](std::string message) { return Error{ErrorCode::MissingTool, std::move(message), {}}; };
  const auto variable = [&](const std::string& name) {
    return name.empty() ? std::string() : first_of(context.environment, {name.c_str()});
  };
  const auto& name = provider.name;
  KERNELGEN_TRY(auto named, model_and_address(name, text));
  ServerClientOptions options;
  options.protocol = provider.protocol;
  options.provider = name;
  options.key_header = provider.key_header;
  options.streaming = provider.streams ? Streaming::On : Streaming::Off;
  options.max_concurrent = provider.max_concurrent;
  options.traffic = context.traffic;
  options.api_key = variable(provider.key_variable);
  options.key_source = provider.key_variable;
  options.base_url = named.url.empty() ? variable(provider.base_url_variable) : named.url;
  const bool is_own_url = options.base_url.empty() || options.base_url == provider.base_url;
  if (options.api_key.empty() && provider.needs_key && (is_own_url || provider.base_url.empty()))
    return missing(provider.base_url.empty()
                       ? fmt::format("{} is empty or not set; set it to the key for provider {}, or name another model",
                                     provider.key_variable, name)
                       : fmt::format("{} is not set; set it, or name another server: {}:MODEL@http://localhost:8000/v1",
                                     provider.key_variable, name));
  if (options.base_url.empty()) options.base_url = provider.base_url;
  if (options.base_url.empty())
    return missing(
        fmt::format("{} is not set; set it to the address of provider {}, such as https://{}.example.com/v1, or "
                    "name another model",
                    provider.base_url_variable, name, name));
  options.model = named.model.empty() ? variable(provider.model_variable) : named.model;
  if (options.model.empty() && provider.model_variable.empty())
    return Error{
        ErrorCode::InvalidArgument, fmt::format("no model is named: write {0}:MODEL or {0}:MODEL@URL", name), {}};
  if (options.model.empty())
    return missing(fmt::format("{} is not set; set it, or write {}:MODEL", provider.model_variable, name));
  if (const auto* facts = find_model(provider, options.model); facts != nullptr) {
    options.terms = {.prices = facts->prices, .max_output_tokens = facts->max_output_tokens};
    if (facts->max_output_tokens)
      options.default_output_tokens = std::min(options.default_output_tokens, *facts->max_output_tokens);
  }
  read_network_variables(options, context.environment);
  return make_server_client(std::move(options));
}

Client make_command(std::string_view text, const LLMSpecContext& context) {
  CommandClientOptions options;
  KERNELGEN_TRY(options.command, split_command(text));
  // The program gets none of this process's keys.
  options.environment = clean_environment(context.environment);
  return make_command_client(std::move(options), context.runner);
}

}  // namespace

Result<std::unique_ptr<LLMClient>> make_llm_client(std::string_view spec, const LLMSpecContext& context) {
  const auto colon = spec.find(':');
  const auto kind = spec.substr(0, colon);
  const auto rest = colon == std::string_view::npos ? std::string_view() : trim(spec.substr(colon + 1));
  if (!rest.empty()) {
    if (kind == "command") return make_command(rest, context);
    if (kind == "replay") return make_replay_client(rest, context.replay);
    if (kind == "mailbox") {
      MailboxClientOptions options;
      options.directory = rest;
      options.waiting = context.waiting;
      return make_mailbox_client(std::move(options));
    }
  }
  const auto& providers = context.providers != nullptr ? *context.providers : known_providers();
  const auto* provider = find_provider(providers, kind);
  if (provider != nullptr && (!rest.empty() || (colon == spec.npos && !provider->model_variable.empty())))
    return make_server(*provider, rest, context);
  // The text is not repeated: it may be a key that was given to the wrong option.
  std::vector<std::string> names;
  names.reserve(providers.size());
  for (const auto& known : providers) names.push_back(known.name);
  return Error{
      ErrorCode::InvalidArgument,
      "a model is named by PROVIDER:MODEL, PROVIDER:MODEL@URL, command:PROGRAM ARG..., mailbox:DIR or replay:FILE" +
          (colon == spec.npos ? std::string() : did_you_mean(kind, names)),
      {}};
}

}  // namespace v0
}  // namespace kernelgen
