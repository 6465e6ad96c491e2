#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include <kernelgen/prompt/reply_reader.hpp>

#include "prompt/reply_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

// Far longer than any kernel, and still cheap to read.
constexpr std::size_t k_max_reply_bytes = 8u << 20;
constexpr std::size_t k_max_code_bytes = 1u << 20;
constexpr int k_max_nesting = 4;

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\n", at), text.size());
}

/// Whether a function of that name has a body here; a declaration in an explanation has none.
bool defines_function(std::string_view text, std::string_view name) {
  for (auto at = find_word(text, name); at != text.npos; at = find_word(text, name, at + 1)) {
    const auto parameters = skip_blanks(text, at + name.size());
    if (parameters == text.size() || text[parameters] != '(') continue;
    // Parameters of an entry point hold no parentheses, so the first closing one ends them.
    const auto close = text.find_first_of("(){};", parameters + 1);
    if (close == text.npos || text[close] != ')') continue;
    auto body = skip_blanks(text, close + 1);
    constexpr std::string_view k_noexcept = "noexcept";
    if (text.substr(body, k_noexcept.size()) == k_noexcept) body = skip_blanks(text, body + k_noexcept.size());
    if (body < text.size() && text[body] == '{') return true;
  }
  return false;
}

bool defines_class(std::string_view text, std::string_view name) {
  for (auto at = find_word(text, name); at != text.npos; at = find_word(text, name, at + 1)) {
    const auto before = trim(text.substr(0, at));
    const auto after = skip_blanks(text, at + name.size());
    constexpr std::string_view k_class = "class";
    if (before.size() >= k_class.size() && before.substr(before.size() - k_class.size()) == k_class &&
        after < text.size() && (text[after] == '(' || text[after] == ':')) {
      return true;
    }
  }
  return false;
}

bool holds_entry_point(std::string_view code, Target target) {
  if (!is_built_in(target)) {
    const auto& word = traits_of(target).entry_point;
    return word.empty() || has_word(code, word);
  }
  return is_native(target) ? defines_function(code, "kgen_run") : defines_class(code, "ModelNew");
}

/// True for a whole file, false for a single function quoted in an explanation.
bool is_whole(std::string_view code, Target target) {
  if (!is_built_in(target)) return true;
  return is_native(target) ? has_word(code, "include") && has_word(code, "kgen_prepare") : has_word(code, "import");
}

struct Found {
  std::string code;
  Ending ending = Ending::Closed;
};

/// The last block with the entry point; a whole file wins over a quoted function. Fences inside a block win over the
/// block, which then only framed prose.
std::optional<Found> find_in_fences(std::string_view text, Target target, int depth) {
  auto fences = find_fences(text);
  std::optional<Found> best;
  for (auto& block : fences.blocks) {
    if (!holds_entry_point(block.content, target)) continue;
    std::optional<Found> found;
    if (depth < k_max_nesting) found = find_in_fences(block.content, target, depth + 1);
    if (!found) found = Found{std::move(block.content), block.ending};
    if (!best || is_whole(found->code, target) || !is_whole(best->code, target)) best = std::move(found);
  }
  return best;
}

std::string_view first_line(std::string_view text) {
  text = trim(text);
  return trim(text.substr(0, text.find('\n')));
}

template <std::size_t N>
bool starts_with_any(std::string_view text, const std::array<std::string_view, N>& starts) {
  return std::any_of(starts.begin(), starts.end(), [&](auto start) { return text.substr(0, start.size()) == start; });
}

