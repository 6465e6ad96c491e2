#include "prompt/recurrence.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "prompt/python_words.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr auto k_layers = std::to_array<std::string_view>({"GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"});

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Line {
  std::size_t indent = 0;
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view code) {
  std::vector<Line> lines;
  for (const auto line : split_lines(code)) {
    const auto text = trim(line);
    if (!text.empty()) lines.push_back({line.find_first_not_of(" \t"), text});
  }
  return lines;
}

bool uses_recurrent_layer(std::string_view code) {
  const auto words = words_of(code);
  return std::any_of(words.begin(), words.end(), [](const PythonWord& word) {
    return word.after == '(' && std::find(k_layers.begin(), k_layers.end(), word.text) != k_layers.end();
  });
}

/// Where an assignment's "=" or "+=" stands; npos when the line is none.
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

/// Whether some tensor is indexed by `variable`: x[:, t], but not self.layers[t].
bool takes_slice(std::string_view line, std::string_view variable) {
  for (auto open = line.find('['); open != line.npos; open = line.find('[', open + 1)) {
    const auto inside = words_of(line.substr(open, std::min(line.find(']', open), line.size()) - open));
    const bool indexed =
        std::any_of(inside.begin(), inside.end(), [&](const PythonWord& w) { return w.text == variable; });
    auto begin = open;
    while (begin > 0 && (is_word(line[begin - 1]) || line[begin - 1] == '.')) --begin;
    const auto base = line.substr(begin, open - begin);
    if (indexed && !base.empty() && base.substr(0, 5) != "self.") return true;
  }
  return false;
}

/// Whether a name that is assigned here is read here before it is assigned: the value of the turn before.
bool carries_state(const std::vector<Line>& body) {
  std::set<std::string_view> read;
  for (const auto& line : body) {
    const auto equals = assignment(line.text);
    const auto right = equals == line.text.npos ? line.text : line.text.substr(equals + 1);
    for (const auto& word : words_of(right))
      if (word.before != '.') read.insert(word.text);
    if (equals == line.text.npos) continue;
    const bool augmented = equals > 0 && std::string_view("+-*/@").find(line.text[equals - 1]) != line.text.npos;
    for (const auto& word : words_of(line.text.substr(0, equals))) {
      if (word.before == '.' || word.before == '[' || word.text == "self") continue;
      if (augmented || read.count(word.text) > 0) return true;
    }
  }
  return false;
}

/// "for t in range(n):" or "for t, x_t in enumerate(...):"; what stands between "for" and "in".
std::vector<PythonWord> loop_variables(std::string_view line) {
  const auto in = line.find(" in ");
  if (line.substr(0, 4) != "for " || in == line.npos) return {};
  return words_of(line.substr(4, in - 4));
}

/// A loop over slices themselves: for x_t in x.unbind(1), but not for layer in self.layers.
bool iterates_over_slices(std::string_view line) {
  const auto words = words_of(line.substr(std::min(line.find(" in "), line.size())));
  return std::any_of(words.begin(), words.end(), [](const PythonWord& word) {
    return word.after == '(' && (word.text == "unbind" || word.text == "split" || word.text == "chunk");
  });
}

bool has_recurrent_loop(const std::vector<Line>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto variables = loop_variables(lines[i].text);
    if (variables.empty()) continue;
    std::vector<Line> body;
    for (auto j = i + 1; j < lines.size() && lines[j].indent > lines[i].indent; ++j) body.push_back(lines[j]);
    const bool slices =
        iterates_over_slices(lines[i].text) || std::any_of(body.begin(), body.end(), [&](const Line& line) {
          return std::any_of(variables.begin(), variables.end(),
                             [&](const PythonWord& variable) { return takes_slice(line.text, variable.text); });
        });
    if (slices && carries_state(body)) return true;
  }
  return false;
}

}  // namespace

bool is_recurrent(std::string_view python) {
  const auto code = code_only(python);
  return uses_recurrent_layer(code) || has_recurrent_loop(lines_of(code));
}

}  // namespace v0
}  // namespace kernelgen
