#include "task/recurrence.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr auto k_layers = std::to_array<std::string_view>({"GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"});

bool uses_recurrent_layer(std::string_view code) {
  const auto words = words_of(code);
  return std::any_of(words.begin(), words.end(),
                     [](const Word& word) { return word.after == '(' && is_recurrent_layer(word.text); });
}

/// Whether some tensor is indexed by `variable`: x[:, t], but not self.layers[t].
bool takes_slice(std::string_view line, std::string_view variable) {
  for (auto open = line.find('['); open != line.npos; open = line.find('[', open + 1)) {
    const auto inside = words_of(line.substr(open, std::min(line.find(']', open), line.size()) - open));
    const bool indexed = std::any_of(inside.begin(), inside.end(), [&](const Word& w) { return w.text == variable; });
    auto begin = open;
    while (begin > 0 && (is_word(line[begin - 1]) || line[begin - 1] == '.')) --begin;
    const auto base = line.substr(begin, open - begin);
    if (indexed && !base.empty() && base.substr(0, 5) != "self.") return true;
  }
  return false;
}

/// Names that the loop's body reads before it assigns them: values from the previous iteration.
std::set<std::string, std::less<>> carried_names(const std::vector<Line>& body) {
  std::set<std::string, std::less<>> carried;
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
      if (augmented || read.count(word.text) > 0) carried.emplace(word.text);
    }
  }
  return carried;
}

/// For "for t in range(n):" or "for t, x_t in enumerate(...):", the words between "for" and "in".
std::vector<Word> loop_variables(std::string_view line) {
  const auto in = line.find(" in ");
  if (line.substr(0, 4) != "for " || in == line.npos) return {};
  return words_of(line.substr(4, in - 4));
}

/// Whether a loop iterates over slices: for x_t in x.unbind(1), but not for layer in self.layers.
bool iterates_over_slices(std::string_view line) {
  const auto words = words_of(line.substr(std::min(line.find(" in "), line.size())));
  return std::any_of(words.begin(), words.end(), [](const Word& word) {
    return word.after == '(' && (word.text == "unbind" || word.text == "split" || word.text == "chunk");
  });
}

/// A constructor's loops build modules: they run over widths and layers, not over time.
bool stands_in_constructor(const std::vector<Line>& lines, std::size_t index) {
  auto indent = lines[index].indent;
  while (index-- > 0) {
    if (lines[index].indent >= indent) continue;
    indent = lines[index].indent;
    if (lines[index].text.substr(0, 4) == "def ") return lines[index].text.substr(0, 13) == "def __init__(";
  }
  return false;
}

}  // namespace

std::vector<RecurrentLoop> find_recurrent_loops(const std::vector<Line>& lines) {
  std::vector<RecurrentLoop> loops;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto variables = loop_variables(lines[i].text);
    if (variables.empty() || stands_in_constructor(lines, i)) continue;
    std::vector<Line> body;
    for (auto j = i + 1; j < lines.size() && lines[j].indent > lines[i].indent; ++j) body.push_back(lines[j]);
    const bool slices =
        iterates_over_slices(lines[i].text) || std::any_of(body.begin(), body.end(), [&](const Line& line) {
          return std::any_of(variables.begin(), variables.end(),
                             [&](const Word& variable) { return takes_slice(line.text, variable.text); });
        });
    auto carried = slices ? carried_names(body) : std::set<std::string, std::less<>>{};
    if (!carried.empty()) loops.push_back({i, i + 1 + body.size(), std::move(carried)});
  }
  return loops;
}

bool is_recurrent_layer(std::string_view name) {
  return std::find(k_layers.begin(), k_layers.end(), name) != k_layers.end();
}

bool is_recurrent(std::string_view python) {
  const auto code = code_only(python);
  return uses_recurrent_layer(code) || !find_recurrent_loops(lines_of(code)).empty();
}

}  // namespace v0
}  // namespace kernelgen
