#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/llm/clients.hpp>

#include "support/command_text.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Client = Result<std::unique_ptr<LLMClient>>;

/// Bytes of an address that a message shows.
constexpr std::size_t k_max_shown = 100;
constexpr std::string_view k_default_url = "https://api.openai.com/v1";

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
  return name == "localhost" || numeric || text.ends_with("/v1");
}

/// Splits "MODEL[@URL]". InvalidArgument for an address without its scheme; `kind` is for the message.
Result<OpenAIClientOptions> model_and_address(std::string_view kind, std::string_view text) {
  OpenAIClientOptions options;
  std::tie(options.model, options.base_url) = split_model(text);
  if (const auto at = text.rfind('@');
      options.base_url.empty() && at != text.npos && looks_like_address(text.substr(at + 1)))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the address {1} lacks its scheme: write {0}:MODEL@http://{1} or https://{1}", kind,
                             sanitize_line(text.substr(at + 1), k_max_shown)),
                 {}};
  return options;
}

/// Makes the client of a server, with the proxy and the certificates that the environment names.
Client make_server_client(OpenAIClientOptions options, const std::map<std::string, std::string>& environment) {
  // The names that curl and similar programs agree on. HTTP_PROXY in capitals is not among them: web servers set it to
  // what a client sends as the header "Proxy".
  options.proxy = begins_with(options.base_url, "https:") ? first_of(environment, {"https_proxy", "HTTPS_PROXY"})
                                                          : first_of(environment, {"http_proxy"});
  if (options.proxy.empty()) options.proxy = first_of(environment, {"all_proxy", "ALL_PROXY"});
  options.no_proxy = first_of(environment, {"no_proxy", "NO_PROXY"});
  options.ca_file = first_of(environment, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  return make_openai_client(std::move(options));
}

Client make_openai(std::string_view text, const std::map<std::string, std::string>& environment) {
  KERNELGEN_TRY(auto options, model_and_address("openai", text));
  if (options.base_url.empty()) options.base_url = first_of(environment, {"OPENAI_BASE_URL"});
  if (options.base_url.empty()) options.base_url = k_default_url;
  options.api_key = first_of(environment, {"OPENAI_API_KEY"});
  if (options.api_key.empty() && begins_with(options.base_url, "https://api.openai.com"))
    return Error{ErrorCode::MissingTool,
                 "OPENAI_API_KEY is not set; set it, or name another server: openai:MODEL@http://localhost:8000/v1",
                 {}};
  return make_server_client(std::move(options), environment);
}

/// A server of which the environment says all that the text leaves out.
Client make_gateway(std::string_view text, const std::map<std::string, std::string>& environment) {
  KERNELGEN_TRY(auto options, model_and_address("gateway", text));
  const auto missing = [](std::string message) { return Error{ErrorCode::MissingTool, std::move(message), {}}; };
  options.api_key = first_of(environment, {"LLM_GATEWAY_KEY"});
  if (options.api_key.empty())
    return missing("LLM_GATEWAY_KEY is empty or not set; set it to the key of the gateway, or name another model");
  if (options.base_url.empty()) options.base_url = first_of(environment, {"LLM_GATEWAY_URL"});
  if (options.base_url.empty())
    return missing(
        "LLM_GATEWAY_URL is not set; set it to the address of the gateway, such as https://gateway.example.com/v1, or "
        "name another model");
  if (options.model.empty()) options.model = first_of(environment, {"LLM_GATEWAY_MODEL"});
  if (options.model.empty()) return missing("LLM_GATEWAY_MODEL is not set; set it, or write gateway:MODEL");
  return make_server_client(std::move(options), environment);
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
  if (kind == "gateway" && (colon == spec.npos || !rest.empty())) return make_gateway(rest, context.environment);
  if (!rest.empty()) {
    if (kind == "openai") return make_openai(rest, context.environment);
    if (kind == "command") return make_command(rest, context);
    if (kind == "replay") return make_replay_client(rest, context.replay);
    if (kind == "mailbox") {
      MailboxClientOptions options;
      options.directory = rest;
      options.waiting = context.waiting;
      return make_mailbox_client(std::move(options));
    }
  }
  // The text is not repeated: it may be a key that was given to the wrong option.
  return Error{
      ErrorCode::InvalidArgument,
      "a model is named by openai:MODEL, openai:MODEL@URL, gateway, command:PROGRAM ARG..., mailbox:DIR or replay:FILE",
      {}};
}

}  // namespace v0
}  // namespace kernelgen
