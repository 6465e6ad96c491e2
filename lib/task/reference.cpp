#include <kernelgen/task/reference.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "support/text.hpp"
#include "task/python_text.hpp"
#include "task/recurrence.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The part of a recurrence in a value; where two values meet, the later enumerator wins.
enum class Part { Nothing, Final, Other, Sequence, Unclear };

/// A value: its parts while it is a tuple that has not been unpacked.
struct Value {
  Part part = Part::Nothing;
  std::vector<Value> elements;
};

Part merged(Part a, Part b) { return std::max(a, b); }

Part part_of(const Value& value) {
  Part part = value.part;
  for (const auto& element : value.elements) part = merged(part, part_of(element));
  return part;
}

constexpr auto k_reductions =
    std::to_array<std::string_view>({"mean", "sum", "max", "min", "amax", "amin", "prod", "norm", "logsumexp", "var",
                                     "std", "median", "argmax", "argmin", "any", "all"});
/// Functions, methods and modules that keep the steps of a sequence apart.
constexpr auto k_stepwise = std::to_array<std::string_view>(
    {"tanh",       "relu",    "sigmoid", "gelu",       "silu",      "softmax",    "log_softmax", "dropout",
     "layer_norm", "cat",     "stack",   "contiguous", "to",        "float",      "half",        "clone",
     "detach",     "type",    "exp",     "log",        "sqrt",      "abs",        "add",         "mul",
     "sub",        "div",     "clamp",   "linear",     "Linear",    "Dropout",    "LayerNorm",   "Tanh",
     "ReLU",       "GELU",    "SiLU",    "Sigmoid",    "Softmax",   "LogSoftmax", "Identity",    "LeakyReLU",
     "transpose",  "permute", "T",       "squeeze",    "unsqueeze", "view",       "reshape",     "movedim"});

/// Reads forward() from its first line to its last, and tracks the value of each name.
class ForwardReader {
 public:
  explicit ForwardReader(const std::vector<Line>& all) : body_(method_of(all, "Model", "forward")) {
    for (const auto& line : method_of(all, "Model", "__init__")) note_module(line.text);
    loops_ = find_recurrent_loops(body_);
  }

  std::optional<OutputAnalysis> read() {
    std::optional<OutputAnalysis> reading;
    for (std::size_t i = 0; i < body_.size(); ++i) {
      begin_loops(i);
      const auto text = body_[i].text;
      if (text.substr(0, 7) != "return ") {
        note(text, is_in_loop(i));
        continue;
      }
      const auto found = requirement_of(part_of(value_of_tuple(text.substr(7))));
      if (!found || (reading && reading->requirement != *found)) return std::nullopt;
      if (!reading) reading = OutputAnalysis{*found, evidence(body_[i], *found)};
    }
    return reading;
  }

 private:
  static std::optional<OutputRequirement> requirement_of(Part part) {
    switch (part) {
      case Part::Sequence:
        return OutputRequirement::FullSequence;
      case Part::Final:
        return OutputRequirement::FinalStateOnly;
      case Part::Other:
        return OutputRequirement::Other;
      default:
        return std::nullopt;
    }
  }

  static std::string evidence(const Line& line, OutputRequirement requirement) {
    constexpr std::size_t k_max_shown = 120;
    std::string text = "line " + std::to_string(line.number) + ": `" + sanitize_line(line.text, k_max_shown) + "` is ";
    switch (requirement) {
      case OutputRequirement::FullSequence:
        return text + "made of every step";
      case OutputRequirement::FinalStateOnly:
        return text + "what the last step left";
      case OutputRequirement::Other:
        return text + "neither every step nor the last one";
    }
    return text;
  }

  /// Reads "self.gru = nn.GRU(...)".
  void note_module(std::string_view line) {
    const auto equals = assignment(line);
    if (equals == line.npos) return;
    const auto target = trim(line.substr(0, equals));
    const auto value = trim(line.substr(equals + 1));
    const auto open = value.find('(');
    if (target.substr(0, 5) != "self." || open == value.npos) return;
    const auto name = value.substr(0, open);
    const auto dot = name.rfind('.');
    modules_[std::string(target)] = std::string(dot == name.npos ? name : name.substr(dot + 1));
    if (value.find("batch_first=True") != value.npos) time_axis_ = 1;
    // Given by position or by a variable: unknown.
    else if (value.find("batch_first") != value.npos)
      time_axis_.reset();
  }

  /// Names that a loop carries are states from its first line on.
  void begin_loops(std::size_t line) {
    for (const auto& loop : loops_)
      if (loop.head == line)
        for (const auto& name : loop.carried) values_[name] = {Part::Final, {}};
  }

