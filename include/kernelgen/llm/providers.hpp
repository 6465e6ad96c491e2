#pragma once

/// \file
/// Known providers of models, as data: a list that comes with the library, and files that extend or override it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/llm/clients.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Prices and limits of one model. Providers change them, so each entry has the date of its source.
struct ModelFacts {
  /// The provider's name for it.
  std::string name;
  std::optional<Prices> prices{};
  /// Tokens of prompt and reply together.
  std::optional<std::int64_t> context_tokens{};
  /// The longest reply.
  std::optional<std::int64_t> max_output_tokens{};
  /// Where these figures come from: "2026-11-01, https://...".
  std::string source{};
};

/// A provider, or a kind of server.
struct Provider {
  /// The word before the colon of a model's text: "anthropic".
  std::string name;
  LLMProtocol protocol = LLMProtocol::ChatCompletions;
  /// URL up to and including the version; empty: an address must be named.
  std::string base_url{};
  /// The variable of the environment that names another URL; empty: none.
  std::string base_url_variable{};
  /// The variable that holds the key; empty: none.
  std::string key_variable{};
  /// Whether base_url cannot be asked without a key.
  bool needs_key = false;
  /// The variable that names the model where the text does not; empty: none.
  std::string model_variable{};
  /// See ServerClientOptions.
  std::string key_header{};
  bool streams = true;
  std::optional<int> max_concurrent{};
  std::vector<ModelFacts> models{};
};

/// The list of the library, sorted by name.
[[nodiscard]] const std::vector<Provider>& known_providers();

/// The list of the library, extended by a file of the same form (docs/models.md): members of a provider or a model of
/// the same name are replaced, others are added. A missing file changes nothing. InvalidArgument with the place of what
/// cannot be read, or of a member that is not known.
[[nodiscard]] Result<std::vector<Provider>> load_providers(const std::filesystem::path& file);

/// nullptr when there is none of this name.
[[nodiscard]] const Provider* find_provider(const std::vector<Provider>& providers, std::string_view name);
/// The facts about a model; those of "gpt-5" count for "gpt-5-2026-08-07", too. nullptr when there are none.
[[nodiscard]] const ModelFacts* find_model(const Provider& provider, std::string_view model);

}  // namespace v0
}  // namespace kernelgen
