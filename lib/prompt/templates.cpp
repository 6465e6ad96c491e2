#include "prompt/templates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>

#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_template_extension = ".mustache";
/// Begins a template in a file with several: "{{$triton.grid}}", alone in its line.
constexpr std::string_view k_heading = "{{$";
constexpr std::size_t k_max_template_bytes = 1u << 20;

// Control characters that no template may contain.
constexpr char k_mark_begin = '\x01';
constexpr char k_mark_end = '\x02';
constexpr char k_blank_line = '\x03';
constexpr char k_shared_end = '\x04';

/// Names of partials that depend on the request.
constexpr std::string_view k_aliases[] = {"target_rules", "target_example", "variant_advice", "error_hint",
                                          "first_split",  "second_split",   "third_split"};

std::size_t line_of(std::string_view text, std::size_t position) {
  const auto before = text.substr(0, std::min(position, text.size()));
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

/// Removes comments first; a comment that fills whole lines takes them along.
std::string without_comments(std::string_view text) {
  std::string kept;
  while (true) {
    const auto begin = text.find("{{!");
    const auto end = begin == text.npos ? text.npos : text.find("}}", begin);
    kept += text.substr(0, end == text.npos ? text.npos : begin);
    if (end == text.npos) return kept;
    text.remove_prefix(end + 2);
    const auto blanks = std::min(text.find_first_not_of(" \t"), text.size());
    if ((kept.empty() || kept.back() == '\n') && blanks < text.size() && text[blanks] == '\n')
      text.remove_prefix(blanks + 1);
  }
}

/// Whether a line consists of one tag that prints nothing itself.
bool is_standalone_tag(std::string_view line) {
  line = trim(line);
  return line.size() > 5 && line.substr(0, 2) == "{{" && line.find("}}") == line.size() - 2 &&
         std::string_view("#^/>").find(line[2]) != line.npos;
}

/// Blank lines between the templates of a file belong to none of them.
std::string_view without_outer_blank_lines(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  if (last == text.npos) return {};
  text = text.substr(0, std::min(text.find('\n', last), text.size() - 1) + 1);
  const auto line_end = text.rfind('\n', text.find_first_not_of(" \t\r\n"));
  return line_end == text.npos ? text : text.substr(line_end + 1);
}

/// The engine removes lines of standalone sections only where a section is shown, and blank lines after them. Here such
/// a tag gives up its line end, and blank lines are marked, so that both appear as written.
std::string prepare(std::string_view text) {
  std::string prepared;
  const auto plain = without_comments(text);
  for (const auto line : split_lines(plain)) {
    if (is_standalone_tag(line)) {
      prepared += trim(line);
    } else {
      if (trim(line).empty()) prepared.push_back(k_blank_line);
      prepared.append(line).push_back('\n');
    }
  }
  return prepared;
}

/// Joins several blank lines to one, and removes those at the beginning and the end.
std::string tidy(std::string_view rendered) {
  std::string result;
  bool blank_before = false;
  for (auto line : split_lines(rendered)) {
    while (!line.empty() && (line.back() == ' ' || line.back() == k_blank_line)) line.remove_suffix(1);
    const auto first = line.find_first_not_of(k_blank_line);
    line.remove_prefix(std::min(first, line.size()));
    if (line.empty()) {
      blank_before = !result.empty();
      continue;
    }
    if (blank_before) result.push_back('\n');
    blank_before = false;
    result.append(line).push_back('\n');
  }
  return result;
}

std::string describe_engine_error(std::string_view text, std::string message) {
  const auto space = message.rfind(' ');
  std::size_t position = 0;
  const char* end = message.data() + message.size();
  if (space != message.npos && std::from_chars(message.data() + space + 1, end, position).ptr == end &&
      message.size() > space + 1) {
    message = message.substr(0, message.rfind(" at "));
    return fmt::format("{}: {}", line_of(text, position), message);
  }
  return fmt::format("1: {}", message);
}

/// A template as in its file. Empty lines in front keep the file's line numbers.
struct NamedText {
  std::string name;
  std::string text;
};

/// The names in a heading: "{{$cuda/tiling hip/tiling}}" has two.
std::vector<std::string> names_in_heading(std::string_view line) {
  std::vector<std::string> names;
  const auto inner = line.substr(k_heading.size(), line.find("}}") - k_heading.size());
  for (const auto name : split(inner, ' '))
    if (!name.empty()) names.emplace_back(name);
  return names;
}

/// The templates of a file: one with the file's own name, or those of its headings, below the file's folder.
Result<std::vector<NamedText>> split_file(const fs::path& relative_path, std::string_view text) {
  const auto folder = relative_path.parent_path();
  std::vector<NamedText> templates;
  std::vector<std::string> names;
  std::string body;
  const auto finish = [&] {
    for (const auto& name : names) templates.push_back({(folder / name).generic_string(), body});
  };
  std::size_t number = 0;
  for (const auto line : split_lines(text)) {
    ++number;
    if (!trim(line).starts_with(k_heading)) {
      body.append(line).push_back('\n');
      continue;
    }
    if (names.empty() && !trim(without_comments(body)).empty())
      return Error{ErrorCode::InvalidArgument, fmt::format("{}: text stands before the first heading", number)};
    finish();
    if (!trim(line).ends_with("}}") || (names = names_in_heading(trim(line))).empty())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: a heading is {{{{$NAME}}}}, alone in its line", number)};
    body.assign(number, '\n');
  }
  if (names.empty())
    templates.push_back({fs::path(relative_path).replace_extension().generic_string(), std::string(text)});
  finish();
  return templates;
}

/// The engine's reason to refuse a template, as "line: reason"; empty when it accepts it.
std::string parse_problem(const std::string& text) {
  try {
    const kainjow::mustache::mustache parsed(text);
    return parsed.is_valid() ? "" : describe_engine_error(text, parsed.error_message());
  } catch (const std::exception& error) {
    return fmt::format("{}: {}", line_of(text, text.size()), error.what());
  }
}

/// The line with the mark goes, and the blank line after it.
RenderedPrompt without_mark(std::string_view tidied, const VerbatimTexts& verbatim) {
  const auto mark = tidied.find(k_shared_end);
  if (mark == tidied.npos) return {verbatim.substitute(tidied)};
  RenderedPrompt prompt{verbatim.substitute(tidied.substr(0, mark))};
  prompt.shared_bytes = prompt.text.size();
  tidied.remove_prefix(std::min(tidied.find_first_not_of('\n', mark + 1), tidied.size()));
  prompt.text += verbatim.substitute(tidied);
  return prompt;
}

}  // namespace

