#include <kernelgen/task/reference.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

namespace {

std::string model(const std::string& body, const std::string& inputs = "torch.rand(8, 8)") {
  return "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        self.fc = nn.Linear(8, 8)\n"
         "        self.conv = nn.Conv2d(8, 8, 3)\n"
         "        self.norm = nn.LayerNorm(8)\n"
         "        self.gru = nn.GRU(8, 8)\n"
         "        self.pool = nn.MaxPool2d(2)\n"
         "    def forward(self, x, y):\n        " +
         body + "\ndef get_inputs():\n    return [" + inputs + "]\n";
}

TaskFamily family(const std::string& body) { return classify_workload(model(body)).family; }

}  // namespace

TEST_CASE("the family of a reference is that of its operations", "[task][family]") {
  CHECK(family("return torch.relu(x)") == TaskFamily::Streaming);
  CHECK(family("return x / torch.mean(torch.abs(x), dim=1, keepdim=True)") == TaskFamily::Streaming);
  CHECK(family("return self.norm(x) * 2 + y") == TaskFamily::Streaming);
  CHECK(family("return torch.max(x, dim=1)[0]") == TaskFamily::Streaming);
  CHECK(family("return torch.matmul(x, y)") == TaskFamily::MatrixProduct);
  CHECK(family("return torch.nn.functional.gelu(self.fc(x))") == TaskFamily::MatrixProduct);
  CHECK(family("return x @ y") == TaskFamily::MatrixProduct);
  CHECK(family("return torch.tanh(self.conv(x))") == TaskFamily::Convolution);
  CHECK(family("out, h_n = self.gru(x, y)\n        return h_n") == TaskFamily::Recurrent);
}

TEST_CASE("a reference that is not understood as a whole has no family", "[task][family]") {
  for (const std::string body :
       {"return torch.triu(torch.matmul(x, y))", "return self.pool(x)", "return x[:, ::2]", "return helper(x)",
        "return torch.relu(x) if x.sum() > 0 else x", "return self.unknown(x)", "return self.fc(self.conv(x))",
        "for t in range(3):\n            x = self.gru(x)[0]\n        return x", "return self.gru(x[:, :2])[0]",
        "x = x[:2]\n        return self.gru(x)[0]"})
    CHECK(family(body) == TaskFamily::Unknown);
  CHECK(classify_workload(model("return torch.matmul(x, y)", "torch.triu(torch.rand(8, 8))")).family ==
        TaskFamily::Unknown);
  CHECK(classify_workload("").family == TaskFamily::Unknown);
}

TEST_CASE("a product is single when nothing of it can be saved", "[task][family]") {
  CHECK(classify_workload(model("return torch.relu(torch.matmul(x, y))")).single_product);
  CHECK_FALSE(classify_workload(model("return torch.matmul(x, y).sum()")).single_product);
  CHECK_FALSE(classify_workload(model("return torch.matmul(torch.matmul(x, y), y)")).single_product);
}

TEST_CASE("the input of a recurrent layer is known by name", "[task][family]") {
  CHECK(classify_workload(model("out, h_n = self.gru(x, y)\n        return h_n")).recurrent_input == "x");
}

TEST_CASE("the example tasks have the families that they are examples of", "[task][family]") {
  const std::string tasks = KERNELGEN_SOURCE_DIR "/examples/tasks/";
  const auto of = [&](const std::string& name) {
    return classify_workload(read_file(tasks + name + ".py").value()).family;
  };
  CHECK(of("relu") == TaskFamily::Streaming);
  CHECK(of("softmax") == TaskFamily::Streaming);
  CHECK(of("matmul_gelu") == TaskFamily::MatrixProduct);
  CHECK(of("gru_hidden") == TaskFamily::Recurrent);
}
