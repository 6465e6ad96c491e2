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
constexpr std::size_t k_shown_bytes = 120;

class Reader {
 public:
  explicit Reader(std::filesystem::path path) : file_{std::move(path), {}} {}

  Result<ConfigFile> read(const toml::table& root) && {
    KERNELGEN_CHECK(read_table("", root));
    std::stable_sort(file_.entries.begin(), file_.entries.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(file_);
  }

 private:
  Result<void> read_table(const std::string& section, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const int line = static_cast<int>(key.source().begin.line);
      if (const auto* inner = node.as_table()) {
        if (!section.empty())
          return wrong(line, fmt::format("{}.{}", section, name), "a section holds settings, not further sections");
        KERNELGEN_CHECK(read_table(name, *inner));
        continue;
      }
      ConfigEntry entry{.section = section, .key = name, .values = {}, .is_boolean = node.is_boolean(), .line = line};
      KERNELGEN_CHECK(read_value(entry, node));
      file_.entries.push_back(std::move(entry));
    }
    return {};
  }

  Result<void> read_value(ConfigEntry& entry, const toml::node& node) {
    if (const auto* array = node.as_array()) {
      if (array->empty()) return wrong(entry.line, entry.key, "expected a value, not an empty list");
      for (const auto& element : *array) {
        auto text = to_value_text(element);
        if (!text || element.is_boolean()) return wrong(entry.line, entry.key, "expected a list of texts or numbers");
        entry.values.push_back(*std::move(text));
      }
      return {};
    }
    auto text = to_value_text(node);
    if (!text) return wrong(entry.line, entry.key, "expected a text, a number, true or false, or a list");
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

  [[nodiscard]] Error wrong(int line, std::string_view key, std::string_view why) const {
    return {ErrorCode::InvalidArgument,
            fmt::format("{}:{}: {}: {}", file_.path.string(), line, sanitize_line(key, k_shown_bytes), why)};
  }

  ConfigFile file_;
};

}  // namespace

Result<ConfigFile> parse_config(std::string_view text, const std::filesystem::path& path) {
  const auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& error = parsed.error();
    return Error{ErrorCode::InvalidArgument, fmt::format("{}:{}: {}", path.string(), error.source().begin.line,
                                                         sanitize_line(error.description(), k_shown_bytes))};
  }
  return Reader(path).read(parsed.table());
}

Result<ConfigFile> read_config(const std::filesystem::path& path) {
  KERNELGEN_TRY(const auto text, read_file(path, k_max_config_bytes));
  return parse_config(text, path);
}

std::string location_of(const ConfigFile& file, const ConfigEntry& entry) {
  return fmt::format("{}:{}", file.path.string(), entry.line);
}

}  // namespace kernelgen::cli
