#include "prompt/knowledge_topics.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "task/python_text.hpp"
#include "task/recurrence.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// More topics would hide the one that matters most.
constexpr std::size_t k_max_topics = 4;
/// A task with several kinds of layers and this many parameter tensors is a network.
constexpr std::size_t k_network_parameters = 8;

/// The calls that show a topic.
struct FamilyCalls {
  KnowledgeTopic topic;
  /// Names of the modules and functions.
  std::initializer_list<std::string_view> names;
  /// Names without their dimension: "Conv" for "Conv2d".
  std::initializer_list<std::string_view> stems;
};

const std::array<FamilyCalls, 8>& rows() {
  static const std::array<FamilyCalls, 8> k_rows{{
      {KnowledgeTopic::Attention,
       {"scaled_dot_product_attention", "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
        "Transformer", "multi_head_attention_forward"},
       {}},
      {KnowledgeTopic::Convolution, {}, {"Conv", "ConvTranspose", "conv", "conv_transpose", "LazyConv"}},
      {KnowledgeTopic::Gemm,
       {"Linear", "Bilinear", "LazyLinear", "matmul", "mm", "bmm", "mv", "addmm", "addmv", "baddbmm", "addbmm",
        "linear", "bilinear", "einsum", "tensordot", "chain_matmul", "multi_dot"},
       {}},
      {KnowledgeTopic::Scan, {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "associative_scan"}, {}},
      {KnowledgeTopic::Normalization,
       {"LayerNorm", "GroupNorm", "RMSNorm", "LocalResponseNorm", "layer_norm", "group_norm", "batch_norm",
        "instance_norm", "rms_norm", "local_response_norm", "normalize"},
       {"BatchNorm", "InstanceNorm"}},
      {KnowledgeTopic::Loss,
       {"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "cosine_similarity"},
       {}},
      {KnowledgeTopic::Reduction,
       {"softmax",   "log_softmax", "softmin", "Softmax", "LogSoftmax",    "Softmin",    "Softmax2d",
        "logsumexp", "sum",         "mean",    "max",     "min",           "amax",       "amin",
        "aminmax",   "argmax",      "argmin",  "prod",    "var",           "std",        "var_mean",
        "std_mean",  "median",      "nansum",  "nanmean", "count_nonzero", "vector_norm"},
       {}},
      {KnowledgeTopic::Pooling,
       {},
       {"MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "LPPool", "max_pool", "avg_pool",
        "adaptive_avg_pool", "adaptive_max_pool", "lp_pool"}},
  }};
  return k_rows;
}

/// "Conv2d" begins with "Conv" and ends in a dimension.
bool has_stem(std::string_view word, std::string_view stem) {
  if (word.substr(0, stem.size()) != stem) return false;
  const auto rest = word.substr(stem.size());
  return rest == "1d" || rest == "2d" || rest == "3d";
}

bool is_call_of(const FamilyCalls& row, std::string_view word) {
  if (std::find(row.names.begin(), row.names.end(), word) != row.names.end()) return true;
  if (row.topic == KnowledgeTopic::Loss && (word.ends_with("Loss") || word.ends_with("_loss"))) return true;
  return std::any_of(row.stems.begin(), row.stems.end(), [&](auto stem) { return has_stem(word, stem); });
}

/// torch.norm, x.norm and linalg.norm are reductions; self.norm is a layer of any kind.
bool is_norm_function(const Word& word, std::string_view before) {
  return word.text == "norm" && word.before == '.' && before != "self";
}

/// The number of calls of each row's names.
std::array<int, 8> count_calls(const std::vector<Word>& words) {
  std::array<int, 8> counts{};
  std::string_view before;
  for (const auto& word : words) {
    for (std::size_t i = 0; i < counts.size() && word.after == '('; ++i) {
      const auto& row = rows()[i];
      const bool called =
          is_call_of(row, word.text) || (row.topic == KnowledgeTopic::Reduction && is_norm_function(word, before));
      counts[i] += called ? 1 : 0;
    }
    before = word.text;
  }
  return counts;
}

/// Whether the code multiplies by a transposed matrix, or uses a name with "attention".
bool looks_like_attention(std::string_view code, const std::vector<Word>& words) {
  const bool named = std::any_of(words.begin(), words.end(), [](const Word& word) {
    return word.text.find("att") != word.text.npos && word.text.find("attr") == word.text.npos;
  });
  return named || code.find("transpose(-2, -1)") != code.npos || code.find("transpose(-1, -2)") != code.npos;
}

/// The number of products "a @ b"; a decorator does not count.
int count_products(std::string_view code) {
  int count = 0;
  for (auto at = code.find('@'); at != code.npos; at = code.find('@', at + 1)) {
    const auto line = at == 0 ? code.npos : code.rfind('\n', at - 1);
    const auto first = code.find_first_not_of(" \t", line == code.npos ? 0 : line + 1);
    if (first != at) ++count;
  }
  return count;
}

bool has_call(const std::vector<Word>& words, std::initializer_list<std::string_view> names) {
  return std::any_of(words.begin(), words.end(), [&](const Word& word) {
    return word.after == '(' && std::find(names.begin(), names.end(), word.text) != names.end();
  });
}

bool contains(const std::vector<KnowledgeTopic>& topics, KnowledgeTopic topic) {
  return std::find(topics.begin(), topics.end(), topic) != topics.end();
}

/// Whether a task has layers of at least two kinds, and is a network by its level or its number of weights.
bool is_network(const std::vector<KnowledgeTopic>& found, bool recurrent, const TaskDescription& description) {
  auto kinds = std::count_if(found.begin(), found.end(), [](KnowledgeTopic topic) {
    return topic == KnowledgeTopic::Attention || topic == KnowledgeTopic::Convolution ||
           topic == KnowledgeTopic::Gemm || topic == KnowledgeTopic::Normalization;
  });
  if (recurrent) ++kinds;
  return kinds >= 2 &&
         (description.level == TaskLevel::Network || description.parameters.size() >= k_network_parameters);
}

}  // namespace

