#include "prompt/python_words.hpp"

#include <algorithm>
#include <cctype>

namespace kernelgen {
inline namespace v0 {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string code_only(std::string_view python) {
  std::string code(python);
  const auto text = python;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (auto i = from; i < std::min(to, code.size()); ++i)
      if (code[i] != '\n') code[i] = ' ';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      const auto end = std::min(text.find('\n', i), text.size());
      blank(i, end);
      i = end;
    } else if (text[i] == '"' || text[i] == '\'') {
      const std::string_view one = text.substr(i, 1);
      const std::string three(3, text[i]);
      const bool is_long = text.substr(i, 3) == three;
      const std::string_view quote = is_long ? std::string_view(three) : one;
      auto end = i + quote.size();
      while (end < text.size() && text.substr(end, quote.size()) != quote && (is_long || text[end] != '\n'))
        end += text[end] == '\\' ? 2 : 1;
      blank(i, end + quote.size());
      i = end + quote.size() - 1;
    }
  }
  return code;
}

std::vector<PythonWord> words_of(std::string_view text) {
  std::vector<PythonWord> words;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    auto end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    words.push_back({text.substr(i, end - i), i > 0 ? text[i - 1] : ' ', end < text.size() ? text[end] : ' '});
    i = end;
  }
  return words;
}

}  // namespace v0
}  // namespace kernelgen
