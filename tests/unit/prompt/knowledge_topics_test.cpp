#include "prompt/knowledge_topics.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "task/python_text.hpp"

using namespace kernelgen;

namespace {

std::vector<KnowledgeTopic> topics(const std::string& code, TaskLevel level = TaskLevel::SingleOperator,
                                   std::size_t parameters = 0) {
  TaskDescription description;
  description.level = level;
  description.parameters.resize(parameters);
  return knowledge_topics_of(code, description);
}

std::vector<KnowledgeTopic> topics_of_file(const std::string& name) {
  return topics(read_file(KERNELGEN_SOURCE_DIR "/examples/tasks/" + name + ".py").value());
}

using Topics = std::vector<KnowledgeTopic>;

}  // namespace

TEST_CASE("the topics of the example tasks", "[prompt][topics]") {
  CHECK(topics_of_file("relu") == Topics{KnowledgeTopic::Elementwise});
  CHECK(topics_of_file("softmax") == Topics{KnowledgeTopic::Reduction});
  CHECK(topics_of_file("matmul_gelu") == Topics{KnowledgeTopic::Gemm});
  CHECK(topics_of_file("layernorm") == Topics{KnowledgeTopic::Normalization});
  CHECK(topics_of_file("batchnorm") == Topics{KnowledgeTopic::Normalization});
  CHECK(topics_of_file("gru") == Topics{});
  CHECK(topics_of_file("gru_bidirectional") == Topics{});
}

TEST_CASE("operations are told by the names that are called", "[prompt][topics]") {
  CHECK(topics("y = a @ b\n") == Topics{KnowledgeTopic::Gemm});
  CHECK(topics("    @staticmethod\n    def f(x): return x * 2\n") == Topics{KnowledgeTopic::Elementwise});
  CHECK(topics("@torch.jit.script\ndef f(x): return torch.relu(x)\n") == Topics{KnowledgeTopic::Elementwise});
  CHECK(topics("self.conv = nn.Conv2d(3, 4, 3)\n") == Topics{KnowledgeTopic::Convolution});
  CHECK(topics("F.conv_transpose3d(x, w)\n") == Topics{KnowledgeTopic::Convolution});
  CHECK(topics("self.convert = Converter(3)\n") == Topics{KnowledgeTopic::Elementwise});
  CHECK(topics("x / torch.norm(x, p=2, dim=1)\n") == Topics{KnowledgeTopic::Reduction});
  CHECK(topics("y = self.norm(x)\n") == Topics{KnowledgeTopic::Elementwise});
  CHECK(topics("torch.cumsum(x, dim=1)\n") == Topics{KnowledgeTopic::Scan});
  CHECK(topics("nn.BatchNorm1d(3)\n") == Topics{KnowledgeTopic::Normalization});
  CHECK(topics("rms = torch.sqrt(torch.mean(x ** 2, dim=1))\n") ==
        Topics{KnowledgeTopic::Normalization, KnowledgeTopic::Reduction});
  CHECK(topics("nn.TripletMarginLoss()(a, b, c)\n") == Topics{KnowledgeTopic::Loss});
  CHECK(topics("torch.mean(torch.clamp(1 - p * t, min=0))\n") == Topics{KnowledgeTopic::Reduction});
  CHECK(topics("F.smooth_l1_loss(a, torch.mean(b))\n") == Topics{KnowledgeTopic::Loss});
  CHECK(topics("nn.AdaptiveAvgPool2d(1)\n") == Topics{KnowledgeTopic::Pooling});
  CHECK(topics("nn.Conv3d(1, 2, 3)\nnn.MaxPool3d(2)\ntorch.sum(x)\n") ==
        Topics{KnowledgeTopic::Convolution, KnowledgeTopic::Reduction, KnowledgeTopic::Pooling});
}

TEST_CASE("texts and comments name nothing", "[prompt][topics]") {
  CHECK(topics("\"\"\"a softmax(x) after a Conv2d(x)\"\"\"\n# matmul(a, b)\nx = 'cumsum(x)'\n") ==
        Topics{KnowledgeTopic::Elementwise});
  CHECK(topics("") == Topics{KnowledgeTopic::Elementwise});
  CHECK(topics("softmax = 3\n") == Topics{KnowledgeTopic::Elementwise});
}

TEST_CASE("two products with a softmax between them are attention", "[prompt][topics]") {
  CHECK(topics("s = q @ k.transpose(-2, -1)\np = F.softmax(s, dim=-1)\ny = p @ v\n") ==
        Topics{KnowledgeTopic::Attention, KnowledgeTopic::Gemm});
  CHECK(topics("F.scaled_dot_product_attention(q, k, v)\n") == Topics{KnowledgeTopic::Attention});
  CHECK(topics("a = F.softmax(x @ w, dim=1)\ny = a.transpose(1, 2) @ x\n") ==
        Topics{KnowledgeTopic::Gemm, KnowledgeTopic::Reduction});
  CHECK(topics("y = nn.Linear(3, 4)(x)\nF.softmax(y)\nnn.Linear(3, 3)(x)\n") ==
        Topics{KnowledgeTopic::Gemm, KnowledgeTopic::Reduction});
}

TEST_CASE("several kinds of layers with many weights are a network", "[prompt][topics]") {
  const std::string layers = "nn.Conv2d(3, 4, 3)\nnn.BatchNorm2d(4)\nnn.Linear(4, 5)\n";
  CHECK(topics(layers, TaskLevel::Network) == Topics{KnowledgeTopic::Network, KnowledgeTopic::Convolution,
                                                     KnowledgeTopic::Gemm, KnowledgeTopic::Normalization});
  CHECK(topics(layers, TaskLevel::Fusion, 8).front() == KnowledgeTopic::Network);
  CHECK(topics(layers, TaskLevel::Fusion, 6).front() == KnowledgeTopic::Convolution);
  CHECK(topics("nn.Linear(3, 4)\n", TaskLevel::Network) == Topics{KnowledgeTopic::Gemm});
  CHECK(topics("nn.LSTM(3, 4)\nnn.Linear(3, 4)\n", TaskLevel::Network) ==
        Topics{KnowledgeTopic::Network, KnowledgeTopic::Gemm});
  CHECK(topics(layers + "nn.MultiheadAttention(4, 2)\nnn.MaxPool2d(2)\ntorch.cumsum(x)\n", TaskLevel::Network).size() ==
        4);
}

TEST_CASE("words come with what stands around them", "[prompt][topics]") {
  const auto words = words_of("a.b(c)");
  REQUIRE(words.size() == 3);
  CHECK(words[1].text == "b");
  CHECK(words[1].before == '.');
  CHECK(words[1].after == '(');
  CHECK(code_only("x = 'a(' # b(\ny") == "x =" + std::string(10, ' ') + "\ny");
}
