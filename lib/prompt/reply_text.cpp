#include "prompt/reply_text.hpp"

#include <algorithm>
#include <optional>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// With a deeper indent, three backticks are part of a docstring or a comment and close nothing (CommonMark's limit).
constexpr std::size_t k_max_fence_indent = 3;

/// A tag such as "think" opens a block only at the start of a line: code that mentions it keeps its text.
bool at_line_start(std::string_view text, std::size_t position) {
  while (position > 0 && (text[position - 1] == ' ' || text[position - 1] == '\t')) --position;
  return position == 0 || text[position - 1] == '\n';
}

std::size_t find_at_line_start(std::string_view text, std::string_view tag, std::size_t from) {
  for (auto found = text.find(tag, from); found != text.npos; found = text.find(tag, found + 1)) {
    if (at_line_start(text, found)) return found;
  }
  return text.npos;
}

Stripped without_blocks(std::string_view text, std::string_view opening, std::string_view closing) {
  const auto first_close = text.find(closing);
  if (first_close != text.npos && find_at_line_start(text.substr(0, first_close), opening, 0) == text.npos &&
      at_line_start(text, first_close)) {
    text.remove_prefix(first_close + closing.size());
  }
  Stripped result;
  while (true) {
    const auto begin = find_at_line_start(text, opening, 0);
    result.text += text.substr(0, begin);
    if (begin == text.npos) return result;
    const auto end = text.find(closing, begin);
    if (end == text.npos) {
      result.thought = Ending::Open;
      return result;
    }
    text.remove_prefix(end + closing.size());
  }
}

/// A line of three or more backticks or tildes.
struct FenceLine {
  char mark = '`';
  std::size_t indent = 0;
  std::size_t length = 0;
  bool has_info = false;
};

std::optional<FenceLine> parse_fence(std::string_view line) {
  FenceLine fence;
  fence.indent = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return std::nullopt;
  fence.mark = line.front();
  fence.length = std::min(line.find_first_not_of(fence.mark), line.size());
  const auto info = trim(line.substr(fence.length));
  if (fence.length < 3 || (fence.mark == '`' && info.find('`') != info.npos)) return std::nullopt;
  fence.has_info = !info.empty();
  return fence;
}

std::string_view without_indent(std::string_view line, std::size_t indent) {
  const auto blanks = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(std::min(blanks, indent));
}

/// Reads lines into blocks.
class FenceScanner {
 public:
  void take(std::string_view line) {
    const auto fence = parse_fence(line);
    if (open_ && fence && ends_block(*fence)) {
      blocks_.back().ending = Ending::Closed;
      open_.reset();
      if (!fence->has_info) return;
    }
    if (!open_ && fence) {
      open_ = fence;
      blocks_.push_back({"", Ending::Open});
    } else if (open_) {
      blocks_.back().content.append(without_indent(line, open_->indent)).push_back('\n');
    }
  }

  [[nodiscard]] bool saw_fence() const { return !blocks_.empty(); }
  std::vector<FencedBlock> finish() { return std::move(blocks_); }

 private:
  [[nodiscard]] bool ends_block(const FenceLine& fence) const {
    if (fence.mark != open_->mark || fence.indent > open_->indent + k_max_fence_indent) return false;
    return fence.has_info ? fence.length == open_->length : fence.length >= open_->length;
  }

  std::optional<FenceLine> open_;
  std::vector<FencedBlock> blocks_;
};

}  // namespace

std::string normalize_lines(std::string_view text) {
  text = without_byte_order_mark(text);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain.push_back(text[i]);
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      plain.push_back('\n');
    }
  }
  return plain;
}

Stripped without_thoughts(std::string_view text) {
  auto first = without_blocks(text, "<think>", "</think>");
  auto second = without_blocks(first.text, "<thinking>", "</thinking>");
  if (first.thought == Ending::Open) second.thought = Ending::Open;
  return second;
}

std::string_view last_answer(std::string_view text) {
  constexpr std::string_view k_open = "<answer>";
  const auto begin = text.rfind(k_open);
  if (begin == text.npos || !at_line_start(text, begin)) return {};
  text.remove_prefix(begin + k_open.size());
  return text.substr(0, text.find("</answer>"));
}

std::string without_answer_tags(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (const auto line : split_lines(text)) {
    const auto content = trim(line);
    if (content != "<answer>" && content != "</answer>") kept.append(line).push_back('\n');
  }
  return kept;
}

Fences find_fences(std::string_view text) {
  Fences fences{{}, text.size()};
  FenceScanner scanner;
  for (const auto line : split_lines(text)) {
    scanner.take(line);
    if (scanner.saw_fence() && fences.first == text.size())
      fences.first = static_cast<std::size_t>(line.data() - text.data());
  }
  fences.blocks = scanner.finish();
  return fences;
}

}  // namespace v0
}  // namespace kernelgen
