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

WorkloadClass class_of(const std::string& body) { return classify_workload(model(body)).workload_class; }

}  // namespace

TEST_CASE("the family of a reference is that of its operations", "[task][family]") {
  CHECK(class_of("return torch.relu(x)") == WorkloadClass::MemoryBound);
  CHECK(class_of("return x / torch.mean(torch.abs(x), dim=1, keepdim=True)") == WorkloadClass::MemoryBound);
  CHECK(class_of("return self.norm(x) * 2 + y") == WorkloadClass::MemoryBound);
  CHECK(class_of("return torch.max(x, dim=1)[0]") == WorkloadClass::MemoryBound);
  CHECK(class_of("return torch.matmul(x, y)") == WorkloadClass::MatrixProduct);
  CHECK(class_of("return torch.nn.functional.gelu(self.fc(x))") == WorkloadClass::MatrixProduct);
  CHECK(class_of("return x @ y") == WorkloadClass::MatrixProduct);
  CHECK(class_of("return torch.tanh(self.conv(x))") == WorkloadClass::Convolution);
  CHECK(class_of("out, h_n = self.gru(x, y)\n        return h_n") == WorkloadClass::Recurrent);
}

TEST_CASE("a reference that is not understood as a whole has no family", "[task][family]") {
  for (const std::string body :
       {"return torch.triu(torch.matmul(x, y))", "return self.pool(x)", "return x[:, ::2]", "return helper(x)",
        "return torch.relu(x) if x.sum() > 0 else x", "return self.unknown(x)", "return self.fc(self.conv(x))",
        "for t in range(3):\n            x = self.gru(x)[0]\n        return x", "return self.gru(x[:, :2])[0]",
        "x = x[:2]\n        return self.gru(x)[0]"})
    CHECK(class_of(body) == WorkloadClass::Unknown);
  CHECK(classify_workload(model("return torch.matmul(x, y)", "torch.triu(torch.rand(8, 8))")).workload_class ==
        WorkloadClass::Unknown);
  CHECK(classify_workload("").workload_class == WorkloadClass::Unknown);
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
    return classify_workload(read_file(tasks + name + ".py").value()).workload_class;
  };
  CHECK(of("relu") == WorkloadClass::MemoryBound);
  CHECK(of("softmax") == WorkloadClass::MemoryBound);
  CHECK(of("matmul_gelu") == WorkloadClass::MatrixProduct);
  CHECK(of("gru_hidden") == WorkloadClass::Recurrent);
}
