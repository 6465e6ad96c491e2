#pragma once

/// \file
/// Template files, and rendering that leaves inserted texts unchanged.

#include <kainjow/mustache.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen {
inline namespace v0 {

using TemplateData = kainjow::mustache::data;

/// Sources and messages, which appear in a prompt byte for byte. The template engine sees a placeholder of a few bytes
/// for each, and the text replaces it at the end, so that nothing inside it is taken for a tag or a blank line.
class VerbatimTexts {
 public:
  /// Keeps the text, and returns the placeholder that a template variable holds for it.
  [[nodiscard]] std::string placeholder(std::string_view text);
  /// The rendered prompt with every placeholder replaced by its text.
  [[nodiscard]] std::string substitute(std::string_view rendered) const;

 private:
  std::vector<std::string> texts_;
};

/// A rendered prompt.
struct RenderedPrompt {
  std::string text;
  /// What stands before {{shared_end}}; 0 in a template without it.
  std::size_t shared_bytes = 0;
};

/// All templates by name: the path below the directory without its extension, such as "partials/device". A file with
/// headings holds several: "{{$triton.grid}}" in hints/triton.mustache begins the template "hints/triton.grid".
/// Immutable.
class TemplateSet {
 public:
  /// Errors as make_prompt_builder().
  [[nodiscard]] static Result<TemplateSet> load(const PromptBuilderOptions& options);

  [[nodiscard]] bool contains(const std::string& name) const { return texts_.count(name) > 0; }
  /// Names that start with `prefix`, in order, with the prefix removed.
  [[nodiscard]] std::vector<std::string> names_under(const std::string& prefix) const;

  /// Makes {{>alias}} include the template `name`; nothing where there is none.
  void set_alias(TemplateData& data, const std::string& alias, const std::string& name) const;
  /// The template's text; blank lines are joined to one. Requires: contains(name). Internal when the engine fails.
  [[nodiscard]] Result<RenderedPrompt> render(const std::string& name, const TemplateData& data,
                                              const VerbatimTexts& verbatim) const;

 private:
  struct Original {
    std::string file;
    std::string text;
  };

  [[nodiscard]] Result<void> load_directory(const std::filesystem::path& directory);
  /// Adds the templates of a file; `added` holds the names that its directory has defined so far.
  [[nodiscard]] Result<void> add_file(const std::filesystem::path& path, const std::filesystem::path& relative_path,
                                      const std::string& text, std::set<std::string>& added);
  [[nodiscard]] Result<void> check() const;

  /// The templates as the engine takes them.
  std::map<std::string, std::string> texts_;
  /// The templates as they were read, for positions in messages.
  std::map<std::string, Original> originals_;
};

}  // namespace v0
}  // namespace kernelgen
