/// gpu.h with the driver of tests/support/fake_cuda.c, which LD_LIBRARY_PATH names.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "apps/runner/gpu/gpu.h"
#include "support/catch.hpp"

namespace {

// Others may run for milliseconds between two readings of a clock, so the least of several differences is looked at.
constexpr int k_tries = 10;
constexpr auto k_far = std::numeric_limits<std::int64_t>::max();

struct Close {
  void operator()(kgen_gpu* gpu) const { kgen_gpu_close(gpu); }
};
using Gpu = std::unique_ptr<kgen_gpu, Close>;

Gpu open_gpu() {
  std::array<char, 256> error{};
  Gpu gpu(kgen_gpu_open(nullptr, error.data(), error.size()));
  INFO(error.data());
  REQUIRE(gpu);
  return gpu;
}

template <class Function>
Function fake(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* found = reinterpret_cast<Function>(dlsym(library, name));
  REQUIRE(found != nullptr);
  return found;
}

}  // namespace

TEST_CASE("facts come from the driver", "[gpu]") {
  std::array<char, 256> error{};
  REQUIRE(kgen_gpu_count(error.data(), error.size()) == 1);
  kgen_gpu_facts facts{};
  facts.struct_size = sizeof facts;
  REQUIRE(kgen_gpu_read_facts(0, &facts, error.data(), error.size()) == 0);
  CHECK(std::string(facts.vendor) == "fake");
  CHECK(std::string(facts.architecture) == "sm_90");
  CHECK(std::string(facts.uuid).size() == 40);
  CHECK(facts.multiprocessors == 4);
  CHECK(facts.l2_bytes == 1U << 20);
  CHECK(kgen_gpu_read_facts(1, &facts, error.data(), error.size()) != 0);
  CHECK(std::string(error.data()) == "there is no device 1");
}

TEST_CASE("a caller of an older build gets the facts that it knows", "[gpu]") {
  std::array<char, 256> error{};
  kgen_gpu_facts facts{};
  facts.struct_size = offsetof(kgen_gpu_facts, architecture);
  REQUIRE(kgen_gpu_read_facts(0, &facts, error.data(), error.size()) == 0);
  CHECK(std::string(facts.vendor) == "fake");
  CHECK(facts.architecture[0] == '\0');
}

TEST_CASE("a device that is not there is named", "[gpu]") {
  std::array<char, 256> error{};
  CHECK(kgen_gpu_open("GPU-none", error.data(), error.size()) == nullptr);
  CHECK(std::string(error.data()) == "there is no GPU GPU-none");
}

