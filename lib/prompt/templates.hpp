#pragma once

/// \file
/// Template files, and rendering that leaves inserted texts alone.

#include <kainjow/mustache.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen {
inline namespace v0 {

using TemplateData = kainjow::mustache::data;

/// Texts that come from outside: sources, messages. They go through the template engine as marks of a few bytes and are
/// put in at the end, so that tidying blank lines and looking for tags never touches them.
class Inserts {
 public:
  /// What to give to the template in place of `text`.
  [[nodiscard]] std::string mark(std::string_view text);
  /// Puts the texts where their marks are.
  [[nodiscard]] std::string put_in(std::string_view rendered) const;

 private:
  std::vector<std::string> texts_;
};

/// All templates by name: the path below the directory without its extension, such as "partials/device". Immutable.
class TemplateSet {
 public:
  /// Errors as make_prompt_builder().
  [[nodiscard]] static Result<TemplateSet> load(const PromptBuilderOptions& options);

  [[nodiscard]] bool contains(const std::string& name) const { return texts_.count(name) > 0; }
  /// Names that start with `prefix`, in order, without it.
  [[nodiscard]] std::vector<std::string> names_under(const std::string& prefix) const;

  /// Lets the template say {{>alias}} for the template `name`.
  void set_alias(TemplateData& data, const std::string& alias, const std::string& name) const;
  /// The template's text; blank lines are joined to one. Requires: contains(name). Internal when the engine fails.
  [[nodiscard]] Result<std::string> render(const std::string& name, const TemplateData& data,
                                           const Inserts& inserts) const;

 private:
  [[nodiscard]] Result<void> load_directory(const std::filesystem::path& directory);
  [[nodiscard]] Result<void> check() const;

  /// As the engine wants them.
  std::map<std::string, std::string> texts_;
  /// As they were read, for positions in messages.
  std::map<std::string, std::string> originals_;
};

}  // namespace v0
}  // namespace kernelgen
