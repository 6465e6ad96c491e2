#include <kernelgen/task/reference.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

namespace {

/// A model with a GRU, an LSTM and a linear layer, and this forward().
std::string reference_model(const std::string& body, const std::string& batch_first = "True") {
  return "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        self.gru = nn.GRU(4, 4, batch_first=" +
         batch_first +
         ")\n"
         "        self.lstm = nn.LSTM(4, 4)\n"
         "        self.cell = nn.GRUCell(4, 4)\n"
         "        self.fc = nn.Linear(4, 2)\n"
         "        self.pool = nn.AdaptiveAvgPool1d(1)\n"
         "    def forward(self, x, h):\n" +
         body;
}

std::string requirement(const std::string& python) {
  const auto found = read_output_requirement(python);
  return found ? std::string(to_string(found->requirement)) : "unknown";
}

}  // namespace

TEST_CASE("what a recurrent reference returns is read from its forward()", "[task][reference]") {
  struct Row {
    const char* body;
    const char* expected;
  };
  const Row row = GENERATE(
      Row{"        out, h_n = self.gru(x, h)\n        return out\n", "full_sequence"},
      Row{"        out, h_n = self.gru(x, h)\n        return h_n\n", "final_state_only"},
      Row{"        out, h_n = self.gru(x, h)\n        return out, h_n\n", "full_sequence"},
      Row{"        return self.gru(x, h)\n", "full_sequence"}, Row{"        return self.gru(x)[0]\n", "full_sequence"},
      Row{"        return self.gru(x)[1]\n", "final_state_only"},
      Row{"        out, _ = self.gru(x)\n        return out[:, -1, :]\n", "final_state_only"},
      Row{"        out, _ = self.gru(x)\n        out = self.fc(out[:, -1])\n        return out\n", "final_state_only"},
      Row{"        out, _ = self.gru(x)\n        out = self.fc(out)\n        return out\n", "full_sequence"},
      Row{"        out, state = self.lstm(x)\n        out = self.fc(out)\n        return state[0]\n",
          "final_state_only"},
      Row{"        out, (h_n, c_n) = self.lstm(x)\n        return c_n\n", "final_state_only"},
      Row{"        _, (h_n, c_n) = self.lstm(\n            x,\n            (h, h))\n        return torch.cat((h_n[-2], "
          "h_n[-1]), dim=1)\n",
          "final_state_only"},
      Row{"        out, _ = self.gru(x)\n        return out.mean(dim=1)\n", "other"},
      Row{"        out, _ = self.gru(x)\n        return torch.sum(out, 1)\n", "other"},
      Row{"        out, _ = self.gru(x)\n        return out.sum()\n", "other"},
      Row{"        out, _ = self.gru(x)\n        return out.mean(dim=-1)\n", "full_sequence"},
      Row{"        out, _ = self.gru(x)\n        out, _ = self.lstm(out)\n        return torch.relu(out) + 1\n",
          "full_sequence"},
      Row{"        ys = []\n        for t in range(x.size(1)):\n            h = torch.tanh(self.fc(x[:, t]) + h)\n"
          "            ys.append(h)\n        return torch.stack(ys, dim=1)\n",
          "full_sequence"},
      Row{"        for t in range(x.size(1)):\n            h = self.cell(x[:, t], h)\n        return self.fc(h)\n",
          "final_state_only"},
      Row{"        y = torch.zeros(3)\n        for t in range(x.size(1)):\n            h = self.cell(x[:, t], h)\n"
          "            y[:, t] = h\n        return y\n",
          "full_sequence"});
  INFO(row.body);
  CHECK(requirement(reference_model(row.body)) == row.expected);
}

TEST_CASE("what cannot be told about a recurrence is not said", "[task][reference]") {
  for (const std::string body : {
           "        out, _ = self.gru(x)\n        return self.pool(out)\n",
           "        out, _ = self.gru(x)\n        return out[:, 3]\n",
           "        out, _ = self.gru(x)\n        return helper(out)\n",
           "        out, h_n = self.gru(x)\n        if h is None:\n            return out\n        return h_n\n",
           "        return torch.relu(x)\n",
       }) {
    INFO(body);
    CHECK(requirement(reference_model(body)) == "unknown");
  }
  // The caller decides which dimension is time.
  const std::string mean = "        out, _ = self.gru(x)\n        return out.mean(dim=1)\n";
  CHECK(requirement(reference_model(mean, "order")) == "unknown");
}

TEST_CASE("evidence names the line and shows it", "[task][reference]") {
  const auto found = read_output_requirement(reference_model("        out, h_n = self.gru(x)\n        return h_n\n"));
  REQUIRE(found);
  CHECK(found->evidence == "line 10: `return h_n` is what the last step left");
}

TEST_CASE("comments, texts and other classes do not decide", "[task][reference]") {
  CHECK(
      requirement("class Helper(nn.Module):\n    def forward(self, x):\n        return x\n" +
                  reference_model("        \"\"\"\n        return out\n        \"\"\"\n        out, h_n = self.gru(x)\n"
                                  "        # return out\n        return h_n\n")) == "final_state_only");
}

TEST_CASE("the example tasks return what they say", "[task][reference]") {
  const std::string tasks = KERNELGEN_SOURCE_DIR "/examples/tasks/";
  const auto of = [&](const std::string& name) { return requirement(read_file(tasks + name + ".py").value()); };
  CHECK(of("gru") == "full_sequence");
  CHECK(of("gru_hidden") == "final_state_only");
  CHECK(of("gru_bidirectional") == "full_sequence");
  for (const std::string name : {"relu", "softmax", "layernorm", "batchnorm", "matmul_gelu"})
    CHECK(of(name) == "unknown");
}

TEST_CASE("any text is survived by the reader of references", "[task][reference]") {
  const std::string deep(20000, '(');
  for (const std::string& text :
       {std::string("class Model:\n def forward(self):\n  return"), reference_model("        return " + deep + "\n"),
        reference_model("        a[ = self.gru(x\n        return a\n"),
        reference_model("        , = ,\n        return ,\n"), reference_model("        return h[\n"),
        std::string("class Model")}) {
    (void)read_output_requirement(text);
    (void)classify_workload(text);
  }
  SUCCEED();
}