std::string VerbatimTexts::placeholder(std::string_view text) {
  texts_.emplace_back(is_valid_utf8(text) ? std::string(text) : sanitize_text(text, text.size() * 3));
  return fmt::format("{}{}{}", k_mark_begin, texts_.size() - 1, k_mark_end);
}

std::string VerbatimTexts::substitute(std::string_view rendered) const {
  std::string result;
  while (true) {
    const auto begin = rendered.find(k_mark_begin);
    const auto end = begin == rendered.npos ? rendered.npos : rendered.find(k_mark_end, begin);
    result += rendered.substr(0, end == rendered.npos ? rendered.npos : begin);
    if (end == rendered.npos) return result;
    std::size_t index = texts_.size();
    std::from_chars(rendered.data() + begin + 1, rendered.data() + end, index);
    if (index < texts_.size()) result += texts_[index];
    rendered.remove_prefix(end + 1);
  }
}

Result<TemplateSet> TemplateSet::load(const PromptBuilderOptions& options) {
  TemplateSet set;
  KERNELGEN_CHECK(set.load_directory(options.directory));
  if (!options.overrides.empty()) KERNELGEN_CHECK(set.load_directory(options.overrides));
  KERNELGEN_CHECK(set.check());
  return set;
}

Result<void> TemplateSet::load_directory(const fs::path& directory) {
  std::error_code failed;
  fs::recursive_directory_iterator entries(directory, failed);
  if (failed) return errno_error(failed.value(), "cannot read the templates in " + directory.string());
  std::set<std::string> added;
  for (const auto end = fs::recursive_directory_iterator(); entries != end; entries.increment(failed)) {
    if (failed) return errno_error(failed.value(), "cannot read the templates in " + directory.string());
    const auto& path = entries->path();
    if (path.extension() != k_template_extension || !entries->is_regular_file(failed)) continue;
    KERNELGEN_TRY(const auto text, read_file(path, k_max_template_bytes));
    KERNELGEN_CHECK(add_file(path, path.lexically_relative(directory), text, added));
  }
  return {};
}