TEST_CASE("another process maps shared device memory", "[gpu]") {
  const Gpu gpu = open_gpu();
  constexpr std::uint64_t k_bytes = 100'000;
  void* address = nullptr;
  int fd = -1;
  REQUIRE(kgen_gpu_allocate_shared(gpu.get(), k_bytes, &address, &fd) == 0);
  std::memset(address, 1, k_bytes);
  const pid_t child = fork();
  if (child == 0) {
    void* theirs = nullptr;
    const bool mapped = kgen_gpu_import_shared(gpu.get(), fd, k_bytes, &theirs) == 0 && theirs != address;
    auto* last = static_cast<unsigned char*>(theirs) + k_bytes - 1;
    const bool read = mapped && *last == 1;
    if (mapped) *last = 7;
    _exit(read ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(static_cast<unsigned char*>(address)[k_bytes - 1] == 7);
  CHECK(kgen_gpu_free_shared(gpu.get(), address) == 0);
  CHECK(kgen_gpu_free_shared(gpu.get(), address) != 0);
  close(fd);
}

TEST_CASE("more memory than there is gets a reason", "[gpu]") {
  const Gpu gpu = open_gpu();
  void* address = nullptr;
  int fd = -1;
  CHECK(kgen_gpu_allocate_shared(gpu.get(), std::uint64_t{1} << 40, &address, &fd) != 0);
  CHECK(std::string(kgen_gpu_error(gpu.get())) == "allocating shared memory: out of memory (2)");
}

TEST_CASE("a call is timed, and work that is not done by then is seen", "[gpu]") {
  const Gpu gpu = open_gpu();
  kgen_gpu_call call{};
  std::int64_t least_off_stream_ns = k_far;
  for (int i = 0; i < k_tries; ++i) {
    REQUIRE(kgen_gpu_begin_call(gpu.get(), nullptr) == 0);
    usleep(2000);
    REQUIRE(kgen_gpu_end_call(gpu.get(), nullptr, &call) == 0);
    CHECK(call.device_ns >= 1'900'000);
    CHECK(call.host_ns >= 1'900'000);
    least_off_stream_ns = std::min(least_off_stream_ns, call.off_stream_ns);
  }
  CHECK(least_off_stream_ns < 1'000'000);
  REQUIRE(kgen_gpu_begin_call(gpu.get(), nullptr) == 0);
  fake<void (*)(std::int64_t)>("kgen_fake_cuda_delay")(3'000'000);
  REQUIRE(kgen_gpu_end_call(gpu.get(), nullptr, &call) == 0);
  CHECK(call.off_stream_ns >= 3'000'000);
}

TEST_CASE("what other streams do after the given one is a part of the call", "[gpu]") {
  const Gpu gpu = open_gpu();
  kgen_gpu_call call{};
  REQUIRE(kgen_gpu_begin_call(gpu.get(), nullptr) == 0);
  fake<void (*)(std::int64_t)>("kgen_fake_cuda_delay")(30'000'000);
  REQUIRE(kgen_gpu_end_call(gpu.get(), nullptr, &call) == 0);
  CHECK(call.device_ns >= 30'000'000);
  CHECK(call.off_stream_ns >= 29'000'000);
}

TEST_CASE("a driver that cannot tell when all streams are done is asked for what it can", "[gpu]") {
  REQUIRE(setenv("KGEN_FAKE_CUDA_DRIVER", "12040", 1) == 0);
  const Gpu gpu = open_gpu();
  kgen_gpu_call call{};
  REQUIRE(kgen_gpu_begin_call(gpu.get(), nullptr) == 0);
  fake<void (*)(std::int64_t)>("kgen_fake_cuda_delay")(30'000'000);
  REQUIRE(kgen_gpu_end_call(gpu.get(), nullptr, &call) == 0);
  unsetenv("KGEN_FAKE_CUDA_DRIVER");
  CHECK(call.device_ns < 30'000'000);
  CHECK(call.off_stream_ns >= 29'000'000);
}

TEST_CASE("a call cannot begin while a stream is being captured", "[gpu]") {
  const Gpu gpu = open_gpu();
  void* graph = nullptr;
  REQUIRE(kgen_gpu_begin_capture(gpu.get(), kgen_gpu_stream(gpu.get())) == 0);
  CHECK(kgen_gpu_begin_call(gpu.get(), nullptr) == 900);
  CHECK(std::string(kgen_gpu_error(gpu.get())).starts_with("holding all streams back: "));
  CHECK(kgen_gpu_end_capture(gpu.get(), kgen_gpu_stream(gpu.get()), &graph) == 0);
  kgen_gpu_free_graph(gpu.get(), graph);
}

TEST_CASE("what is captured runs when it is replayed", "[gpu]") {
  const Gpu gpu = open_gpu();
  void* stream = kgen_gpu_stream(gpu.get());
  void* memory = nullptr;
  void* graph = nullptr;
  REQUIRE(kgen_gpu_allocate(gpu.get(), 16, &memory) == 0);
  REQUIRE(kgen_gpu_fill(gpu.get(), memory, 1, 16, stream) == 0);
  REQUIRE(kgen_gpu_begin_capture(gpu.get(), stream) == 0);
  REQUIRE(kgen_gpu_fill(gpu.get(), memory, 2, 16, stream) == 0);
  REQUIRE(kgen_gpu_end_capture(gpu.get(), stream, &graph) == 0);
  CHECK(*static_cast<unsigned char*>(memory) == 1);
  REQUIRE(kgen_gpu_replay(gpu.get(), graph, stream) == 0);
  CHECK(*static_cast<unsigned char*>(memory) == 2);
  kgen_gpu_free_graph(gpu.get(), graph);
  CHECK(kgen_gpu_free(gpu.get(), memory) == 0);
}

TEST_CASE("a graph's own marks save no more than a launch takes", "[gpu]") {
  const Gpu gpu = open_gpu();
  void* stream = kgen_gpu_stream(gpu.get());
  void* graph = nullptr;
  kgen_gpu_call call{};
  REQUIRE(kgen_gpu_begin_capture(gpu.get(), stream) == 0);
  REQUIRE(kgen_gpu_end_capture(gpu.get(), stream, &graph) == 0);
  // Between the start of the clock and the first mark.
  std::int64_t least_difference_ns = k_far;
  for (int i = 0; i < k_tries; ++i) {
    REQUIRE(kgen_gpu_begin_replay(gpu.get(), stream) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    REQUIRE(kgen_gpu_replay(gpu.get(), graph, stream) == 0);
    REQUIRE(kgen_gpu_end_call(gpu.get(), stream, &call) == 0);
    CHECK(call.device_ns >= 2'990'000);
    least_difference_ns = std::min(least_difference_ns, call.device_ns - call.host_ns);
  }
  CHECK(least_difference_ns < 1'000'000);
  kgen_gpu_free_graph(gpu.get(), graph);
}

TEST_CASE("a capture that cannot be marked is over", "[gpu]") {
  const Gpu gpu = open_gpu();
  void* stream = kgen_gpu_stream(gpu.get());
  void* graph = nullptr;
  const auto break_device = fake<void (*)(int)>("kgen_fake_cuda_fault");
  break_device(700);
  CHECK(kgen_gpu_begin_capture(gpu.get(), stream) == 700);
  break_device(0);
  REQUIRE(kgen_gpu_begin_capture(gpu.get(), stream) == 0);
  REQUIRE(kgen_gpu_end_capture(gpu.get(), stream, &graph) == 0);
  kgen_gpu_free_graph(gpu.get(), graph);
}

TEST_CASE("a fault of the device shows at the end of the call", "[gpu]") {
  const Gpu gpu = open_gpu();
  kgen_gpu_call call{};
  const auto break_device = fake<void (*)(int)>("kgen_fake_cuda_fault");
  REQUIRE(kgen_gpu_begin_call(gpu.get(), nullptr) == 0);
  break_device(700);
  CHECK(kgen_gpu_end_call(gpu.get(), nullptr, &call) == 700);
  CHECK(std::string(kgen_gpu_error(gpu.get())).find("an illegal memory access was encountered (700)") !=
        std::string::npos);
  break_device(0);
}

TEST_CASE("copies within the device have a bandwidth", "[gpu]") {
  const Gpu gpu = open_gpu();
  CHECK(kgen_gpu_copy_bandwidth(gpu.get()) > 1e6);
}
