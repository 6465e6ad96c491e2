#include <limits>

#include <kernelgen/bench/benchmarker.hpp>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

TEST_CASE("the default options can be evaluated", "[bench][options]") { CHECK(check_options({})); }

TEST_CASE("options that no evaluation can be done with are named", "[bench][options]") {
  const auto refused = [](auto change) {
    EvaluationOptions options;
    change(options);
    const auto checked = check_options(options);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::InvalidArgument);
    return checked.error().message;
  };
  CHECK(refused([](auto& o) { o.call_timeout = 0ms; }) ==
        "option call_timeout is 0 ms; it must be above 0 and at most a week");
  CHECK_THAT(refused([](auto& o) { o.build_timeout = std::chrono::milliseconds::max(); }),
             Catch::StartsWith("option build_timeout is "));
  CHECK_THAT(refused([](auto& o) { o.task_timeout = -1ms; }), Catch::StartsWith("option task_timeout is "));
  CHECK_THAT(refused([](auto& o) { o.measure.deadline = -1ms; }), Catch::StartsWith("option measure.deadline is "));
  CHECK_THAT(refused([](auto& o) { o.measure.max_samples = 0; }),
             Catch::StartsWith("option measure.max_samples is 0;"));
  CHECK_THAT(refused([](auto& o) { o.measure.warmup_calls = -1; }),
             Catch::StartsWith("option measure.warmup_calls is "));
  CHECK_THAT(refused([](auto& o) { o.measure.full_comparisons = -1; }), Catch::StartsWith("option measure.full_"));
  CHECK_THAT(refused([](auto& o) { o.threads = -5; }), Catch::StartsWith("option threads is -5;"));
  CHECK_THAT(refused([](auto& o) { o.rtol = std::numeric_limits<double>::quiet_NaN(); }),
             Catch::StartsWith("option rtol is nan;"));
  CHECK_THAT(refused([](auto& o) { o.atol = -1e-3; }), Catch::StartsWith("option atol is "));
  CHECK_THAT(refused([](auto& o) { o.memory_limit = 0; }), Catch::StartsWith("option memory_limit is 0 bytes;"));
  CHECK_THAT(refused([](auto& o) { o.hip_cpu.wave_size = 48; }), Catch::StartsWith("option hip_cpu.wave_size is 48;"));
  CHECK_THAT(refused([](auto& o) { o.compile_for.architectures.resize(17, "gfx942"); }),
             Catch::StartsWith("option compile_for.architectures is 17;"));
}

TEST_CASE("a quick evaluation takes fewer samples and comparisons, and never more than asked for", "[bench][options]") {
  EvaluationOptions options;
  const auto full = measure_options_of(options);
  CHECK(full.max_samples == options.measure.max_samples);
  CHECK(full.full_comparisons == 44);
  options.mode = EvaluationMode::Quick;
  const auto quick = measure_options_of(options);
  CHECK(quick.max_samples == 20);
  CHECK(quick.full_comparisons == 8);
  CHECK(quick.deadline == 3s);
  CHECK(quick.max_relative_interval == 0.05);
  options.measure = {
      .max_relative_interval = 0.1, .full_comparisons = 2, .max_samples = 5, .warmup_calls = 3, .deadline = 1s};
  const auto fewer = measure_options_of(options);
  CHECK(fewer.max_samples == 5);
  CHECK(fewer.full_comparisons == 2);
  CHECK(fewer.warmup_calls == 3);
  CHECK(fewer.deadline == 1s);
  CHECK(fewer.max_relative_interval == 0.1);
}
