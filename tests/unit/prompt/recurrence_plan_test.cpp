#include "prompt/recurrence_plan.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using enum RecurrenceSplit;

namespace {

GpuFacts h200() {
  GpuFacts gpu;
  gpu.vendor = "nvidia";
  gpu.multiprocessors = 132;
  gpu.registers_per_multiprocessor = 65'536;
  gpu.shared_bytes_per_block_optin = 232'448;
  gpu.cluster_blocks = 8;
  return gpu;
}

GpuFacts a100() {
  auto gpu = h200();
  gpu.multiprocessors = 108;
  gpu.shared_bytes_per_block_optin = 166'912;
  gpu.cluster_blocks = 0;
  return gpu;
}

GpuFacts mi300x() {
  GpuFacts gpu;
  gpu.vendor = "amd";
  gpu.multiprocessors = 304;
  gpu.registers_per_multiprocessor = 131'072;
  gpu.shared_bytes_per_block_optin = 65'536;
  return gpu;
}

/// Weights of one layer and direction, in float32.
RecurrenceSizes cell(std::int64_t gates, std::int64_t hidden, int depth = 1, int directions = 1) {
  return {4 * gates * hidden * hidden, depth, directions};
}

}  // namespace

TEST_CASE("the first ways to divide a recurrence follow from its sizes", "[prompt][recurrence]") {
  struct Case {
    const char* name;
    RecurrenceSizes recurrence;
    std::optional<GpuFacts> gpu;
    Target target;
    std::vector<RecurrenceSplit> order;
  };
  const std::vector<Case> cases{
      {"GRU, 3 layers, hidden 256: 768 KiB a layer", cell(3, 256, 3), h200(), Target::Cuda, {Cluster, Wavefront, Grid}},
      {"the same without clusters", cell(3, 256, 3), a100(), Target::Cuda, {Grid, Wavefront}},
      {"LSTM of both directions: no wavefront", cell(4, 256, 3, 2), h200(), Target::Cuda, {Cluster, Grid}},
      {"LSTM of both directions without clusters", cell(4, 256, 3, 2), a100(), Target::Cuda, {Grid, Reread}},
      {"a tiny RNN fits on one SM", cell(1, 64), h200(), Target::Cuda, {OwnRows, Cluster, Grid}},
      {"a stack of tiny RNNs", cell(1, 64, 4), h200(), Target::Cuda, {OwnRows, Wavefront, Cluster, Grid}},
      {"larger than a cluster", cell(3, 1024), h200(), Target::Cuda, {Grid, Reread}},
      {"a stack of which one layer fits on the chip", cell(4, 1024, 8), h200(), Target::Cuda, {Grid, Reread}},
      {"fits nothing", cell(4, 4096, 2), h200(), Target::Cuda, {Reread, OwnRows}},
      {"AMD, small", cell(1, 128), mi300x(), Target::Hip, {OwnRows, Grid}},
      {"AMD, a stack", cell(3, 512, 2), mi300x(), Target::Hip, {Grid, Wavefront}},
      {"Triton, small", cell(1, 128), h200(), Target::Triton, {OwnRows, Grid}},
      {"Triton, large", cell(3, 256, 6), h200(), Target::Triton, {Grid, OwnRows}},
      {"Triton, fits nothing", cell(4, 4096), h200(), Target::Triton, {Reread, OwnRows}},
      {"weights that are not known", {}, h200(), Target::Cuda, {OwnRows, Cluster}},
      {"a GPU that is not known, small", cell(1, 64), {}, Target::Cuda, {OwnRows, Grid}},
      {"a CPU", cell(3, 256, 3), {}, Target::Cpp, {}},
      {"torch", cell(3, 256, 3), h200(), Target::Torch, {}}};
  for (const auto& one : cases) {
    INFO(one.name);
    CHECK(order_splits(one.recurrence, chip_sizes(one.gpu), one.target, one.gpu.has_value()) == one.order);
  }
}

TEST_CASE("the interpreter of Triton exchanges nothing", "[prompt][recurrence]") {
  CHECK(order_splits(cell(3, 256, 6), chip_sizes({}), Target::Triton, false).front() == OwnRows);
}

TEST_CASE("sizes are told with what follows", "[prompt][recurrence]") {
  CHECK(describe_sizes(cell(3, 256, 3), h200()) ==
        "768 KiB for each layer and direction; one SM can keep about 355 KiB of them (half of its registers, and its "
        "shared memory), a cluster of 8 2.77 MiB, all 132 together 45.8 MiB: they need a cluster");
  CHECK(describe_sizes(cell(1, 64), h200()).ends_with(": they fit on one SM"));
  CHECK(describe_sizes(cell(3, 1024), h200()).ends_with(": they need 35 SMs or more"));
  CHECK(describe_sizes(cell(4, 4096), h200()).ends_with(": they do not fit on the chip"));
  CHECK(contains(describe_sizes(cell(3, 512), mi300x()), "one CU can keep about 320 KiB"));
  CHECK(describe_sizes({}, h200()).empty());
  CHECK(describe_sizes(cell(3, 256), {}).empty());
}
