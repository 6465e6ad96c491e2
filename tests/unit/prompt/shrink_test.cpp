#include "prompt/shrink.hpp"

#include <algorithm>

#include <kernelgen/prompt/error_classifier.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// 4 bytes an element.
std::int64_t bytes_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t stages) {
  return 4 * stages * (m + n) * k;
}

std::string text_of(const Change& change) {
  std::string text;
  for (const auto& step : change.steps)
    text += (text.empty() ? "" : ", ") + step.name + " " + std::to_string(step.from) + "->" + std::to_string(step.to);
  return text;
}

}  // namespace

TEST_CASE("sizes of tiles are read where a launch gives them", "[prompt][shrink]") {
  const auto configs = read_tile_constants(
      "BLOCK_M = 64  # a default\n"
      "kernel[grid](a, b, c, BLOCK_M=128, BLOCK_N = 256, BLOCK_K=64, num_stages=3, num_warps=8)\n"
      "if BLOCK_M == 7: pass\n");
  REQUIRE(configs.size() == 1);
  REQUIRE(configs[0].size() == 4);
  CHECK(configs[0][0].name == "BLOCK_M");
  CHECK(configs[0][0].value == 128);
  CHECK(configs[0][3].name == "num_stages");
}

TEST_CASE("every configuration of autotune is one", "[prompt][shrink]") {
  const auto configs = read_tile_constants(
      "@triton.autotune(configs=[triton.Config({'BLOCK_M': 64, \"BLOCK_K\": 32}, num_stages=2),\n"
      "                          triton.Config({'BLOCK_M': 128, 'BLOCK_K': 64}, num_stages=4)], key=['n'])\n");
  REQUIRE(configs.size() == 2);
  CHECK(configs[1].size() == 3);
  CHECK(configs[1][2].value == 4);
}

TEST_CASE("a source without sizes of tiles has no configuration", "[prompt][shrink]") {
  CHECK(read_tile_constants("kernel[grid](x, y, n, num_stages=3)\n").empty());
  CHECK(read_tile_constants("").empty());
  CHECK(plan_shrink({}, 102400, 101376).empty());
}

TEST_CASE("a little too much: any one halving is enough", "[prompt][shrink]") {
  const TileConfig config{{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}, {"num_stages", 3}};
  const auto plan = plan_shrink({config}, 102400, 101376);
  REQUIRE(plan.size() == 4);
  for (const auto& change : plan) {
    CHECK(change.steps.size() == 1);
    CHECK(change.bytes <= 101376);
  }
  // The cheapest change comes first.
  CHECK(text_of(plan[0]) == "BLOCK_N 128->64");
  CHECK(plan[0].bytes == 76800);
  CHECK(text_of(plan[3]) == "BLOCK_K 32->16");
}

TEST_CASE("more than four times too much takes several halvings together", "[prompt][shrink]") {
  const TileConfig config{{"BLOCK_M", 128}, {"BLOCK_N", 256}, {"BLOCK_K", 64}, {"num_stages", 4}};
  REQUIRE(bytes_of(128, 256, 64, 4) == 393216);
  const auto plan = plan_shrink({config}, 442368, 101376);
  REQUIRE_FALSE(plan.empty());
  for (const auto& change : plan) {
    CHECK(change.bytes <= 101376);
    CHECK(442368 / change.bytes >= 4);
  }
  // No change with fewer steps is enough.
  std::int64_t steps = 0;
  for (const auto& step : plan[0].steps)
    for (auto value = step.from; value > step.to; ++steps) value = step.name == "num_stages" ? value - 1 : value / 2;
  CHECK(steps == 3);
}

TEST_CASE("the accumulator has to fit as well", "[prompt][shrink]") {
  // Measured with Triton 3.9: 128 x 256 floats are stored through 131072 bytes, whatever BLOCK_K and num_stages are.
  const TileConfig config{{"BLOCK_M", 128}, {"BLOCK_N", 256}, {"BLOCK_K", 64}, {"num_stages", 3}};
  const auto plan = plan_shrink({config}, 294912, 101376);
  REQUIRE_FALSE(plan.empty());
  for (const auto& change : plan)
    CHECK(std::any_of(change.steps.begin(), change.steps.end(),
                      [](const Step& step) { return step.name == "BLOCK_M" || step.name == "BLOCK_N"; }));
}

TEST_CASE("operands of tl.dot stay at least 16", "[prompt][shrink]") {
  const TileConfig config{{"BLOCK_M", 16}, {"BLOCK_N", 32}, {"BLOCK_K", 16}, {"num_stages", 2}};
  for (const auto& change : plan_shrink({config}, 1000, 600)) {
    for (const auto& step : change.steps) CHECK((step.name == "num_stages" || step.to >= 16));
  }
  CHECK(plan_shrink({config}, 100000, 600).empty());
}

TEST_CASE("the stages that Triton takes by itself can be lowered as well", "[prompt][shrink]") {
  const auto plan = plan_shrink({{{"BLOCK_M", 16}, {"BLOCK_K", 16}}}, 3000, 2000);
  REQUIRE(plan.size() == 1);
  CHECK(text_of(plan[0]) == "num_stages 3->2");
}

TEST_CASE("shared arrays are measured with the constants of the source", "[prompt][shrink]") {
  const auto arrays = read_shared_arrays(
      "#define TILE 64\n"
      "constexpr int kSteps = TILE / 2;\n"
      "static constexpr int WIDTH = TILE * 2;\n"
      "__global__ void k() {\n"
      "  __shared__ float a[TILE][WIDTH + 1];\n"
      "  __shared__ __half b[TILE * 2];\n"
      "  __shared__ float c[kSteps];\n"
      "  extern __shared__ float d[];\n"
      "  __shared__ float e;\n"
      "}\n");
  REQUIRE(arrays.size() == 2);
  CHECK(arrays[0].name == "a");
  CHECK(arrays[0].bytes == 64 * 129 * 4);
  CHECK(arrays[1].name == "b");
  CHECK(arrays[1].bytes == 256);
}

TEST_CASE("advice names the constants, their new values and what is left", "[prompt][shrink]") {
  EvaluationRecord record;
  record.target = Target::Triton;
  record.outcome = {OutcomeKind::Resource, "shared_memory",
                    "a call failed: OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: "
                    "101376. Reducing block sizes or `num_stages` may help."};
  const auto advice =
      classify_error(record, "kernel[g](a, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, num_stages=3)\n").advice;
  CHECK_THAT(advice, Catch::Contains("147456 bytes") && Catch::Contains("1.45 times"));
  CHECK_THAT(advice, Catch::Contains("- `num_stages` 3 -> 2 (98304 bytes)"));
  CHECK_THAT(classify_error(record).advice, Catch::Contains("Halve `BLOCK_*`"));
}

TEST_CASE("advice for CUDA names the arrays", "[prompt][shrink]") {
  EvaluationRecord record;
  record.target = Target::Cuda;
  record.outcome = {OutcomeKind::Resource, "shared_memory", ""};
  record.compile.emplace().log =
      "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x12000 bytes, 0xc000 max)\n";
  const auto advice = classify_error(record, "__shared__ float a[128][128];\n__shared__ float b[2048];\n").advice;
  CHECK_THAT(advice,
             Catch::Contains("- `a`: 65536 bytes; half of it is enough") && Catch::Contains("- `b`: 8192 bytes\n"));
}
