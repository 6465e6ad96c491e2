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

/// Operations that use every element of their input. Any other operation makes a task unknown: pooling and strides skip
/// elements, triu() and indices drop them.
constexpr auto k_elementwise = std::to_array<std::string_view>(
    {"relu",       "leaky_relu", "sigmoid",   "tanh",     "gelu",      "selu",     "elu",        "hardsigmoid",
     "hardtanh",   "hardswish",  "softplus",  "softsign", "silu",      "mish",     "logsigmoid", "exp",
     "log",        "sqrt",       "rsqrt",     "pow",      "square",    "abs",      "add",        "mul",
     "sub",        "div",        "neg",       "clamp",    "erf",       "sin",      "cos",        "float",
     "contiguous", "ReLU",       "LeakyReLU", "Sigmoid",  "Tanh",      "GELU",     "SELU",       "ELU",
     "SiLU",       "Mish",       "Softplus",  "Hardtanh", "Hardswish", "Softsign", "Identity",   "HardSigmoid",
     "T",          "transpose",  "permute",   "t",        "view",      "reshape",  "flatten",    "unsqueeze",
     "squeeze",    "size",       "shape",     "dim",      "numel"});
/// Operations that also use every element, but return fewer elements, or combine them.
constexpr auto k_reducing = std::to_array<std::string_view>({"softmax",
                                                             "log_softmax",
                                                             "logsumexp",
                                                             "sum",
                                                             "mean",
                                                             "amax",
                                                             "amin",
                                                             "max",
                                                             "min",
                                                             "argmax",
                                                             "argmin",
                                                             "var",
                                                             "std",
                                                             "norm",
                                                             "cumsum",
                                                             "cumprod",
                                                             "flip",
                                                             "layer_norm",
                                                             "mse_loss",
                                                             "l1_loss",
                                                             "smooth_l1_loss",
                                                             "huber_loss",
                                                             "cross_entropy",
                                                             "kl_div",
                                                             "Softmax",
                                                             "LogSoftmax",
                                                             "LayerNorm",
                                                             "GroupNorm",
                                                             "RMSNorm",
                                                             "BatchNorm1d",
                                                             "BatchNorm2d",
                                                             "BatchNorm3d",
                                                             "InstanceNorm1d",
                                                             "InstanceNorm2d",
                                                             "InstanceNorm3d",
                                                             "MSELoss",
                                                             "SmoothL1Loss",
                                                             "HuberLoss",
                                                             "KLDivLoss",
                                                             "TripletMarginLoss"});
constexpr auto k_products = std::to_array<std::string_view>({"matmul", "mm", "bmm", "linear", "Linear"});
constexpr auto k_convolutions = std::to_array<std::string_view>(
    {"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"});
/// Statements with an effect that depends on values, or that repeat.
constexpr auto k_control = std::to_array<std::string_view>(
    {"if", "else", "elif", "for", "while", "with", "try", "def", "lambda", "yield", "assert"});
/// Inputs made with these have a structure that a kernel could exploit: half of a symmetric matrix is enough.
constexpr auto k_structure = std::to_array<std::string_view>(
    {"T", "triu", "tril", "diag", "eye", "zeros", "ones", "expand", "repeat", "full", "bernoulli", "arange"});

/// Counts of the calls in forward().
struct OpSummary {
  int products = 0;
  int convolutions = 0;
  int recurrences = 0;
  bool reduces = false;
  bool unknown = false;
  bool loops = false;
  /// The first argument of the recurrent layer's call, when it is a name.
  std::string recurrent_input;
};

using Modules = std::map<std::string, std::string, std::less<>>;

/// "self.fc" -> "Linear"; a name that is assigned twice is unknown.
Modules modules_of(const std::vector<Line>& lines) {
  Modules modules;
  for (const auto& line : lines) {
    const auto equals = assignment(line.text);
    if (equals == line.text.npos) continue;
    const auto target = trim(line.text.substr(0, equals));
    const auto value = trim(line.text.substr(equals + 1));
    const auto open = value.find('(');
    if (target.substr(0, 5) != "self." || open == value.npos) continue;
    const auto name = value.substr(0, open);
    const bool whole = end_of_brackets(value, open) == value.size();
    const auto [entry, added] = modules.emplace(target, std::string(name.substr(name.rfind('.') + 1)));
    if (!added || !whole) entry->second.clear();
  }
  return modules;
}

void count_name(std::string_view name, OpSummary& summary) {
  if (is_one_of(name, k_products))
    ++summary.products;
  else if (is_one_of(name, k_convolutions))
    ++summary.convolutions;
  else if (is_recurrent_layer(name) && name.find("Cell") == name.npos)
    ++summary.recurrences;
  else if (is_one_of(name, k_reducing))
    summary.reduces = true;
  else if (!is_one_of(name, k_elementwise))
    summary.unknown = true;
}

