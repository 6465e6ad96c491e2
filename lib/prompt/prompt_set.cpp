#include <kernelgen/prompt/prompt_set.hpp>

#include <fmt/format.h>
#include <boost/json.hpp>
#include <boost/regex.hpp>

#include <algorithm>
#include <utility>

#include "prompt/json_places.hpp"
#include "prompt/prompt_set_text.hpp"
#include "support/files.hpp"
#include "support/regex.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* k_config = "config.json";
constexpr std::size_t k_max_config_bytes = 1u << 20;
constexpr std::size_t k_max_prompt_bytes = 1u << 20;
constexpr std::size_t k_max_problem = 300;

boost::regex compile_pattern(const std::string& pattern) {
  return boost::regex(pattern, boost::regex::perl | boost::regex::icase);
}

/// Reads the members of a config.json, each error with its place.
class Reader {
 public:
  Reader(const fs::path& directory, std::string_view text)
      : directory_(directory), file_((directory / k_config).string()), text_(text) {}

  Result<PromptSet> read() {
    KERNELGEN_TRY(const auto root, parse());
    const JsonPlaces places(text_);
    places_ = &places;
    const auto* members = root.if_object();
    if (members == nullptr) return wrong(places.of_value({}), "expected an object");
    set_.directory = directory_;
    KERNELGEN_CHECK(check_names(*members));
    KERNELGEN_CHECK(read_default(*members));
    KERNELGEN_CHECK(read_patterns(*members));
    KERNELGEN_CHECK(read_hints(*members));
    return std::move(set_);
  }

 private:
  using Path = JsonPlaces::Path;

  [[nodiscard]] Error wrong(TextPlace place, const std::string& message) const {
    return {ErrorCode::InvalidArgument,
            fmt::format("{}:{}:{}: {}", file_, place.line, place.column, sanitize_line(message, k_max_problem))};
  }

  [[nodiscard]] Result<json::value> parse() const {
    json::parser parser;
    boost::system::error_code error;
    const auto read = parser.write(text_.data(), text_.size(), error);
    if (error) return wrong(place_of(text_, read), "not JSON: " + error.message());
    return parser.release();
  }

  /// The object that a member is; nullptr if there is no such member.
  Result<const json::object*> object_of(const json::object& members, const std::string& name) const {
    const auto* member = members.if_contains(name);
    if (member == nullptr) return nullptr;
    if (const auto* object = member->if_object()) return object;
    return wrong(places_->of_value({name}), name + ": expected an object");
  }

  Result<std::string> read_prompt_name(const json::value& value, const Path& path) {
    const auto* name = value.if_string();
    if (name == nullptr || name->empty()) return wrong(places_->of_value(path), "expected the name of a prompt's file");
    std::string file(*name);
    // The texts go to a model, so they come from this folder alone.
    const fs::path path_of_file(file);
    if (path_of_file.is_absolute() || std::find(path_of_file.begin(), path_of_file.end(), "..") != path_of_file.end())
      return wrong(places_->of_value(path), "prompt " + file + " is outside of this folder");
    if (set_.texts.contains(file)) return file;
    auto text = read_file(directory_ / file, k_max_prompt_bytes);
    if (!text) return wrong(places_->of_value(path), unreadable(file, text.error()));
    if (!is_valid_utf8(*text)) return wrong(places_->of_value(path), "prompt " + file + " is no text in UTF-8");
    set_.texts[file] = *std::move(text);
    return file;
  }