Result<void> TemplateSet::add_file(const fs::path& path, const fs::path& relative_path, const std::string& text,
                                   std::set<std::string>& added) {
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r';
  });
  if (bad != text.end() || !is_valid_utf8(text))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}:{}: a template is UTF-8 text without control characters", path.string(),
                             line_of(text, static_cast<std::size_t>(bad - text.begin())))};
  auto templates = split_file(relative_path, text);
  if (!templates) return Error{ErrorCode::InvalidArgument, path.string() + ":" + templates.error().message};
  for (auto& [name, original] : *templates) {
    if (!added.insert(name).second)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: the template {} is defined twice in its directory", path.string(), name)};
    if (const auto problem = parse_problem(original); !problem.empty())
      return Error{ErrorCode::InvalidArgument, path.string() + ":" + problem};
    texts_[name] = prepare(without_outer_blank_lines(original));
    originals_[name] = {path.string(), std::move(original)};
  }
  return {};
}

// The engine would render a missing partial as nothing, without an error.
Result<void> TemplateSet::check() const {
  for (const auto& [name, original] : originals_) {
    const auto& [file, text] = original;
    for (auto at = text.find("{{>"); at != text.npos; at = text.find("{{>", at + 1)) {
      const std::string partial(trim(std::string_view(text).substr(at + 3, text.find("}}", at) - at - 3)));
      const bool known =
          contains(partial) || std::find(std::begin(k_aliases), std::end(k_aliases), partial) != std::end(k_aliases);
      if (!known)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("{}:{}: there is no template named {}", file, line_of(text, at), partial)};
    }
  }
  return {};
}

std::vector<std::string> TemplateSet::names_under(const std::string& prefix) const {
  std::vector<std::string> names;
  for (auto at = texts_.lower_bound(prefix); at != texts_.end() && at->first.substr(0, prefix.size()) == prefix; ++at)
    names.push_back(at->first.substr(prefix.size()));
  return names;
}

void TemplateSet::set_alias(TemplateData& data, const std::string& alias, const std::string& name) const {
  const auto found = texts_.find(name);
  data.set(alias, found == texts_.end() ? std::string() : found->second);
}

Result<RenderedPrompt> TemplateSet::render(const std::string& name, const TemplateData& data,
                                           const VerbatimTexts& verbatim) const {
  try {
    auto all = data;
    all.set("shared_end", std::string(1, k_shared_end));
    for (const auto& [partial, text] : texts_) all.set(partial, text);
    kainjow::mustache::mustache engine(texts_.at(name));
    engine.set_custom_escape([](const std::string& text) { return text; });
    auto rendered = engine.render(all);
    if (!engine.is_valid()) return Error{ErrorCode::Internal, "template " + name + ": " + engine.error_message()};
    return without_mark(tidy(rendered), verbatim);
  } catch (const std::exception& error) {
    return Error{ErrorCode::Internal, "template " + name + ": " + error.what()};
  }
}

}  // namespace v0
}  // namespace kernelgen
