#include <kernelgen/profile/headroom.hpp>

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

TensorSpec tensor(std::string name, std::vector<std::int64_t> shape, DType dtype = DType::Float32) {
  return {std::move(name), dtype, std::move(shape), {}};
}

/// A device that moves 1 TB and does 10 TFLOP of fp32 a second, 60 of fp16.
GpuFacts device() {
  GpuFacts gpu;
  gpu.l2_bytes = 1'000'000;
  gpu.memory_bytes_per_second = 2e12;
  gpu.measured_bytes_per_second = 1e12;
  gpu.fp32_per_second = 10e12;
  gpu.tf32_per_second = 30e12;
  gpu.fp16_per_second = 60e12;
  return gpu;
}

EvaluationRecord timed(double median_ns) {
  EvaluationRecord record;
  record.timing.emplace().speedup_call = {1, 1, 1};
  record.timing->candidate_median_ns = median_ns;
  return record;
}

TaskDescription relu(std::int64_t elements) {
  TaskDescription task;
  task.inputs = {tensor("x", {elements})};
  task.outputs = {tensor("output", {elements})};
  task.facts.emplace().least_read_bytes = 4 * elements;
  return task;
}

std::optional<Headroom> headroom(const TaskDescription& task, double median_ns, const GpuFacts& gpu = device(),
                                 const Profile* profile = nullptr) {
  const auto record = timed(median_ns);
  return find_headroom({task, record, gpu, profile});
}

}  // namespace