/// Indices are harmless where they take one of several results, as in "torch.max(x, dim=1)[0]", and after shapes.
bool is_harmless_index(std::string_view line, std::size_t open) {
  const auto before = trim(line.substr(0, open));
  const auto inside = line.substr(open + 1, end_of_brackets(line, open) - open - 2);
  const bool number = !inside.empty() && inside.find_first_not_of("-0123456789") == inside.npos;
  return number && (before.ends_with(')') || before.ends_with(".shape"));
}

/// "x" of "(x, h0)"; empty unless it is a name.
std::string first_name(std::string_view call) {
  const auto arguments = split_arguments(call.substr(1, end_of_brackets(call, 0) - 2));
  const bool plain = !arguments.empty() && std::all_of(arguments[0].begin(), arguments[0].end(), is_word);
  return plain ? std::string(arguments[0]) : "";
}

void count_line(std::string_view line, const Modules& modules, OpSummary& summary) {
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '[' && !is_harmless_index(line, i)) summary.unknown = true;
  if (line.find('@') != line.npos) ++summary.products;
  for (const auto& word : words_of(line)) {
    if (is_one_of(word.text, k_control)) summary.unknown = true;
    if (word.text == "for" || word.text == "while") summary.loops = true;
    if (word.after != '(') {
      // A member of a tensor without a call: ".T", ".shape".
      if (word.text == "T") count_name(word.text, summary);
      continue;
    }
    const bool member = word.before == '.';
    const auto at = static_cast<std::size_t>(word.text.data() - line.data());
    const bool own = member && at >= 5 && line.substr(at - 5, 5) == "self.";
    if (!own) {
      count_name(word.text, summary);
      continue;
    }
    const auto module = modules.find("self." + std::string(word.text));
    const std::string name = module == modules.end() ? "" : module->second;
    count_name(name, summary);
    if (is_recurrent_layer(name)) summary.recurrent_input = first_name(line.substr(at + word.text.size()));
  }
}

/// Whether a name is assigned somewhere.
bool is_assigned(const std::vector<Line>& lines, std::string_view name) {
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    const auto equals = assignment(line.text);
    const auto targets = words_of(line.text.substr(0, equals == line.text.npos ? 0 : equals));
    return std::any_of(targets.begin(), targets.end(), [&](const Word& word) { return word.text == name; });
  });
}

bool has_structured_inputs(const std::vector<Line>& lines) {
  bool inside = false;
  std::size_t indent = 0;
  for (const auto& line : lines) {
    const auto words = words_of(line.text);
    if (inside && line.indent <= indent) inside = false;
    if (words.size() > 1 && words[0].text == "def" && words[1].text == "get_inputs") {
      inside = true;
      indent = line.indent;
    }
    if (inside &&
        std::any_of(words.begin(), words.end(), [](const Word& word) { return is_one_of(word.text, k_structure); }))
      return true;
  }
  return false;
}

}  // namespace

std::string_view to_string(WorkloadClass workload) {
  switch (workload) {
    case WorkloadClass::Unknown:
      return "unknown";
    case WorkloadClass::MemoryBound:
      return "memory bound";
    case WorkloadClass::MatrixProduct:
      return "matrix product";
    case WorkloadClass::Convolution:
      return "convolution";
    case WorkloadClass::Recurrent:
      return "recurrent";
  }
  return "";
}

Workload classify_workload(std::string_view python) {
  constexpr std::size_t k_max_bytes = 1u << 20;
  Workload work;
  if (python.size() > k_max_bytes) return work;
  const auto code = code_only(python);
  const auto lines = lines_of(code);
  const auto forward = method_of(lines, "Model", "forward");
  if (forward.empty() || has_structured_inputs(lines)) return work;
  const auto modules = modules_of(method_of(lines, "Model", "__init__"));
  OpSummary summary;
  for (const auto& line : forward) {
    count_line(line.text, modules, summary);
    for (const auto& word : words_of(line.text)) work.names.emplace(word.text);
  }
  // A layer beside the recurrence may drop some of the recurrence's results, but the recurrence itself is still all
  // done.
  if (summary.recurrences == 1 && !summary.loops && !summary.recurrent_input.empty() &&
      !is_assigned(forward, summary.recurrent_input)) {
    work.workload_class = WorkloadClass::Recurrent;
    work.recurrent_input = summary.recurrent_input;
    return work;
  }
  if (summary.unknown || summary.recurrences > 0) return work;
  const int kinds = (summary.products > 0 ? 1 : 0) + (summary.convolutions > 0 ? 1 : 0);
  if (kinds == 2) return work;
  work.workload_class = summary.products > 0       ? WorkloadClass::MatrixProduct
                        : summary.convolutions > 0 ? WorkloadClass::Convolution
                                                   : WorkloadClass::MemoryBound;
  work.single_product = summary.products == 1 && !summary.reduces;
  return work;
}

}  // namespace v0
}  // namespace kernelgen
