#include "flow/same_code.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

/// True for characters that no blank beside them can join to another token.
bool is_bracket(char c) { return std::string_view("()[]{};,").find(c) != std::string_view::npos; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Copies a source piece by piece. The detector's lexers are not used: they drop pragmas and what stands behind `#if`.
class EssenceWriter {
 public:
  explicit EssenceWriter(std::string_view source) : source_(source) { essence_.reserve(source.size()); }

  std::string read_c() && {
    while (at_ < source_.size()) step_c();
    end_line();
    return std::move(essence_);
  }

  std::string read_python() && {
    while (at_ < source_.size()) step_python();
    end_line();
    return std::move(essence_);
  }

 private:
  [[nodiscard]] bool sees(std::string_view text) const { return source_.substr(at_, text.size()) == text; }
  [[nodiscard]] bool at_line_start() const { return essence_.empty() || essence_.back() == '\n'; }

  /// Reads so many bytes as one blank. One blank stands for several, and none beside a bracket, except in directives.
  void skip_blank(std::size_t bytes) {
    has_blank_ = true;
    at_ = std::min(at_ + bytes, source_.size());
  }

  void put(char c) {
    const bool needed = !at_line_start() && (in_directive_ || (!is_bracket(c) && !is_bracket(essence_.back())));
    if (has_blank_ && needed) essence_ += ' ';
    has_blank_ = false;
    essence_ += c;
  }

  /// Ends a line of the essence unless it is empty.
  void end_line() {
    has_blank_ = false;
    if (!at_line_start()) essence_ += '\n';
  }

  void copy_to(std::size_t end) {
    for (; at_ < std::min(end, source_.size()); ++at_) essence_ += source_[at_];
  }

  void step_c() {
    const char c = source_[at_];
    if (sees("\\\n")) return skip_blank(2);
    if (sees("\\\r\n")) return skip_blank(3);
    if (c == '\n') {
      if (in_directive_) end_line();
      in_directive_ = false;
      fresh_line_ = true;
    }
    if (c == '\n' || is_blank(c)) return skip_blank(1);
    if (sees("//")) return skip_line_comment();
    if (sees("/*")) return skip_block_comment();
    if (c == '#' && fresh_line_) {
      end_line();
      in_directive_ = true;
    }
    fresh_line_ = false;
    put(c);
    ++at_;
    if (c == '"') return copy_quoted(c);
    // Between digits it separates thousands.
    if (c == '\'' && !(at_ > 1 && is_word(source_[at_ - 2]))) copy_quoted(c);
  }

  void skip_line_comment() {
    has_blank_ = true;
    for (; at_ < source_.size() && source_[at_] != '\n'; ++at_)
      if (sees("\\\n")) ++at_;
  }

  void skip_block_comment() {
    const auto end = source_.find("*/", at_ + 2);
    skip_blank(end == source_.npos ? source_.size() : end + 2 - at_);
  }

  /// Copies what follows an opening quote, to its end.
  void copy_quoted(char quote) {
    if (quote == '"' && at_ > 1 && source_[at_ - 2] == 'R') return copy_raw();
    for (; at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n'; ++at_) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) essence_ += source_[at_++];
      essence_ += source_[at_];
    }
    copy_to(at_ + 1);
  }

  /// R"name(...)name"
  void copy_raw() {
    const auto open = source_.find('(', at_);
    if (open == source_.npos) return;
    const auto close = ")" + std::string(source_.substr(at_, open - at_)) + "\"";
    const auto end = source_.find(close, open);
    copy_to(end == source_.npos ? source_.size() : end + close.size());
  }

  void step_python() {
    const char c = source_[at_];
    if (c == '\n') end_line();
    if (c == '\n') return static_cast<void>(++at_);
    if (c == '#') {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      return;
    }
    if (is_blank(c)) return python_blanks();
    put(c);
    ++at_;
    if (c == '"' || c == '\'') copy_python_string(c);
  }

  /// Blanks at the start of a line are structure.
  void python_blanks() {
    const auto start = at_;
    while (at_ < source_.size() && is_blank(source_[at_])) ++at_;
    if (!at_line_start()) return skip_blank(0);
    const bool is_empty = at_ == source_.size() || source_[at_] == '\n' || source_[at_] == '#';
    if (!is_empty) essence_.append(source_.substr(start, at_ - start));
  }

  void copy_python_string(char quote) {
    const std::string triple(3, quote);
    const bool is_long = source_.substr(at_ - 1, triple.size()) == triple;
    const std::string close = is_long ? triple : std::string(1, quote);
    if (is_long) copy_to(at_ + 2);
    for (; at_ < source_.size() && !sees(close) && (is_long || source_[at_] != '\n'); ++at_) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) essence_ += source_[at_++];
      essence_ += source_[at_];
    }
    copy_to(at_ + close.size());
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::string essence_;
  bool has_blank_ = false;
  bool in_directive_ = false;
  bool fresh_line_ = true;
};

}  // namespace

std::string code_essence(std::string_view source, Language language) {
  if (language == Language::Custom) return std::string(source);
  EssenceWriter writer(source);
  return language == Language::Python ? std::move(writer).read_python() : std::move(writer).read_c();
}

bool is_same_code(const Candidate& a, const Candidate& b) {
  if (a.target != b.target || a.language != b.language) return false;
  return a.id == b.id || code_essence(a.source, a.language) == code_essence(b.source, b.language);
}

}  // namespace v0
}  // namespace kernelgen