TEST_CASE("what is streamed has the floor of its bytes; what a cache may keep is not counted", "[profile][headroom]") {
  // 4 MB are read and 4 MB written, one of which the cache may keep.
  const auto found = headroom(relu(1'000'000), 14'000);
  REQUIRE(found);
  CHECK(found->bound == "memory");
  CHECK_THAT(found->floor_ns, Catch::WithinAbs(7000, 0.01));
  CHECK_THAT(found->ratio, Catch::WithinAbs(2, 1e-6));
  CHECK(found->sentence == "it takes 14 us, 2.00 times the least possible of 7 us (moving 7 MB at 1 TB/s)");
}

TEST_CASE("nothing is faster than a launch", "[profile][headroom]") {
  const auto found = headroom(relu(1000), 3000);
  REQUIRE(found);
  CHECK(found->bound == "launch");
  CHECK(found->floor_ns == 2000);
}

TEST_CASE("a bandwidth without a measurement is most of the stated one", "[profile][headroom]") {
  auto gpu = device();
  gpu.measured_bytes_per_second.reset();
  CHECK_THAT(headroom(relu(1'000'000), 14'000, gpu)->floor_ns, Catch::WithinRel(7e6 / 1.8e12 * 1e9, 1e-6));
  gpu.memory_bytes_per_second.reset();
  CHECK_FALSE(headroom(relu(1'000'000), 14'000, gpu));
}

TEST_CASE("operations that cannot be saved have a floor, at what matrix units can do in their precision",
          "[profile][headroom]") {
  auto task = relu(1'000'000);
  constexpr std::int64_t k_operations = 17'179'869'184;
  task.facts->least_flops = k_operations;
  const double operations = k_operations;
  const auto strict = headroom(task, 2e6);
  REQUIRE(strict);
  CHECK(strict->bound == "operations");
  // Three products of fp16 make one of fp32.
  CHECK_THAT(strict->floor_ns, Catch::WithinRel(operations / 20e12 * 1e9, 1e-6));
  task.precision = PrecisionClass::Tf32;
  CHECK_THAT(headroom(task, 2e6)->floor_ns, Catch::WithinRel(operations / 30e12 * 1e9, 1e-6));
  task.precision = PrecisionClass::Bf16;
  CHECK_THAT(headroom(task, 2e6)->floor_ns, Catch::WithinRel(operations / 60e12 * 1e9, 1e-6));
  SECTION("not where they are unknown") {
    task.facts->least_flops.reset();
    CHECK(headroom(task, 2e6)->bound == "memory");
  }
  SECTION("not where the peaks are unknown") {
    auto gpu = device();
    gpu.fp32_per_second.reset();
    CHECK(headroom(task, 2e6, gpu)->bound == "memory");
  }
}

namespace {

/// KernelBench's 39_GRU: 6 layers, 512 steps, 10 rows, 128 inputs, hidden size 256.
TaskDescription gru(int directions, std::int64_t hidden = 256, std::int64_t batch = 10) {
  TaskDescription task;
  task.inputs = {tensor("x", {512, batch, 128})};
  std::int64_t elements = 0;
  constexpr int k_layers = 6;
  for (int layer = 0; layer < k_layers; ++layer)
    for (int direction = 0; direction < directions; ++direction) {
      const auto place = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const auto inputs = layer == 0 ? 128 : hidden * directions;
      task.parameters.push_back(tensor("gru.weight_ih" + place, {3 * hidden, inputs}));
      task.parameters.push_back(tensor("gru.weight_hh" + place, {3 * hidden, hidden}));
      if (direction == 0 || layer + 1 < k_layers) elements += 3 * hidden * (inputs + hidden);
    }
  task.facts.emplace().recurrence = RecurrenceFact{
      .kind = RecurrenceKind::Gru, .layers = k_layers, .directions = directions, .steps = 512, .returns = {}};
  task.facts->least_read_bytes = 1'000'000;
  task.facts->least_flops = 2 * 512 * batch * elements;
  return task;
}

/// An H200, as the catalog has it.
GpuFacts h200() {
  GpuFacts gpu;
  gpu.multiprocessors = 132;
  gpu.registers_per_multiprocessor = 65'536;
  gpu.shared_bytes_per_multiprocessor = 233'472;
  gpu.memory_bytes_per_second = 4.8e12;
  gpu.fp32_per_second = 66.9e12;
  gpu.tf32_per_second = 494.7e12;
  gpu.fp16_per_second = 989.4e12;
  gpu.cluster_blocks = 8;
  gpu.cluster_barrier_ns = 220;
  gpu.grid_barrier_ns = 650;
  return gpu;
}

}  // namespace

TEST_CASE("a recurrence has the floor of its chain of steps", "[profile][headroom][chain]") {
  const auto found = headroom(gru(1), 1.31e6, h200());
  REQUIRE(found);
  CHECK(found->bound == "chain");
  // 12.1 GFLOP at 66.9 TFLOP/s, 11.1 at 329.8, and 517 exchanges.
  CHECK_THAT(found->floor_ns, Catch::WithinRel(180'560 + 33'575 + 517 * 220.0, 1e-3));
  CHECK(found->sentence ==
        "it takes 1.31 ms, 4.00 times the least possible of 328 us (517 dependent steps: 12.1 GFLOP with the state at "
        "66.9 TFLOP/s of fp32, 11.1 GFLOP of other products at a third of 989 TFLOP/s of fp16, 220 ns for the exchange "
        "of each step)");
}

TEST_CASE("layers after two directions are no wavefront", "[profile][headroom][chain]") {
  const auto found = headroom(gru(2), 3.18e6, h200());
  REQUIRE(found);
  CHECK(found->floor_ns > 6 * 512 * 220.0);
  CHECK(found->sentence.find("3072 dependent steps") != std::string::npos);
}

TEST_CASE("what an exchange costs is that of the smallest group that holds the weights", "[profile][headroom][chain]") {
  // 12 MiB a layer do not fit in a cluster of 8.
  const auto large = headroom(gru(1, 1024), 1e7, h200());
  REQUIRE(large);
  CHECK(large->sentence.find("650 ns for the exchange") != std::string::npos);
  // 48 KiB fit on one multiprocessor, where a row takes 12288 multiply-adds of 128 a cycle in each step.
  const auto small = headroom(gru(1, 64), 1e6, h200());
  REQUIRE(small);
  CHECK(small->sentence.find("no exchange") != std::string::npos);
  CHECK_THAT(small->floor_ns, Catch::WithinRel(517 * 2 * 12'288.0 / (66.9e12 / 132) * 1e9, 1e-6));
}

TEST_CASE("an exchange that was not measured costs nothing, and nothing is said about it",
          "[profile][headroom][chain]") {
  auto gpu = h200();
  gpu.cluster_barrier_ns.reset();
  const auto found = headroom(gru(1), 1.31e6, gpu);
  REQUIRE(found);
  CHECK(found->floor_ns < 220'000);
  CHECK(found->sentence.find("exchange") == std::string::npos);
}

TEST_CASE("steps of many rows may use matrix units", "[profile][headroom][chain]") {
  const auto found = headroom(gru(1, 256, 64), 1e7, h200());
  REQUIRE(found);
  CHECK(found->sentence.find("with the state at a third of 989 TFLOP/s of fp16") != std::string::npos);
}

TEST_CASE("a chain needs no bandwidth, and none is made up", "[profile][headroom][chain]") {
  auto gpu = h200();
  gpu.memory_bytes_per_second.reset();
  CHECK(headroom(gru(1), 1.31e6, gpu)->bound == "chain");
  auto task = gru(1);
  task.facts->least_flops.reset();
  CHECK_FALSE(headroom(task, 1.31e6, gpu));
  gpu.multiprocessors = 0;
  CHECK_FALSE(headroom(gru(1), 1.31e6, gpu));
}

TEST_CASE("a peak is told as the device states it", "[profile][headroom]") {
  auto task = relu(1'000'000);
  task.facts->least_flops = 17'179'869'184;
  CHECK(headroom(task, 2e6)->sentence.find("(17.2 GFLOP at a third of 60 TFLOP/s of fp16)") != std::string::npos);
  auto gpu = device();
  gpu.measured_bytes_per_second.reset();
  CHECK(headroom(relu(1'000'000), 14'000, gpu)->sentence.find("moving 7 MB at 90 % of 2 TB/s") != std::string::npos);
}

TEST_CASE("what is not known has no floor", "[profile][headroom]") {
  auto unknown = relu(1'000'000);
  unknown.facts->least_read_bytes.reset();
  CHECK_FALSE(headroom(unknown, 14'000));
  unknown.facts.reset();
  CHECK_FALSE(headroom(unknown, 14'000));
  CHECK_FALSE(headroom(relu(1'000'000), 0));
  const auto task = relu(1'000'000);
  EvaluationRecord record = timed(14'000);
  const auto gpu = device();
  record.outcome.kind = OutcomeKind::Accuracy;
  CHECK_FALSE(find_headroom({task, record, gpu, nullptr}));
  record = timed(14'000);
  record.labels = {"interpreter: a time is not a result"};
  CHECK_FALSE(find_headroom({task, record, gpu, nullptr}));
}

TEST_CASE("a kernel that was replayed as a graph has the time of the graph", "[profile][headroom]") {
  const auto task = relu(1'000'000);
  const auto gpu = device();
  EvaluationRecord record = timed(14'000);
  record.timing->candidate_graph_ns = {10'000, 7'700, 7'000};
  record.timing->speedup_device = Ratio{2, 2, 2};
  CHECK(find_headroom({task, record, gpu, nullptr})->time_ns == 7'700);
}

TEST_CASE("with a profile the launches are counted", "[profile][headroom]") {
  Profile profile;
  profile.kernels = {{"step()", "step", KernelOrigin::Own, 512, 1e6, 0, {}}};
  CHECK(headroom(relu(1'000'000), 14'000, device(), &profile)->sentence ==
        "it takes 14 us, 2.00 times the least possible of 7 us (moving 7 MB at 1 TB/s), in 512 launches, which take "
        "about 1.02 ms in themselves");
}

TEST_CASE("the measured memory floor wins over the estimate, and needs no facts", "[profile][headroom]") {
  auto task = relu(1'000'000);
  auto record = timed(14'000);
  record.timing->memory_floor =
      MemoryFloor{.read_bytes = 2'000'000, .written_bytes = 500'000, .bytes_per_second = 1e12};
  const auto gpu = device();
  const auto floor_ns = [&] {
    const auto found = find_headroom({task, record, gpu});
    return found ? found->floor_ns : 0;
  };
  CHECK_THAT(floor_ns(), Catch::WithinAbs(2500, 0.01));
  task.facts.reset();
  CHECK_THAT(floor_ns(), Catch::WithinAbs(2500, 0.01));
  // What could not be measured follows from the operations, where they are known.
  record.timing->memory_floor->read_bytes.reset();
  CHECK(floor_ns() == 0);
  task = relu(1'000'000);
  CHECK_THAT(floor_ns(), Catch::WithinAbs(7000, 0.01));
}