/// Whether a text without fences begins like a source file. Nothing is known about those of other targets.
bool begins_like_code(std::string_view text, Target target) {
  static constexpr auto k_native = std::to_array<std::string_view>(
      {"#include", "#define", "#pragma", "#if", "//", "/*", "using ", "namespace ", "extern ", "static ", "template",
       "constexpr ", "inline ", "struct ", "typedef ", "__global__", "__device__", "__constant__", "KGEN_"});
  static constexpr auto k_python = std::to_array<std::string_view>(
      {"import ", "from ", "#!", "# ", "\"\"\"", "'''", "@", "class ", "def ", "r\"\"\""});
  if (!is_built_in(target)) return false;
  const auto line = first_line(text);
  return is_native(target) ? starts_with_any(line, k_native) : starts_with_any(line, k_python);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_html(std::string_view text) {
  static constexpr auto k_starts = std::to_array<std::string_view>({"<!doctype", "<html", "<head", "<body", "<?xml"});
  return starts_with_any(lower(trim(text).substr(0, 16)), k_starts);
}

std::optional<Found> find_code(const std::string& text, Target target) {
  const auto search = [&](std::string_view where) -> std::optional<Found> {
    if (auto fenced = find_in_fences(where, target, 0)) return fenced;
    // There are no fences, or only a closing one, because the prompt contained the opening one.
    const auto plain = where.substr(0, find_fences(where).first);
    if (!holds_entry_point(plain, target) || !begins_like_code(plain, target)) return std::nullopt;
    return Found{std::string(plain), plain.size() < where.size() ? Ending::Closed : Ending::Open};
  };
  if (const auto answer = last_answer(text); !answer.empty()) {
    if (auto found = search(answer)) return found;
  }
  return search(without_answer_tags(text));
}

std::string entry_point_name(Target target) {
  if (!is_built_in(target)) return "the word " + traits_of(target).entry_point;
  return is_native(target) ? "a definition of kgen_run" : "a class ModelNew";
}

/// Tells the model why nothing was found.
std::string describe_absence(const Reply& reply, const Stripped& stripped, Target target) {
  const bool cut = reply.finish == FinishReason::Length;
  if (trim(reply.text).empty())
    return cut ? "the output limit was reached before anything was written" : "the reply is empty";
  if (stripped.thought == Ending::Open)
    return cut ? "the output limit was reached while still thinking: think less, and write the file"
               : "the reply ends inside <think> and holds no code";
  const auto fences = find_fences(stripped.text);
  if (cut && !fences.blocks.empty() && fences.blocks.back().ending == Ending::Open)
    return "the reply was cut by the output limit in the middle of its code: write a shorter file";
  if (cut) return "the reply was cut by the output limit before its code: write the file first, and little else";
  if (!fences.blocks.empty())
    return fmt::format("no code block of the reply holds {}: write the whole file into one block",
                       entry_point_name(target));
  const auto start = trim(stripped.text);
  if (!start.empty() && (start.front() == '{' || start.front() == '['))
    return "the reply is JSON, not code: " + sanitize_line(start, 120);
  return "the reply holds no code block; it begins: " + sanitize_line(first_line(start), 120);
}

ExtractedCode nothing(std::string problem) { return {std::nullopt, std::move(problem), {}}; }

/// What stands behind "Change:" at the start of a line, whatever marks surround the word; nothing for other lines.
std::optional<std::string_view> after_change(std::string_view line) {
  constexpr std::string_view k_marks = "*_#>- \t`";
  constexpr std::string_view k_word = "change";
  const auto skip = [&] { line.remove_prefix(std::min(line.find_first_not_of(k_marks), line.size())); };
  skip();
  if (lower(line.substr(0, k_word.size())) != k_word) return std::nullopt;
  line.remove_prefix(k_word.size());
  skip();
  if (line.empty() || line.front() != ':') return std::nullopt;
  line.remove_prefix(1);
  skip();
  return line;
}

/// The first line "Change: ..." before any fence, without backticks, which could begin or end code in a prompt.
std::string find_change(std::string_view text) {
  const auto explanation = text.substr(0, find_fences(text).first);
  for (const auto line : split_lines(explanation)) {
    const auto found = after_change(line);
    if (!found) continue;
    std::string change(found->substr(0, 4 * k_max_change));
    std::erase(change, '`');
    return std::string(trim(sanitize_line(trim(change), k_max_change)));
  }
  return {};
}

/// From the first to the last line that is not blank, with a line end.
std::string without_blank_ends(std::string_view code) {
  const auto first = code.find_first_not_of(" \t\n");
  const auto line = first == code.npos ? 0 : code.rfind('\n', first);
  code.remove_prefix(line == code.npos ? 0 : line + (first == code.npos || code[line] != '\n' ? 0 : 1));
  const auto last = code.find_last_not_of(" \t\n");
  return std::string(code.substr(0, last == code.npos ? 0 : last + 1)) + "\n";
}

}  // namespace

ExtractedCode extract_code(const Reply& reply, Target target) {
  if (reply.text.size() > k_max_reply_bytes)
    return nothing(fmt::format("the reply is longer than {} MiB", k_max_reply_bytes >> 20));
  if (reply.finish == FinishReason::Refused)
    return nothing("the provider's filter refused an answer" +
                   (trim(reply.text).empty() ? "" : ": " + sanitize_line(first_line(reply.text), 120)));
  const auto stripped = without_thoughts(normalize_lines(reply.text));
  if (is_html(stripped.text)) return nothing("the reply is an HTML page, not code");
  auto found = find_code(stripped.text, target);
  if (!found) return nothing(describe_absence(reply, stripped, target));
  if (reply.finish == FinishReason::Length && found->ending == Ending::Open)
    return nothing("the reply was cut by the output limit in the middle of its code: write a shorter file");
  if (found->code.size() > k_max_code_bytes)
    return nothing(fmt::format("the code is longer than {} MiB", k_max_code_bytes >> 20));
  if (found->code.find('\0') != std::string::npos) return nothing("the code holds a NUL character");
  return {without_blank_ends(found->code), "", find_change(stripped.text)};
}

}  // namespace v0
}  // namespace kernelgen