  [[nodiscard]] bool is_in_loop(std::size_t line) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const RecurrentLoop& loop) { return loop.head < line && line < loop.end; });
  }

  void note(std::string_view line, bool in_loop) {
    note_append(line, in_loop);
    const auto equals = assignment(line);
    if (equals == line.npos) return;
    const bool augmented = equals > 0 && std::string_view("+-*/@").find(line[equals - 1]) != line.npos;
    const auto value = value_of_tuple(line.substr(equals + 1));
    auto target = trim(line.substr(0, augmented ? equals - 1 : equals));
    // A name with its type: "h: Tensor = ...".
    if (const auto colon = target.find(':'); colon != target.npos && target.find('[') == target.npos)
      target = trim(target.substr(0, colon));
    if (augmented)
      values_[std::string(target)].part = merged(part_of(values_[std::string(target)]), part_of(value));
    else
      assign(target, value, in_loop);
  }

  /// outputs.append(h) within the loop gives one for every step.
  void note_append(std::string_view line, bool in_loop) {
    const auto dot = line.find(".append(");
    if (dot == line.npos || !in_loop) return;
    const auto part = part_of(value_of_tuple(line.substr(dot + 8, end_of_brackets(line, dot + 7) - dot - 9)));
    const std::string name(trim(line.substr(0, dot)));
    if (part != Part::Nothing) values_[name] = {part == Part::Final ? Part::Sequence : part, {}};
  }

  void assign(std::string_view target, const Value& value, bool in_loop) {
    if (target.size() > 1 && (target.front() == '(' || target.front() == '['))
      target = trim(target.substr(1, target.size() - 2));
    const auto names = split_arguments(target);
    if (names.size() > 1) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        const bool known = i < value.elements.size();
        assign(names[i], known ? value.elements[i] : Value{value.elements.empty() ? value.part : Part::Unclear, {}},
               in_loop);
      }
      return;
    }
    const auto open = target.find('[');
    if (open == target.npos) {
      values_[std::string(target)] = value;
      return;
    }
    // output[:, t] = h within the loop gives one for every step.
    auto& whole = values_[std::string(trim(target.substr(0, open)))];
    const Part part = part_of(value);
    whole.part = merged(whole.part, in_loop && part == Part::Final ? Part::Sequence : part);
  }

  /// "a, b" is a tuple; so is "(a, b)".
  [[nodiscard]] Value value_of_tuple(std::string_view text) {
    // Real code is never nested like that; hostile text may be.
    constexpr int k_deepest = 50;
    if (depth_ >= k_deepest) return {Part::Unclear, {}};
    ++depth_;
    auto value = value_of_parts(trim(text));
    --depth_;
    return value;
  }

  [[nodiscard]] Value value_of_parts(std::string_view text) {
    while (text.size() > 1 && text.front() == '(' && end_of_brackets(text, 0) == text.size())
      text = trim(text.substr(1, text.size() - 2));
    const auto parts = split_arguments(text);
    if (parts.size() <= 1) return value_of(text);
    Value tuple;
    for (const auto part : parts) tuple.elements.push_back(value_of(part));
    return tuple;
  }

  /// Merges all operands of an expression, unless it is a single name, call or index.
  [[nodiscard]] Value value_of(std::string_view text) {
    Value value;
    bool alone = true;
    for (std::size_t i = 0; i < text.size();) {
      if (!is_word(text[i]) && text[i] != '(' && text[i] != '[') {
        ++i;
        continue;
      }
      auto end = i;
      const Value operand = read_operand(text, end);
      value = alone ? operand : Value{merged(part_of(value), part_of(operand)), {}};
      alone = false;
      i = std::max(end, i + 1);
    }
    return value;
  }

  /// Reads an operand with all of its calls, indices and members, such as "self.fc(out[:, -1]).mean(1)", from `at` on,
  /// and moves `at` past it.
  [[nodiscard]] Value read_operand(std::string_view text, std::size_t& at) {
    Value value;
    std::string path;
    if (is_word(text[at])) {
      path = read_path(text, at);
      // The value of a keyword argument: "dim=1" is no part of the recurrence.
      if (const auto found = values_.find(path); found != values_.end()) value = found->second;
    } else {
      const auto end = end_of_brackets(text, at);
      value = value_of_tuple(text.substr(at + 1, end > at + 1 ? end - at - 2 : 0));
      at = end;
    }
    while (at < text.size() && (text[at] == '(' || text[at] == '[' || text[at] == '.')) {
      if (text[at] == '.') {
        path = read_member(text, at, value);
        continue;
      }
      const auto end = end_of_brackets(text, at);
      const auto inside = text.substr(at + 1, end > at + 1 ? end - at - 2 : 0);
      value = text[at] == '[' ? indexed(value, inside) : called(path, value, inside);
      path.clear();
      at = end;
    }
    return value;
  }

  /// Reads "self.gru", "torch.mean" or "h_n.squeeze", up to a name with a known value.
  [[nodiscard]] std::string read_path(std::string_view text, std::size_t& at) const {
    auto end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    while (values_.count(std::string(text.substr(at, end - at))) == 0 && end + 1 < text.size() && text[end] == '.' &&
           is_word(text[end + 1])) {
      ++end;
      while (end < text.size() && is_word(text[end])) ++end;
    }
    std::string path(text.substr(at, end - at));
    at = end;
    return path;
  }

  /// Reads ".mean" after a value; a member without a call, such as ".shape", holds no part of it.
  static std::string read_member(std::string_view text, std::size_t& at, Value& value) {
    auto end = ++at;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string name(text.substr(at, end - at));
    at = end;
    const bool is_call = at < text.size() && text[at] == '(';
    if (!is_call && name != "T" && name != "mT") value = {};
    return name;
  }

  [[nodiscard]] Value indexed(const Value& value, std::string_view inside) const {
    const auto parts = split_arguments(inside);
    if (!value.elements.empty()) {
      const bool digit = parts.size() == 1 && parts[0].size() == 1 && parts[0][0] >= '0' && parts[0][0] <= '9';
      const auto index = digit ? static_cast<std::size_t>(parts[0][0] - '0') : value.elements.size();
      return index < value.elements.size() ? value.elements[index] : Value{Part::Unclear, {}};
    }
    if (value.part != Part::Sequence) return value;
    if (std::find(parts.begin(), parts.end(), "-1") != parts.end()) return {Part::Final, {}};
    const bool whole = std::all_of(parts.begin(), parts.end(), [](auto part) { return part == ":" || part == "..."; });
    return {whole ? Part::Sequence : Part::Unclear, {}};
  }

  /// The result of a function, a method of `value`, or a module with these arguments.
  [[nodiscard]] Value called(const std::string& path, const Value& value, std::string_view arguments) {
    Part part = part_of(value);
    for (const auto argument : split_arguments(arguments)) {
      const auto equals = assignment(argument);
      part = merged(part, part_of(value_of_tuple(equals == argument.npos ? argument : argument.substr(equals + 1))));
    }
    const auto module = modules_.find(path);
    std::string name = module == modules_.end() ? path.substr(path.rfind('.') + 1) : module->second;
    if (is_recurrent_layer(name)) {
      if (name.find("Cell") != name.npos) return {Part::Final, {}};
      return {Part::Nothing, {{Part::Sequence, {}}, {Part::Final, {}}}};
    }
    if (part != Part::Sequence) return {name == "size" ? Part::Nothing : part, {}};
    if (name == "size" || name == "dim" || name == "numel" || name == "len") return {};
    if (is_one_of(name, k_reductions)) return {reduced(arguments, part_of(value) == Part::Nothing), {}};
    return {is_one_of(name, k_stepwise) ? Part::Sequence : Part::Unclear, {}};
  }

  /// The result of reducing a sequence: over its features it stays one.
  [[nodiscard]] Part reduced(std::string_view arguments, bool is_function) const {
    auto parts = split_arguments(arguments);
    if (is_function && !parts.empty()) parts.erase(parts.begin());
    parts.erase(std::remove_if(parts.begin(), parts.end(), [](auto part) { return part.substr(0, 7) == "keepdim"; }),
                parts.end());
    if (parts.empty()) return Part::Other;
    auto axis = parts.front();
    for (const std::string_view keyword : {"dim=", "axis="})
      if (axis.substr(0, keyword.size()) == keyword) axis = axis.substr(keyword.size());
    if (axis == "-1" || axis == "2") return Part::Sequence;
    if (time_axis_ && axis == std::to_string(*time_axis_)) return Part::Other;
    return Part::Unclear;
  }

  std::vector<Line> body_;
  std::vector<RecurrentLoop> loops_;
  std::map<std::string, std::string, std::less<>> modules_;
  std::map<std::string, Value, std::less<>> values_;
  /// The default of torch.nn's layers is (time, batch, features).
  std::optional<int> time_axis_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string_view to_string(OutputRequirement requirement) {
  switch (requirement) {
    case OutputRequirement::FullSequence:
      return "full_sequence";
    case OutputRequirement::FinalStateOnly:
      return "final_state_only";
    case OutputRequirement::Other:
      return "other";
  }
  return "";
}

std::optional<OutputAnalysis> read_output_requirement(std::string_view python) {
  constexpr std::size_t k_max_bytes = 1u << 20;
  if (python.size() > k_max_bytes) return std::nullopt;
  const auto code = code_only(python);
  return ForwardReader(lines_of(code)).read();
}

}  // namespace v0
}  // namespace kernelgen