std::string_view to_string(KnowledgeTopic topic) {
  static constexpr auto k_names =
      std::to_array<std::string_view>({"network", "attention", "convolution", "gemm", "scan", "normalization", "loss",
                                       "reduction", "pooling", "elementwise"});
  return k_names[static_cast<std::size_t>(topic)];
}

std::vector<KnowledgeTopic> knowledge_topics_of(std::string_view python, const TaskDescription& description) {
  const auto code = code_only(python);
  const auto words = words_of(code);
  auto counts = count_calls(words);
  const auto count = [&](KnowledgeTopic topic) -> int& { return counts[static_cast<std::size_t>(topic) - 1]; };
  count(KnowledgeTopic::Gemm) += count_products(code);
  // softmax(q k) v, written out.
  if (count(KnowledgeTopic::Gemm) >= 2 && has_call(words, {"softmax", "Softmax"}) && looks_like_attention(code, words))
    ++count(KnowledgeTopic::Attention);
  // A normalization, written out with mean and root.
  if (has_call(words, {"rsqrt", "sqrt"}) && has_call(words, {"mean", "var"})) ++count(KnowledgeTopic::Normalization);
  std::vector<KnowledgeTopic> found;
  for (const auto& row : rows())
    if (count(row.topic) > 0) found.push_back(row.topic);
  const bool recurrent = is_recurrent(python);
  if (is_network(found, recurrent, description)) found.insert(found.begin(), KnowledgeTopic::Network);
  // Knowledge of these topics includes their parts.
  if (contains(found, KnowledgeTopic::Attention) || contains(found, KnowledgeTopic::Loss))
    found.erase(std::remove(found.begin(), found.end(), KnowledgeTopic::Reduction), found.end());
  if (found.empty() && !recurrent) found.push_back(KnowledgeTopic::Elementwise);
  if (found.size() > k_max_topics) found.resize(k_max_topics);
  return found;
}

}  // namespace v0
}  // namespace kernelgen
