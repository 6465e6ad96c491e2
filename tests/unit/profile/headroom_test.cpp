#include <kernelgen/profile/headroom.hpp>

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

TensorSpec tensor(std::string name, std::vector<std::int64_t> shape, DType dtype = DType::Float32) {
  return {std::move(name), dtype, std::move(shape), {}};
}

std::string reference(const std::string& body) {
  return "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        self.fc = nn.Linear(1024, 1024)\n"
         "        self.unused = nn.Linear(1024, 1024)\n"
         "        self.gru = nn.GRU(128, 256, 2, bidirectional=True)\n"
         "        self.conv = nn.Conv2d(3, 3, 3)\n"
         "    def forward(self, x, y):\n        " +
         body + "\n";
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

struct Task {
  std::string body;
  TaskDescription description;
};

Task relu(std::int64_t elements) {
  Task task{"return torch.relu(x)", {}};
  task.description.inputs = {tensor("x", {elements})};
  task.description.outputs = {tensor("output", {elements})};
  return task;
}

std::optional<Headroom> headroom(const Task& task, double median_ns, const GpuFacts& gpu = device(),
                                 const Profile* profile = nullptr) {
  const auto text = reference(task.body);
  const auto record = timed(median_ns);
  return find_headroom({text, task.description, record, gpu, profile});
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

TEST_CASE("a product has the floor of its operations, at what matrix units can do in its precision",
          "[profile][headroom]") {
  Task task{"return torch.matmul(x, y)", {}};
  task.description.inputs = {tensor("x", {2048, 1024}), tensor("y", {1024, 4096})};
  task.description.outputs = {tensor("output", {2048, 4096})};
  const double operations = 2.0 * 2048 * 1024 * 4096;
  const auto strict = headroom(task, 2e6);
  REQUIRE(strict);
  CHECK(strict->bound == "operations");
  // Three products of fp16 make one of fp32.
  CHECK_THAT(strict->floor_ns, Catch::WithinRel(operations / 20e12 * 1e9, 1e-6));
  task.description.precision = PrecisionClass::Tf32;
  CHECK_THAT(headroom(task, 2e6)->floor_ns, Catch::WithinRel(operations / 30e12 * 1e9, 1e-6));
  task.description.precision = PrecisionClass::Bf16;
  CHECK_THAT(headroom(task, 2e6)->floor_ns, Catch::WithinRel(operations / 60e12 * 1e9, 1e-6));
  SECTION("of a batch, too") {
    task.description.inputs = {tensor("x", {8, 256, 128}), tensor("y", {8, 128, 512})};
    task.description.outputs = {tensor("output", {8, 256, 512})};
    task.description.precision = PrecisionClass::Fp16;
    task.body = "return torch.bmm(x, y)";
    auto slow = device();
    slow.fp32_per_second = 1e12;
    slow.fp16_per_second = 6e12;
    CHECK_THAT(headroom(task, 2e6, slow)->floor_ns, Catch::WithinRel(2.0 * 8 * 256 * 128 * 512 / 6e12 * 1e9, 1e-6));
  }
  SECTION("not where a reduction may save most of it") {
    task.body = "return torch.matmul(x, y).sum()";
    task.description.outputs = {tensor("output", {})};
    CHECK(headroom(task, 2e6)->bound == "memory");
  }
  SECTION("not where the peaks are unknown") {
    auto gpu = device();
    gpu.fp32_per_second.reset();
    CHECK(headroom(task, 2e6, gpu)->bound == "memory");
  }
}

TEST_CASE("layers that forward() does not use are not counted", "[profile][headroom]") {
  Task task{"return torch.relu(self.fc(x))", {}};
  task.description.inputs = {tensor("x", {1, 1024})};
  task.description.outputs = {tensor("output", {1, 1024})};
  task.description.parameters = {tensor("fc.weight", {1024, 1024})};
  const auto one = headroom(task, 10'000);
  REQUIRE(one);
  task.description.parameters.push_back(tensor("unused.weight", {1024, 1024}));
  const auto two = headroom(task, 10'000);
  CHECK(two->floor_ns == one->floor_ns);
}

TEST_CASE("a convolution may leave inputs out", "[profile][headroom]") {
  Task task{"return self.conv(x)", {}};
  task.description.inputs = {tensor("x", {100'000'000})};
  task.description.outputs = {tensor("output", {10'000'000})};
  CHECK_THAT(headroom(task, 1e6)->floor_ns, Catch::WithinRel(39'000, 1e-6));
}

TEST_CASE("a recurrence is all done, except for what the last backward layer may leave out", "[profile][headroom]") {
  Task task{"out, h_n = self.gru(x, y)\n        return h_n", {}};
  task.description.inputs = {tensor("x", {512, 10, 128}), tensor("y", {4, 10, 256})};
  task.description.outputs = {tensor("output", {4, 10, 256})};
  task.description.parameters = {tensor("gru.weight_ih_l0", {768, 128}),
                                 tensor("gru.weight_hh_l0", {768, 256}),
                                 tensor("gru.weight_ih_l0_reverse", {768, 128}),
                                 tensor("gru.weight_hh_l0_reverse", {768, 256}),
                                 tensor("gru.weight_ih_l1", {768, 512}),
                                 tensor("gru.weight_ih_l1_reverse", {768, 512}),
                                 tensor("fc.weight", {1024, 1024})};
  const auto found = headroom(task, 5e6);
  REQUIRE(found);
  CHECK(found->bound == "operations");
  const double weights = 768.0 * (128 + 256 + 128 + 256 + 512);
  CHECK_THAT(found->floor_ns, Catch::WithinRel(2 * 512 * 10 * weights / 20e12 * 1e9, 1e-6));
}

TEST_CASE("what is not known has no floor", "[profile][headroom]") {
  Task unknown{"return helper(x)", relu(1'000'000).description};
  CHECK_FALSE(headroom(unknown, 14'000));
  auto masked = relu(1'000'000);
  masked.body = "return x * y";
  masked.description.inputs.push_back(tensor("y", {1'000'000}, DType::Bool));
  CHECK_FALSE(headroom(masked, 14'000));
  CHECK_FALSE(headroom(relu(1'000'000), 0));
  const auto task = relu(1'000'000);
  const auto text = reference(task.body);
  EvaluationRecord record = timed(14'000);
  const auto gpu = device();
  record.outcome.kind = OutcomeKind::Accuracy;
  CHECK_FALSE(find_headroom({text, task.description, record, gpu, nullptr}));
  record = timed(14'000);
  record.labels = {"interpreter: a time is not a result"};
  CHECK_FALSE(find_headroom({text, task.description, record, gpu, nullptr}));
}

TEST_CASE("a kernel that was replayed as a graph has the time of the graph", "[profile][headroom]") {
  const auto task = relu(1'000'000);
  const auto text = reference(task.body);
  const auto gpu = device();
  EvaluationRecord record = timed(14'000);
  record.timing->candidate_graph_ns = {10'000, 7'700, 7'000};
  record.timing->speedup_device = Ratio{2, 2, 2};
  CHECK(find_headroom({text, task.description, record, gpu, nullptr})->time_ns == 7'700);
}

TEST_CASE("with a profile the launches are counted", "[profile][headroom]") {
  Profile profile;
  profile.kernels = {{"step()", "step", KernelOrigin::Own, 512, 1e6, 0, {}}};
  CHECK(headroom(relu(1'000'000), 14'000, device(), &profile)->sentence ==
        "it takes 14 us, 2.00 times the least possible of 7 us (moving 7 MB at 1 TB/s), in 512 launches, which take "
        "about 1.02 ms in themselves");
}

TEST_CASE("the measured memory floor wins over the estimate, and needs no family", "[profile][headroom]") {
  auto task = relu(1'000'000);
  auto record = timed(14'000);
  record.timing->memory_floor =
      MemoryFloor{.read_bytes = 2'000'000, .written_bytes = 500'000, .bytes_per_second = 1e12};
  const auto gpu = device();
  const auto floor_ns = [&] {
    const auto text = reference(task.body);
    const auto found = find_headroom({text, task.description, record, gpu});
    return found ? found->floor_ns : 0;
  };
  CHECK_THAT(floor_ns(), Catch::WithinAbs(2500, 0.01));
  task.body = "return mystery(x)";
  CHECK_THAT(floor_ns(), Catch::WithinAbs(2500, 0.01));
  // What could not be measured is estimated, for a family that is known.
  record.timing->memory_floor->read_bytes.reset();
  CHECK(floor_ns() == 0);
  task.body = "return torch.relu(x)";
  CHECK_THAT(floor_ns(), Catch::WithinAbs(7000, 0.01));
}
