#include <kernelgen/prompt/knowledge_topics.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

/// More topics would hide the one that matters most.
constexpr std::size_t k_max_topics = 4;
/// A task with several kinds of layers and this many parameter tensors is a network.
constexpr std::size_t k_network_parameters = 8;

/// The topics of families, by what usually takes most of the time.
constexpr std::array<std::pair<OperationFamily, KnowledgeTopic>, 8> k_topics{{
    {OperationFamily::Attention, KnowledgeTopic::Attention},
    {OperationFamily::Convolution, KnowledgeTopic::Convolution},
    {OperationFamily::Gemm, KnowledgeTopic::Gemm},
    {OperationFamily::Scan, KnowledgeTopic::Scan},
    {OperationFamily::Normalization, KnowledgeTopic::Normalization},
    {OperationFamily::Loss, KnowledgeTopic::Loss},
    {OperationFamily::Reduction, KnowledgeTopic::Reduction},
    {OperationFamily::Pooling, KnowledgeTopic::Pooling},
}};

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

std::vector<KnowledgeTopic> knowledge_topics_of(const TaskDescription& description) {
  if (!description.facts) return {};
  const auto& families = description.facts->families;
  std::vector<KnowledgeTopic> found;
  for (const auto& [family, topic] : k_topics)
    if (std::find(families.begin(), families.end(), family) != families.end()) found.push_back(topic);
  const bool recurrent = description.is_recurrent();
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
