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
