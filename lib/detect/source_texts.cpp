#include "detect/source_texts.hpp"

#include <algorithm>
#include <array>

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// A Python literal with its prefix.
struct Literal {
  std::string_view text;
  int line = 0;
  bool raw = false;
  bool formatted = false;
};

Literal literal_of(const Token& token, std::string_view source) {
  Literal literal{token.text, token.line};
  auto at = static_cast<std::size_t>(token.text.data() - source.data());
  for (int quotes = 0; quotes < 3 && at > 0 && (source[at - 1] == '"' || source[at - 1] == '\''); ++quotes) --at;
  for (int letters = 0; at > 0 && letters < 2; --at, ++letters) {
    const char letter = source[at - 1];
    if (letter != 'r' && letter != 'R' && letter != 'f' && letter != 'F' && letter != 'b' && letter != 'B') break;
    literal.raw = literal.raw || letter == 'r' || letter == 'R';
    literal.formatted = literal.formatted || letter == 'f' || letter == 'F';
  }
  return literal;
}

/// Decodes the text of a literal. Its
///  escapes become carriage returns, so that the lines of the file can still be counted.
void decode(const Literal& literal, std::string& text) {
  const auto from = literal.text;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const char c = from[i];
    const char next = i + 1 < from.size() ? from[i + 1] : '\0';
    if (c == '\\' && !literal.raw) {
      if (next == 'n')
        text += '\r';
      else if (next == 't')
        text += ' ';
      else if (next == '\n')
        text += '\n';
      else
        text += next;
      ++i;
    } else if (literal.formatted && (c == '{' || c == '}') && next == c) {
      text += c;
      ++i;
    } else if (literal.formatted && c == '{') {
      const auto end = from.find('}', i);
      const auto inside = from.substr(i + 1, (end == from.npos ? from.size() : end) - i - 1);
      text += ' ';
      text += inside;
      text += ' ';
      i = end == from.npos ? from.size() : end;
    } else {
      text += c;
    }
  }
}

bool is_c_source(std::string_view text) {
  constexpr std::array<std::string_view, 8> k_marks{"__global__", "__device__", "<<<",     "torch::Tensor",
                                                    "at::Tensor", "#include",   "#define", "LaunchKernel"};
  return std::any_of(k_marks.begin(), k_marks.end(),
                     [&](std::string_view mark) { return text.find(mark) != text.npos; });
}

/// A text that is a whole statement is a comment.
bool is_docstring(const Tokens& tokens, Position first, Position end) {
  const auto breaks = [&](Position at) {
    return at >= tokens.size() || tokens.list[at].kind == TokenKind::Newline ||
           tokens.list[at].kind == TokenKind::Indent || tokens.list[at].kind == TokenKind::Dedent;
  };
  return (first == 0 || breaks(first - 1)) && breaks(end);
}

}  // namespace

std::vector<InlineText> inline_texts(const Tokens& tokens, std::string_view source) {
  std::vector<InlineText> texts;
  for (Position at = 0; at < tokens.size(); ++at) {
    if (tokens.list[at].kind != TokenKind::String) continue;
    const Position first = at;
    InlineText text{{}, tokens.list[at].line};
    int line = text.line;
    // Adjacent literals are one text, also with a plus between them.
    for (;; at += tokens.is(at + 1, "+") ? 2 : 1) {
      auto literal = literal_of(tokens.list[at], source);
      if (tokens.is(at + 1, ".") && tokens.is(at + 2, "format")) literal.formatted = true;
      if (literal.line > line) text.source.append(static_cast<std::size_t>(literal.line - line), '\n');
      if (tokens.syntax == Syntax::Python)
        decode(literal, text.source);
      else
        text.source += literal.text;
      line = literal.line + static_cast<int>(std::count(literal.text.begin(), literal.text.end(), '\n'));
      const Position next = at + (tokens.is(at + 1, "+") ? 2U : 1U);
      if (next >= tokens.size() || tokens.list[next].kind != TokenKind::String) break;
    }
    if (is_c_source(text.source) && !is_docstring(tokens, first, at + 1)) texts.push_back(std::move(text));
  }
  return texts;
}

void read_imports(Tokens& tokens) {
  std::vector<std::string_view> modules;
  std::vector<std::string_view> operations;
  for (Position at = 0; at + 2 < tokens.size(); ++at) {
    const bool from = tokens.is(at, "from");
    if ((!from && !tokens.is(at, "import")) || !tokens.is_name(at + 1)) continue;
    const bool device = tokens.is(at + 1, "triton");
    const bool other_jit = !device && tokens.is(at + 1, "numba");
    Position end = at + 1;
    while (end < tokens.size() && tokens.list[end].kind != TokenKind::Newline) ++end;
    Position names = at + 1;
    while (from && names < end && !tokens.is(names, "import")) ++names;
    for (Position p = names; (device || other_jit) && p < end; ++p) {
      if (!tokens.is_name(p) || tokens.is(p, "as") || tokens.is(p, "import") || tokens.is(p + 1, "as")) continue;
      const bool renamed = tokens.is(p - 1, "as");
      const auto original = tokens.list[renamed ? p - 2 : p].text;
      const auto name = tokens.list[p].text;
      if (original == "jit") {
        if (device)
          tokens.jit_names.push_back(name);
        else
          tokens.foreign.push_back(name);
      } else if (device && (from || renamed)) {
        modules.push_back(name);
        operations.push_back(name);
      }
    }
    at = end > at ? end - 1 : at;
  }
  constexpr std::size_t k_max_names = 64;
  modules.resize(std::min(modules.size(), k_max_names));
  operations.resize(std::min(operations.size(), k_max_names));
  tokens.modules.insert(tokens.modules.end(), modules.begin(), modules.end());
  tokens.operations.insert(tokens.operations.end(), operations.begin(), operations.end());
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
