#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/llm/providers.hpp>

#include "llm/base_url.hpp"
#include "llm/builtin_providers.hpp"
#include "llm/protocol.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::array k_file_members{std::string_view("schema"), std::string_view("providers")};
constexpr std::array k_provider_members{
    std::string_view("name"),         std::string_view("protocol"),       std::string_view("base_url"),
    std::string_view("key_variable"), std::string_view("needs_key"),      std::string_view("base_url_variable"),
    std::string_view("key_header"),   std::string_view("model_variable"), std::string_view("streams"),
    std::string_view("models"),       std::string_view("max_concurrent")};
constexpr std::array k_model_members{std::string_view("name"), std::string_view("prices"),
                                     std::string_view("context_tokens"), std::string_view("max_output_tokens"),
                                     std::string_view("source")};
constexpr std::array k_price_members{std::string_view("input"), std::string_view("output"), std::string_view("cached"),
                                     std::string_view("cache_write")};

Error invalid(const std::string& place, const std::string& what) {
  return {ErrorCode::InvalidArgument, place + ": " + what, {}};
}

Result<const json::object*> object_at(const json::value& value, const std::string& place,
                                      std::span<const std::string_view> members) {
  const auto* object = value.if_object();
  if (object == nullptr) return invalid(place, "an object is expected");
  for (const auto& member : *object)
    if (std::find(members.begin(), members.end(), std::string_view(member.key())) == members.end()) {
      const std::vector<std::string> known(members.begin(), members.end());
      const auto name = sanitize_line(std::string_view(member.key()), 60);
      return invalid(place, fmt::format("\"{}\" is not known{}", name, did_you_mean(name, known)));
    }
  return object;
}

Result<void> read_text(const json::object& object, std::string_view name, const std::string& place, std::string& into) {
  const auto* found = object.if_contains(name);
  if (found == nullptr) return {};
  if (!found->is_string()) return invalid(place, fmt::format("{} must be a text", name));
  into = found->get_string();
  if (std::any_of(into.begin(), into.end(), [](char c) { return c >= 0 && c < ' '; }))
    return invalid(place, fmt::format("{} must be one line without control characters", name));
  return {};
}

/// A text that is the name of a variable of the environment.
Result<void> check_variable(const std::string& variable, const std::string& place) {
  constexpr std::string_view k_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  if (variable.find_first_not_of(k_letters) == variable.npos) return {};
  return invalid(place, "\"" + sanitize_line(variable, 60) + "\" is no name of a variable");
}

Result<void> read_flag(const json::object& object, std::string_view name, const std::string& place, bool& into) {
  const auto* found = object.if_contains(name);
  if (found == nullptr) return {};
  if (!found->is_bool()) return invalid(place, fmt::format("{} must be true or false", name));
  into = found->get_bool();
  return {};
}

template <class Count>
Result<void> read_count_member(const json::object& object, std::string_view name, const std::string& place,
                               std::optional<Count>& into) {
  const auto* found = object.if_contains(name);
  if (found == nullptr) return {};
  boost::system::error_code error;
  const auto count = found->to_number<Count>(error);
  if (error || count < 1) return invalid(place, fmt::format("{} must be a whole number, 1 or more", name));
  into = count;
  return {};
}

Result<std::optional<double>> price_of(const json::object& object, std::string_view name, const std::string& place) {
  const auto* found = object.if_contains(name);
  if (found == nullptr) return std::optional<double>();
  boost::system::error_code error;
  const auto price = found->to_number<double>(error);
  if (error || !(price >= 0)) return invalid(place, fmt::format("{} must be a price of a million tokens", name));
  return std::optional(price);
}

Result<std::optional<Prices>> read_prices(const json::object& model, const std::string& place) {
  const auto* found = model.if_contains("prices");
  if (found == nullptr || found->is_null()) return std::optional<Prices>();
  KERNELGEN_TRY(const auto* object, object_at(*found, place + ".prices", k_price_members));
  KERNELGEN_TRY(const auto input, price_of(*object, "input", place));
  KERNELGEN_TRY(const auto output, price_of(*object, "output", place));
  if (!input || !output) return invalid(place, "prices need input and output");
  Prices prices{.per_million_input = *input, .per_million_output = *output};
  KERNELGEN_TRY(prices.per_million_cached, price_of(*object, "cached", place));
  KERNELGEN_TRY(prices.per_million_cache_write, price_of(*object, "cache_write", place));
  return std::optional(prices);
}

Result<ModelFacts> read_model(const json::value& value, const std::string& place) {
  KERNELGEN_TRY(const auto* object, object_at(value, place, k_model_members));
  ModelFacts facts;
  KERNELGEN_CHECK(read_text(*object, "name", place, facts.name));
  KERNELGEN_CHECK(read_text(*object, "source", place, facts.source));
  if (facts.name.empty()) return invalid(place, "a model needs a name");
  KERNELGEN_CHECK(read_count_member(*object, "context_tokens", place, facts.context_tokens));
  KERNELGEN_CHECK(read_count_member(*object, "max_output_tokens", place, facts.max_output_tokens));
  KERNELGEN_TRY(facts.prices, read_prices(*object, place));
  return facts;
}

Result<void> check_name(const std::string& name, const std::string& place) {
  if (name.find_first_of(": @\t") != name.npos)
    return invalid(place, "the name of a provider has no blank, colon or @");
  for (const std::string_view taken : {"command", "mailbox", "replay"})
    if (name == taken) return invalid(place, fmt::format("{} is no name for a provider", name));
  return {};
}

