#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "task/recurrence.hpp"

using kernelgen::is_recurrent;
using kernelgen::read_file;

namespace {

bool loop_is_recurrent(const std::string& loop) {
  return is_recurrent("class Model(nn.Module):\n    def forward(self, x, h):\n" + loop + "        return h\n");
}

}  // namespace

TEST_CASE("the recurrent ones among the example tasks are found", "[task][recurrence]") {
  const std::string tasks = KERNELGEN_SOURCE_DIR "/examples/tasks/";
  for (const std::string name : {"gru", "gru_hidden", "gru_bidirectional"})
    CHECK(is_recurrent(read_file(tasks + name + ".py").value()));
  for (const std::string name : {"relu", "softmax", "layernorm", "batchnorm", "matmul_gelu"})
    CHECK_FALSE(is_recurrent(read_file(tasks + name + ".py").value()));
}

TEST_CASE("recurrent layers are found by their call alone", "[task][recurrence]") {
  CHECK(is_recurrent("self.rnn = nn.LSTM(3, 4)\n"));
  CHECK(is_recurrent("from torch.nn import GRUCell\nself.cell = GRUCell(3, 4)\n"));
  CHECK_FALSE(is_recurrent("# nn.GRU(3, 4)\nx = 'nn.LSTM(1)'\n\"\"\"\nnn.RNN(2)\n\"\"\"\n"));
  CHECK_FALSE(is_recurrent("class GRULike:\n    pass\nx = my_GRU(3)\n"));
}

TEST_CASE("a loop that carries state over slices is recurrent", "[task][recurrence]") {
  CHECK(loop_is_recurrent("        for t in range(x.size(1)):\n            h = torch.tanh(self.i2h(x[:, t]) + h)\n"));
  CHECK(loop_is_recurrent("        for t in range(n):\n            x_t = x[t]\n            h += x_t\n"));
  CHECK(loop_is_recurrent("        for x_t in x.unbind(1):\n            h = self.cell(x_t, h)\n"));
  CHECK(loop_is_recurrent(
      "        for i in range(n):\n            s = a[:, i] * s + b[:, i]\n            out.append(s)\n"));
}

TEST_CASE("a loop over layers or independent slices is not", "[task][recurrence]") {
  CHECK_FALSE(loop_is_recurrent("        for layer in self.layers:\n            h = layer(h)\n"));
  CHECK_FALSE(loop_is_recurrent("        for i in range(3):\n            h = self.layers[i](h)\n"));
  CHECK_FALSE(loop_is_recurrent("        for t in range(n):\n            y[t] = torch.relu(x[t])\n"));
  CHECK_FALSE(loop_is_recurrent("        for t in range(n):\n            y = f(x[t])\n            out.append(y)\n"));
}

TEST_CASE("any text is survived", "[task][recurrence]") {
  for (const std::string text :
       {"", "'", "\"\"\"", "for t in", "for t in x:\n", "a[", "x = '\\", "for t in y:\n  x[t\n", "=", "for  in \n =\n"})
    CHECK_FALSE(is_recurrent(text));
}

TEST_CASE("the loops of a constructor are no recurrence", "[task][recurrence]") {
  const std::string build =
      "        width = 3\n"
      "        for i in range(stages):\n"
      "            layers.append(make(width, widths[i]))\n"
      "            width = widths[i]\n";
  CHECK_FALSE(is_recurrent("class Model(nn.Module):\n    def __init__(self, stages, widths):\n" + build));
  CHECK(is_recurrent("class Model(nn.Module):\n    def __init__(self):\n        pass\n    def forward(self, x):\n" +
                     build));
}
