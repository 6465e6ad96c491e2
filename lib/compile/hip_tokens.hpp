#pragma once

/// \file
/// The tokens of a HIP source with their places in it, for edits of the text.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A token, in bytes of the text.
struct HipToken {
  std::size_t begin = 0;
  std::size_t end = 0;
  /// The directive of the preprocessor that it belongs to, counted from 1; 0: none.
  int directive = 0;
  bool is_name = false;
  bool is_string = false;
};

/// A source as tokens: names, numbers, strings, operators of one character, and `<<<` and `::`. Comments are left out,
/// and of directives all but the bodies of macros.
class HipTokens {
 public:
  explicit HipTokens(std::string_view text);

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const HipToken& operator[](std::size_t at) const { return tokens_[at]; }
  /// The text of a token; empty past the end.
  [[nodiscard]] std::string_view text(std::size_t at) const {
    return at < tokens_.size() ? text_.substr(tokens_[at].begin, tokens_[at].end - tokens_[at].begin)
                               : std::string_view();
  }
  /// The text from one token to another, both included.
  [[nodiscard]] std::string_view between(std::size_t first, std::size_t last) const {
    return text_.substr(tokens_[first].begin, tokens_[last].end - tokens_[first].begin);
  }
  [[nodiscard]] bool is(std::size_t at, std::string_view wanted) const {
    return at < tokens_.size() && !tokens_[at].is_string && text(at) == wanted;
  }
  [[nodiscard]] bool is_name(std::size_t at) const { return at < tokens_.size() && tokens_[at].is_name; }
  /// The partner of a bracket; size() if it has none.
  [[nodiscard]] std::size_t partner(std::size_t at) const { return partners_[at]; }
  /// True if a token lies in the body of a function.
  [[nodiscard]] bool is_in_function(std::size_t at) const { return in_function_[at]; }

 private:
  void match_brackets();

  std::string_view text_;
  std::vector<HipToken> tokens_;
  std::vector<std::size_t> partners_;
  std::vector<bool> in_function_;
};

}  // namespace v0
}  // namespace kernelgen
