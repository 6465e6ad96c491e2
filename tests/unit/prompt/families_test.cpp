#include "prompt/families.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "task/python_text.hpp"

using namespace kernelgen;

namespace {

std::vector<Family> families(const std::string& code, TaskLevel level = TaskLevel::SingleOperator,
                             std::size_t parameters = 0) {
  TaskDescription description;
  description.level = level;
  description.parameters.resize(parameters);
  return families_of(code, description);
}

std::vector<Family> families_of_file(const std::string& name) {
  return families(read_file(KERNELGEN_SOURCE_DIR "/examples/tasks/" + name + ".py").value());
}

using Families = std::vector<Family>;

}  // namespace

TEST_CASE("the families of the example tasks", "[prompt][families]") {
  CHECK(families_of_file("relu") == Families{Family::Elementwise});
  CHECK(families_of_file("softmax") == Families{Family::Reduction});
  CHECK(families_of_file("matmul_gelu") == Families{Family::Gemm});
  CHECK(families_of_file("layernorm") == Families{Family::Normalization});
  CHECK(families_of_file("batchnorm") == Families{Family::Normalization});
  CHECK(families_of_file("gru") == Families{});
  CHECK(families_of_file("gru_bidirectional") == Families{});
}

TEST_CASE("operations are told by the names that are called", "[prompt][families]") {
  CHECK(families("y = a @ b\n") == Families{Family::Gemm});
  CHECK(families("    @staticmethod\n    def f(x): return x * 2\n") == Families{Family::Elementwise});
  CHECK(families("@torch.jit.script\ndef f(x): return torch.relu(x)\n") == Families{Family::Elementwise});
  CHECK(families("self.conv = nn.Conv2d(3, 4, 3)\n") == Families{Family::Convolution});
  CHECK(families("F.conv_transpose3d(x, w)\n") == Families{Family::Convolution});
  CHECK(families("self.convert = Converter(3)\n") == Families{Family::Elementwise});
  CHECK(families("x / torch.norm(x, p=2, dim=1)\n") == Families{Family::Reduction});
  CHECK(families("y = self.norm(x)\n") == Families{Family::Elementwise});
  CHECK(families("torch.cumsum(x, dim=1)\n") == Families{Family::Scan});
  CHECK(families("nn.BatchNorm1d(3)\n") == Families{Family::Normalization});
  CHECK(families("rms = torch.sqrt(torch.mean(x ** 2, dim=1))\n") ==
        Families{Family::Normalization, Family::Reduction});
  CHECK(families("nn.TripletMarginLoss()(a, b, c)\n") == Families{Family::Loss});
  CHECK(families("torch.mean(torch.clamp(1 - p * t, min=0))\n") == Families{Family::Reduction});
  CHECK(families("F.smooth_l1_loss(a, torch.mean(b))\n") == Families{Family::Loss});
  CHECK(families("nn.AdaptiveAvgPool2d(1)\n") == Families{Family::Pooling});
  CHECK(families("nn.Conv3d(1, 2, 3)\nnn.MaxPool3d(2)\ntorch.sum(x)\n") ==
        Families{Family::Convolution, Family::Reduction, Family::Pooling});
}

TEST_CASE("texts and comments name nothing", "[prompt][families]") {
  CHECK(families("\"\"\"a softmax(x) after a Conv2d(x)\"\"\"\n# matmul(a, b)\nx = 'cumsum(x)'\n") ==
        Families{Family::Elementwise});
  CHECK(families("") == Families{Family::Elementwise});
  CHECK(families("softmax = 3\n") == Families{Family::Elementwise});
}

TEST_CASE("two products with a softmax between them are attention", "[prompt][families]") {
  CHECK(families("s = q @ k.transpose(-2, -1)\np = F.softmax(s, dim=-1)\ny = p @ v\n") ==
        Families{Family::Attention, Family::Gemm});
  CHECK(families("F.scaled_dot_product_attention(q, k, v)\n") == Families{Family::Attention});
  CHECK(families("a = F.softmax(x @ w, dim=1)\ny = a.transpose(1, 2) @ x\n") ==
        Families{Family::Gemm, Family::Reduction});
  CHECK(families("y = nn.Linear(3, 4)(x)\nF.softmax(y)\nnn.Linear(3, 3)(x)\n") ==
        Families{Family::Gemm, Family::Reduction});
}

TEST_CASE("several kinds of layers with many weights are a network", "[prompt][families]") {
  const std::string layers = "nn.Conv2d(3, 4, 3)\nnn.BatchNorm2d(4)\nnn.Linear(4, 5)\n";
  CHECK(families(layers, TaskLevel::Network) ==
        Families{Family::Network, Family::Convolution, Family::Gemm, Family::Normalization});
  CHECK(families(layers, TaskLevel::Fusion, 8).front() == Family::Network);
  CHECK(families(layers, TaskLevel::Fusion, 6).front() == Family::Convolution);
  CHECK(families("nn.Linear(3, 4)\n", TaskLevel::Network) == Families{Family::Gemm});
  CHECK(families("nn.LSTM(3, 4)\nnn.Linear(3, 4)\n", TaskLevel::Network) == Families{Family::Network, Family::Gemm});
  CHECK(
      families(layers + "nn.MultiheadAttention(4, 2)\nnn.MaxPool2d(2)\ntorch.cumsum(x)\n", TaskLevel::Network).size() ==
      4);
}

TEST_CASE("words come with what stands around them", "[prompt][families]") {
  const auto words = words_of("a.b(c)");
  REQUIRE(words.size() == 3);
  CHECK(words[1].text == "b");
  CHECK(words[1].before == '.');
  CHECK(words[1].after == '(');
  CHECK(code_only("x = 'a(' # b(\ny") == "x =" + std::string(10, ' ') + "\ny");
}
