#include "task/python_text.hpp"

#include <algorithm>
#include <cctype>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string code_only(std::string_view text) {
  std::string code(text);
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

std::vector<Line> lines_of(std::string_view code) {
  std::vector<Line> lines;
  int number = 1;
  for (std::size_t start = 0; start < code.size();) {
    const int first = number;
    int depth = 0;
    auto end = start;
    for (; end < code.size() && (code[end] != '\n' || depth > 0); ++end) {
      if (opens(code[end])) ++depth;
      if (closes(code[end])) depth = std::max(depth - 1, 0);
      if (code[end] == '\n') ++number;
    }
    ++number;
    const auto line = code.substr(start, end - start);
    const auto text = trim(line);
    if (!text.empty()) lines.push_back({line.find_first_not_of(" \t\n\r"), text, first});
    start = end + 1;
  }
  return lines;
}

std::vector<Line> method_of(const std::vector<Line>& lines, std::string_view class_name, std::string_view method) {
  const auto begins = [](const Line& line, std::string_view keyword, std::string_view name) {
    const auto words = words_of(line.text);
    return words.size() > 1 && words[0].text == keyword && words[1].text == name;
  };
  const auto inside = [&](std::size_t head) {
    std::vector<Line> body;
    for (auto i = head + 1; i < lines.size() && lines[i].indent > lines[head].indent; ++i) body.push_back(lines[i]);
    return body;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!begins(lines[i], "class", class_name)) continue;
    for (auto j = i + 1; j < lines.size() && lines[j].indent > lines[i].indent; ++j)
      if (begins(lines[j], "def", method)) return inside(j);
  }
  return {};
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
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

std::size_t assignment(std::string_view line) {
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '(' || line[i] == '[' || line[i] == '{') ++depth;
    if (line[i] == ')' || line[i] == ']' || line[i] == '}') --depth;
    if (depth != 0 || line[i] != '=') continue;
    if (i + 1 < line.size() && line[i + 1] == '=') return line.npos;
    if (i > 0 && std::string_view("=!<>:").find(line[i - 1]) != line.npos) return line.npos;
    return i;
  }
  return line.npos;
}

std::size_t end_of_brackets(std::string_view text, std::size_t open) {
  int depth = 0;
  for (auto i = open; i < text.size(); ++i) {
    if (opens(text[i])) ++depth;
    if (closes(text[i]) && --depth == 0) return i + 1;
  }
  return text.size();
}

std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (opens(text[i])) {
      i = end_of_brackets(text, i);
      continue;
    }
    if (text[i] == ',') {
      parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
    ++i;
  }
  const auto last = trim(text.substr(std::min(start, text.size())));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

}  // namespace v0
}  // namespace kernelgen
