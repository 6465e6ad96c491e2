#include "config_file.hpp"

#include <fmt/format.h>

#include <algorithm>

// The only file that includes toml++.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_max_config_bytes = 1u << 20;
constexpr std::size_t k_shown_key = 120;

FilePlace place_of(const toml::source_region& source) {
  return {static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

std::string location_of(const std::filesystem::path& path, const FilePlace& place) {
  return fmt::format("{}:{}:{}", path.string(), place.line, place.column);
}

class Reader {
 public:
  explicit Reader(std::filesystem::path path) : file_{std::move(path), {}} {}

  Result<ConfigFile> read(const toml::table& root) && {
    KERNELGEN_CHECK(read_table("", root));
    std::stable_sort(file_.entries.begin(), file_.entries.end(),
                     [](const auto& a, const auto& b) { return a.place.line < b.place.line; });
    return std::move(file_);
  }

 private:
  Result<void> read_table(const std::string& section, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const auto place = place_of(key.source());
      if (const auto* inner = node.as_table()) {
        if (!section.empty())
          return wrong(place, fmt::format("{}.{}", section, name), "a section holds settings, not further sections");
        KERNELGEN_CHECK(read_table(name, *inner));
        continue;
      }
      ConfigEntry entry{.section = section, .key = name, .values = {}, .is_boolean = node.is_boolean(), .place = place};
      KERNELGEN_CHECK(read_value(entry, node));
      file_.entries.push_back(std::move(entry));
    }
    return {};
  }

  Result<void> read_value(ConfigEntry& entry, const toml::node& node) {
    if (const auto* array = node.as_array()) {
      if (array->empty()) return wrong(entry.place, entry.key, "expected a value, not an empty list");
      for (const auto& element : *array) {
        auto text = to_value_text(element);
        if (!text || element.is_boolean()) return wrong(entry.place, entry.key, "expected a list of texts or numbers");
        entry.values.push_back(*std::move(text));
      }
      return {};
    }
    auto text = to_value_text(node);
    if (!text) return wrong(entry.place, entry.key, "expected a text, a number, true or false, or a list");
    entry.values.push_back(*std::move(text));
    return {};
  }

  static std::optional<std::string> to_value_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
    return std::nullopt;
  }

  [[nodiscard]] Error wrong(const FilePlace& place, std::string_view key, std::string_view why) const {
    return {ErrorCode::InvalidArgument,
            fmt::format("{}: {}: {}", location_of(file_.path, place), sanitize_line(key, k_shown_key), why)};
  }

  ConfigFile file_;
};

}  // namespace

Result<ConfigFile> parse_config(std::string_view text, const std::filesystem::path& path) {
  const auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& error = parsed.error();
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", location_of(path, place_of(error.source())),
                                                         sanitize_line(error.description(), k_shown_key))};
  }
  return Reader(path).read(parsed.table());
}

Result<ConfigFile> read_config(const std::filesystem::path& path) {
  KERNELGEN_TRY(const auto text, read_file(path, k_max_config_bytes));
  return parse_config(text, path);
}

std::string location_of(const ConfigFile& file, const ConfigEntry& entry) {
  return location_of(file.path, entry.place);
}

}  // namespace kernelgen::cli
