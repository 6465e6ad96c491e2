#include "core/recurrent_layers.hpp"

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// A GRU over 64 inputs with a batch of 8 rows.
TaskDescription gru(int layers, int directions, std::int64_t hidden) {
  TaskDescription task;
  task.inputs = {{"x", DType::Float32, {96, 8, 64}, {}}};
  for (int layer = 0; layer < layers; ++layer)
    for (int direction = 0; direction < directions; ++direction) {
      const auto place = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      task.parameters.push_back({"gru.weight_ih" + place, DType::Float32, {3 * hidden, layer == 0 ? 64 : hidden}, {}});
      task.parameters.push_back({"gru.weight_hh" + place, DType::Float32, {3 * hidden, hidden}, {}});
      task.parameters.push_back({"gru.bias_hh" + place, DType::Float32, {3 * hidden}, {}});
    }
  task.facts.emplace().recurrence =
      RecurrenceFact{.kind = RecurrenceKind::Gru, .steps = 96, .hidden_size = hidden, .returns = {}};
  return task;
}

}  // namespace

TEST_CASE("recurrent layers follow from the names and shapes of weights", "[core][recurrence]") {
  const auto stack = recurrent_layers_of(gru(3, 1, 96));
  REQUIRE(stack);
  CHECK(stack->depth == 3);
  CHECK(stack->directions == 1);
  CHECK(stack->step_elements == 288 * 96);
  CHECK(stack->step_bytes == 4 * 288 * 96);
  CHECK(stack->state_elements == 3 * 288 * 96);
  CHECK(stack->input_elements == 288 * 64 + 2 * 288 * 96);
  CHECK(stack->batch == 8);
  CHECK(stack->chain() == 98);
}

TEST_CASE("layers of two directions wait for each other, and the last backward one is not counted",
          "[core][recurrence]") {
  const auto both = recurrent_layers_of(gru(2, 2, 96));
  REQUIRE(both);
  CHECK(both->directions == 2);
  CHECK(both->chain() == 192);
  CHECK(both->state_elements == 3 * 288 * 96);
}

TEST_CASE("what is no recurrent layer of torch.nn has none", "[core][recurrence]") {
  auto task = gru(1, 1, 96);
  task.facts->recurrence.reset();
  CHECK_FALSE(recurrent_layers_of(task));
  task = gru(1, 1, 96);
  task.parameters.clear();
  CHECK_FALSE(recurrent_layers_of(task));
  for (const auto* name : {"weight_hh_lx", "weight_hh_l", "weight_hh_l-1", "weight_hh_l99999999999", "weight_hhh"}) {
    task.parameters = {{name, DType::Float32, {288, 96}, {}}};
    INFO(name);
    CHECK_FALSE(recurrent_layers_of(task));
  }
  task.parameters = {{"cell.weight_hh", DType::Float16, {288, 96}, {}}};
  task.inputs.clear();
  const auto cell = recurrent_layers_of(task);
  REQUIRE(cell);
  CHECK(cell->step_bytes == 2 * 288 * 96);
  CHECK_FALSE(cell->batch);
}