Result<Provider> read_provider(const json::value& value, const std::string& place) {
  KERNELGEN_TRY(const auto* object, object_at(value, place, k_provider_members));
  Provider provider;
  std::string protocol(to_string(provider.protocol));
  for (const auto& [name, member] :
       {std::pair("name", &Provider::name), std::pair("base_url", &Provider::base_url),
        std::pair("base_url_variable", &Provider::base_url_variable),
        std::pair("key_variable", &Provider::key_variable), std::pair("model_variable", &Provider::model_variable),
        std::pair("key_header", &Provider::key_header)})
    KERNELGEN_CHECK(read_text(*object, name, place, provider.*member));
  KERNELGEN_CHECK(check_name(provider.name, place));
  KERNELGEN_CHECK(read_text(*object, "protocol", place, protocol));
  const auto known = parse_llm_protocol(protocol);
  if (!known)
    return invalid(place,
                   fmt::format("the protocol \"{}\" is not known; there are chat-completions, responses, messages "
                               "and generate-content",
                               sanitize_line(protocol, 60)));
  provider.protocol = *known;
  KERNELGEN_CHECK(read_flag(*object, "needs_key", place, provider.needs_key));
  KERNELGEN_CHECK(read_flag(*object, "streams", place, provider.streams));
  KERNELGEN_CHECK(read_count_member(*object, "max_concurrent", place, provider.max_concurrent));
  for (const auto& variable : {provider.base_url_variable, provider.key_variable, provider.model_variable})
    KERNELGEN_CHECK(check_variable(variable, place));
  if (provider.needs_key && provider.key_variable.empty()) return invalid(place, "needs_key needs key_variable");
  if (provider.base_url.empty() && provider.base_url_variable.empty())
    return invalid(place, "base_url or base_url_variable is needed");
  if (!provider.key_header.empty() && provider.key_header.find(':') == std::string::npos)
    return invalid(place, "key_header is the beginning of a header, such as \"api-key: \"");
  if (const auto* list = object->if_contains("models"); list != nullptr && !list->is_array())
    return invalid(place, "models must be a list");
  const auto& models = find_list(value, {"models"});
  for (std::size_t i = 0; i < models.size(); ++i) {
    KERNELGEN_TRY(auto facts, read_model(models[i], fmt::format("{}.models[{}]", place, i)));
    provider.models.push_back(std::move(facts));
  }
  if (!provider.base_url.empty()) {
    KERNELGEN_CHECK(parse_base_url(provider.base_url).context(place));
  }
  return provider;
}

/// The element of a list of objects with this name; nullptr when there is none.
json::object* find_named(json::array& list, std::string_view name) {
  for (auto& element : list)
    if (find_text(element, {"name"}) == name) return element.if_object();
  return nullptr;
}

/// Replaces members of the elements of `list` by those of the elements of `changes` with the same name.
Result<void> merge_named(json::array& list, const json::value& changes, const std::string& place) {
  if (!changes.is_array()) return invalid(place, "a list is expected");
  for (const auto& change : changes.get_array()) {
    const auto name = find_text(change, {"name"});
    if (name.empty()) return invalid(place, "each entry needs a name");
    auto* known = find_named(list, name);
    if (known == nullptr) {
      list.push_back(change);
      continue;
    }
    for (const auto& member : change.get_object()) {
      auto* before = known->if_contains(member.key());
      if (member.key() == "models" && before != nullptr && before->is_array()) {
        KERNELGEN_CHECK(merge_named(before->get_array(), member.value(), place + '.' + name + ".models"));
      } else {
        (*known)[member.key()] = member.value();
      }
    }
  }
  return {};
}

Result<std::vector<Provider>> read_providers(const json::value& document) {
  const auto& list = find_list(document, {"providers"});
  std::vector<Provider> providers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto name = find_text(list[i], {"name"});
    KERNELGEN_TRY(auto provider, read_provider(list[i], name.empty() ? fmt::format("providers[{}]", i) : name));
    providers.push_back(std::move(provider));
  }
  std::sort(providers.begin(), providers.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return providers;
}

/// Whether `rest`, behind the name of a model, is only the date of its version: "-2026-08-07", "-20260807". A "-mini"
/// is another model with other prices.
bool is_date_or_nothing(std::string_view rest) {
  return rest.empty() || (rest.starts_with("-20") && rest.find_first_not_of("0123456789-") == rest.npos);
}

}  // namespace

const std::vector<Provider>& known_providers() {
  static const auto k_providers = read_providers(parse_json(k_builtin_providers).value()).value();
  return k_providers;
}

Result<std::vector<Provider>> load_providers(const std::filesystem::path& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return known_providers();
  const auto place = file.string();
  KERNELGEN_TRY(const auto text, read_file(file));
  KERNELGEN_TRY(const auto changes, parse_json(without_byte_order_mark(text)).context(place));
  KERNELGEN_CHECK(object_at(changes, place, k_file_members));
  if (const auto* schema = find_member(changes, {"schema"}); schema != nullptr && *schema != 1)
    return invalid(place, "schema must be 1");
  auto document = parse_json(k_builtin_providers).value();
  if (const auto* list = find_member(changes, {"providers"})) {
    KERNELGEN_CHECK(merge_named(document.at("providers").as_array(), *list, place + ": providers"));
  }
  return read_providers(document).context(place);
}

const Provider* find_provider(const std::vector<Provider>& providers, std::string_view name) {
  const auto found =
      std::find_if(providers.begin(), providers.end(), [&](const auto& one) { return one.name == name; });
  return found == providers.end() ? nullptr : &*found;
}

const ModelFacts* find_model(const Provider& provider, std::string_view model) {
  for (const auto& facts : provider.models)
    if (model.starts_with(facts.name) && is_date_or_nothing(model.substr(facts.name.size()))) return &facts;
  return nullptr;
}

}  // namespace v0
}  // namespace kernelgen
