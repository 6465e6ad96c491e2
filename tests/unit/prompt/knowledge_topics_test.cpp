#include <kernelgen/prompt/knowledge_topics.hpp>

#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

using Topics = std::vector<KnowledgeTopic>;
using Families = std::vector<OperationFamily>;

TaskDescription description_of(Families families, TaskLevel level = TaskLevel::SingleOperator,
                               std::size_t parameters = 0) {
  TaskDescription description;
  description.level = level;
  description.parameters.resize(parameters);
  description.facts.emplace().families = std::move(families);
  return description;
}

Topics topics(Families families, TaskLevel level = TaskLevel::SingleOperator, std::size_t parameters = 0) {
  return knowledge_topics_of(description_of(std::move(families), level, parameters));
}

constexpr auto k_convolution = OperationFamily::Convolution;
constexpr auto k_gemm = OperationFamily::Gemm;
constexpr auto k_normalization = OperationFamily::Normalization;

}  // namespace

TEST_CASE("the topics of a task are its families, the costly ones first", "[prompt][topics]") {
  CHECK(topics({OperationFamily::Pooling, OperationFamily::Reduction, k_convolution}) ==
        Topics{KnowledgeTopic::Convolution, KnowledgeTopic::Reduction, KnowledgeTopic::Pooling});
  CHECK(topics({OperationFamily::Scan}) == Topics{KnowledgeTopic::Scan});
  CHECK(topics({}) == Topics{KnowledgeTopic::Elementwise});
}

TEST_CASE("a task with unknown facts has no topics", "[prompt][topics]") {
  CHECK(knowledge_topics_of(TaskDescription{}).empty());
}

TEST_CASE("a recurrent layer alone has no topic", "[prompt][topics]") {
  auto description = description_of({});
  description.facts->recurrence.emplace();
  CHECK(knowledge_topics_of(description).empty());
}

TEST_CASE("attention and losses include their reductions", "[prompt][topics]") {
  CHECK(topics({OperationFamily::Attention, k_gemm, OperationFamily::Reduction}) ==
        Topics{KnowledgeTopic::Attention, KnowledgeTopic::Gemm});
  CHECK(topics({OperationFamily::Loss, OperationFamily::Reduction}) == Topics{KnowledgeTopic::Loss});
}

TEST_CASE("several kinds of layers with many weights are a network", "[prompt][topics]") {
  const Families layers{k_convolution, k_normalization, k_gemm};
  CHECK(topics(layers, TaskLevel::Network) == Topics{KnowledgeTopic::Network, KnowledgeTopic::Convolution,
                                                     KnowledgeTopic::Gemm, KnowledgeTopic::Normalization});
  CHECK(topics(layers, TaskLevel::Fusion, 8).front() == KnowledgeTopic::Network);
  CHECK(topics(layers, TaskLevel::Fusion, 6).front() == KnowledgeTopic::Convolution);
  CHECK(topics({k_gemm}, TaskLevel::Network) == Topics{KnowledgeTopic::Gemm});
  auto recurrent = description_of({k_gemm}, TaskLevel::Network);
  recurrent.facts->recurrence.emplace();
  CHECK(knowledge_topics_of(recurrent) == Topics{KnowledgeTopic::Network, KnowledgeTopic::Gemm});
  CHECK(topics({OperationFamily::Attention, k_convolution, k_gemm, OperationFamily::Scan, OperationFamily::Pooling},
               TaskLevel::Network)
            .size() == 4);
}