  [[nodiscard]] std::string unreadable(const std::string& file, const Error& error) const {
    if (error.code != ErrorCode::NotFound) return "prompt " + file + ": " + error.message;
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory_, ignored))
      if (entry.path().extension() == ".txt") names.push_back(entry.path().filename().string());
    return "there is no prompt " + file + " in this folder" + did_you_mean(file, names);
  }

  /// Members of other names may be there, but not ones that were meant for those that are read.
  [[nodiscard]] Result<void> check_names(const json::object& members) const {
    static const std::vector<std::string> k_names{"default_prompt", "patterns", "reflection_hints"};
    for (const auto& member : members) {
      const std::string name(member.key());
      if (std::find(k_names.begin(), k_names.end(), name) != k_names.end()) continue;
      if (const auto hint = did_you_mean(name, k_names); !hint.empty())
        return wrong(places_->of_key({name}), "unknown member " + name + hint);
    }
    return {};
  }

  Result<void> read_default(const json::object& members) {
    const auto* member = members.if_contains("default_prompt");
    if (member == nullptr || member->is_null()) return {};
    KERNELGEN_TRY(set_.default_prompt, read_prompt_name(*member, {"default_prompt"}));
    return {};
  }

  Result<void> read_patterns(const json::object& members) {
    KERNELGEN_TRY(const auto* patterns, object_of(members, "patterns"));
    if (patterns == nullptr) return {};
    for (const auto& member : *patterns) {
      const Path path{"patterns", std::string(member.key())};
      try {
        compile_pattern(path.back());
      } catch (const std::runtime_error& error) {
        return wrong(places_->of_key(path), "not a regular expression: " + std::string(error.what()));
      }
      KERNELGEN_TRY(auto file, read_prompt_name(member.value(), path));
      set_.patterns.push_back({path.back(), std::move(file)});
    }
    return {};
  }

  Result<void> read_hints(const json::object& members) {
    const std::string name = "reflection_hints";
    KERNELGEN_TRY(const auto* hints, object_of(members, name));
    if (hints == nullptr) return {};
    for (const auto& member : *hints) {
      const Path path{name, std::string(member.key())};
      ReflectionHint hint{path.back(), {}};
      KERNELGEN_CHECK(read_texts(member.value(), path, hint.hints));
      set_.reflection_hints.push_back(std::move(hint));
    }
    return {};
  }

  /// A list of texts, or one text.
  Result<void> read_texts(const json::value& value, const Path& path, std::vector<std::string>& texts) const {
    if (const auto* text = value.if_string()) {
      texts.emplace_back(*text);
      return {};
    }
    const auto* list = value.if_array();
    if (list == nullptr) return wrong(places_->of_value(path), "expected a list of hints");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto* text = (*list)[i].if_string();
      if (text == nullptr) return wrong(places_->of_value({path[0], path[1], std::to_string(i)}), "expected a text");
      texts.emplace_back(*text);
    }
    return {};
  }

  const fs::path& directory_;
  const std::string file_;
  const std::string_view text_;
  const JsonPlaces* places_ = nullptr;
  PromptSet set_;
};

bool asks_for_code(PromptKind kind) { return kind != PromptKind::Analysis && kind != PromptKind::Critic; }

class PromptSetBuilder final : public PromptBuilder {
 public:
  PromptSetBuilder(std::unique_ptr<PromptBuilder> inner, PromptSet set)
      : inner_(std::move(inner)), set_(std::move(set)) {}

  Result<Prompt> build(const PromptRequest& request) const override {
    if (!asks_for_code(request.kind)) return inner_->build(request);
    auto extended = request;
    std::vector<std::string> parts;
    if (const auto own = trim(request.instructions); !own.empty()) parts.emplace_back(own);
    if (const auto file = prompt_file_for(set_, request.task.name); !file.empty())
      if (const auto text = trim(set_.texts.at(file)); !text.empty()) parts.emplace_back(text);
    if (auto hints = hints_for(request); !hints.empty()) parts.push_back(std::move(hints));
    extended.instructions = join(parts, "\n\n");
    return inner_->build(extended);
  }

  std::vector<std::string> variants(PromptKind kind, Target target) const override {
    return inner_->variants(kind, target);
  }

 private:
  /// The hints about the candidate that a prompt starts from, as a list; empty: none.
  [[nodiscard]] std::string hints_for(const PromptRequest& request) const {
    if (!request.base) return {};
    const auto error = request.base->record ? framework_error(*request.base->record) : request.base->message;
    std::string list;
    for (const auto& hint : reflection_hints_for(set_, error)) list += "\n- " + hint;
    return list.empty() ? list : "About what became of the earlier attempt:\n" + list;
  }

  const std::unique_ptr<PromptBuilder> inner_;
  const PromptSet set_;
};

}  // namespace

bool is_prompt_set(const fs::path& directory) {
  std::error_code ignored;
  return !directory.empty() && fs::exists(directory / k_config, ignored);
}

Result<PromptSet> parse_prompt_set(const fs::path& directory, std::string_view text) {
  return Reader(directory, without_byte_order_mark(text)).read();
}

Result<PromptSet> read_prompt_set(const fs::path& directory) {
  KERNELGEN_TRY(const auto text, read_file(directory / k_config, k_max_config_bytes));
  return parse_prompt_set(directory, text);
}

std::string prompt_file_for(const PromptSet& set, std::string_view task_name) {
  for (const auto& [pattern, file] : set.patterns)
    if (match_length(compile_pattern(pattern), task_name)) return file;
  return set.default_prompt;
}

std::vector<std::string> reflection_hints_for(const PromptSet& set, std::string_view error) {
  std::vector<std::string> hints;
  for (const auto& [part, texts] : set.reflection_hints) {
    if (error.empty() || !contains(error, part)) continue;
    for (const auto& text : texts)
      if (hints.size() < k_max_reflection_hints) hints.push_back(text);
  }
  return hints;
}

std::unique_ptr<PromptBuilder> make_prompt_set_builder(std::unique_ptr<PromptBuilder> inner, PromptSet set) {
  return std::make_unique<PromptSetBuilder>(std::move(inner), std::move(set));
}

}  // namespace v0
}  // namespace kernelgen
